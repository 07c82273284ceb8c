//! UDP-RC (Chong et al.) as a preset: source symbols, then random combinations of them until the
//! message is acknowledged.

use std::time::Duration;

use crate::support::pair::{events, transmit_all};
use crate::support::rateless::{code, counted, link, symbols_needed, transfer};
use crate::support::{Peer, Script, run};
use weftline_proto::{
    CloseReason, Config, Event, Preset, RateControl, ReadError, Role, Session, Time,
};

fn udp_rc() -> Config {
    let mut config = Config::preset(Preset::UdpRc);
    config.rate = RateControl::Fixed {
        rate: Some(20_000_000),
        window: None,
    };
    config
}

/// Sends `messages` of about 60 symbols. Returns the mean number of excess symbols, and the share of
/// messages decoded with at most `extra` more.
fn excess(bits: u8, messages: u64, extra: usize) -> (f64, f64) {
    let config = counted(udp_rc(), 64, bits);
    let needed = (0..messages).map(|seed| {
        let (k, needed) = symbols_needed(&config, 11_000, seed);
        assert!((50..=64).contains(&k), "{k}");
        needed - k
    });
    let needed = needed.collect::<Vec<_>>();
    let mean = needed.iter().sum::<usize>() as f64 / messages as f64;
    let within = needed.iter().filter(|n| **n <= extra).count();
    (mean, within as f64 / messages as f64)
}

/// `WEFTLINE_MESSAGES=20000 cargo test -p weftline-proto --test all over_gf -- --nocapture` counts
/// this many messages.
#[test]
fn ten_more_symbols_decode_999_of_1000_messages_over_gf2() {
    let messages =
        std::env::var("WEFTLINE_MESSAGES").map_or(1500, |v| v.parse().expect("a number"));
    let (mean, share) = excess(1, messages, 10);
    println!("GF(2): mean excess {mean:.4}, {share:.5} with 10 more, of {messages}");
    // In theory 1.6067, with a standard deviation of 1.66, and 0.99902.
    let n = messages as f64;
    assert!((mean - 1.6067).abs() < 4.0 * 1.66 / n.sqrt(), "{mean}");
    assert!(
        (share - 0.99902).abs() < 4.0 * (0.00098 / n).sqrt(),
        "{share}"
    );
}

#[test]
fn hardly_any_message_needs_one_more_symbol_over_gf256() {
    let messages =
        std::env::var("WEFTLINE_MESSAGES").map_or(1000, |v| v.parse().expect("a number"));
    let (mean, share) = excess(8, messages, 1);
    println!("GF(2^8): mean excess {mean:.4}, {share:.5} with 1 more, of {messages}");
    // In theory 0.0039 and 0.99998.
    assert!(
        (mean - 0.0039).abs() < 4.0 * (0.0039 / messages as f64).sqrt(),
        "{mean}"
    );
    assert!(share >= 0.999, "{share}");
}

#[test]
fn a_message_leaves_as_source_symbols_and_ten_repairs_at_full_speed() {
    let config = udp_rc();
    let outcome = transfer(&config, 100_000, "rate=40mbit delay=30ms", "delay=30ms", 1);
    let sent = outcome.client.session.stats().sent;
    assert_eq!(sent.retransmissions, 0);
    // 72 symbols take 42 ms. Half as many a second follow until the acknowledgement, 60 ms later.
    let repairs = sent.repair_symbols;
    assert!((30..70).contains(&repairs), "{repairs} repairs");
    let mut short = config.clone();
    short.scheme = Config::udp_rc().pace(0.001).into();
    let outcome = transfer(&short, 100_000, "rate=40mbit delay=30ms", "delay=30ms", 1);
    assert_eq!(outcome.client.session.stats().sent.repair_symbols, 10);
}

#[test]
fn the_first_datagrams_carry_data() {
    let mut config = udp_rc();
    config.rate = RateControl::Adaptive;
    let outcome = transfer(&config, 2000, "rate=40mbit delay=100ms", "delay=100ms", 1);
    // One round trip for the data and its acknowledgement, and none before.
    assert!(
        outcome.took < Duration::from_millis(210),
        "{:?}",
        outcome.took
    );
}

#[test]
fn losses_reordering_and_repeats_change_no_byte() {
    for (n, (forward, back)) in [
        ("rate=25mbit delay=30ms loss=iid:20%", "delay=30ms"),
        ("rate=25mbit delay=30ms", "delay=30ms loss=iid:60%"),
        (
            "delay=5ms reorder=20%:20ms duplicate=20%",
            "delay=5ms duplicate=30%",
        ),
        (
            "rate=5mbit delay=50ms loss=ge:20%,8",
            "delay=50ms loss=ge:20%,8",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        for bits in [1, 3, 8] {
            let mut config = udp_rc();
            code(&mut config).bits = bits;
            code(&mut config).k = 100;
            transfer(&config, 300_000, forward, back, 10 + n as u64);
        }
    }
}

#[test]
fn equal_seeds_give_equal_sessions() {
    let run = || {
        let path = (
            "rate=10mbit delay=20ms loss=iid:10%",
            "delay=20ms loss=iid:5%",
        );
        let outcome = transfer(&udp_rc(), 200_000, path.0, path.1, 4);
        (outcome.took, outcome.client.session.stats())
    };
    assert_eq!(run(), run());
}

#[test]
fn a_message_that_comes_in_parts_is_protected_after_each_pause() {
    // One symbol every 100 ms: each pause ends a block, and no symbol waits for the next one.
    let writer = Script {
        live: Some((Duration::from_millis(100), 500, 100)),
        ..Script::default()
    };
    let reader = Script {
        read_live: Some(500),
        expect_streams: vec![50_000],
        ..Script::default()
    };
    let outcome = run(
        Peer::new(Role::Client, udp_rc(), 1, writer),
        Peer::new(Role::Server, udp_rc(), 2, reader),
        link("rate=10mbit delay=20ms loss=iid:30%"),
        link("delay=20ms"),
        5,
        Duration::from_secs(60),
    );
    assert!(outcome.done);
    let worst = outcome.server.live_delays.iter().max().expect("they came");
    assert!(*worst < Duration::from_millis(100), "{worst:?}");
}

#[test]
fn a_lost_peer_ends_the_session_after_its_timeout() {
    let mut config = udp_rc();
    config.idle_timeout = Duration::from_secs(5);
    let now = Time::from_micros(1_000_000);
    let mut client = Session::new(Role::Client, config, 1, now).expect("it is possible");
    let stream = client.open_stream().expect("one may be opened");
    client.write(stream, &[1; 20_000]).expect("it is open");
    let (mut now, mut datagrams) = (now, 0);
    while let Some(next) = client.poll_timeout() {
        now = now.max(next);
        client.handle_timeout(now);
        datagrams += transmit_all(&mut client, now).len();
        assert!(datagrams < 400, "a dead path is flooded");
    }
    let closed = events(&mut client)
        .into_iter()
        .find_map(|event| match event {
            Event::Closed(reason) => Some(reason),
            _ => None,
        });
    assert_eq!(closed, Some(CloseReason::TimedOut { seconds: 5 }));
    assert!(matches!(
        client.read(stream, &mut [0; 9]),
        Err(ReadError::Closed(_))
    ));
}
