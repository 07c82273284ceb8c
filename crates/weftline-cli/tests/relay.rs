//! `weftline relay` as people and scripts run it: real processes on loopback.
// The helpers outside of the test functions may panic too.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

/// Longest wait for anything, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A program under way; it ends with the test.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

fn start(home: &Path, arguments: &[&str]) -> Running {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weftline"));
    command.args(arguments).current_dir(home).env("HOME", home);
    command.env_remove("XDG_CONFIG_HOME").stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (sender, lines) = channel();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        let mut lines = stderr.lines().map_while(Result::ok);
        lines.try_for_each(|line| sender.send(line))
    });
    Running { child, lines }
}

impl Running {
    /// The first line of standard error with `needle` in it.
    fn line(&mut self, needle: &str) -> String {
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            if line.contains(needle) {
                return line;
            }
            seen.push(line);
        }
        panic!("no line with {needle:?} in {seen:#?}");
    }

    /// Sends a signal and waits for the end; returns the exit code and standard output's lines.
    fn end(mut self, signal: Option<&str>) -> (i32, Vec<Value>) {
        if let Some(signal) = signal {
            let id = self.child.id().to_string();
            let sent = Command::new("kill").args([signal, &id]).status().unwrap();
            assert!(sent.success());
        }
        let mut out = String::new();
        let mut stdout = self.child.stdout.take().unwrap();
        stdout.read_to_string(&mut out).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        let lines = out.lines().map(|l| serde_json::from_str(l).unwrap());
        (code, lines.collect())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts the server end for one target; returns it, its address and its fingerprint.
fn serve(home: &TempDir, allow: &str) -> (Running, String, String) {
    let arguments = ["relay", "serve", "--listen", "127.0.0.1:0", "--json"];
    let mut server = start(home.path(), &[&arguments[..], &["--allow", allow]].concat());
    let hint = server.line("  weftline relay connect ");
    let words: Vec<_> = hint.split_whitespace().map(str::to_owned).collect();
    (server, words[3].clone(), words[5].clone())
}

#[test]
fn two_programs_relay_both_ways_count_and_end_by_a_signal() {
    let home = tempfile::tempdir().unwrap();
    let target = UdpSocket::bind("127.0.0.1:0").unwrap();
    target.set_read_timeout(Some(PATIENCE)).unwrap();
    let at = target.local_addr().unwrap().to_string();
    let (server, address, fingerprint) = serve(&home, &at);
    let rule = format!("0={at},in-order");
    let arguments = [
        "relay",
        "connect",
        &address,
        "--peer",
        &fingerprint,
        "--udp",
        &rule,
        "--json",
        "--stats",
        "100ms",
    ];
    let mut client = start(home.path(), &arguments);
    let line = client.line(" -> ");
    let near = line.split_whitespace().next().unwrap();

    let program = UdpSocket::bind("127.0.0.1:0").unwrap();
    program.set_read_timeout(Some(PATIENCE)).unwrap();
    program.connect(near).unwrap();
    program.send(b"question").unwrap();
    let mut buffer = [0; 100];
    let (len, from) = target.recv_from(&mut buffer).unwrap();
    assert_eq!(&buffer[..len], b"question");
    target.send_to(b"answer", from).unwrap();
    let len = program.recv(&mut buffer).unwrap();
    assert_eq!(&buffer[..len], b"answer");
    std::thread::sleep(Duration::from_millis(300));

    let (code, lines) = client.end(Some("-TERM"));
    assert_eq!(code, 143);
    let last = lines.last().unwrap();
    assert!(lines.len() > 1 && lines[0]["event"] == "statistics");
    assert_eq!(
        (&last["event"], &last["end"]),
        (&"end".into(), &"connect".into())
    );
    assert_eq!(last["sent"]["datagrams"], 1);
    assert_eq!(last["delivered"]["bytes"], 6);
    assert_eq!((&last["ok"], &last["exit"]), (&true.into(), &143.into()));

    let (code, lines) = server.end(Some("-INT"));
    assert_eq!(code, 130);
    let last = lines.last().unwrap();
    assert_eq!((&last["end"], &last["flows"]), (&"serve".into(), &1.into()));
    assert_eq!(last["delivered"]["datagrams"], 1);
}

#[test]
fn what_no_retry_can_change_ends_it_with_a_code_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let (_server, address, fingerprint) = serve(&home, "127.0.0.1:7");
    let client = |more: &[&str]| {
        let arguments = ["relay", "connect", &address, "--json"];
        start(home.path(), &[&arguments[..], more].concat()).end(None)
    };
    let (code, lines) = client(&["--peer", &fingerprint, "--udp", "0=127.0.0.1:8"]);
    assert_eq!((code, lines.len()), (3, 1));
    let error = lines[0]["error"].as_str().unwrap();
    assert!(error.contains("relay serve --allow 127.0.0.1:8"), "{error}");
    // Another host than the one asked for.
    let stranger = "aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa";
    let (code, _) = client(&["--peer", stranger, "--udp", "0=127.0.0.1:7"]);
    assert_eq!(code, 3);
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let rule = format!("{}=127.0.0.1:7", taken.local_addr().unwrap());
    let (code, lines) = client(&["--peer", &fingerprint, "--udp", &rule]);
    assert_eq!(code, 1);
    let error = lines[0]["error"].as_str().unwrap();
    assert!(error.contains("cannot listen at"), "{error}");
}
