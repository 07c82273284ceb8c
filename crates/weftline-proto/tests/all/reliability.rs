//! Over any path, every byte arrives exactly once and in order, and both ends finish.

use std::time::Duration;

use crate::support::{Peer, Script, run};
use weftline_netem::LinkConfig;
use weftline_proto::{Config, Preset, RateControl, Role};

fn config(preset: Preset) -> Config {
    let mut config = Config::preset(preset);
    config.rate = RateControl::Fixed {
        rate: Some(20_000_000),
        window: None,
    };
    config
}

fn link(text: &str) -> LinkConfig {
    text.parse().expect("the test's link is well-formed")
}

fn transfer(
    preset: Preset,
    forward: &str,
    back: &str,
    bytes: u64,
    seed: u64,
) -> crate::support::Outcome {
    let up = Script {
        streams: vec![bytes, bytes / 10],
        expect_streams: vec![bytes / 5],
        ..Script::default()
    };
    let down = Script {
        streams: vec![bytes / 5],
        expect_streams: vec![bytes, bytes / 10],
        ..Script::default()
    };
    let outcome = run(
        Peer::new(Role::Client, config(preset), seed, up),
        Peer::new(Role::Server, config(preset), seed + 1, down),
        link(forward),
        link(back),
        seed,
        Duration::from_secs(300),
    );
    assert!(
        outcome.done,
        "{preset} over `{forward}` / `{back}`, seed {seed}: not done after {:?}; client {:?} {:#?}; server {:?} {:#?}",
        outcome.took,
        outcome.client.closed,
        outcome.client.session.stats(),
        outcome.server.closed,
        outcome.server.session.stats(),
    );
    assert_eq!(
        outcome.client.wrong + outcome.server.wrong,
        0,
        "seed {seed}"
    );
    outcome
}

const PATHS: [(&str, &str); 8] = [
    ("rate=25mbit delay=30ms queue=60ms", "delay=30ms"),
    (
        "rate=25mbit delay=30ms queue=60ms loss=iid:10%",
        "delay=30ms",
    ),
    (
        "rate=25mbit delay=30ms queue=60ms loss=iid:50%",
        "delay=30ms loss=iid:50%",
    ),
    (
        "rate=25mbit delay=30ms queue=60ms loss=ge:10%,4",
        "delay=30ms loss=ge:10%,4",
    ),
    ("rate=25mbit delay=30ms queue=10pkt", "delay=30ms"),
    (
        "delay=5ms loss=iid:5% reorder=10%:20ms duplicate=5%",
        "delay=5ms reorder=20%:9ms duplicate=10%",
    ),
    ("delay=300ms loss=iid:20%", "delay=300ms loss=iid:20%"),
    ("delay=10us", "delay=10us"),
];

#[test]
fn every_preset_delivers_every_byte_over_every_path() {
    for (n, (forward, back)) in PATHS.into_iter().enumerate() {
        for preset in Preset::ALL {
            transfer(preset, forward, back, 300_000, 7 + n as u64);
        }
    }
}

