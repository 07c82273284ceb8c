//! A client of one service that reaches another one is told so.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;

use crate::running::{PATIENCE, Running, command, key, start};
use weftline_testkit::until;

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
    ("forward", &["forward", "ADDRESS", "-L", "0:127.0.0.1:9"]),
];

#[test]
fn a_client_of_another_service_is_told_what_it_has_reached() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("f"), "x").unwrap();
    for (i, (server, serve)) in SERVERS.into_iter().enumerate() {
        let listen = ["--listen", "127.0.0.1:0"];
        let mut serving = start(home.path(), &[serve, &listen].concat());
        let (peer, address) = serving.listening();
        for (_, connect) in CLIENTS.iter().enumerate().filter(|(j, _)| *j != i) {
            let words = connect.1.iter().map(|&word| match word {
                "ADDRESS" => &address,
                word => word,
            });
            let words: Vec<&str> = words.chain(["--peer", &peer]).collect();
            let mut client = start(home.path(), &words);
            let said = client.line("error: ");
            let expected = format!(
                "that is `weftline {server}`: use `weftline {}`",
                CLIENTS[i].0
            );
            assert!(said.contains(&expected), "{words:?}: {said}");
            assert_eq!(client.end().0, 3);
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
        let (peer, address) = serving.listening();
        serving.signal("-HUP");
        serving.line("SIGHUP: going on");
        let words = client.1.iter().map(|&word| match word {
            "ADDRESS" => &address,
            word => word,
        });
        let words: Vec<&str> = words.chain(["--peer", &peer]).collect();
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

/// Starts `weftline serve` with this file.
fn serve(home: &Path, file: &str) -> Running {
    std::fs::write(home.join("serve.toml"), file).unwrap();
    start(home, &["serve", "--config", "serve.toml", "--json"])
}

#[test]
fn one_port_serves_files_udp_and_tcp() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("f"), "a file").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_read_timeout(Some(PATIENCE)).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let (udp_at, tcp_at) = (udp.local_addr().unwrap(), tcp.local_addr().unwrap());
    let file = format!(
        "listen = '127.0.0.1:0'\n[recv]\ndirectory = 'inbox'\n[relay]\nallow = ['{udp_at}']\n\
         [forward]\nallow = ['{tcp_at}']\n"
    );
    let mut serving = serve(home.path(), &file);
    let (peer, address) = serving.listening();
    for client in ["forward", "send", "relay connect"] {
        serving.line(&format!("  weftline {client} "));
    }
    let with = |words: &[&str]| start(home.path(), &[words, &["--peer", &peer]].concat());

    assert_eq!(with(&["send", "f", &address]).end().0, 0);
    let received = std::fs::read_to_string(home.path().join("inbox/f"));
    assert_eq!(received.unwrap(), "a file");

    let rule = format!("0={udp_at}");
    let mut relay = with(&["relay", "connect", &address, "--udp", &rule]);
    let near = relay.line(" -> ");
    let program = UdpSocket::bind("127.0.0.1:0").unwrap();
    let near = near.split_whitespace().next().unwrap();
    program.send_to(b"datagram", near).unwrap();
    let mut buffer = [0; 100];
    assert_eq!(udp.recv(&mut buffer).unwrap(), 8);

    let rule = format!("0:{tcp_at}");
    let mut forward = with(&["forward", &address, "-L", &rule]);
    let near = forward.line(" -> ");
    let near = near.split_whitespace().next().unwrap();
    let mut stream = TcpStream::connect(near).unwrap();
    stream.write_all(b"bytes").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = String::new();
    tcp.set_nonblocking(true).unwrap();
    let (mut accepted, _) = until("the connection", || tcp.accept().ok());
    accepted.set_nonblocking(false).unwrap();
    accepted.read_to_string(&mut text).unwrap();
    assert_eq!(text, "bytes");
    // An open connection would be waited for.
    drop((stream, accepted));

    for client in [relay, forward] {
        client.signal("-TERM");
        assert_eq!(client.end().0, 143);
    }
    serving.signal("-TERM");
    let (code, lines) = serving.end();
    assert_eq!(code, 143);
    assert_eq!(lines[0]["complete"], 1, "{lines:?}");
    let last = lines.last().unwrap();
    assert_eq!(
        (&last["command"], &last["event"]),
        (&"serve".into(), &"end".into())
    );
    assert_eq!(last["recv"]["complete"], 1, "{last}");
    assert_eq!(last["recv"]["transfers"], 1, "{last}");
    assert_eq!(last["relay"]["delivered"]["datagrams"], 1, "{last}");
    assert_eq!(last["forward"]["delivered_bytes"], 5, "{last}");
}

