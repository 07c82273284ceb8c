//! Running the system's own programs: `ip`, `nft`, `resolvectl`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use rustix::thread::{
    CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities,
};
use serde_json::Value;

/// Where the system has them. A PATH that the caller of this program sets has no say: what runs here
/// may change the network.
const FOLDERS: [&str; 5] = [
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
];

/// A program of the system, and the package that brings it.
pub(super) struct Program {
    name: &'static str,
    package: &'static str,
}

pub(super) const IP: Program = Program {
    name: "ip",
    package: "iproute2",
};
pub(super) const NFT: Program = Program {
    name: "nft",
    package: "nftables",
};
pub(super) const RESOLVECTL: Program = Program {
    name: "resolvectl",
    package: "systemd-resolved",
};

impl Program {
    /// Runs it with these words and this standard input; it must succeed. Returns what it printed.
    ///
    /// # Errors
    /// There is no such program, or it fails; the message has what it said.
    pub(super) fn run(&self, words: &[&str], input: &str) -> Result<String> {
        let name = self.name;
        let output = self.output(words, input)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let line = failed_line(&said, input);
        let words = words.join(" ");
        match line {
            Some(line) => bail!("`{name} {words}` refused `{line}`: {}", said.trim()),
            None => bail!("`{name} {words}` failed: {}", said.trim()),
        }
    }

    /// As [`Program::run`] with `-j`: the objects that it printed.
    ///
    /// # Errors
    /// As [`Program::run`], or what it printed is not a list.
    pub(super) fn json(&self, words: &[&str]) -> Result<Vec<Value>> {
        let shown = self.run(&[&["-j"], words].concat(), "")?;
        serde_json::from_str(&shown).with_context(|| format!("the answer of `{}`", self.name))
    }

    /// Whether this host has it.
    pub(super) fn is_here(&self) -> bool {
        self.path().is_some()
    }

    fn path(&self) -> Option<PathBuf> {
        let mut places = FOLDERS
            .iter()
            .map(|folder| Path::new(folder).join(self.name));
        places.find(|path| path.exists())
    }

    /// As [`Program::run`], but the caller judges the exit status.
    pub(super) fn output(&self, words: &[&str], input: &str) -> Result<Output> {
        let Program { name, package } = self;
        let Some(path) = self.path() else {
            bail!("there is no `{name}` on this host: install {package}");
        };
        hand_on_privilege();
        let mut command = Command::new(path);
        command.args(words).env_clear().env("LC_ALL", "C");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let cannot = || format!("`{name}` cannot be run");
        let child = command.stderr(Stdio::piped()).spawn();
        let mut child = child.with_context(cannot)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that ends early says why on standard error.
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output().with_context(cannot)
    }
}

/// The line of `ip -batch` that failed.
fn failed_line<'a>(said: &str, input: &'a str) -> Option<&'a str> {
    let (_, number) = said.split_once("Command failed -:")?;
    let number: usize = number.split_whitespace().next()?.parse().ok()?;
    input.lines().nth(number.checked_sub(1)?)
}

/// Whether this process may change the network.
pub(super) fn is_privileged() -> bool {
    let mine = capabilities(None);
    mine.is_ok_and(|mine| mine.effective.contains(CapabilitySet::NET_ADMIN))
}

/// Lets the programs that this thread starts change the network as this process may: what has the
/// capability by `setcap` does not hand it on otherwise. Where it fails, the program says what it lacks.
fn hand_on_privilege() {
    let Ok(mut mine) = capabilities(None) else {
        return;
    };
    mine.inheritable |= mine.permitted & CapabilitySet::NET_ADMIN;
    let _ = set_capabilities(None, mine);
    let _ = configure_capability_in_ambient_set(CapabilitySet::NET_ADMIN, true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_was_refused_and_why() {
        let error = IP.run(&["-batch", "-"], "rule show\nnonsense here\n");
        let Err(error) = error.map_err(|e| e.to_string()) else {
            panic!("nonsense was accepted")
        };
        if error.contains("there is no `ip`") {
            return weftline_testkit::unable("ip", &error);
        }
        assert!(error.contains("refused `nonsense here`"), "{error}");
        let nobody = Program {
            name: "no-such-program",
            package: "nothing",
        };
        let error = nobody.run(&[], "").map_err(|e| e.to_string());
        let message = "there is no `no-such-program` on this host: install nothing";
        assert_eq!(error, Err(message.to_owned()));
    }
}