/// A path and a load drawn from a seed. They need not be typical; everything is allowed.
fn random_session(seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let mut draw = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % below
    };
    let mut direction = || {
        let loss = match draw(4) {
            0 => "none".to_owned(),
            1 => format!("iid:{}%", draw(51)),
            2 => format!("ge:{}%,{}", 1 + draw(30), 2 + draw(8)),
            _ => format!("periodic:{}", 2 + draw(30)),
        };
        let rate = ["", "rate=1mbit ", "rate=10mbit ", "rate=100mbit "][draw(4) as usize];
        let queue = ["", "queue=3pkt ", "queue=50ms ", "queue=20kB "][draw(4) as usize];
        format!(
            "{rate}{queue}delay={}ms jitter={}ms loss={loss} reorder={}%:{}ms duplicate={}%",
            draw(150),
            draw(10),
            draw(20),
            1 + draw(40),
            draw(10),
        )
    };
    let (forward, back) = (direction(), direction());
    let mut sizes = || -> Vec<u64> { (0..draw(4)).map(|_| draw(40_000)).collect() };
    let (up, down) = (sizes(), sizes());
    let messages: Vec<usize> = (0..draw(10)).map(|_| draw(6000) as usize).collect();
    let preset = Preset::ALL[draw(Preset::ALL.len() as u64) as usize];
    let mut config = Config::preset(preset);
    config.rate = RateControl::Fixed {
        rate: Some([800_000, 5_000_000, 50_000_000][draw(3) as usize]),
        window: [None, Some(20_000), Some(200_000)][draw(3) as usize],
    };
    config.idle_timeout = Duration::from_secs(120);
    config.symbol_size = [200, 1120, 1200][draw(3) as usize];
    if draw(3) == 0 {
        // The lowest limits that the protocol allows: flow control is always the bottleneck.
        config.limits.symbols = 256;
        config.limits.session_data = 256 << 10;
        config.limits.stream_data = 256 << 10;
        config.limits.streams = 8;
    }
    let client = Script {
        streams: up.clone(),
        messages: messages.iter().map(|&n| (n, None)).collect(),
        expect_streams: down.clone(),
        ..Script::default()
    };
    let server = Script {
        streams: down,
        expect_streams: up,
        expect_messages: messages.len(),
        ..Script::default()
    };
    let outcome = run(
        Peer::new(Role::Client, config.clone(), seed, client),
        Peer::new(Role::Server, config, seed + 1, server),
        link(&forward),
        link(&back),
        seed,
        Duration::from_secs(3600),
    );
    let (c, s) = (&outcome.client, &outcome.server);
    assert!(
        outcome.done && c.wrong + s.wrong == 0 && s.messages.len() == messages.len(),
        "seed {seed}: {preset} over `{forward}` / `{back}`: done {}, wrong bytes {}, after {:?};\n\
         client {:?} {:#?}\nserver {:?} {:#?}",
        outcome.done,
        c.wrong + s.wrong,
        outcome.took,
        c.closed,
        c.session.stats(),
        s.closed,
        s.session.stats(),
    );
    let dropped = [c, s].map(|p| p.session.stats().dropped);
    for d in dropped {
        assert_eq!(
            d.malformed + d.inconsistent,
            0,
            "seed {seed}: an honest peer: {d:?}"
        );
    }
}

/// `WEFTLINE_SESSIONS=10000 cargo test --release -p weftline-proto --test all reliability::random`
/// runs ten thousand; `WEFTLINE_SEED` begins at another one.
#[test]
fn random_sessions_over_random_paths_lose_nothing_and_end() {
    let number = |name, default| {
        std::env::var(name).map_or(default, |v: String| v.parse().expect("a number"))
    };
    let first: u64 = number("WEFTLINE_SEED", 1);
    let sessions: u64 = number("WEFTLINE_SESSIONS", 200);
    (first..first + sessions).for_each(random_session);
    println!("{sessions} sessions from seed {first}: 0 wrong bytes, 0 hangs");
}

#[test]
fn a_hundred_thousand_symbols_cross_a_lossy_path_in_seconds() {
    let mut config = config(Preset::Streaming);
    config.rate = RateControl::Fixed {
        rate: Some(200_000_000),
        window: None,
    };
    let bytes = 100_000 * 1380;
    let [sender, reader] = Script::transfer(bytes);
    let outcome = run(
        Peer::new(Role::Client, config.clone(), 1, sender),
        Peer::new(Role::Server, config, 2, reader),
        link("rate=220mbit delay=20ms queue=40ms loss=iid:5%"),
        link("delay=20ms loss=iid:5%"),
        11,
        Duration::from_secs(30),
    );
    let stats = outcome.client.session.stats();
    assert!(outcome.done, "{stats:#?}");
    assert_eq!(outcome.server.wrong, 0);
    assert!(stats.sent.source_symbols >= 98_000);
    // The link needs 5.6 s for the data, and a sixth more for the repairs.
    assert!(outcome.took < Duration::from_secs(10), "{:?}", outcome.took);
}
