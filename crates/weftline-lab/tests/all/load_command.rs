//! `weftline-lab load` as others see it: lines on standard output and exit codes.

use std::io::{BufRead, BufReader, Read};
use std::net::{TcpListener, UdpSocket};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weftline-lab"))
}

fn load(arguments: &[&str]) -> Output {
    crate::program::lab(&[&["load"], arguments].concat())
}

/// The only line of standard output, as JSON.
fn line(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

fn port() -> String {
    loop {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = udp.local_addr().unwrap().port();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port.to_string();
        }
    }
}

#[test]
fn two_processes_measure_a_stream() {
    for transport in ["tcp", "weftline"] {
        let port = port();
        let rest = [
            transport,
            "stream",
            "127.0.0.1",
            &port,
            "secs=0.5",
            "rate=4",
        ];
        let mut receiver = lab()
            .args(["load", "recv"])
            .args(rest)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(receiver.stdout.take().unwrap());
        let mut first = String::new();
        lines.read_line(&mut first).unwrap();
        assert_eq!(first, "{\"listening\":true}\n");
        let sent = load(&[&["send"], &rest[..]].concat());
        assert!(sent.status.success());
        assert_eq!(line(&sent)["done"], true);
        let mut last = String::new();
        lines.read_to_string(&mut last).unwrap();
        let received: Value = serde_json::from_str(&last).unwrap();
        assert!(receiver.wait().unwrap().success());
        // 4 Mbit/s of 9600 bits each for half a second.
        assert_eq!(received["sent"], 209, "{transport}: {received}");
        assert_eq!(received["missing"], 0, "{transport}: {received}");
        for name in ["mean", "p50", "p95", "p99", "p999", "max"] {
            assert!(received[name].as_f64().unwrap() > 0.0, "{name}: {received}");
        }
    }
}

#[test]
fn errors_are_json_and_have_exit_codes() {
    let port = port();
    for (arguments, code, part) in [
        (&["send", "tpc", "bulk"][..], 2, "use one of weftline, tcp"),
        (&["send", "tcp", "xfer"], 4, "refused"),
        (
            &["recv", "tcp", "bulk", "timeout=0.2"],
            4,
            "no sender within 0.2 s",
        ),
        (
            &["recv", "tcp", "bulk", "sesc=1"],
            2,
            "takes cc, paths, secs, skip",
        ),
    ] {
        let (what, settings) = arguments.split_at(3);
        let output = load(&[what, &["127.0.0.1", &port], settings].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let last = String::from_utf8(output.stdout).unwrap();
        let last: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
        let error = last["error"].as_str().unwrap();
        assert!(error.contains(part), "{error}");
    }
    let _taken = TcpListener::bind(format!("127.0.0.1:{port}")).unwrap();
    let output = load(&["recv", "tcp", "bulk", "127.0.0.1", &port]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        line(&output)["error"]
            .as_str()
            .unwrap()
            .contains("cannot listen")
    );
}

#[cfg(unix)]
#[test]
fn a_program_of_ones_own_joins_by_name() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("mine");
    std::fs::write(
        &program,
        "#!/bin/sh\necho \"{\\\"got\\\":\\\"$*\\\"}\"\nexit 7\n",
    )
    .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ext = format!("mine={}", program.display());
    let output = load(&["send", "mine", "xfer", "b", "9", "n=3", "--ext", &ext]);
    assert_eq!(line(&output)["got"], "send xfer b 9 n=3");
    assert_eq!(output.status.code(), Some(7), "its exit code is passed on");
    let output = load(&[
        "send",
        "mine",
        "xfer",
        "b",
        "9",
        "--ext",
        "mine=/no/such/program",
    ]);
    assert!(
        line(&output)["error"]
            .as_str()
            .unwrap()
            .contains("/no/such/program")
    );
}
