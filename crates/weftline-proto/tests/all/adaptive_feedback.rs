//! Reports as rare as a delay allows, and a sender that gets no report.

use std::time::Duration;

use crate::support::pair::{Pair, transmit};
use crate::support::{Peer, Script};
use weftline_netem::{LinkConfig, Simulation};
use weftline_proto::{Config, Feedback, Preset, RateControl, Role, Stats, Time};

const MESSAGE: usize = 1000;
const MS: Duration = Duration::from_millis(1);

fn link(text: &str) -> LinkConfig {
    text.parse().expect("well-formed")
}

/// Messages at an even pace over a round trip of 60 ms. Returns the counters of both ends, and the
/// delays sorted by length.
fn live(
    config: Config,
    period: Duration,
    messages: u64,
    forward: &str,
) -> (Stats, Stats, Vec<Duration>) {
    let mut sim = crate::support::live(
        config,
        (period, MESSAGE, messages),
        link(forward),
        link("delay=30ms"),
        5,
    );
    sim.run_until(period * messages as u32 + Duration::from_secs(5));
    let mut delays = sim.b.live_delays.clone();
    assert_eq!(delays.len() as u64, messages, "every message arrives");
    delays.sort();
    (sim.a.session.stats(), sim.b.session.stats(), delays)
}

fn with(preset: Preset, feedback: Feedback) -> Config {
    let mut config = Config::preset(preset);
    config.feedback = feedback;
    config.rate = RateControl::Fixed {
        rate: Some(24_000_000),
        window: None,
    };
    config
}

fn mean(delays: &[Duration]) -> Duration {
    delays.iter().sum::<Duration>() / delays.len() as u32
}

const PATH: &str = "rate=25mbit delay=30ms queue=100ms loss=iid:10%";

#[test]
fn adaptive_reports_cost_little_and_add_no_delay() {
    let each = with(
        Preset::Auto,
        Feedback::EveryDatagram {
            min_interval: Duration::from_micros(250),
        },
    );
    let seldom = with(Preset::Auto, Feedback::Adaptive { target: 5 * MS });
    let (_, often, reference) = live(each, MS, 10_000, PATH);
    let (_, few, delays) = live(seldom, MS, 10_000, PATH);
    assert!(10 * few.sent.feedback < often.sent.feedback, "{few:?}");
    assert!(mean(&delays) < mean(&reference) + MS, "{:?}", mean(&delays));
}

#[test]
fn adaptive_reports_are_eight_times_as_rare_when_nothing_is_missing() {
    let count = |loss| {
        let path = format!("rate=25mbit delay=30ms loss={loss}");
        let config = with(Preset::Streaming, Feedback::Adaptive { target: 5 * MS });
        live(config, 5 * MS, 2000, &path).1.sent.feedback
    };
    // In ten seconds: one every 40 ms. If symbols are missing most of the time, up to one every 5 ms.
    let (clean, lossy) = (count("none"), count("iid:20%"));
    assert!((230..300).contains(&clean), "{clean}");
    assert!(lossy > 2 * clean && lossy < 2000, "{lossy}");
}

#[test]
fn a_run_of_losses_counted_in_packets_does_not_silence_a_slow_session() {
    // At 50 packets a second, all packets in flight are often lost, and a run lasts until enough more
    // packets have been sent.
    let config = Config::preset(Preset::Auto);
    let path = "rate=2mbit delay=30ms queue=100ms loss=ge:10%,16";
    let (stats, _, delays) = live(config, 20 * MS, 3000, path);
    assert!(mean(&delays) < 300 * MS, "{:?}", mean(&delays));
    assert!(stats.sent.timeouts > 0, "there is something to wait for");
}

/// Sends as much as it can for ten seconds, over 10 Mbit/s and this return path. Returns the share of
/// the link, the reports, and the median of their wait for the transmitter.
fn bulk(back: &str) -> (f64, u64, Duration) {
    let bytes = 1 << 32;
    let [writer, reader] = Script::transfer(bytes);
    let config = Config::default();
    let mut sim = Simulation::new(
        Peer::new(Role::Client, config.clone(), 1, writer),
        Peer::new(Role::Server, config, 2, reader),
        link("rate=10mbit delay=30ms queue=200ms loss=iid:1%"),
        link(back),
        5,
    );
    sim.per_datagram_overhead = 64;
    sim.run_until(Duration::from_secs(10));
    let read: u64 = sim.b.read.values().map(|(bytes, _)| bytes).sum();
    let waits = &sim.b_to_a.link().counters().queue_delay;
    let reports = sim.b.session.stats().sent.feedback;
    (read as f64 * 8e-8, reports, waits.quantile(0.5))
}

