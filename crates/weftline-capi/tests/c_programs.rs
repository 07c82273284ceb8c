//! Programs in C against the committed header and the static library.

mod support;

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use support::{SYSTEM, compiler, folder, library, root, run, unable, works};

/// What finds memory that is used wrongly, and behaviour that C does not define.
const SANITIZERS: [&str; 2] = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// What finds it in the library too, which the C compiler does not see. What is undefined is not looked
/// for: optimised Rust asks for a value together with whether there is one.
const MEMCHECK: [&str; 5] = [
    "--quiet",
    "--error-exitcode=9",
    "--undef-value-errors=no",
    "--leak-check=full",
    "--errors-for-leak-kinds=definite",
];

/// Compiles and runs a program: as it is, under valgrind, and with sanitizers. Returns what it prints each
/// time; nothing if there is no compiler, which was reported.
fn printed(source: &str) -> Vec<String> {
    let source = root().join(source);
    let stem = source.file_stem().expect("it has a name");
    let mut all = Vec::new();
    for (name, options) in [("static", &[][..]), ("sanitized", &SANITIZERS)] {
        let Some(mut compiler) = compiler() else {
            return all;
        };
        if !options.is_empty() && !has_sanitizers() {
            let why = "the C compiler has no address and undefined-behaviour sanitizers";
            unable("sanitizers", why);
            return all;
        }
        let program = folder().join(format!("{name}-{}", Path::new(stem).display()));
        compiler.args(options).arg("-I").arg(root().join("include"));
        compiler.args([&source, &library(".a")]).args(SYSTEM);
        run(compiler.arg("-o").arg(&program));
        all.push(run(&mut Command::new(&program)));
        if options.is_empty() && has_memcheck() {
            all.push(run(Command::new("valgrind").args(MEMCHECK).arg(&program)));
        }
    }
    all
}

fn has_memcheck() -> bool {
    let found = works("valgrind", "--version");
    if !found {
        unable("valgrind", "there is no `valgrind` (Debian: valgrind)");
    }
    found
}

/// Whether the compiler can make and run a program with sanitizers. The tests run at the same time.
fn has_sanitizers() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(look_for_sanitizers)
}

fn look_for_sanitizers() -> bool {
    let (source, program) = (folder().join("empty.c"), folder().join("empty"));
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("the folder is ours");
    let made = compiler().is_some_and(|mut compiler| {
        let compiler = compiler.args(SANITIZERS).arg(&source);
        compiler
            .arg("-o")
            .arg(&program)
            .status()
            .is_ok_and(|status| status.success())
    });
    made && Command::new(&program)
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn the_page_shows_the_programs_as_they_are() {
    let text = |path: &str| std::fs::read_to_string(root().join(path)).expect("it is committed");
    let programs = [text("examples/block.c"), text("examples/udp.c")];
    let page = text("../../docs/c-api.md");
    let shown: Vec<&str> = page
        .split("```c\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(
        shown.len() >= 2,
        "docs/c-api.md shows {} programs",
        shown.len()
    );
    for code in shown {
        let known = programs.iter().any(|program| program.contains(code));
        assert!(
            known,
            "docs/c-api.md shows code that no example has:\n{code}"
        );
    }
}

#[test]
fn the_example_of_a_block_decodes_what_was_lost() {
    for printed in printed("examples/block.c") {
        assert!(printed.contains("all 10 here"), "{printed}");
    }
}

#[test]
fn the_example_of_a_driver_carries_a_stream_and_a_message_over_udp() {
    for printed in printed("examples/udp.c") {
        let server = "server: 1000000 bytes, then closed by the peer, code 7: goodbye\n";
        assert!(printed.contains(server), "{printed}");
        assert!(printed.contains("client: a message in time\n"), "{printed}");
    }
}

#[test]
fn c_gets_what_it_relies_on() {
    for printed in printed("tests/c/abi.c") {
        assert_eq!(printed, "all as C relies on\n");
    }
}

#[test]
fn sessions_do_in_c_what_they_do_in_rust() {
    for printed in printed("tests/c/session.c") {
        assert_eq!(printed, "sessions as C relies on\n");
    }
}

#[test]
fn every_function_of_the_header_is_called_by_a_program() {
    let text = |path: &str| std::fs::read_to_string(root().join(path)).expect("it is committed");
    let paths = [
        "examples/block.c",
        "examples/udp.c",
        "tests/c/abi.c",
        "tests/c/check.h",
        "tests/c/session.c",
    ];
    let programs: String = paths.into_iter().map(text).collect();
    let header = text("include/weftline.h");
    let declared: Vec<&str> = header
        .lines()
        .filter(|line| !line.starts_with("//"))
        .filter_map(|line| {
            let (before, _) = line.split_once('(')?;
            let name = before.rsplit([' ', '*']).next()?;
            name.starts_with("weftline_").then_some(name)
        })
        .collect();
    assert!(declared.len() > 60, "{declared:?}");
    for name in declared {
        let called = programs.contains(&format!("{name}("));
        assert!(called, "no program in C calls {name}");
    }
}
