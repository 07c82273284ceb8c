//! Repair symbols that ride in the datagrams of source symbols: flows of small messages.

use std::collections::VecDeque;
use std::time::Duration;

use weftline_netem::LinkConfig;
use weftline_proto::wire::{Datagram, REPAIR_OVERHEAD};
use weftline_proto::{Auto, Config, Preset, Role, Session, Time};

const MS: Duration = Duration::from_millis(1);
const MESSAGE: usize = 64;
const ONE_WAY: Duration = Duration::from_millis(50);
/// Bytes that IP, UDP and QUIC add to a datagram.
const OVERHEAD: usize = 64;

/// The sorted delays above the path's, and the bytes on the wire for each byte delivered, of 64-byte
/// messages over a round trip of 100 ms with losses of 10 %.
fn flow(config: Config, per_second: u64, seconds: u64, seed: u64) -> (Vec<Duration>, f64) {
    let count = per_second * seconds;
    let period = Duration::from_secs(1) / per_second as u32;
    let link = |text: &str| -> LinkConfig { text.parse().expect("well-formed") };
    let mut sim = crate::support::live(
        config,
        (period, MESSAGE, count),
        link("rate=10mbit delay=50ms queue=60ms loss=iid:10%"),
        link("rate=10mbit delay=50ms queue=60ms"),
        seed,
    );
    sim.per_datagram_overhead = OVERHEAD;
    sim.run_until(period * count as u32 + Duration::from_secs(4));
    let mut delays = sim.b.live_delays.clone();
    assert_eq!(delays.len() as u64, count, "every message arrives");
    delays
        .iter_mut()
        .for_each(|d| *d = d.saturating_sub(ONE_WAY));
    delays.sort();
    let bytes = sim.a_to_b.link().counters().offered_bytes;
    (delays, bytes as f64 / (count * MESSAGE as u64) as f64)
}

#[test]
fn small_messages_are_repaired_sooner_for_the_same_bytes() {
    // Repairs in datagrams of their own: 71 ms, 3.06.
    let (delays, wire) = flow(Config::preset(Preset::Auto), 240, 60, 3);
    let p99 = delays[delays.len() * 99 / 100];
    assert!(p99 < 40 * MS && wire < 3.07, "{p99:?} {wire}");
}

#[test]
fn a_sparse_flow_with_a_deadline_hardly_misses_it() {
    // Each message twice takes 4.5 bytes for each, and 1 of 100 is lost. `arq` takes 2.62, of which 4.112 are 1.57 times.
    let late = (1..=10).map(|seed| {
        let (delays, wire) = flow(Auto::new().deadline(200 * MS).into(), 60, 160, seed);
        assert!(wire < 4.112, "{wire}");
        delays.iter().filter(|d| **d > 150 * MS).count()
    });
    // 0.83 of 10,000 over 99 seeds; with three standard deviations in place of five 2.2.
    let late: usize = late.sum();
    assert!(late <= 9, "{late} of 96,000");
}

/// The lengths of the datagrams with a source symbol and repairs, of a client that sends a message each
/// 4 ms; the server's HELLO arrives as `edit` leaves it.
fn riding_to(symbol_size: u16, edit: impl Fn(&mut [u8])) -> Vec<usize> {
    let mut config = Config::preset(Preset::Auto);
    config.symbol_size = symbol_size;
    let new =
        |role, seed| Session::new(role, config.clone(), seed, Time::ZERO).expect("it is possible");
    let mut ends = [new(Role::Client, 1), new(Role::Server, 2)];
    let mut ways: [VecDeque<(Time, Vec<u8>)>; 2] = Default::default();
    let (mut sent, mut riding) = (0, Vec::new());
    for tick in 0..1000 {
        let now = Time::from_micros(tick * 4000);
        let _ = ends[0].send_message(now, vec![7; MESSAGE], None);
        for end in 0..2 {
            while ways[1 - end].front().is_some_and(|(at, _)| *at <= now) {
                let (_, mut datagram) = ways[1 - end].pop_front().expect("it is there");
                if end == 0 && matches!(Datagram::parse(&datagram), Ok(Datagram::Hello(_))) {
                    edit(&mut datagram);
                }
                ends[end].handle_datagram(now, &datagram);
            }
            let session = &mut ends[end];
            if session.poll_timeout().is_some_and(|t| t <= now) {
                session.handle_timeout(now);
            }
            while session.poll_event().is_some() {}
            let mut out = Vec::new();
            while session.poll_transmit(now, &mut out) {
                let parsed = Datagram::parse(&out).expect("its own datagram");
                let rides = matches!(
                    parsed,
                    Datagram::Source {
                        riders: Some(_),
                        ..
                    }
                );
                if rides {
                    riding.push(out.len());
                }
                sent += 1;
                // The path loses every eighth datagram of the client.
                if end == 1 || sent % 8 != 0 {
                    ways[end].push_back((now + ONE_WAY, out.clone()));
                }
            }
        }
    }
    riding
}

#[test]
fn a_peer_that_does_not_say_that_it_takes_them_gets_no_riding_repairs() {
    assert!(riding_to(1400, |_| {}).len() > 300);
    // The third byte of HELLO has the flags.
    assert!(riding_to(1400, |hello| hello[2] &= 1).is_empty());
}

#[test]
fn a_datagram_with_riding_repairs_is_no_longer_than_a_repair_may_be() {
    for symbol_size in [128, 200] {
        let lengths = riding_to(symbol_size, |_| {});
        let longest = lengths.into_iter().max().unwrap_or_default();
        let most = usize::from(symbol_size) + REPAIR_OVERHEAD;
        assert!(longest <= most, "{longest} of {most}");
    }
}