#[test]
fn reports_thin_out_by_themselves_on_a_slow_return_path() {
    let (fast, often, _) = bulk("rate=10mbit delay=30ms queue=1s");
    assert!(fast > 0.85 && often > 7000, "{fast} {often}");
    for (rate, share) in [(64, 0.8), (128, 0.85), (256, 0.85)] {
        let (slow, reports, wait) = bulk(&format!("rate={rate}kbit delay=30ms queue=1s"));
        assert!(slow > share, "{slow} of the link at {rate} kbit/s");
        assert!(wait < 10 * MS, "{wait:?} at {rate} kbit/s");
        assert!(reports < often / 2, "{reports} at {rate} kbit/s");
    }
}

/// Both ends send as much as they can for ten seconds. Mbit/s that each end has received.
fn both_ways(there: &str, back: &str) -> [f64; 2] {
    let bytes = 1 << 32;
    let script = Script {
        streams: vec![bytes],
        expect_streams: vec![bytes],
        ..Script::default()
    };
    let config = Config::default();
    let mut sim = Simulation::new(
        Peer::new(Role::Client, config.clone(), 1, script.clone()),
        Peer::new(Role::Server, config, 2, script),
        link(there),
        link(back),
        5,
    );
    sim.per_datagram_overhead = 64;
    sim.run_until(Duration::from_secs(10));
    [&sim.b, &sim.a].map(|peer| {
        let read: u64 = peer.read.values().map(|(bytes, _)| bytes).sum();
        read as f64 * 8e-7
    })
}

#[test]
fn reports_and_data_share_a_return_path() {
    let link = |rate| format!("rate={rate}mbit delay=10ms queue=500ms loss=iid:1%");
    let [there, back] = both_ways(&link(20), &link(2));
    assert!(there > 12.0 && back > 1.4, "{there} and {back} Mbit/s");
}

#[test]
fn jitter_of_the_return_path_costs_nothing() {
    let bytes = 1 << 32;
    let [writer, reader] = Script::transfer(bytes);
    let path = "rate=50mbit delay=20ms queue=100ms";
    for jitter in ["5ms,normal", "5ms,normal,reorder"] {
        let mut sim = Simulation::new(
            Peer::new(Role::Client, Config::default(), 1, writer.clone()),
            Peer::new(Role::Server, Config::default(), 2, reader.clone()),
            link(path),
            link(&format!("{path} jitter={jitter}")),
            4,
        );
        sim.run_until(Duration::from_secs(4));
        let read: u64 = sim.b.read.values().map(|(bytes, _)| bytes).sum();
        let rate = read as f64 * 2e-6;
        assert!(rate > 44.0, "{rate} Mbit/s with {jitter}");
    }
}

/// Milliseconds at which the server reports on two datagrams of the client at 1100 ms. The first one
/// of them arrives at `late`, or never.
fn reports(late: Option<u64>) -> Vec<u64> {
    let feedback = Feedback::Adaptive { target: 20 * MS };
    let mut config = with(Preset::Arq, feedback);
    config.rate = RateControl::Carrier;
    let mut pair = Pair::connected(config);
    let at = |ms: u64| Time::from_micros(ms * 1000);
    let say = |pair: &mut Pair, ms| {
        let sent = (pair.client).send_message(at(ms), vec![7; 100], None);
        sent.expect("there is room");
        transmit(&mut pair.client, at(ms)).expect("a datagram")
    };
    let first = say(&mut pair, 1000);
    pair.server.handle_datagram(at(1000), &first);
    let report = transmit(&mut pair.server, at(1000));
    assert!(report.is_some(), "the last one is long ago");
    let [missing, second] = [1100, 1100].map(|ms| say(&mut pair, ms));
    pair.server.handle_datagram(at(1100), &second);
    let reports = (1100..1200).filter(|&ms| {
        if late == Some(ms) {
            pair.server.handle_datagram(at(ms), &missing);
        }
        pair.server.handle_timeout(at(ms));
        transmit(&mut pair.server, at(ms)).is_some()
    });
    reports.collect()
}

#[test]
fn a_new_gap_is_reported_after_the_target_and_not_at_all_if_it_closes_before() {
    assert_eq!(reports(None)[0], 1120);
    assert_eq!(reports(Some(1110)), [1160]);
}
