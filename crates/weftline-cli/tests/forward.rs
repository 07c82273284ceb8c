//! `weftline forward` as people and scripts run it: real processes on loopback.
// The helpers outside of the test functions may panic too.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
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

    fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end; returns the exit code and standard output's lines.
    fn end(mut self) -> (i32, Vec<Value>) {
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

/// Starts the server end; returns it, its address and its fingerprint.
fn serve(home: &TempDir, options: &[&str]) -> (Running, String, String) {
    let arguments = ["forward", "serve", "--listen", "127.0.0.1:0", "--json"];
    let mut server = start(home.path(), &[&arguments[..], options].concat());
    let hint = server.line("  weftline forward --via ");
    let words: Vec<_> = hint.split_whitespace().map(str::to_owned).collect();
    (server, words[3].clone(), words[5].clone())
}

fn answered(program: &mut TcpStream, words: &[u8]) {
    program.write_all(words).unwrap();
    let mut back = vec![0; words.len()];
    program.read_exact(&mut back).unwrap();
    assert_eq!(back, words);
}

#[test]
fn two_programs_forward_count_and_let_connections_end_before_they_stop() {
    let home = tempfile::tempdir().unwrap();
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = target.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for tcp in target.incoming() {
            let mut tcp = tcp.unwrap();
            std::thread::spawn(move || std::io::copy(&mut tcp.try_clone().unwrap(), &mut tcp));
        }
    });
    let (server, via, peer) = serve(&home, &["--allow", &at]);
    let arguments = [
        "forward", "--via", &via, "--peer", &peer, "--json", "--stats", "100ms",
    ];
    let arguments = [&arguments[..], &["--listen", "0", "--to", &at]].concat();
    let mut client = start(home.path(), &arguments);
    let near = client.line(" -> ");
    let near = near.split_whitespace().next().unwrap();
    let mut program = TcpStream::connect(near).unwrap();
    program.set_read_timeout(Some(PATIENCE)).unwrap();
    answered(&mut program, b"before");

    client.signal("-TERM");
    client.line("stopping: 1 connections may go on");
    answered(&mut program, b"meanwhile");
    program.shutdown(Shutdown::Write).unwrap();
    assert_eq!(program.read(&mut [0; 1]).unwrap(), 0);
    let (code, lines) = client.end();
    assert_eq!(code, 143);
    assert!(lines.len() > 1 && lines[0]["event"] == "statistics");
    let last = lines.last().unwrap();
    let end = (&last["command"], &last["event"], &last["end"]);
    assert_eq!(end, (&"forward".into(), &"end".into(), &"connect".into()));
    assert_eq!(last["connections"]["done"], 1, "{last}");
    assert_eq!(
        (&last["sent_bytes"], &last["delivered_bytes"]),
        (&15.into(), &15.into())
    );
    assert_eq!((&last["ok"], &last["exit"]), (&true.into(), &143.into()));

    server.signal("-INT");
    let (code, lines) = server.end();
    assert_eq!(code, 130);
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["end"], &last["connections"]["done"]),
        (&"serve".into(), &1.into())
    );
}

#[test]
fn what_no_retry_can_change_ends_it_with_a_code_of_its_own() {
    let home = tempfile::tempdir().unwrap();
    let (_server, via, peer) = serve(&home, &["--allow", "127.0.0.1:7"]);
    let client = |more: &[&str]| {
        let arguments = ["forward", "--via", &via, "--json"];
        let (code, lines) = start(home.path(), &[&arguments[..], more].concat()).end();
        let error = lines
            .first()
            .map(|l| l["error"].as_str().unwrap().to_owned());
        (code, error.unwrap_or_default())
    };
    let (code, error) = client(&["--peer", &peer, "--listen", "0", "--to", "127.0.0.1:8"]);
    assert_eq!(code, 3);
    assert!(
        error.contains("forward serve --allow 127.0.0.1:8"),
        "{error}"
    );
    // Another host than the one asked for.
    let stranger = "aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa";
    assert_eq!(client(&["--peer", stranger, "--socks", "0"]).0, 3);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let (code, error) = client(&["--peer", &peer, "--socks", &taken]);
    assert!(code == 1 && error.contains("cannot listen at"), "{error}");
    // Wrong command lines, told by the parser or by the command.
    for (more, named) in [
        (&["--listen", "0"][..], "each --listen has its --to"),
        (&[], "nothing to forward"),
        (
            &["--socks", "0", "--insecure-udp"],
            "leave --insecure-udp out",
        ),
    ] {
        let (code, error) = client(&[&["--peer", &peer], more].concat());
        assert!(code == 2 && error.contains(named), "{code} {error}");
    }
    assert_eq!(client(&["--socks", "0"]).0, 2);
}
