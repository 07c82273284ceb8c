//! Every command line in the documents and in `--help` is one that the programs accept, and those that
//! need nothing but themselves run. Every test that the page on security names is there.

use std::path::{Path, PathBuf};
use std::process::Command as Process;

use clap::Command;

/// What stands for a value in the documents, and a value of that kind.
const PLACEHOLDERS: [(&str, &str); 7] = [
    ("FINGERPRINT", "mfrg-gzdf-mztw-q2lk-nnwg-23tp-obyx-e43u"),
    ("HOST", "192.0.2.1"),
    ("FILE", "Cargo.toml"),
    ("DIR", "out"),
    ("COMMAND", "true"),
    (
        "FINGERPRINT-OF-THIS-HOST",
        "mfrg-gzdf-mztw-q2lk-nnwg-23tp-obyx-e43u",
    ),
    ("SHELL", "bash"),
];

/// How programs are started from the source tree.
const FROM_SOURCE: [(&[&str], &str); 2] = [
    (&["cargo", "run", "--release", "--"], "weftline"),
    (
        &["cargo", "run", "--release", "-p", "weftline-lab", "--"],
        "weftline-lab",
    ),
];

/// A command line, and where it stands.
struct Line {
    place: String,
    words: Vec<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("it can be listed").path();
        match path.extension() {
            _ if path.is_dir() => documents(&path, found),
            Some(extension) if extension == "md" => found.push(path),
            _ => {}
        }
    }
}

/// The commands of a line of shell: split at pipes and the like, without what is before the program.
fn commands(place: &str, line: &str, found: &mut Vec<Line>) {
    let words =
        shlex::split(line).unwrap_or_else(|| panic!("{place}: not a line of shell: {line}"));
    let is_end = |word: &String| ["|", "&", "&&", "||", ";"].contains(&word.as_str());
    for command in words.split(is_end) {
        let is_before =
            |word: &&String| ["sudo", "$", "nice"].contains(&word.as_str()) || is_variable(word);
        let before = command.iter().take_while(is_before).count();
        let command = &command[before..];
        let end = command.iter().position(|word| word.starts_with('>'));
        let command = &command[..end.unwrap_or(command.len())];
        let mut words: Vec<String> = command.to_vec();
        for (prefix, program) in FROM_SOURCE {
            if words.len() >= prefix.len() && words.iter().zip(prefix).all(|(a, b)| a == b) {
                words.splice(..prefix.len(), [program.to_owned()]);
            }
        }
        if words
            .first()
            .is_some_and(|w| w == "weftline" || w == "weftline-lab")
        {
            found.push(Line {
                place: place.to_owned(),
                words,
            });
        }
    }
}

fn is_variable(word: &str) -> bool {
    let name = word.split_once('=').map(|(name, _)| name);
    name.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'))
}

/// The command lines of a document: those in blocks of shell, and those between backticks.
fn of_document(path: &Path, found: &mut Vec<Line>) {
    let text = std::fs::read_to_string(path).expect("the document can be read");
    let name = path
        .strip_prefix(root())
        .unwrap_or(path)
        .display()
        .to_string();
    let (mut block, mut pending, mut prose) = (None::<String>, String::new(), String::new());
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = match block {
                None => Some(language.to_owned()),
                Some(_) => None,
            };
            continue;
        }
        match block.as_deref() {
            Some("sh" | "console") => {
                let line = line.strip_prefix("$ ").unwrap_or(line);
                pending.push_str(line.trim_end_matches('\\'));
                let is_open = pending.matches('\'').count() % 2 == 1;
                if line.ends_with('\\') || line.trim_end().ends_with('|') || is_open {
                    pending.push(if is_open { '\n' } else { ' ' });
                    continue;
                }
                commands(&place, &std::mem::take(&mut pending), found);
            }
            Some(_) => {}
            None => {
                prose.push_str(line);
                prose.push(' ');
            }
        }
    }
    for (number, piece) in prose.split('`').enumerate() {
        let is_command = piece.starts_with("weftline ")
            || piece.starts_with("weftline-lab ")
            || piece.starts_with("sudo weftline")
            || piece.starts_with("cargo run --release");
        // The name of a command is not a command line: `weftline relay serve`.
        let is_name = piece
            .split(' ')
            .all(|w| w.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'));
        if number % 2 == 1 && is_command && (!is_name || piece.contains(" -")) {
            commands(&format!("{name}, in the text"), piece, found);
        }
    }
}

/// The command lines in the help of a command and of what is below it.
fn of_help(command: &Command, name: &str, found: &mut Vec<Line>) {
    let texts = [
        command.get_long_about(),
        command.get_after_help(),
        command.get_after_long_help(),
    ];
    for text in texts.into_iter().flatten() {
        let text = text.to_string().replace("\\\n", " ");
        for line in text.lines().map(str::trim) {
            // What follows some blanks explains the command.
            let line = line.split("   ").next().unwrap_or(line);
            let is_command = line.starts_with("weftline ") || line.starts_with("weftline-lab ");
            // `load` lists the options of its transport `weftline`.
            let is_table = line
                .split_whitespace()
                .nth(1)
                .is_some_and(|word| word.contains("="));
            if is_command && !is_table {
                commands(&format!("{name} --help"), line, found);
            }
        }
    }
    for below in command.get_subcommands() {
        of_help(below, &format!("{name} {}", below.get_name()), found);
    }
}

