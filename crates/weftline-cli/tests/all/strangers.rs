//! What a peer can make the program print: each kind of text that it sends, on each carrier.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use bytes::BytesMut;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weftline::{
    Allowed, Connection, Endpoint, EndpointConfig, Fingerprint, Identity, InsecureEndpoint, Port,
    Stream,
};
use weftline_apps::Protocol;
use weftline_apps::transfer::wire::{Entry, Frame, Kind, Meta, VERSION, Verdict};

use crate::running;

/// Longest wait for any event, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Clears a terminal, colours it, reverses and breaks lines, rings; then the mark.
const HOSTILE: &str = "\u{1b}[2J\u{9b}31m\u{202e}\r\n\u{7}\u{2028}\u{61c}MARK";
const MARK: &str = "MARK";

/// A program with everything that it prints in one file.
pub(crate) struct Program {
    child: Child,
    log: File,
    folder: tempfile::TempDir,
}

impl Program {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), "x").unwrap();
        let path = folder.path().join("log");
        let log = File::create(&path).unwrap();
        let mut command = running::command(folder.path(), arguments);
        command.stdout(log.try_clone().unwrap());
        command.stderr(log.try_clone().unwrap());
        let child = command.spawn().unwrap();
        Program { child, log, folder }
    }

    fn printed(&self) -> String {
        let bytes = fs::read(self.folder.path().join("log")).unwrap();
        String::from_utf8(bytes).expect("what is printed is UTF-8")
    }

    /// Waits until `needle` was printed so often; returns everything.
    pub(crate) async fn says(&self, needle: &str, times: usize) -> String {
        let begun = Instant::now();
        loop {
            let printed = self.printed();
            if printed.matches(needle).count() >= times {
                return printed;
            }
            assert!(begun.elapsed() < PATIENCE, "no {needle:?} in {printed:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The address that a server listens on.
    pub(crate) async fn address(&self) -> SocketAddr {
        let printed = self.says("on the other host, run:", 1).await;
        let rest = printed.split("listening on ").nth(1).unwrap();
        rest.split(';').next().unwrap().parse().unwrap()
    }

    /// The fingerprint of its key, which it makes at its start.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let key = self.folder.path().join(".config/weftline/identity.pem");
        Identity::load(key).unwrap().fingerprint()
    }

    /// Waits until the mark was printed so often, ends the program, and checks what it printed.
    async fn must_be_tame(mut self, times: usize) {
        self.says(MARK, times).await;
        let _ = self.child.kill();
        self.child.wait().unwrap();
        let _ = self.log.sync_all();
        let printed = self.printed();
        let wild = printed.chars().find(|&c| {
            let marks = ['\u{61c}', '\u{2028}', '\u{202e}'];
            c != '\n' && c.is_control() || marks.contains(&c)
        });
        assert_eq!(wild, None, "{printed:?}");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn local() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// A hostile endpoint; with `secure`, over QUIC.
fn hostile(secure: bool) -> Port {
    let mut config = EndpointConfig::default();
    match secure {
        true => {
            Protocol::offer(&mut config);
            let identity = Identity::generate();
            let endpoint = Endpoint::bind(local(), identity, Allowed::anyone(), config);
            endpoint.unwrap().into()
        }
        false => InsecureEndpoint::bind(local(), config).unwrap().into(),
    }
}

/// A hostile client of the program, which has its identity in its folder.
async fn client(program: &Program, protocol: Protocol, secure: bool) -> (Port, Connection) {
    let address = program.address().await;
    let mut config = EndpointConfig::default();
    if !secure {
        let endpoint = InsecureEndpoint::bind(local(), config).unwrap();
        let connection = endpoint.connect(address).await.unwrap();
        return (endpoint.into(), connection);
    }
    protocol.ask(&mut config);
    let endpoint = Endpoint::bind(local(), Identity::generate(), Allowed::nobody(), config);
    let endpoint = endpoint.unwrap();
    let connection = endpoint
        .connect(address, program.fingerprint())
        .await
        .unwrap();
    (endpoint.into(), connection)
}

/// Says this on a stream, which stays open with what is returned.
pub(crate) async fn say(connection: &Connection, bytes: &[u8]) -> Stream {
    let mut stream = connection.open_stream().await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream.flush().await.unwrap();
    stream
}

pub(crate) fn frames(frames: &[Frame]) -> BytesMut {
    let mut out = BytesMut::new();
    frames.iter().for_each(|frame| frame.encode(&mut out));
    out
}

pub(crate) fn offer(entries: u32) -> Frame {
    Frame::Offer {
        version: VERSION,
        entries,
        left_out: 0,
        bytes: None,
    }
}

pub(crate) fn entry(id: u32, path: &str) -> Frame {
    Frame::Entry(Entry {
        id,
        kind: Kind::File,
        meta: Meta::default(),
        path: path.to_owned(),
    })
}

const SERVERS: [(Protocol, &[&str]); 3] = [
    (Protocol::Files, &["recv", "--keep", "--peer-anyone"]),
    (
        Protocol::Relay,
        &["relay", "serve", "--allow", "*:*", "--peer-anyone"],
    ),
    (
        Protocol::Forward,
        &["forward", "serve", "--allow", "*:*", "--peer-anyone"],
    ),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_clients_close_reason_is_printable() {
    for ((protocol, server), secure) in SERVERS.into_iter().flat_map(|s| [(s, true), (s, false)]) {
        let insecure = match secure {
            true => &[][..],
            // Plain UDP has no peers to allow.
            false if server[0] != "forward" => &["--insecure-udp"],
            false => continue,
        };
        let kept = server.iter().filter(|w| secure || !w.contains("anyone"));
        let words: Vec<&str> = kept.copied().chain(insecure.iter().copied()).collect();
        let listen = ["-vvv", "--listen", "127.0.0.1:0"];
        let program = Program::start(&[&words[..], &listen].concat());
        let (port, connection) = client(&program, protocol, secure).await;
        connection.close(7, HOSTILE);
        port.wait_idle().await;
        program.must_be_tame(2).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_senders_names_and_reasons_are_printable() {
    let fail = |id| Frame::Fail {
        id,
        text: HOSTILE.to_owned(),
    };
    let abort = Frame::Abort {
        text: HOSTILE.to_owned(),
    };
    // A name that no file may have, one that looks like another, a failure, and the end.
    let all = [
        offer(3),
        entry(0, HOSTILE),
        entry(1, "gnp\u{202e}.MARK"),
        fail(1),
        entry(2, "plain"),
        fail(2),
        abort,
    ];
    let listen = ["recv", "-vvv", "--peer-anyone", "--json", "--listen"];
    let program = Program::start(&[&listen[..], &["127.0.0.1:0"]].concat());
    let (_port, connection) = client(&program, Protocol::Files, true).await;
    let _stream = say(&connection, &frames(&all)).await;
    program.must_be_tame(4).await;
}

/// Runs a client of the program against a hostile server, which treats each session so.
async fn serve(words: &[&str], secure: bool, treat: impl AsyncFn(Connection)) -> Program {
    let port = hostile(secure);
    let address = port.local_addr().unwrap().to_string();
    let peer = port.fingerprint().map(|peer| peer.to_string());
    let words = words.iter().map(|&word| match word {
        "ADDRESS" => address.as_str(),
        word => word,
    });
    let whose = match &peer {
        Some(peer) => vec!["--peer", peer],
        None => vec!["--insecure-udp"],
    };
    let words: Vec<&str> = words.chain(["-vvv"]).chain(whose).collect();
    let program = Program::start(&words);
    let accepted = tokio::time::timeout(PATIENCE, port.accept()).await;
    let connection = accepted.expect("the program connects").unwrap();
    treat(connection).await;
    program.says(MARK, 1).await;
    program
}

/// The same: the server says this on the client's first stream, and hears the client out.
async fn answer(words: &[&str], said: &[u8]) -> Program {
    let treat = async |connection: Connection| {
        let mut stream = connection.accept_stream().await.unwrap();
        stream.write_all(said).await.unwrap();
        stream.flush().await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    };
    serve(words, true, treat).await
}

const CLIENTS: [&[&str]; 3] = [
    &["send", "f", "ADDRESS"],
    &["relay", "connect", "ADDRESS", "--udp", "0=127.0.0.1:9"],
    &["forward", "ADDRESS", "-L", "0:127.0.0.1:9"],
];

#[tokio::test(flavor = "multi_thread")]
async fn a_servers_close_reason_is_printable() {
    for (words, secure) in CLIENTS.iter().flat_map(|c| [(c, true), (c, false)]) {
        if words[0] == "forward" && !secure {
            continue;
        }
        let program = serve(words, secure, async |connection| {
            connection.close(7, HOSTILE);
            connection.closed().await;
        });
        program.await.must_be_tame(2).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receivers_reasons_are_printable() {
    let (id, verdict, text) = (0, Verdict::Refused, HOSTILE.to_owned());
    let accept = Frame::Accept { version: VERSION };
    let refused = Frame::Verdict {
        id,
        verdict,
        text: text.clone(),
    };
    for last in [refused, Frame::Abort { text }] {
        let (complete, failed) = (0, 1);
        let said = frames(&[accept.clone(), last, Frame::Final { complete, failed }]);
        answer(CLIENTS[0], &said).await.must_be_tame(1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forwarding_servers_answers_are_printable() {
    // Version 1: the target refused the connection.
    let mut refused = vec![1, 3];
    refused.extend((HOSTILE.len() as u16).to_be_bytes());
    refused.extend(HOSTILE.as_bytes());
    answer(CLIENTS[2], &refused).await.must_be_tame(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_relay_servers_refusal_is_printable() {
    let refused = serde_json::json!({
        "weftline_relay": 1, "refused": [HOSTILE], "flows": 1, "idle": 1,
    });
    let refused = refused.to_string();
    let len = (refused.len() as u32).to_be_bytes();
    let said = [&len[..], refused.as_bytes()].concat();
    answer(CLIENTS[1], &said).await.must_be_tame(1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_protocol_at_all_is_not_quoted_as_it_is() {
    for (protocol, server) in SERVERS.into_iter().skip(1) {
        let listen = ["-vvv", "--listen", "127.0.0.1:0"];
        let program = Program::start(&[server, &listen[..]].concat());
        let (_port, connection) = client(&program, protocol, true).await;
        let json = serde_json::to_vec(HOSTILE).unwrap();
        let mut bytes = (json.len() as u32).to_be_bytes().to_vec();
        bytes.extend(json);
        let mut stream = say(&connection, &bytes).await;
        // Until the program answers, or has closed the session.
        let _ = stream.read_u8().await;
        connection.close(7, HOSTILE);
        program.must_be_tame(1).await;
    }
}

#[test]
fn the_hostile_text_is_hostile() {
    assert!(HOSTILE.chars().filter(|c| c.is_control()).count() >= 5);
    assert!(Path::new(HOSTILE).is_relative());
}
