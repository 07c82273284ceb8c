//! The install script, and programs that are compiled against what it installs.
#![cfg(all(unix, not(target_vendor = "apple")))]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{compiler, folder, library, root, run, unable, works};

/// Where programs look for a shared library at run time: the version up to what may break the ABI.
fn soname() -> String {
    let abi = match env!("CARGO_PKG_VERSION_MAJOR") {
        "0" => concat!("0.", env!("CARGO_PKG_VERSION_MINOR")),
        major => major,
    };
    format!("libweftline.so.{abi}")
}

/// An empty folder of this name.
fn empty(name: &str) -> PathBuf {
    let path = folder().join(name);
    if path.exists() {
        std::fs::remove_dir_all(&path).expect("a test may delete what it made");
    }
    std::fs::create_dir_all(&path).expect("a test may make a folder");
    path
}

/// The script, for the libraries that cargo has built for the tests.
fn install(built: &Path) -> Command {
    for ending in [".a", ".so"] {
        let copy = built.join(format!("libweftline_capi{ending}"));
        std::fs::copy(library(ending), copy).expect("cargo built it");
    }
    let mut script = Command::new("sh");
    for name in ["DESTDIR", "PREFIX", "LIBDIR"] {
        script.env_remove(name);
    }
    script.arg(root().join("install"));
    script.arg(format!("--from={}", built.display()));
    script
}

#[test]
fn programs_find_it_with_pkg_config() {
    let Some(_) = compiler() else { return };
    if !works("pkg-config", "--version") {
        return unable("pkg-config", "there is no pkg-config");
    }
    let prefix = empty("prefix");
    run(install(&empty("prefix-built")).arg(format!("--prefix={}", prefix.display())));
    let flags = |arguments: &[&str]| -> Vec<String> {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
        let printed = run(command.args(arguments).arg("weftline"));
        printed.split_whitespace().map(str::to_owned).collect()
    };
    let compile = |name: &str, libraries: &[String]| {
        let program = prefix.join(name);
        let mut compiler = compiler().expect("it was there a moment ago");
        compiler.args(flags(&["--cflags"]));
        compiler.arg(root().join("examples/block.c"));
        run(compiler.args(libraries).arg("-o").arg(&program));
        program
    };
    let printed = "14 packets sent, every third lost, all 10 here\n";

    // Static, from the variable and with the linker dropping what is not used.
    let alone = compile("static", &flags(&["--variable=static_libs"]));
    assert_eq!(run(&mut Command::new(&alone)), printed);
    let whole = compile("whole", &{
        let mut libraries = flags(&["--variable=static_libs"]);
        libraries.retain(|flag| flag != "-Wl,--gc-sections");
        libraries
    });
    let size = |program: &Path| std::fs::metadata(program).expect("it was made").len();
    println!(
        "with --gc-sections {} bytes, without {}",
        size(&alone),
        size(&whole)
    );
    assert!(size(&alone) < size(&whole), "--gc-sections drops nothing");

    // Shared: only a file named as the SONAME is there when the program starts.
    let shared = compile("shared", &flags(&["--libs"]));
    let bare = Command::new(&shared).output().expect("it was made");
    assert!(
        !bare.status.success(),
        "it is not linked to the shared library"
    );
    let only = empty("soname");
    std::fs::copy(prefix.join("lib").join(soname()), only.join(soname())).expect("it is a link");
    let ran = run(Command::new(&shared).env("LD_LIBRARY_PATH", &only));
    assert_eq!(ran, printed);
    assert_eq!(flags(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
}

#[test]
fn destdir_moves_the_files_and_not_what_they_say() {
    let (built, stage) = (empty("stage-built"), empty("stage"));
    let mut script = install(&built);
    script.args(["--prefix=/opt/weftline", "--libdir=/opt/weftline/lib64"]);
    run(script.env("DESTDIR", &stage));
    let placed = stage.join("opt/weftline");
    let read =
        |path: &str| std::fs::read(placed.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"));
    let header = std::fs::read(root().join("include/weftline.h")).expect("it is committed");
    assert_eq!(read("include/weftline.h"), header);
    assert!(read("lib64/libweftline.a").starts_with(b"!<arch>"));
    let shared = read("lib64/libweftline.so");
    assert!(shared.starts_with(b"\x7fELF"));
    let name = soname().into_bytes();
    assert!(
        shared.windows(name.len()).any(|bytes| bytes == name),
        "it has no SONAME"
    );
    for link in ["libweftline.so", &soname()] {
        let target = std::fs::read_link(placed.join("lib64").join(link)).expect("it is a link");
        assert!(
            target.is_relative(),
            "{link} points to {}",
            target.display()
        );
    }
    let pc = String::from_utf8(read("lib64/pkgconfig/weftline.pc")).expect("it is text");
    assert!(
        pc.contains("prefix=/opt/weftline\nlibdir=/opt/weftline/lib64\n"),
        "{pc}"
    );
    assert!(!pc.contains(&*stage.to_string_lossy()), "{pc}");
}

#[test]
fn the_script_refuses_what_it_does_not_understand() {
    let built = empty("refused-built");
    let cases: [(&[&str], &str); 3] = [
        (&["--perfix=/usr"], "`--perfix=/usr` is not an option"),
        (&["--prefix=relative"], "give an absolute one"),
        (
            &["--from=/nowhere", "--prefix=/x"],
            "there is no /nowhere/libweftline_capi.a",
        ),
    ];
    for (arguments, reason) in cases {
        let ran = install(&built)
            .args(arguments)
            .output()
            .expect("there is a shell");
        let words = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(
            !ran.status.success() && words.contains(reason),
            "{arguments:?}: {words}"
        );
    }
}