fn all_lines() -> Vec<Line> {
    let mut paths = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    documents(&root().join("docs"), &mut paths);
    let mut found = Vec::new();
    paths.sort();
    for path in paths {
        of_document(&path, &mut found);
    }
    for program in [weftline_cli::command(), weftline_lab::command()] {
        let name = program.get_name().to_owned();
        of_help(&program, &name, &mut found);
    }
    found
}

fn filled(words: &[String]) -> Vec<String> {
    let fill = |word: &String| {
        let value = PLACEHOLDERS.iter().find(|(name, _)| name == word);
        value.map_or_else(|| word.clone(), |(_, value)| (*value).to_owned())
    };
    words.iter().map(fill).collect()
}

#[test]
fn every_command_line_of_the_documents_and_of_help_is_accepted() {
    let lines = all_lines();
    assert!(
        lines.len() > 100,
        "only {} command lines were found",
        lines.len()
    );
    let mut refused = Vec::new();
    for line in &lines {
        let program = match line.words[0].as_str() {
            "weftline" => weftline_cli::command(),
            _ => weftline_lab::command(),
        };
        if let Err(error) = program.try_get_matches_from(filled(&line.words))
            && error.use_stderr()
        {
            refused.push(format!("{}: {}\n{error}", line.place, line.words.join(" ")));
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// The commands that need no path, no peer and no root, with what makes them last cut short; `None` for
/// others.
fn runnable(words: &[String]) -> Option<Vec<String>> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let cut: &[(&str, &str)] = match words[..] {
        ["weftline-lab", "theory", _, ..] => &[],
        ["weftline-lab", "compare", "list"] => &[],
        ["weftline-lab", "repro", ..] if words.contains(&"--list") => &[],
        ["weftline-lab", "sim", "engine" | "crowd", ..]
        | ["weftline-lab", "sim", "traces", "generated", ..] => {
            &[("--secs", "2"), ("--seeds", "1")]
        }
        ["weftline-lab", "sim", "streaming" | "block" | "arq", ..] => &[("--slots", "20000")],
        ["weftline-lab", "completions", _] => &[],
        _ => return None,
    };
    let mut kept = Vec::new();
    let mut rest = words.into_iter();
    while let Some(word) = rest.next() {
        match cut.iter().any(|(name, _)| *name == word) {
            true => drop(rest.next()),
            false => kept.push(word.to_owned()),
        }
    }
    kept.extend(
        cut.iter()
            .flat_map(|(name, value)| [(*name).to_owned(), (*value).to_owned()]),
    );
    Some(kept)
}

#[test]
fn the_commands_that_need_nothing_else_run() {
    // Some write files, and what stands for a file is one that exists.
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for (name, content) in [("Cargo.toml", ""), ("delays", "20\n50\n")] {
        std::fs::write(folder.path().join(name), content).expect("it can be written to");
    }
    let mut ran = 0;
    for line in all_lines() {
        let Some(words) = runnable(&filled(&line.words)) else {
            continue;
        };
        let output = Process::new(env!("CARGO_BIN_EXE_weftline-lab"))
            .args(&words[1..])
            .current_dir(folder.path())
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {words:?}: {said}", line.place);
        ran += 1;
    }
    assert!(ran >= 40, "only {ran} commands ran");
}

/// All of the project's Rust.
fn sources(folder: &Path, text: &mut String) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("it can be listed").path();
        match path.extension() {
            _ if path.is_dir() => sources(&path, text),
            Some(extension) if extension == "rs" => {
                *text += &std::fs::read_to_string(&path).expect("it can be read");
            }
            _ => {}
        }
    }
}

#[test]
fn each_promise_names_tests_that_are_there() {
    let page = std::fs::read_to_string(root().join("docs/security.md")).expect("it can be read");
    let mut text = String::new();
    sources(&root().join("crates"), &mut text);
    // Names of tests are sentences; other names in quotes have few words.
    let quoted = page.split('`').skip(1).step_by(2);
    let names: Vec<&str> = quoted
        .filter(|name| name.matches('_').count() >= 3)
        .collect();
    assert!(names.len() > 20, "only {} tests are named", names.len());
    for name in names {
        assert!(
            text.contains(&format!("fn {name}(")),
            "there is no test {name}"
        );
    }
}

#[test]
fn a_reader_that_has_closed_the_pipe_is_no_error() {
    let commands = [
        "completions bash",
        "sim engine --secs 1",
        "sim crowd --flows 2 --secs 1 --json",
        "sim fecframe --symbols 2000 --seeds 2",
    ];
    for command in commands {
        let (reader, writer) = std::io::pipe().expect("a pipe can be made");
        drop(reader);
        let output = Process::new(env!("CARGO_BIN_EXE_weftline-lab"))
            .args(command.split(' '))
            .stdout(writer)
            .stderr(std::process::Stdio::piped())
            .output()
            .expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {said}");
    }
}
