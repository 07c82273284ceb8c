//! `weftline relay` as people and scripts run it: real processes on loopback.

use std::net::UdpSocket;
use std::time::Duration;

use tempfile::TempDir;

use crate::running::{PATIENCE, Running, start};

/// Starts the server end for one target; returns it, its address and its fingerprint.
fn serve(home: &TempDir, allow: &str) -> (Running, String, String) {
    let arguments = ["relay", "serve", "--listen", "127.0.0.1:0", "--json"];
    let mut server = start(home.path(), &[&arguments[..], &["--allow", allow]].concat());
    let hint = server.line("  weftline relay connect ");
    let words: Vec<_> = hint.split_whitespace().map(str::to_owned).collect();
    (server, words[3].clone(), words[5].clone())
}

/// A question goes through the relay from `near` to `target`, and the answer back.
pub(crate) fn ask(near: &str, target: &UdpSocket) {
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
}

#[test]
fn the_configuration_of_the_documents_works() {
    let home = tempfile::tempdir().unwrap();
    let page = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/operate/services.md"
    );
    let page = std::fs::read_to_string(page).unwrap();
    let (_, text) = page.split_once("```toml\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    std::fs::write(home.path().join("serve.toml"), text).unwrap();
    let check = |more: &[&str]| {
        let words = ["relay", "serve", "--config", "serve.toml", "--check"];
        let mut checked = start(home.path(), &[&words[..], more].concat());
        let line = checked.line(if more.is_empty() {
            "options are right"
        } else {
            "error"
        });
        (checked.end().0, line)
    };
    assert_eq!(check(&[]).0, 0);
    let (code, line) = check(&["--preset", "streaming,l=0"]);
    assert_eq!(code, 2, "{line}");
    // Ports that are free.
    let ports = ["--listen", "127.0.0.1:0", "--metrics", "0"];
    let words = [&["relay", "serve", "--config", "serve.toml"], &ports[..]].concat();
    let mut server = start(home.path(), &words);
    server.line("  weftline relay connect 127.0.0.1:");
    server.signal("-TERM");
    let (code, lines) = server.end();
    assert_eq!(code, 143);
    assert_eq!(
        lines.last().unwrap()["end"],
        "serve",
        "it has `json = true`"
    );
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

    ask(near, &target);
    std::thread::sleep(Duration::from_millis(300));

    client.signal("-TERM");
    let (code, lines) = client.end();
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
    assert!(last["error"].is_null(), "{last}");

    server.signal("-INT");
    let (code, lines) = server.end();
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
        start(home.path(), &[&arguments[..], more].concat()).end()
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
    assert!(error.contains("cannot listen on"), "{error}");
}
