//! Adaptive rate control over links with queues: alone, beside flows of its kind, and beside a flow
//! that follows losses.

use std::time::Duration;

use crate::support::cubic::{Cubic, Sink};
use crate::support::{Peer, Script};
use weftline_netem::{LinkConfig, Node, Simulation};
use weftline_proto::{Config, Role};

/// The link of the tests: 25 Mbit/s, RTT 60 ms, a queue of 48 ms.
const LINK: &str = "rate=25mbit delay=30ms queue=60ms,100pkt";
const MBIT: f64 = 25.0;
/// Bytes that IP, UDP and QUIC add.
const OVERHEAD: usize = 63;
/// More than any flow can send in a test.
const ENDLESS: u64 = 1 << 32;

enum Flow {
    Weftline(Box<Peer>),
    Cubic(Cubic),
    Sink(Sink),
}

/// Flows that begin at different times; the first byte of a datagram is the number of its flow.
struct Host {
    flows: Vec<(Duration, Flow)>,
    next: usize,
}

impl Node for Host {
    fn receive(&mut self, now: Duration, datagram: &[u8]) {
        let (flow, rest) = datagram.split_first().expect("a flow's number");
        match &mut self.flows[usize::from(*flow)].1 {
            Flow::Weftline(peer) => peer.receive(now, rest),
            Flow::Cubic(cubic) => cubic.acknowledged(now, rest),
            Flow::Sink(sink) => sink.received(rest),
        }
    }

    fn timeout(&mut self, now: Duration) {
        for (start, flow) in &mut self.flows {
            if let Flow::Weftline(peer) = flow
                && now >= *start
                && peer.next_timeout().is_some_and(|due| due <= now)
            {
                peer.timeout(now);
            }
        }
    }

    fn transmit(&mut self, now: Duration) -> Option<Vec<u8>> {
        let count = self.flows.len();
        for index in (0..count).map(|n| (self.next + n) % count) {
            let (start, flow) = &mut self.flows[index];
            if now < *start {
                continue;
            }
            let datagram = match flow {
                Flow::Weftline(peer) => peer.transmit(now),
                Flow::Cubic(cubic) => cubic.transmit(now),
                Flow::Sink(sink) => sink.transmit(),
            };
            if let Some(mut datagram) = datagram {
                datagram.insert(0, index as u8);
                self.next = (index + 1) % count;
                return Some(datagram);
            }
        }
        None
    }

    fn next_timeout(&self) -> Option<Duration> {
        let due = |(start, flow): &(Duration, Flow)| {
            let due = match flow {
                Flow::Weftline(peer) => peer.next_timeout(),
                Flow::Cubic(cubic) => Some(cubic.next_timeout()),
                Flow::Sink(_) => None,
            };
            due.map(|due| due.max(*start))
        };
        self.flows.iter().filter_map(due).min()
    }
}

/// A flow of Weftline or of CUBIC, and its start in seconds.
#[derive(Clone, Copy)]
enum Kind {
    Weftline(f64, u64),
    Cubic(f64),
}

struct Experiment(Simulation<Host, Host>);

impl Experiment {
    fn new(link: &str, kinds: &[Kind]) -> Self {
        let mut back: LinkConfig = link.parse().expect("well-formed");
        back.loss = weftline_netem::LossModel::None;
        Self::between(link, &back.to_string(), kinds)
    }

    /// Flows from side A to side B.
    fn between(forward: &str, back: &str, kinds: &[Kind]) -> Self {
        let forward: LinkConfig = forward.parse().expect("well-formed");
        let back = back.parse().expect("well-formed");
        let mut config = Config::default();
        config.initial_rtt = 2 * forward.delay;
        let peer = |role, seed, script| {
            Flow::Weftline(Box::new(Peer::new(role, config.clone(), seed, script)))
        };
        let (mut senders, mut receivers) = (Vec::new(), Vec::new());
        for (kind, seed) in kinds.iter().zip(1..) {
            let start = match *kind {
                Kind::Weftline(start, _) | Kind::Cubic(start) => Duration::from_secs_f64(start),
            };
            let (sender, receiver) = match *kind {
                Kind::Weftline(_, bytes) => {
                    let [script, reader] = Script::transfer(bytes);
                    let sender = peer(Role::Client, seed, script);
                    (sender, peer(Role::Server, !seed, reader))
                }
                Kind::Cubic(_) => (Flow::Cubic(Cubic::new(start)), Flow::Sink(Sink::default())),
            };
            senders.push((start, sender));
            receivers.push((Duration::ZERO, receiver));
        }
        let host = |flows| Host { flows, next: 0 };
        let mut sim = Simulation::new(host(senders), host(receivers), forward, back, 1);
        sim.per_datagram_overhead = OVERHEAD;
        Experiment(sim)
    }

