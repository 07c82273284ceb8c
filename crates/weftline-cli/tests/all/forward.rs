//! `weftline forward` as people and scripts run it: real processes on loopback.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};

use tempfile::TempDir;

use crate::running::{PATIENCE, Running, start};

/// Starts the server end; returns it, its address and its fingerprint.
fn serve(home: &TempDir, options: &[&str]) -> (Running, String, String) {
    let arguments = ["forward", "serve", "--listen", "127.0.0.1:0", "--json"];
    let mut server = start(home.path(), &[&arguments[..], options].concat());
    let hint = server.line("  weftline forward ");
    let words: Vec<_> = hint.split_whitespace().map(str::to_owned).collect();
    (server, words[2].clone(), words[4].clone())
}

pub(crate) fn answered(program: &mut TcpStream, words: &[u8]) {
    program.write_all(words).unwrap();
    let mut back = vec![0; words.len()];
    program.read_exact(&mut back).unwrap();
    assert_eq!(back, words);
}

/// An echo service, and its address.
pub(crate) fn echo() -> String {
    let target = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = target.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for tcp in target.incoming() {
            let mut tcp = tcp.unwrap();
            std::thread::spawn(move || std::io::copy(&mut tcp.try_clone().unwrap(), &mut tcp));
        }
    });
    at
}

/// A client of this server with one rule for `target`, and a connection to its listener.
pub(crate) fn connect(
    home: &TempDir,
    via: &str,
    peer: &str,
    target: &str,
    more: &[&str],
) -> (Running, TcpStream) {
    let rule = format!("0:{target}");
    let arguments = ["forward", via, "--peer", peer, "-L", &rule];
    let mut client = start(home.path(), &[&arguments[..], more].concat());
    let near = client.line(" -> ");
    let program = TcpStream::connect(near.split_whitespace().next().unwrap()).unwrap();
    program.set_read_timeout(Some(PATIENCE)).unwrap();
    (client, program)
}

#[test]
fn a_connection_of_a_killed_program_does_not_look_complete() {
    let home = tempfile::tempdir().unwrap();
    let at = echo();
    let (_server, via, peer) = serve(&home, &["--allow", &at]);
    let (client, mut program) = connect(&home, &via, &peer, &at, &[]);
    answered(&mut program, b"before");
    client.signal("-KILL");
    let read = program.read(&mut [0; 1]).map_err(|error| error.kind());
    assert_eq!(read, Err(ErrorKind::ConnectionReset));
}

#[test]
fn a_server_that_was_killed_is_told_of_in_place_of_losses() {
    let home = tempfile::tempdir().unwrap();
    let at = echo();
    let (server, via, peer) = serve(&home, &["--allow", &at]);
    let (mut client, mut program) = connect(&home, &via, &peer, &at, &["--stats", "100ms"]);
    answered(&mut program, b"before");
    client.line("loss 0.0 %");
    server.signal("-KILL");
    program.write_all(b"after").unwrap();
    client.line("no answer, RTT was");
}

#[test]
fn two_programs_forward_count_and_let_connections_end_before_they_stop() {
    let home = tempfile::tempdir().unwrap();
    let at = echo();
    let (server, via, peer) = serve(&home, &["--allow", &at]);
    let more = ["--json", "--stats", "100ms"];
    let (mut client, mut program) = connect(&home, &via, &peer, &at, &more);
    answered(&mut program, b"before");

    client.signal("-TERM");
    client.line("stopping: waiting up to");
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
        let arguments = ["forward", &via, "--json"];
        let (code, lines) = start(home.path(), &[&arguments[..], more].concat()).end();
        let error = lines
            .first()
            .map(|l| l["error"].as_str().unwrap().to_owned());
        (code, error.unwrap_or_default())
    };
    let (code, error) = client(&["--peer", &peer, "-L", "0:127.0.0.1:8"]);
    assert_eq!(code, 3);
    assert!(
        error.contains("forward serve --allow 127.0.0.1:8"),
        "{error}"
    );
    // Another host than the one asked for.
    let stranger = "aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa";
    assert_eq!(client(&["--peer", stranger, "-D", "0"]).0, 3);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let (code, error) = client(&["--peer", &peer, "-D", &taken]);
    assert!(code == 1 && error.contains("cannot listen on"), "{error}");
    // Wrong command lines, told by the parser or by the command.
    for (more, named) in [
        (&[][..], "nothing to forward"),
        (&["-D", "0", "--insecure-udp"], "omit --insecure-udp"),
    ] {
        let (code, error) = client(&[&["--peer", &peer], more].concat());
        assert!(code == 2 && error.contains(named), "{code} {error}");
    }
    assert_eq!(client(&["-D", "0"]).0, 2);
    assert_eq!(client(&["--peer", &peer, "-L", "0"]).0, 2);
}