#[test]
fn a_host_uses_the_services_that_let_it_in_and_no_other() {
    let [home, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    std::fs::write(other.path().join("f"), "a file").unwrap();
    let guest = key(other.path());
    let file = format!(
        "listen = '127.0.0.1:0'\n[recv]\ndirectory = 'inbox'\npeer = ['{guest}']\n\
         [relay]\nallow = ['127.0.0.1:9']\n[forward]\nallow = ['127.0.0.1:9']\n"
    );
    let mut serving = serve(home.path(), &file);
    let (peer, address) = serving.listening();
    let with = |words: &[&str]| {
        let words: Vec<&str> = (words.iter())
            .map(|&word| if word == "ADDRESS" { &address } else { word })
            .collect();
        start(other.path(), &[&words[..], &["--peer", &peer]].concat())
    };
    for (_, client) in &CLIENTS[1..] {
        let mut client = with(client);
        let said = client.line("error: ");
        assert!(said.contains("does not let it use this service"), "{said}");
        assert_eq!(client.end().0, 3);
        let said = serving.line(&format!("refused {guest}"));
        assert!(said.contains("weftline/allowed-"), "{said}");
        assert!(said.contains("or to `peer` of ["), "{said}");
    }
    assert_eq!(with(CLIENTS[0].1).end().0, 0);
    // Its list counts at once.
    let list = home.path().join(".config/weftline/allowed-relay");
    std::fs::write(list, format!("{guest} laptop\n")).unwrap();
    let mut client = with(CLIENTS[1].1);
    client.line("connected to ");
    let inbox = home.path().join("inbox/f");
    until("the file", || inbox.exists().then_some(()));
}

#[test]
fn a_client_of_a_service_that_is_not_offered_is_told_what_to_check() {
    let [home, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    std::fs::write(home.path().join("f"), "a file").unwrap();
    let file = "listen = '127.0.0.1:0'\n[relay]\nallow = ['127.0.0.1:9']\n\
                [forward]\nallow = ['127.0.0.1:9']\n";
    let mut serving = serve(home.path(), file);
    let (peer, address) = serving.listening();
    let words = ["send", "f", &address, "--peer", &peer];
    let mut client = start(home.path(), &words);
    let said = client.line("error: ");
    assert!(said.contains("does not offer this service"), "{said}");
    assert!(said.contains("the file of `weftline serve`"), "{said}");
    assert_eq!(client.end().0, 3);
    // A host that none of them lets in: which service it wanted is not known.
    let words = ["forward", &address, "--peer", &peer, "-D", "0"];
    let stranger = start(other.path(), &words);
    let said = serving.line(&format!("refused {}", key(other.path())));
    assert!(said.contains("the list of a service in "), "{said}");
    assert!(said.contains("in the file of --config, and send SIGHUP"));
    assert_eq!(stranger.end().0, 3);
}

#[test]
fn a_server_tells_who_asked_for_a_target_that_is_not_allowed() {
    let home = tempfile::tempdir().unwrap();
    let own = key(home.path());
    for server in ["relay", "forward"] {
        let words = [server, "serve", "--allow", "127.0.0.1:7"];
        let listen = ["--listen", "127.0.0.1:0"];
        let mut serving = start(home.path(), &[&words[..], &listen].concat());
        let (peer, address) = serving.listening();
        let client: &[&str] = match server {
            "relay" => &["relay", "connect", &address, "--udp", "0=127.0.0.1:8"],
            _ => &["forward", &address, "-L", "0:127.0.0.1:8"],
        };
        let client = start(home.path(), &[client, &["--peer", &peer]].concat());
        assert_eq!(client.end().0, 3);
        let said = serving.line("refused ");
        let begin = format!("refused {own} at 127.0.0.1:");
        assert!(said.starts_with(&begin), "{said}");
        let end = " a target: 127.0.0.1:8 is not allowed here";
        assert!(said.ends_with(end), "{said}");
    }
}

#[test]
fn a_hangup_takes_the_peers_that_the_file_names_now() {
    let [home, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let guest = key(other.path());
    let single = ("relay", "", "allow = ['127.0.0.1:9']\n");
    let shared = ("serve", "[relay]\n", "allow = ['127.0.0.1:9']\n");
    for (command, table, allow) in [single, shared] {
        let file = home.path().join("serve.toml");
        let write = |peer: &str| {
            let text = format!("listen = '127.0.0.1:0'\n{table}{allow}{peer}");
            std::fs::write(&file, text).unwrap();
        };
        write("");
        let words: &[&str] = match command {
            "relay" => &["relay", "serve", "--config", "serve.toml"],
            _ => &["serve", "--config", "serve.toml"],
        };
        let mut serving = start(home.path(), words);
        let (peer, address) = serving.listening();
        let words = ["relay", "connect", &address, "--udp", "0=127.0.0.1:9"];
        let words = [&words[..], &["--peer", &peer]].concat();
        let refused = || {
            let said = start(other.path(), &words).line("error: ");
            assert!(said.contains("must allow "), "{said}");
        };
        refused();
        write(&format!("peer = '{guest}'\n"));
        serving.signal("-HUP");
        serving.line("SIGHUP: the file of --config names other peers from now on");
        let mut client = start(other.path(), &words);
        client.line("connected to ");
        // What cannot be read changes nothing; an open session stays where its peer is gone.
        write("peer = 'nobody'\n");
        serving.signal("-HUP");
        let said = serving.line("no peer is called nobody");
        assert!(said.starts_with("warning: SIGHUP: going on"), "{said}");
        start(other.path(), &words).line("connected to ");
        write("");
        serving.signal("-HUP");
        serving.line("SIGHUP: the file of --config names other peers from now on");
        refused();
        client.signal("-TERM");
        assert_eq!(client.end().0, 143);
    }
}

#[test]
fn a_hangup_takes_the_peers_of_all_tables_or_of_none() {
    let [home, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let guest = key(other.path());
    let file = |forward: &str, relay: &str| {
        format!(
            "listen = '127.0.0.1:0'\n[forward]\nallow = ['127.0.0.1:9']\n{forward}\n\
             [relay]\nallow = ['127.0.0.1:9']\n{relay}\n"
        )
    };
    let mut serving = serve(home.path(), &file("", ""));
    let (peer, address) = serving.listening();
    let guests = format!("peer = '{guest}'");
    for (relay, said) in [
        ("peer = 'nobody'", "no peer is called nobody"),
        ("peer = true", "[relay]: `peer`"),
        ("allwo = '127.0.0.1:9'", "[relay]: "),
        ("peer = 'a,b'", "[relay]: "),
    ] {
        let changed = file(&guests, relay);
        std::fs::write(home.path().join("serve.toml"), changed).unwrap();
        serving.signal("-HUP");
        serving.line(said);
        let words = ["forward", &address, "--peer", &peer, "-D", "0"];
        let refused = start(other.path(), &words).line("error: ");
        assert!(refused.contains("must allow "), "{refused}");
    }
    let alone = "listen = '127.0.0.1:0'\n[forward]\nallow = ['127.0.0.1:9']\n";
    std::fs::write(home.path().join("serve.toml"), alone).unwrap();
    serving.signal("-HUP");
    serving.line("[relay] is gone");
}

#[test]
fn a_hangup_takes_the_targets_that_the_file_allows_now() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("serve.toml");
    let single = (&["forward", "serve"][..], "", "allow");
    let plain = (&["relay", "serve", "--insecure-udp"][..], "", "allow");
    let shared = (&["serve"][..], "[forward]\n", "allow");
    let listening = (&["forward", "serve"][..], "", "allow-listen");
    for (command, table, option) in [single, plain, shared, listening] {
        let write = |targets: &str| {
            let text = format!("listen = '127.0.0.1:0'\n{table}{option} = {targets}\n");
            std::fs::write(&file, text).unwrap();
        };
        write("['127.0.0.1:9', '[::1]:9']");
        let mut serving = start(
            home.path(),
            &[command, &["--config", "serve.toml"]].concat(),
        );
        let connect: Vec<String> = if command.contains(&"--insecure-udp") {
            let address = serving.line(" relay connect ");
            let address = address
                .split(' ')
                .find(|word| word.starts_with("127.0.0.1:"));
            let address = address.unwrap();
            [
                "relay",
                "connect",
                address,
                "--insecure-udp",
                "--udp",
                "0=127.0.0.1:8",
            ]
            .map(str::to_owned)
            .into()
        } else {
            let (peer, address) = serving.listening();
            let (rule, what) = match option {
                "allow" => ("-L", "0:127.0.0.1:8"),
                _ => ("-R", "127.0.0.1:8:localhost:1"),
            };
            ["forward", &address, "--peer", &peer, rule, what]
                .map(str::to_owned)
                .into()
        };
        let connect: Vec<&str> = connect.iter().map(String::as_str).collect();
        assert_eq!(start(home.path(), &connect).end().0, 3, "{command:?}");
        for wrong in ["['127.0.0.1']", "true"] {
            write(wrong);
            serving.signal("-HUP");
            let said = serving.line("warning: SIGHUP: going on with what the file said before: ");
            assert!(said.contains("allow"), "{said}");
        }
        write("'127.0.0.1:7,127.0.0.1:8'");
        serving.signal("-HUP");
        serving.line("SIGHUP: the file of --config allows other targets from now on");
        let mut client = start(home.path(), &connect);
        client.line("connected to ");
        client.signal("-TERM");
        client.end();
    }
}

#[test]
fn a_hangup_takes_a_new_key_and_leaves_sessions_alone() {
    let [home, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let words = ["relay", "serve", "--allow", "*:*"];
    let listen = ["--listen", "127.0.0.1:0"];
    let mut serving = start(home.path(), &[&words[..], &listen].concat());
    let (peer, address) = serving.listening();
    let with = |home: &Path, peer: &str| {
        let words = ["relay", "connect", &address, "--udp", "0=127.0.0.1:9"];
        start(home, &[&words[..], &["--peer", peer]].concat())
    };
    let mut client = with(home.path(), &peer);
    client.line("connected to ");
    let file = home.path().join(".config/weftline/identity.pem");
    let kept = home.path().join("kept.pem");
    std::fs::rename(&file, &kept).unwrap();
    serving.signal("-HUP");
    let said = serving.line("identity.pem is missing");
    assert!(said.starts_with("warning: SIGHUP: going on"), "{said}");
    let new = key(home.path());
    assert_ne!(new, peer);
    serving.signal("-HUP");
    serving.line(&format!(
        "new sessions have another key from now on: fingerprint {new}"
    ));
    // This host is its own peer with the new key, and not with the old one.
    with(home.path(), &new).line("connected to ");
    let said = with(home.path(), &peer).line("error: ");
    assert!(said.contains(&new), "{said}");
    let stolen = other.path().join(".config/weftline");
    std::fs::create_dir_all(&stolen).unwrap();
    std::fs::copy(&kept, stolen.join("identity.pem")).unwrap();
    let said = with(other.path(), &new).line("error: ");
    assert!(said.contains("refuses this host"), "{said}");
    client.signal("-HUP");
    client.line("SIGHUP: going on");
    client.signal("-TERM");
    let (code, _) = client.end();
    assert_eq!(code, 143);
}

#[test]
fn a_receiver_takes_a_new_key_at_a_hangup_and_its_codes_are_for_that() {
    let [home, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    for (home, name) in [(&home, "f"), (&other, "g")] {
        std::fs::write(home.path().join(name), name).unwrap();
    }
    let words = ["recv", "inbox", "--keep", "--code", "--json"];
    let listen = ["--listen", "127.0.0.1:0"];
    let mut serving = start(home.path(), &[&words[..], &listen].concat());
    let (old, address) = serving.listening();
    let shown = serving.line(" --code ");
    let code = shown.split_whitespace().last().unwrap();
    // A transfer that goes on: standard input is open.
    let (input, mut output) = std::io::pipe().unwrap();
    let words = ["send", "-", &address, "--name", "open", "--peer", &old];
    let mut open = command(home.path(), &words);
    open.stdin(input);
    let open = Running::new(open);
    serving.line("connection from ");

    let file = home.path().join(".config/weftline/identity.pem");
    std::fs::rename(&file, home.path().join("kept.pem")).unwrap();
    serving.signal("-HUP");
    let said = serving.line("identity.pem is missing");
    assert!(said.starts_with("warning: SIGHUP: going on"), "{said}");
    let new = key(home.path());
    serving.signal("-HUP");
    serving.line(&format!(
        "new sessions have another key from now on: fingerprint {new}"
    ));
    // This host is its own peer with the new key.
    let said = start(home.path(), &["send", "f", &address, "--peer", &old]).line("error: ");
    assert!(said.contains(&new), "{said}");
    let sent = start(home.path(), &["send", "f", &address, "--peer", &new]);
    assert_eq!(sent.end().0, 0);
    // The code that is open pairs with the new key.
    let sent = start(other.path(), &["send", "g", &address, "--code", code]);
    let (exit, _, told) = sent.end_with_output();
    assert_eq!(exit, 0, "{told}");
    let peers = std::fs::read_to_string(other.path().join(".config/weftline/peers"));
    assert!(peers.unwrap().contains(&new));
    output.write_all(b"until the end").unwrap();
    drop(output);
    assert_eq!(open.end().0, 0);
    for (name, content) in [("open", "until the end"), ("f", "f"), ("g", "g")] {
        let received = std::fs::read_to_string(home.path().join("inbox").join(name));
        assert_eq!(received.unwrap(), content);
    }
    serving.signal("-TERM");
    let (exit, lines) = serving.end();
    assert_eq!(exit, 143);
    // Programs that pass the code on are told the new key.
    let mut codes = lines.iter().filter(|line| line["event"] == "code");
    for fingerprint in [&old, &new] {
        let event = codes.next().unwrap();
        assert_eq!(event["code"], code);
        assert_eq!(event["fingerprint"], fingerprint.as_str());
    }
}

#[test]
fn a_check_looks_at_folders_and_certificates_and_makes_nothing() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("f"), "a file").unwrap();
    let check = |words: &[&str]| {
        let mut checked = start(home.path(), &[words, &["--check"]].concat());
        let said = checked.line(": ");
        assert_eq!(checked.end().0, 1, "{words:?}: {said}");
        said
    };
    let relay = ["relay", "serve", "--allow", "127.0.0.1:9"];
    for folder in ["f", "f/logs", "/proc/logs"] {
        let said = check(&[&relay[..], &["--log-dir", folder]].concat());
        assert!(said.starts_with("error: cannot write to "), "{said}");
    }
    let said = check(&[&relay[..], &["--identity", "f/key.pem"]].concat());
    assert!(said.starts_with("error: cannot write to f: "), "{said}");
    let said = check(&["recv", "f"]);
    assert!(said.starts_with("error: cannot write to f: "), "{said}");
    let view = ["view", "--from", "f", "--cert", "none.pem", "--key", "f"];
    let said = check(&view);
    assert!(said.starts_with("error: none.pem: "), "{said}");

    let right = [&relay[..], &["--log-dir", "logs/here", "--check"]].concat();
    assert_eq!(start(home.path(), &right).end().0, 0);
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_receiver_that_stays_counts_transfers_and_shows_its_limits() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("f"), "a file").unwrap();
    let words = ["recv", "inbox", "--keep", "--listen", "127.0.0.1:0"];
    let mut serving = start(home.path(), &[&words[..], &["--json"]].concat());
    let (peer, address) = serving.listening();
    for _ in 0..2 {
        let sent = start(home.path(), &["send", "f", &address, "--peer", &peer]);
        assert_eq!(sent.end().0, 0);
    }
    let counters = until("both transfers", || {
        let (_, shown) = start(home.path(), &["status", "--json"]).end();
        let counters = shown.first()?["counters"].clone();
        (counters["transfers"] == 2).then_some(counters)
    });
    assert_eq!(counters["bytes"], 6, "{counters}");
    assert_eq!(counters["limits"]["memory"], 4_000_000_000_u64);
    assert_eq!(counters["limits"]["turned_away"], 0, "{counters}");
    serving.signal("-TERM");
    let (code, lines) = serving.end();
    assert_eq!(code, 143);
    // One for each transfer, and one for all.
    assert_eq!(lines.len(), 3, "{lines:?}");
    let said = ["ok", "error", "transfers", "complete", "bytes"].map(|key| &lines[2][key]);
    let expected = [
        true.into(),
        serde_json::Value::Null,
        2.into(),
        2.into(),
        6.into(),
    ];
    assert_eq!(said, expected.each_ref());
}

#[test]
fn what_a_file_of_services_lacks_is_named() {
    let home = tempfile::tempdir().unwrap();
    let fails = |file: &str, why: &str| {
        let mut serving = serve(home.path(), file);
        let said = serving.line("error: ");
        assert!(said.contains(why), "{said}");
        assert_eq!(serving.end().0, 2, "{said}");
    };
    fails("listen = 9338", "a table for each, [recv]");
    fails("[files]\n", "[files] is no service");
    fails("[relay]\n", "[relay]: the following required arguments");
    fails("[relay]\nalow = '*:*'\n", "[relay]: `alow` is no option");
    fails("[relay]\nallow = 'x'\n", "[relay]: invalid value 'x'");
    fails(
        "[relay]\nallow = '*:*'\nlisten = 1\n",
        "`listen` is for all services",
    );
    fails("[recv]\ndirectory = '-'\n", "name a directory");
    fails("[recv]\ncode = true\n", "only `weftline recv` shows codes");
    fails("lisen = 1\n[recv]\n", "`lisen` is no option");
    fails("[recv]\ninsecure-udp = true\n", "--insecure-udp");
    // Nothing of it was opened.
    assert!(!home.path().join("received").exists());
    std::fs::write(home.path().join("serve.toml"), "[recv]\n").unwrap();
    let words = ["serve", "--config", "serve.toml", "--check"];
    assert_eq!(start(home.path(), &words).end().0, 0);
    assert!(!home.path().join("received").exists());
}
