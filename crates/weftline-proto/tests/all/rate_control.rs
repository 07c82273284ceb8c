//! Adaptive rate control of one flow over links with queues. `weftline-sim` tests flows beside others.

use std::time::Duration;

use crate::support::{Peer, Script};
use weftline_netem::{LinkConfig, LossModel, Simulation};
use weftline_proto::{Config, Role};

/// The link of the tests: 25 Mbit/s, RTT 60 ms, a queue of 48 ms.
const LINK: &str = "rate=25mbit delay=30ms queue=60ms,100pkt";
const MBIT: f64 = 25.0;
/// Bytes that IP, UDP and QUIC add.
const OVERHEAD: usize = 63;
/// More than any flow can send in a test.
const ENDLESS: u64 = 1 << 32;

/// One flow from side A to side B.
struct Experiment(Simulation<Peer, Peer>);

impl Experiment {
    /// A flow with more data than it can send.
    fn new(link: &str) -> Self {
        Self::of(link, ENDLESS)
    }

    /// A flow of `bytes`; the way back loses nothing.
    fn of(link: &str, bytes: u64) -> Self {
        let mut back: LinkConfig = link.parse().expect("well-formed");
        back.loss = LossModel::None;
        Self::between(link, &back.to_string(), bytes)
    }

    /// A flow of `bytes` over these two ways.
    fn between(forward: &str, back: &str, bytes: u64) -> Self {
        Self::seeded(1, forward, back, bytes)
    }

    /// The same with other random numbers.
    fn seeded(seed: u64, forward: &str, back: &str, bytes: u64) -> Self {
        let forward: LinkConfig = forward.parse().expect("well-formed");
        let back = back.parse().expect("well-formed");
        let mut config = Config::default();
        config.initial_rtt = 2 * forward.delay;
        let [script, reader] = Script::transfer(bytes);
        let sender = Peer::new(Role::Client, config.clone(), seed, script);
        let receiver = Peer::new(Role::Server, config, !seed, reader);
        let mut sim = Simulation::new(sender, receiver, forward, back, seed);
        sim.per_datagram_overhead = OVERHEAD;
        Experiment(sim)
    }

    /// Bytes that the application has received.
    fn received(&self) -> u64 {
        self.0.b.read.values().map(|(bytes, _)| bytes).sum()
    }

    /// Mbit/s between two times, in seconds.
    fn rate(&mut self, from: f64, to: f64) -> f64 {
        self.0.run_until(Duration::from_secs_f64(from));
        let before = self.received();
        self.0.run_until(Duration::from_secs_f64(to));
        (self.received() - before) as f64 * 8e-6 / (to - from)
    }

    /// The median wait for the transmitter, in ms.
    fn queue(&self) -> f64 {
        self.queue_quantile(0.5)
    }

    /// The wait that this part of the packets did not exceed, in ms.
    fn queue_quantile(&self, part: f64) -> f64 {
        let counters = self.0.a_to_b.link().counters();
        counters.queue_delay.quantile(part).as_secs_f64() * 1e3
    }

    fn wire_per_byte(&self) -> f64 {
        let offered = self.0.a_to_b.link().counters().offered_bytes;
        offered as f64 / self.received() as f64
    }
}

/// The time, in ms, until a transfer of `bytes` has arrived.
fn transfer(link: &str, bytes: u64) -> f64 {
    let mut experiment = Experiment::of(link, bytes);
    let end = Duration::from_secs(60);
    let arrived = |peer: &Peer| peer.read.values().any(|(_, end)| *end);
    experiment.0.run_while(end, |sim| !arrived(&sim.b));
    experiment.0.now().as_secs_f64() * 1e3
}

#[test]
fn a_link_is_filled_with_a_short_queue_at_any_loss_rate() {
    for (loss, goodput) in [
        (0.0, 0.92),
        (0.01, 0.91),
        (0.05, 0.865),
        (0.1, 0.81),
        (0.2, 0.72),
    ] {
        let link = format!("{LINK} loss=iid:{loss}");
        let mut experiment = Experiment::new(&link);
        let rate = experiment.rate(2.0, 10.5) / MBIT;
        let (queue, wire) = (experiment.queue(), experiment.wire_per_byte());
        assert!(rate >= goodput, "{rate:.3} of the link at {loss}");
        assert!(queue <= 10.0, "{queue:.1} ms at {loss}");
        assert!(wire <= 1.10 / (1.0 - loss), "{wire:.3} at {loss}");
    }
}

#[test]
fn the_queue_is_no_longer_after_a_drain_than_before_it() {
    for loss in [0.0, 0.05] {
        let mut experiment = Experiment::new(&format!("{LINK} loss=iid:{loss}"));
        experiment.rate(0.0, 40.0);
        let (usual, long) = (experiment.queue(), experiment.queue_quantile(0.96));
        assert!(long <= usual + 1.5, "{usual:.1} and {long:.1} ms at {loss}");
    }
}

