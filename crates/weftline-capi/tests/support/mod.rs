//! What the tests of C programs share: the compiler, the libraries and their folders.
#![allow(dead_code, reason = "no test program uses all of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) use weftline_testkit::unable;

/// What the Rust standard library needs from the system.
pub(crate) const SYSTEM: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

/// This crate's folder.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A folder for what a test makes.
pub(crate) fn folder() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Whether a program runs and says that all is well.
pub(crate) fn works(program: &str, argument: &str) -> bool {
    let found = Command::new(program).arg(argument).output();
    found.is_ok_and(|output| output.status.success())
}

/// The C compiler; `None` if there is none, which was reported.
pub(crate) fn compiler() -> Option<Command> {
    let name = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if !works(&name, "--version") {
        unable(
            "cc",
            &format!("there is no C compiler `{name}`; set CC to one"),
        );
        return None;
    }
    let mut command = Command::new(name);
    command.args("-std=c99 -Wall -Wextra -Werror -pedantic -O1".split(' '));
    Some(command)
}

/// A library of this crate by the ending of its name. Cargo leaves it beside the test program, or one
/// folder above.
pub(crate) fn library(ending: &str) -> PathBuf {
    let program = std::env::current_exe().expect("a test knows where it is");
    let deps = program.parent().expect("a program is in a folder");
    let newest = |folder: &Path| {
        let entries = std::fs::read_dir(folder).ok()?.flatten();
        let libraries = entries.filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libweftline_capi") && name.ends_with(ending)
        });
        // The others may be of other features or profiles.
        let newest = libraries.max_by_key(|entry| entry.metadata().and_then(|m| m.modified()).ok());
        newest.map(|entry| entry.path())
    };
    newest(deps)
        .or_else(|| newest(deps.parent()?))
        .unwrap_or_else(|| panic!("cargo builds a library {ending} with the tests"))
}

/// Runs a command that must succeed; what it prints.
pub(crate) fn run(command: &mut Command) -> String {
    let ran = command.output();
    let Output {
        status,
        stdout,
        stderr,
    } = ran.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let words = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{command:?}: {status}\n{words}");
    String::from_utf8_lossy(&stdout).into_owned()
}
