//! Programs in C against the committed header and the static library.

mod support;

use std::path::Path;
use std::process::Command;

use support::{SYSTEM, compiler, folder, library, root, run};

/// Compiles and runs a program; what it prints. `None` if there is no compiler, which was reported.
fn printed(source: &str) -> Option<String> {
    let mut compiler = compiler()?;
    let source = root().join(source);
    let stem = source.file_stem().expect("it has a name");
    let program = folder().join(format!("static-{}", Path::new(stem).display()));
    compiler.arg("-I").arg(root().join("include"));
    compiler.args([&source, &library(".a")]).args(SYSTEM);
    run(compiler.arg("-o").arg(&program));
    Some(run(&mut Command::new(&program)))
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
    if let Some(printed) = printed("examples/block.c") {
        assert!(printed.contains("all 10 here"), "{printed}");
    }
}

#[test]
fn the_example_of_a_driver_carries_a_stream_and_a_message_over_udp() {
    if let Some(printed) = printed("examples/udp.c") {
        let server = "server: 1000000 bytes, then closed by the peer, code 7: goodbye\n";
        assert!(printed.contains(server), "{printed}");
        assert!(printed.contains("client: a message in time\n"), "{printed}");
    }
}

#[test]
fn c_gets_what_it_relies_on() {
    if let Some(printed) = printed("tests/c/abi.c") {
        assert_eq!(printed, "all as C relies on\n");
    }
}

#[test]
fn sessions_do_in_c_what_they_do_in_rust() {
    if let Some(printed) = printed("tests/c/session.c") {
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
