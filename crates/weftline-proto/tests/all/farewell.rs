//! An end that has read everything and closes leaves its peer in no doubt: CLOSE says what arrived.

use std::time::Duration;

use crate::support::pair::{Pair, events, transmit, transmit_all};
use crate::support::{Peer, Script, time};
use weftline_netem::{LinkConfig, RunEnd, Simulation};
use weftline_proto::{CloseReason, Config, Event, MIN_DATAGRAM, Preset, Role};

/// What the client sends, in a session of this number: 0 to 3 streams and 0 to 3 messages.
fn client(seed: u64) -> Script {
    let sizes = [1, 900, 5_000, 40_000, 150_000];
    let size = |i: u64| sizes[((seed + i) % 5) as usize];
    Script {
        streams: (0..seed % 4).map(size).collect(),
        messages: (0..3 - seed % 4 / 2)
            .map(|i| (size(i + 2) as usize / 4, None))
            .collect(),
        ..Script::default()
    }
}

/// What the server sends: in every second session so much that the client raises its credit.
fn server(seed: u64) -> Script {
    Script {
        streams: (0..seed / 4 % 2).map(|_| 300_000).collect(),
        ..Script::default()
    }
}

/// Each end expects what the other sends.
fn scripts(seed: u64) -> [Script; 2] {
    let (mut client, mut server) = (client(seed), server(seed));
    client.expect_streams.clone_from(&server.streams);
    server.expect_streams.clone_from(&client.streams);
    server.expect_messages = client.messages.len();
    [client, server]
}

/// The server closes when it has everything. Returns what the client does not know then.
fn session(config: Config, link: &str, seed: u64) -> Option<String> {
    let link: LinkConfig = link.parse().expect("well-formed");
    let [client, server] = scripts(seed);
    let mut sim = Simulation::new(
        Peer::new(Role::Client, config.clone(), seed, client),
        Peer::new(Role::Server, config, seed + 1, server),
        link.clone(),
        link,
        seed,
    );
    let end = sim.run_while(Duration::from_secs(60), |s| {
        !(s.a.connected && s.b.connected && s.b.may_leave())
    });
    assert_eq!(end, RunEnd::Condition, "the server has everything");
    let now = sim.now();
    sim.b.session.close(time(now), 0, "thank you");
    sim.run_until(now + Duration::from_secs(10));
    let closed = sim.a.closed.clone();
    assert!(
        matches!(closed, None | Some(CloseReason::Peer { code: 0, .. })),
        "{closed:?}"
    );
    (!sim.a.is_done()).then(|| format!("seed {seed}, {closed:?}"))
}

fn limits() -> Config {
    let mut config = Config::default();
    config.limits.session_data = 262_144;
    config.limits.stream_data = 262_144;
    config
}

#[test]
fn a_peer_that_read_everything_and_closed_leaves_no_doubt() {
    let mut failed = Vec::new();
    for link in [
        "delay=20ms",
        "delay=20ms jitter=5ms loss=iid:10%",
        "delay=5ms loss=iid:30%",
    ] {
        for seed in 0..40 {
            failed.extend(session(limits(), link, seed).map(|f| format!("{link}: {f}")));
        }
    }
    assert_eq!(failed, Vec::<String>::new());
}

#[test]
fn a_farewell_that_is_too_long_for_the_path_goes_in_pieces() {
    let mut pair = Pair::connected(Config::default());
    let stream = pair.client.open_stream().expect("one is allowed");
    pair.client.write(stream, b"hello").expect("there is room");
    pair.client.finish(stream).expect("it is open");
    let source = transmit(&mut pair.client, pair.now).expect("it has data");
    pair.server.handle_datagram(pair.now, &source);
    let reason = "so long ".repeat(31);
    let fits = pair.server.set_largest_datagram(MIN_DATAGRAM);
    fits.expect("as long as it must be");
    pair.server.close(pair.now, 0, &reason);
    let pieces = transmit_all(&mut pair.server, pair.now);
    assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.len() <= MIN_DATAGRAM));
    for piece in pieces {
        pair.client.handle_datagram(pair.now, &piece);
    }
    let told = events(&mut pair.client);
    assert!(told.contains(&Event::StreamFinished(stream)), "{told:?}");
    let closed = CloseReason::Peer { code: 0, reason };
    assert_eq!(told.last(), Some(&Event::Closed(closed)));
}

#[test]
fn so_does_it_with_every_preset() {
    let mut failed = Vec::new();
    for preset in Preset::ALL {
        for seed in 0..8 {
            let mut config = limits();
            config.scheme = preset.scheme();
            let link = "delay=20ms loss=iid:10%";
            failed.extend(session(config, link, seed).map(|f| format!("{preset}: {f}")));
        }
    }
    assert_eq!(failed, Vec::<String>::new());
}