#[test]
fn a_stream_does_not_wait_for_seconds_once_its_path_is_longer() {
    for (before, after) in [("1", "30"), ("20", "50")] {
        // Three seconds, then the longer path.
        let delays = format!("{before}\n").repeat(300) + &format!("{after}\n").repeat(1000);
        let text = "rate=50mbit delay=trace:delays queue=100ms loss=iid:1%";
        let link = LinkConfig::parse_with(text, &mut |_| Ok(delays.clone())).expect("well-formed");
        let back = "delay=1ms".parse().expect("well-formed");
        // 10 Mbit/s.
        let stream = (Duration::from_micros(960), 1200, 10_000);
        let mut sim = crate::support::live(Config::default(), stream, link, back, 1);
        sim.run_until(Duration::from_secs(12));
        assert_eq!(sim.b.live_delays.len(), 10_000);
        let longest = sim.b.live_delays.iter().max().expect("messages");
        assert!(*longest < Duration::from_secs(1), "{longest:?}, {after} ms");
    }
}

#[test]
fn slow_links_are_filled_with_a_queue_of_few_packets() {
    for (kbit, delay) in [(256.0, 10), (256.0, 30), (512.0, 30), (1000.0, 100)] {
        let link = format!("rate={kbit}kbit delay={delay}ms queue=2s");
        let mut experiment = Experiment::new(&link);
        let rate = experiment.rate(5.0, 25.0) * 1e3 / kbit;
        assert!(rate >= 0.85, "{rate:.3} of {link}");
        let queue = experiment.queue() * kbit / 8.0 / 1490.0;
        assert!(queue <= 4.0, "{queue:.1} packets on {link}");
    }
}

#[test]
fn a_slow_link_ends_the_start_with_the_first_reports() {
    for kbit in [256.0, 512.0, 1000.0] {
        let link = format!("rate={kbit}kbit delay=10ms queue=2s");
        let mut experiment = Experiment::new(&link);
        experiment.rate(0.0, 3.0);
        let counters = experiment.0.a_to_b.link().counters();
        let longest = counters.queue_delay.quantile(1.0).as_secs_f64();
        let longest = longest * kbit * 1e3 / 8.0 / 1490.0;
        // Ten leave before anything is known.
        assert!(longest <= 16.0, "{longest:.1} packets on {link}");
    }
}

#[test]
fn other_links_are_filled_too() {
    for (link, mbit, share) in [
        ("rate=5mbit delay=20ms queue=100ms loss=iid:2%", 5.0, 0.88),
        (
            "rate=50mbit delay=100ms jitter=3ms queue=100ms loss=ge:2%,4",
            50.0,
            0.8,
        ),
        ("rate=10mbit delay=300ms queue=300ms loss=iid:3%", 10.0, 0.8),
    ] {
        let mut experiment = Experiment::new(link);
        let rate = experiment.rate(8.0, 20.0) / mbit;
        assert!(rate >= share, "{rate:.3} of {link}");
        let queue = experiment.queue();
        assert!(queue <= 25.0, "{queue:.1} ms on {link}");
    }
}

#[test]
fn delay_that_is_not_a_queue_does_not_slow_a_flow() {
    const STEADY: &str = "rate=25mbit delay=30ms queue=100ms";
    let measure = |moves: &str| {
        let link = format!("{STEADY} {moves}");
        let mut experiment = Experiment::between(&link, STEADY, ENDLESS);
        let rate = experiment.rate(1.0, 16.0);
        (rate, experiment.queue())
    };
    let (steady, _) = measure("");
    for (moves, share) in [
        ("jitter=15ms", 0.9),
        ("jitter=60ms", 0.9),
        ("jitter=15ms,normal,reorder", 0.85),
        ("jitter=30ms,normal,reorder", 0.85),
        ("bunch=2ms,30ms", 0.9),
        ("steps=30ms,5s", 0.9),
    ] {
        let (rate, queue) = measure(moves);
        assert!(
            rate >= share * steady,
            "{rate:.1} of {steady:.1} Mbit/s with {moves}"
        );
        assert!(queue <= 15.0, "{queue:.1} ms with {moves}");
    }
}

#[test]
fn delay_that_moves_in_both_directions_does_not_slow_a_flow() {
    for (link, steady, share) in [
        ("rate=50mbit delay=20ms jitter=5ms,normal", 46.3, 0.9),
        ("rate=50mbit delay=20ms jitter=20ms,normal", 46.3, 0.6),
        (
            "rate=50mbit delay=20ms jitter=20ms,normal,reorder",
            46.3,
            0.9,
        ),
        ("rate=100mbit delay=50ms jitter=25ms,normal", 92.6, 0.75),
        ("rate=15mbit delay=60ms jitter=25ms,normal", 13.9, 0.85),
    ] {
        let link = format!("{link} queue=100ms");
        let mut experiment = Experiment::new(&link);
        let rate = experiment.rate(5.0, 20.0);
        assert!(
            rate >= share * steady,
            "{rate:.1} of {steady:.1} Mbit/s on {link}"
        );
    }
}

