//! The example in `docs/protocol.md` is what this implementation sends, byte for byte.

use std::collections::BTreeMap;
use std::fmt::Write;

use weftline_proto::{Config, Event, Role, Session, Time};

/// The datagrams of the example, by their names in the document: "hello" is written to a stream, the
/// source symbol is lost and the repair symbol recovers it.
fn example() -> Vec<(&'static str, Vec<u8>)> {
    let config = Config::from(Config::streaming().share(1.0));
    let now = Time::from_micros(1_000_000);
    let mut client = Session::new(Role::Client, config.clone(), 7, Time::ZERO).expect("possible");
    let mut server = Session::new(Role::Server, config, 7, Time::ZERO).expect("possible");
    let stream = client.open_stream().expect("one is allowed from the start");
    client.write(stream, b"hello").expect("there is room");
    client.finish(stream).expect("it is open");

    let mut out = Vec::new();
    let mut send = |session: &mut Session| {
        assert!(session.poll_transmit(now, &mut out));
        out.clone()
    };
    let hello = send(&mut client);
    let source = send(&mut client);
    let repair = send(&mut client);
    server.handle_datagram(now, &hello);
    server.handle_datagram(now, &repair);
    let server_hello = send(&mut server);
    let feedback = send(&mut server);

    while let Some(event) = server.poll_event() {
        assert!(!matches!(event, Event::Closed(_)), "{event:?}");
    }
    let stream = server.accept_stream().expect("the repair brought it");
    let mut buf = [0; 8];
    assert_eq!(server.read(stream, &mut buf), Ok(5));
    assert_eq!(&buf[..5], b"hello");

    server.close(now, 0, "bye");
    let close = send(&mut server);
    vec![
        ("HELLO of the client", hello),
        ("SOURCE", source),
        ("REPAIR", repair),
        ("HELLO of the server", server_hello),
        ("FEEDBACK", feedback),
        ("CLOSE", close),
    ]
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes it");
        text
    })
}

/// The lines `NAME: HEX...` of the document's `example` block, continued by indented lines. Text
/// after `|` is an explanation.
fn documented() -> BTreeMap<String, String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");
    let text = std::fs::read_to_string(path).expect("docs/protocol.md can be read");
    let block = text
        .split("```example\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("docs/protocol.md has an ```example block");
    let mut named: BTreeMap<String, String> = BTreeMap::new();
    let mut name = String::new();
    for line in block.lines().filter(|l| !l.trim().is_empty()) {
        let bytes = match line.strip_prefix(' ') {
            Some(continued) => continued,
            None => {
                let (new, rest) = line.split_once(':').expect("NAME: HEX");
                name = new.to_owned();
                rest
            }
        };
        let bytes = bytes.split('|').next().unwrap_or_default();
        named
            .entry(name.clone())
            .or_default()
            .extend(bytes.chars().filter(|c| !c.is_whitespace()));
    }
    named
}

#[test]
fn the_sessions_send_the_documented_example() {
    let documented = documented();
    let sent = example();
    for (name, bytes) in &sent {
        assert_eq!(
            documented.get(*name),
            Some(&hex(bytes)),
            "docs/protocol.md, example, {name}"
        );
    }
    assert_eq!(
        documented.len(),
        sent.len(),
        "every documented datagram is checked"
    );
}