    /// Bytes that the application of each flow has received.
    fn received(&self) -> Vec<u64> {
        let received = |(_, flow): &(Duration, Flow)| match flow {
            Flow::Weftline(peer) => peer.read.values().map(|(bytes, _)| bytes).sum(),
            Flow::Sink(sink) => sink.bytes,
            Flow::Cubic(_) => 0,
        };
        self.0.b.flows.iter().map(received).collect()
    }

    /// Mbit/s of each flow between two times, in seconds.
    fn rates(&mut self, from: f64, to: f64) -> Vec<f64> {
        self.0.run_until(Duration::from_secs_f64(from));
        let before = self.received();
        self.0.run_until(Duration::from_secs_f64(to));
        let after = self.received();
        let rate = |(after, before): (&u64, &u64)| (after - before) as f64 * 8e-6 / (to - from);
        after.iter().zip(&before).map(rate).collect()
    }

    /// The median wait for the transmitter, in ms.
    fn queue(&self) -> f64 {
        let counters = self.0.a_to_b.link().counters();
        counters.queue_delay.quantile(0.5).as_secs_f64() * 1e3
    }

    fn wire_per_byte(&self) -> f64 {
        let offered = self.0.a_to_b.link().counters().offered_bytes;
        offered as f64 / self.received().iter().sum::<u64>() as f64
    }
}

fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
}

/// The time, in ms, until a transfer of `bytes` has arrived.
fn transfer(link: &str, bytes: u64) -> f64 {
    let mut experiment = Experiment::new(link, &[Kind::Weftline(0.0, bytes)]);
    let end = Duration::from_secs(60);
    experiment.0.run_while(end, |sim| match &sim.b.flows[0].1 {
        Flow::Weftline(peer) => !peer.read.values().any(|(_, end)| *end),
        _ => false,
    });
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
        let mut experiment = Experiment::new(&link, &[Kind::Weftline(0.0, ENDLESS)]);
        let rate = experiment.rates(2.0, 10.5)[0] / MBIT;
        let (queue, wire) = (experiment.queue(), experiment.wire_per_byte());
        assert!(rate >= goodput, "{rate:.3} of the link at {loss}");
        assert!(queue <= 10.0, "{queue:.1} ms at {loss}");
        assert!(wire <= 1.10 / (1.0 - loss), "{wire:.3} at {loss}");
    }
}

#[test]
fn slow_links_are_filled_with_a_queue_of_few_packets() {
    for (kbit, delay) in [(256.0, 10), (256.0, 30), (512.0, 30), (1000.0, 100)] {
        let link = format!("rate={kbit}kbit delay={delay}ms queue=2s");
        let mut experiment = Experiment::new(&link, &[Kind::Weftline(0.0, ENDLESS)]);
        let rate = experiment.rates(5.0, 25.0)[0] * 1e3 / kbit;
        assert!(rate >= 0.85, "{rate:.3} of {link}");
        let queue = experiment.queue() * kbit / 8.0 / 1490.0;
        assert!(queue <= 4.0, "{queue:.1} packets on {link}");
    }
}

#[test]
fn a_slow_link_ends_the_start_with_the_first_reports() {
    for kbit in [256.0, 512.0, 1000.0] {
        let link = format!("rate={kbit}kbit delay=10ms queue=2s");
        let mut experiment = Experiment::new(&link, &[Kind::Weftline(0.0, ENDLESS)]);
        experiment.rates(0.0, 3.0);
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
        let mut experiment = Experiment::new(link, &[Kind::Weftline(0.0, ENDLESS)]);
        let rate = experiment.rates(8.0, 20.0)[0] / mbit;
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
        let mut experiment = Experiment::between(&link, STEADY, &[Kind::Weftline(0.0, ENDLESS)]);
        let rate = experiment.rates(1.0, 16.0)[0];
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
        let mut experiment = Experiment::new(&link, &[Kind::Weftline(0.0, ENDLESS)]);
        let rate = experiment.rates(5.0, 20.0)[0];
        assert!(
            rate >= share * steady,
            "{rate:.1} of {steady:.1} Mbit/s on {link}"
        );
    }
}