/// The first reports may show the delay of a queue, and only the next ones that the path moves the delay.
#[test]
fn a_start_that_took_jitter_for_a_queue_begins_again() {
    for (link, within, least) in [
        (
            "rate=100mbit delay=50ms jitter=25ms,normal queue=100ms loss=iid:1%",
            (3.0, 8.0),
            50.0,
        ),
        // A round trip takes longer than most starts.
        (
            "rate=20mbit delay=320ms jitter=20ms,normal queue=100ms loss=iid:0.5%",
            (5.0, 10.0),
            10.0,
        ),
        // Packets that others overtake look lost until they arrive.
        (
            "rate=20mbit delay=320ms jitter=20ms,normal,reorder queue=100ms loss=iid:0.5%",
            (5.0, 10.0),
            10.0,
        ),
    ] {
        // With the last three seeds the first reports of the faster link show a queue, and nearly no rate.
        let rates = [1, 2, 3, 4, 5, 6, 7, 8, 15, 23, 28]
            .map(|seed| Experiment::seeded(seed, link, link, ENDLESS).rate(within.0, within.1));
        let slowest = rates.into_iter().fold(f64::INFINITY, f64::min);
        assert!(slowest > least, "{rates:.1?} on {link}");
    }
}

#[test]
fn a_queue_too_short_to_measure_is_found_by_its_losses() {
    let link = "rate=25mbit delay=30ms queue=5pkt loss=iid:1%";
    let mut experiment = Experiment::new(link);
    let rate = experiment.rate(5.0, 15.0);
    assert!(rate > 16.0, "{rate} Mbit/s");
    let counters = experiment.0.a_to_b.link().counters();
    let dropped = counters.queue_drops as f64 / counters.offered_packets as f64;
    assert!(dropped < 0.2, "{dropped} of the packets did not fit");
}

#[test]
fn a_slow_link_with_a_short_queue_is_not_flooded() {
    for (kbit, delay, queue, loss) in [
        (1000.0, 5, "20ms", 0.0),
        (1000.0, 20, "20ms", 0.0),
        (1000.0, 5, "50ms", 0.0),
        (2000.0, 20, "20ms", 0.2),
        (250.0, 1, "2pkt", 0.0),
    ] {
        let link = format!("rate={kbit}kbit delay={delay}ms queue={queue} loss=iid:{loss}");
        let mut experiment = Experiment::new(&link);
        experiment.rate(0.0, 4.0);
        let offered = |experiment: &Experiment| {
            let counters = experiment.0.a_to_b.link().counters();
            counters.offered_bytes as f64 * 8e-3 / kbit
        };
        let start = offered(&experiment);
        assert!(start <= 16.0, "{start:.1} s of {link} are sent in 4 s");
        let share = experiment.rate(4.0, 16.0) * 1e3 / kbit;
        assert!(share >= 0.7 * (1.0 - loss), "{share:.3} of {link}");
        let wire = (offered(&experiment) - start) / (12.0 * share);
        assert!(
            wire <= 2.0 / (1.0 - loss),
            "{wire:.2} bytes a byte on {link}"
        );
    }
}

#[test]
fn a_link_that_became_slower_soon_has_a_short_queue_again() {
    let mut experiment = Experiment::new(LINK);
    experiment.rate(0.0, 5.0);
    let slower = "rate=8mbit delay=30ms queue=200ms"
        .parse()
        .expect("well-formed");
    experiment.0.a_to_b.set_config(slower);
    experiment.rate(5.0, 7.0);
    let before = experiment.0.a_to_b.link().counters().queue_delay.clone();
    let rate = experiment.rate(7.0, 12.0);
    let after = &experiment.0.a_to_b.link().counters().queue_delay;
    let count = after.count() - before.count();
    let queue = (after.total() - before.total()).as_secs_f64() / count as f64;
    assert!(queue < 0.02, "{queue} s on average");
    assert!(rate > 0.85 * 8.0, "{rate} Mbit/s");
}

#[test]
fn short_transfers_take_hardly_longer_than_the_path() {
    let link = "rate=100mbit delay=100ms queue=100ms loss=iid:1%";
    for (bytes, most) in [
        (10_000, 105.0),
        (100_000, 130.0),
        (1_000_000, 500.0),
        (2_000_000, 700.0),
    ] {
        let took = transfer(link, bytes);
        assert!(took <= most, "{took:.0} ms for {bytes} bytes");
    }
}
