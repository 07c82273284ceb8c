//! A client of one service that reaches another one is told so.
// The helpers outside of the test functions may panic too.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

mod running;

use running::start;

const SERVERS: [(&str, &[&str]); 3] = [
    ("recv", &["recv"]),
    ("relay serve", &["relay", "serve", "--allow", "*:*"]),
    ("forward serve", &["forward", "serve", "--allow", "*:*"]),
];

/// The client of each server, and its arguments at ADDRESS.
const CLIENTS: [(&str, &[&str]); 3] = [
    ("send", &["send", "f", "ADDRESS"]),
    (
        "relay connect",
        &["relay", "connect", "ADDRESS", "--udp", "0=127.0.0.1:9"],
    ),
    (
        "forward",
        &["forward", "--via", "ADDRESS", "-L", "0:127.0.0.1:9"],
    ),
];

#[test]
fn a_client_of_another_service_is_told_what_it_has_reached() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("f"), "x").unwrap();
    for (i, (server, serve)) in SERVERS.into_iter().enumerate() {
        let listen = ["--listen", "127.0.0.1:0"];
        let mut serving = start(home.path(), &[serve, &listen].concat());
        let fingerprint = serving.line("fingerprint ");
        let peer = fingerprint.split_whitespace().nth(1).unwrap();
        let listening = serving.line("listening on ");
        let address = listening.split([' ', ';']).nth(2).unwrap();
        for (_, connect) in CLIENTS.iter().enumerate().filter(|(j, _)| *j != i) {
            let words = connect.1.iter().map(|&word| match word {
                "ADDRESS" => address,
                word => word,
            });
            let words: Vec<&str> = words.chain(["--peer", peer]).collect();
            let mut client = start(home.path(), &words);
            let said = client.line("error: ");
            let expected = format!(
                "that is `weftline {server}`: use `weftline {}`",
                CLIENTS[i].0
            );
            assert!(said.contains(&expected), "{words:?}: {said}");
            assert_eq!(client.end().0, 1);
        }
        // It has gone on.
        serving.signal("-TERM");
        assert_eq!(serving.end().0, 143);
    }
}

#[test]
fn a_server_given_a_port_alone_listens_on_every_address() {
    let home = tempfile::tempdir().unwrap();
    for (serve, port) in SERVERS.iter().zip(["0", ":0", "0"]) {
        let mut serving = start(home.path(), &[serve.1, &["--listen", port]].concat());
        let listening = serving.line("listening on ");
        let every = ["listening on [::]:", "listening on 0.0.0.0:"];
        assert!(
            every.iter().any(|at| listening.starts_with(at)),
            "{listening}"
        );
    }
}

#[test]
fn an_edited_list_counts_at_once_and_a_hangup_ends_no_service() {
    let lists = ["allowed-files", "allowed-relay", "allowed-forward"];
    for ((server, client), list) in SERVERS.iter().zip(CLIENTS).zip(lists) {
        let [home, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        std::fs::write(other.path().join("f"), "x").unwrap();
        let more: &[&str] = match server.0 {
            "recv" => &["--keep", "--listen", "127.0.0.1:0"],
            _ => &["--listen", "127.0.0.1:0"],
        };
        let mut serving = start(home.path(), &[server.1, more].concat());
        let fingerprint = serving.line("fingerprint ");
        let peer = fingerprint.split_whitespace().nth(1).unwrap();
        let listening = serving.line("listening on ");
        let address = listening.split([' ', ';']).nth(2).unwrap();
        serving.signal("-HUP");
        serving.line("SIGHUP: going on");
        let words = client.1.iter().map(|&word| match word {
            "ADDRESS" => address,
            word => word,
        });
        let words: Vec<&str> = words.chain(["--peer", peer]).collect();
        let mut stranger = start(other.path(), &words);
        let said = stranger.line("error: ");
        assert!(said.contains("refuses this host"), "{said}");
        let ours = said.split("must allow ").nth(1).unwrap();
        let ours = ours.split([';', ' ']).next().unwrap();
        let list = home.path().join(".config/weftline").join(list);
        std::fs::write(list, format!("{ours} laptop\n")).unwrap();
        let _known = start(other.path(), &words);
        serving.line("connection from ");
    }
}
