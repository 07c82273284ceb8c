//! What all commands share, as people and scripts use it: help, errors, the identity, the demo.

use std::fs;
use std::process::Command;

use crate::running::{Home, code, json, stderr};

#[test]
fn each_command_has_a_manual_page() {
    let home = Home::new();
    assert_eq!(code(&home.run(&["man", "."])), 0);
    for name in ["weftline", "weftline-send", "weftline-relay-serve"] {
        let page = fs::read_to_string(home.path().join(format!("{name}.1"))).unwrap();
        assert!(
            page.contains(".SH SYNOPSIS") && page.contains("identity"),
            "{name}"
        );
    }
    let missing = home.run(&["man", "nowhere"]);
    assert!(stderr(&missing).contains("cannot write the pages into nowhere"));
}

#[test]
fn why_a_port_is_not_open_says_what_to_change() {
    let to = Home::new();
    let taken = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let output = to.run(&["recv", "--listen", &taken]);
    let error = stderr(&output);
    assert_eq!(code(&output), 1, "{error}");
    assert!(error.contains("this port is in use; choose"), "{error}");
    assert!(error.contains("`weftline serve`"), "{error}");
    let output = to.run(&["recv", "--listen", "192.0.2.7:0"]);
    let error = stderr(&output);
    assert!(error.contains("choose another one with --listen ADDR"));
    // Another address would not help.
    fs::write(to.path().join("file"), "x").unwrap();
    let words = ["recv", "--listen", "127.0.0.1:0", "--log-dir", "file/logs"];
    let output = to.run(&words);
    let error = stderr(&output);
    assert_eq!(code(&output), 1, "{error}");
    assert!(
        error.contains("error: cannot write event logs to file/logs"),
        "{error}"
    );
    assert!(!error.contains("--listen"), "{error}");
}

#[test]
fn the_identity_is_made_once_and_stays() {
    let home = Home::new();
    let first = home.fingerprint();
    assert_eq!(home.fingerprint(), first);
    assert!(home.path().join(".config/weftline/identity.pem").exists());
    let other = home.run(&["key", "--identity", "other.pem"]);
    assert_ne!(String::from_utf8(other.stdout).unwrap().trim(), first);
}

#[test]
fn wrong_command_lines_have_their_own_exit_code() {
    let home = Home::new();
    for arguments in [
        &["send"][..],
        &["nonsense"],
        &["recv", "--listen", "a b"],
        &["recv", "--insecure-udp", "--peer-anyone"],
        &["send", "f", "127.0.0.1:1", "--insecure-udp", "--name", "x"],
        &[
            "send",
            "f",
            "127.0.0.1:1",
            "--insecure-udp",
            "--rate",
            "0bit",
        ],
        &["demo", "--loss", "often"],
    ] {
        assert_eq!(code(&home.run(arguments)), 2, "{arguments:?}");
    }
    let output = home.run(&[
        "send",
        "missing",
        "127.0.0.1:1",
        "--peer",
        &home.fingerprint(),
    ]);
    assert_eq!(code(&output), 1);
    assert!(
        stderr(&output).contains("cannot read missing"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn options_may_stand_between_a_command_and_its_subcommand() {
    let home = Home::new();
    let mut lines = vec![
        "forward -v serve --allow 127.0.0.1:80 --check",
        "forward -q --check --stats 1s serve --allow 127.0.0.1:80",
        "relay --allow 127.0.0.1:80 --json serve --check",
    ];
    if cfg!(target_os = "linux") {
        lines.push("tun -v --pool 10.77.0.0/24 serve --check");
    }
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let output = home.run(&words);
        assert_eq!(code(&output), 0, "{line}: {}", stderr(&output));
    }
    // It is no host that is called so.
    if cfg!(target_os = "linux") {
        let output = home.run(&["tun", "--peer", "studio", "down"]);
        assert_eq!(code(&output), 2);
        let error = stderr(&output);
        assert!(error.contains("unexpected argument '--peer'"), "{error}");
    }
}

#[test]
fn a_port_without_a_host_is_no_address() {
    let home = Home::new();
    let peer = home.fingerprint();
    fs::write(home.path().join("f"), "x").unwrap();
    for line in [
        "send f 9460 --peer PEER",
        "relay connect 9460 --udp 0=127.0.0.1:9 --peer PEER",
        "forward 9460 -D 0 --peer PEER",
        "peers add studio PEER 9460",
    ] {
        let line = line.replace("PEER", &peer);
        let words: Vec<&str> = line.split(' ').collect();
        let output = home.run(&words);
        assert_eq!(code(&output), 2, "{line}: {}", stderr(&output));
        let error = stderr(&output);
        assert!(error.contains("has no host: give HOST:9460"), "{error}");
    }
}

#[test]
fn help_version_and_completions_are_there() {
    let home = Home::new();
    for command in [
        &["--help"][..],
        &["send", "--help"],
        &["recv", "--help"],
        &["demo", "--help"],
        &["key", "--help"],
    ] {
        let output = home.run(command);
        assert_eq!(code(&output), 0);
        assert!(
            String::from_utf8_lossy(&output.stdout).contains("Examples:"),
            "{command:?}"
        );
    }
    let version = home.run(&["--version"]).stdout;
    assert_eq!(
        String::from_utf8_lossy(&version).trim(),
        concat!("weftline ", env!("CARGO_PKG_VERSION"))
    );
    let bash = home.run(&["completions", "bash"]).stdout;
    assert!(String::from_utf8_lossy(&bash).contains("--peer-anyone"));
}

#[test]
fn the_demo_verifies_every_run_and_prints_one_json_object() {
    let home = Home::new();
    let output = home.run(&[
        "demo",
        "--quick",
        "--json",
        "--duration",
        "1s",
        "--html",
        "report.html",
    ]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let report = json(&output.stdout);
    let runs = report["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 8);
    for run in runs {
        assert_eq!(run["verified"], true, "{run}");
        assert!(run["wire_bytes_per_byte"].as_f64().unwrap() > 1.0, "{run}");
        let is_stream = run["workload"] == "stream";
        assert_eq!(run["delay_ms"]["p99"].is_f64(), is_stream, "{run}");
        assert_eq!(
            run["repair_symbols"].as_u64().unwrap() > 0,
            run["preset"] != "arq",
            "{run}"
        );
        let loss = run["forward"]["loss_rate"].as_f64().unwrap();
        assert!((0.04..0.16).contains(&loss), "{run}");
    }
    let page = fs::read_to_string(home.path().join("report.html")).unwrap();
    assert!(
        page.matches("<svg").count() == 2
            && page.ends_with("</html>\n")
            && !page.contains("<script")
    );
}

#[cfg(unix)]
#[test]
fn the_journal_learns_how_important_a_line_is() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let file = fs::File::create(folder.path().join("journal")).unwrap();
    let at = file.metadata().unwrap();
    let stream = format!("{}:{}", at.dev(), at.ino());
    for (stream, expected) in [(stream.as_str(), "<3>error: "), ("0:0", "error: ")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_weftline"));
        command.args(["send", "missing", "host", "--peer", "nobody"]);
        command
            .env("HOME", folder.path())
            .env("JOURNAL_STREAM", stream);
        file.set_len(0).unwrap();
        command.stderr(file.try_clone().unwrap()).status().unwrap();
        let text = fs::read_to_string(folder.path().join("journal")).unwrap();
        let text = text.trim_start_matches('\0');
        assert!(text.starts_with(expected), "{text}");
    }
}