#[test]
fn a_queue_too_short_to_measure_is_found_by_its_losses() {
    let link = "rate=25mbit delay=30ms queue=5pkt loss=iid:1%";
    let mut experiment = Experiment::new(link, &[Kind::Weftline(0.0, ENDLESS)]);
    let rate = experiment.rates(5.0, 15.0)[0];
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
        let mut experiment = Experiment::new(&link, &[Kind::Weftline(0.0, ENDLESS)]);
        experiment.rates(0.0, 4.0);
        let offered = |experiment: &Experiment| {
            let counters = experiment.0.a_to_b.link().counters();
            counters.offered_bytes as f64 * 8e-3 / kbit
        };
        let start = offered(&experiment);
        assert!(start <= 16.0, "{start:.1} s of {link} are sent in 4 s");
        let share = experiment.rates(4.0, 16.0)[0] * 1e3 / kbit;
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
    let mut experiment = Experiment::new(LINK, &[Kind::Weftline(0.0, ENDLESS)]);
    experiment.rates(0.0, 5.0);
    let slower = "rate=8mbit delay=30ms queue=200ms"
        .parse()
        .expect("well-formed");
    experiment.0.a_to_b.set_config(slower);
    experiment.rates(5.0, 7.0);
    let before = experiment.0.a_to_b.link().counters().queue_delay.clone();
    let rate = experiment.rates(7.0, 12.0)[0];
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

#[test]
fn flows_of_one_kind_share_equally() {
    let two = [Kind::Weftline(0.0, ENDLESS), Kind::Weftline(5.0, ENDLESS)];
    for loss in ["0%", "5%"] {
        let mut experiment = Experiment::new(&format!("{LINK} loss=iid:{loss}"), &two);
        let rates = experiment.rates(12.0, 18.0);
        assert!(jain(&rates) > 0.97, "{rates:?} at {loss}");
        let queue = experiment.queue();
        assert!(queue < 15.0, "{queue} ms at {loss}");
    }
    let five = [0.0, 1.0, 2.0, 3.0, 10.0].map(|start| Kind::Weftline(start, ENDLESS));
    let mut experiment = Experiment::new(LINK, &five);
    let rates = experiment.rates(15.0, 25.0);
    assert!(jain(&rates) > 0.9, "{rates:?}");
}

#[test]
fn flows_of_one_kind_that_begin_together_share_equally() {
    let eight = [0.0; 8].map(|start| Kind::Weftline(start, ENDLESS));
    let link = "rate=25mbit delay=30ms queue=200ms";
    let mut experiment = Experiment::new(link, &eight);
    let rates = experiment.rates(15.0, 25.0);
    assert!(jain(&rates) > 0.95, "{rates:?}");
    let queue = experiment.queue();
    assert!(queue < 40.0, "{queue} ms");
}

#[test]
fn a_flow_shares_a_link_with_a_flow_that_fills_the_queue() {
    // When CUBIC's queue is short is a matter of chance: two starts each, and their mean.
    let mut sum = [0.0, 0.0];
    for late in [1.0, 2.48] {
        for kinds in [
            [Kind::Weftline(0.0, ENDLESS), Kind::Cubic(late)],
            [Kind::Weftline(2.0 + late, ENDLESS), Kind::Cubic(0.0)],
        ] {
            let mut experiment = Experiment::new(LINK, &kinds);
            let rates = experiment.rates(12.0, 32.0);
            assert!(jain(&rates) > 0.7, "{rates:?}");
            assert!(rates.iter().sum::<f64>() > 22.0, "{rates:?}");
            sum = [sum[0] + rates[0], sum[1] + rates[1]];
        }
    }
    assert!(jain(&sum) > 0.8, "{sum:?}");
}
