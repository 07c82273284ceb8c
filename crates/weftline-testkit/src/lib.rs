//! A test that cannot run must not look like a test that passed.
//!
//! Some tests need root, a TUN device, or a program that is not installed. Such a test calls
//! [`unable`] and returns. Where `CI` is set the call fails the test, unless `.ci/unable` lists
//! what is missing: `.ci/run` passes the names in that file as `WEFTLINE_UNABLE=name,name`.
//! Elsewhere the call prints a line on standard error.
//!
//! ```no_run
//! # fn has_ping() -> bool { true }
//! if !has_ping() {
//!     return weftline_testkit::unable("ping", "there is no command `ping` (Debian: iputils-ping)");
//! }
//! ```
#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Reports that this machine lacks `what`, a short name without blanks, and `why`.
///
/// # Panics
///
/// Where `CI` is set and `WEFTLINE_UNABLE` does not list `what`.
pub fn unable(what: &str, why: &str) {
    let ci = std::env::var("CI").unwrap_or_default();
    let listed = std::env::var("WEFTLINE_UNABLE").unwrap_or_default();
    match judge(what, why, &ci, &listed) {
        // Not `eprintln!`: the test harness hides what a passing test prints that way.
        Ok(notice) => drop(writeln!(io::stderr(), "{notice}")),
        Err(failure) => panic!("{failure}"),
    }
}

/// Sends a signal, as in `-TERM`, to a process. The shell itself does it: small systems have no program `kill`.
///
/// # Panics
///
/// There is no such process, or no shell.
pub fn signal(id: u32, signal: &str) {
    let id = id.to_string();
    let sent = Command::new("sh")
        .args(["-c", "kill \"$0\" \"$1\"", signal, &id])
        .status();
    assert!(sent.is_ok_and(|sent| sent.success()), "kill {signal} {id}");
}

/// The inputs of a fuzz target that `fuzz/corpus` has, in the order of their names.
///
/// # Panics
///
/// There are none, or one cannot be read.
pub fn corpus(target: &str) -> Vec<Vec<u8>> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let folder = all.join(target);
    let read = || {
        let files = std::fs::read_dir(&folder)?.map(|file| Ok(file?.path()));
        let mut files = files.collect::<io::Result<Vec<_>>>()?;
        files.sort();
        files.into_iter().map(std::fs::read).collect()
    };
    let inputs: io::Result<Vec<_>> = read();
    let inputs = inputs.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    assert!(!inputs.is_empty(), "{} is empty", folder.display());
    inputs
}

/// The notice to print, or why the test must fail.
fn judge(what: &str, why: &str, ci: &str, listed: &str) -> Result<String, String> {
    let is_ci = !matches!(ci, "" | "0" | "false");
    let is_listed = listed.split(',').any(|name| name == what);
    if is_ci && !is_listed {
        return Err(format!(
            "unable: {what}: {why}. In CI no test is skipped: provide it, or list `{what}` with \
             the reason in .ci/unable"
        ));
    }
    Ok(format!("NOT RUN: {what}: {why}"))
}

/// Longest wait of [`until`], on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until `look` finds something, and returns that.
///
/// # Panics
///
/// After 30 s, with `what` it waited for.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain for {what}");
        sleep(Duration::from_millis(10));
    }
}

/// Whether this machine can emulate paths between network namespaces: that needs Linux, root, a
/// TUN device and `ip`. Where something is missing, this calls [`unable`] with `root`, `tun` or
/// `ip`.
///
/// # Panics
///
/// As [`unable`] does.
#[must_use = "a test that cannot run must return"]
pub fn can_emulate_paths() -> bool {
    let id = Command::new("id").arg("-u").output();
    if !id.is_ok_and(|id| id.stdout == b"0\n") {
        unable("root", "network namespaces need root");
        return false;
    }
    let device = "/dev/net/tun";
    if let Err(error) = File::options().read(true).write(true).open(device) {
        unable("tun", &format!("{device}: {error}"));
        return false;
    }
    has_command("ip", "-V", "iproute2")
}

/// Whether this command can be started. If not, this calls [`unable`] with the command's name
/// and says which Debian package has it.
///
/// # Panics
///
/// As [`unable`] does.
#[must_use = "a test that cannot run must return"]
pub fn has_command(name: &str, argument: &str, package: &str) -> bool {
    let mut command = Command::new(name);
    command.arg(argument).stdin(Stdio::null());
    match command.output() {
        Ok(_) => true,
        Err(error) => {
            unable(name, &format!("`{name}`: {error} (Debian: {package})"));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outside_ci_a_missing_thing_is_named() {
        for ci in ["", "0", "false"] {
            let notice = judge("ping", "not installed", ci, "");
            assert_eq!(notice.as_deref(), Ok("NOT RUN: ping: not installed"));
        }
    }

    #[test]
    fn in_ci_only_what_is_listed_may_be_missing() {
        for ci in ["true", "1"] {
            assert!(judge("tun", "no device", ci, "root,tun").is_ok());
            for listed in ["", "root", "tunnel,ro tun"] {
                let failure = judge("tun", "no device", ci, listed).unwrap_err();
                assert!(failure.contains("tun: no device") && failure.contains(".ci/unable"));
            }
        }
    }
}
