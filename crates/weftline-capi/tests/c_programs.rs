//! Programs in C against the committed header and the static library.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the Rust standard library needs from the system.
const SYSTEM: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

/// The C compiler, or why there is none.
fn compiler() -> Option<String> {
    let name = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let found = Command::new(&name).arg("--version").output();
    match found {
        Ok(output) if output.status.success() => Some(name),
        _ => {
            println!("skipped: there is no C compiler `{name}`; set CC to one");
            None
        }
    }
}

/// Cargo leaves the static library beside this program, or one folder above.
fn library() -> PathBuf {
    let program = std::env::current_exe().expect("a test knows where it is");
    let deps = program.parent().expect("a program is in a folder");
    let named = |folder: &Path| {
        let entries = std::fs::read_dir(folder).ok()?.flatten();
        let libraries = entries.filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libweftline_capi") && name.ends_with(".a")
        });
        // The newest: others may be of other features or profiles.
        let newest = libraries.max_by_key(|entry| entry.metadata().and_then(|m| m.modified()).ok());
        newest.map(|entry| entry.path())
    };
    named(deps)
        .or_else(|| named(deps.parent()?))
        .expect("cargo builds the static library with the tests")
}

/// Compiles and runs a program; what it prints.
fn run(source: &str) -> Option<String> {
    let compiler = compiler()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = root.join(source);
    let stem = source.file_stem().expect("it has a name");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(stem);
    let compiled = Command::new(&compiler)
        .args([
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pedantic",
            "-O1",
            "-I",
        ])
        .arg(root.join("include"))
        .args([&source, &library()])
        .args(SYSTEM)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("the compiler was there a moment ago");
    let words = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{}: {words}", source.display());
    let ran = Command::new(&program).output().expect("it was just made");
    let words = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{}: {words}", source.display());
    Some(String::from_utf8_lossy(&ran.stdout).into_owned())
}

#[test]
fn the_example_of_the_documentation_decodes_what_was_lost() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = std::fs::read_to_string(root.join("examples/block.c")).expect("it is committed");
    let page = std::fs::read_to_string(root.join("../../docs/c-api.md")).expect("it is committed");
    assert!(page.contains(&program), "docs/c-api.md has another program");
    if let Some(printed) = run("examples/block.c") {
        assert!(printed.contains("all 10 here"), "{printed}");
    }
}

#[test]
fn c_gets_what_it_relies_on() {
    if let Some(printed) = run("tests/c/abi.c") {
        assert_eq!(printed, "all as C relies on\n");
    }
}
