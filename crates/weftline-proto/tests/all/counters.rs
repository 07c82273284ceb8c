//! The counters of a session and of its paths are those of the emulated links, datagram by datagram.

use std::time::Duration;

use weftline_netem::{Counters, LinkConfig, Simulation};
use weftline_proto::{Config, PathReport, RateControl, SentStats, Time};

use crate::support::{Peer, live};

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

/// A stream of messages of `size` bytes, one each millisecond for six seconds, over paths of a round trip of
/// 40 ms that lose these shares of the datagrams there in all but the first second and the last two: what
/// those losses begin ends while it goes on.
fn stream(size: usize, losses: &[&str]) -> Simulation<Peer, Peer> {
    let link = |text: &str| -> LinkConfig {
        let text = format!("rate=50mbit delay=20ms queue=100ms {text}");
        text.parse().expect("it is a link")
    };
    let whole = link("");
    let mut config = Config::default();
    config.rate = RateControl::Adaptive;
    let mut sim = live(config, (MS, size, 6000), whole.clone(), whole.clone(), 5);
    for seed in 1..losses.len() as u64 {
        sim.add_path(whole.clone(), whole.clone(), seed);
        sim.a.add_path(0);
        sim.b.add_path(0);
    }
    let mut phase = |until, texts: &[&str]| {
        for (at, text) in texts.iter().enumerate() {
            match at {
                0 => sim.a_to_b.set_config(link(text)),
                at => sim.more[at - 1][0].set_config(link(text)),
            }
        }
        sim.run_until(until);
    };
    phase(S, &vec![""; losses.len()]);
    phase(4 * S, losses);
    phase(8 * S, &vec![""; losses.len()]);
    assert_eq!(sim.b.live_delays.len(), 6000);
    sim
}

fn reports(peer: &Peer) -> Vec<PathReport> {
    peer.session.paths().map(|(_, report)| report).collect()
}

/// What the links have counted, there and back, for each path.
fn links(sim: &Simulation<Peer, Peer>) -> Vec<[Counters; 2]> {
    let first = [sim.a_to_b.link(), sim.b_to_a.link()];
    let more = sim
        .more
        .iter()
        .map(|[there, back]| [there.link(), back.link()]);
    let all = std::iter::once(first).chain(more);
    all.map(|pair| pair.map(|link| link.counters().clone()))
        .collect()
}

/// Those counters of a session that each path has too.
fn of_paths(sent: &SentStats) -> [u64; 7] {
    [
        sent.datagrams,
        sent.bytes,
        sent.source_symbols,
        sent.retransmissions,
        sent.repair_symbols,
        sent.lost_datagrams,
        sent.spurious_losses,
    ]
}

fn sum(reports: &[PathReport]) -> [u64; 7] {
    let each = reports.iter().map(|path| {
        [
            path.sent_datagrams,
            path.sent_bytes,
            path.source_symbols,
            path.retransmissions,
            path.repair_symbols,
            path.lost_datagrams,
            path.spurious_losses,
        ]
    });
    each.fold([0; 7], |all, one| std::array::from_fn(|n| all[n] + one[n]))
}

/// All counters agree with the links' and with each other.
fn check(sim: &Simulation<Peer, Peer>) {
    let [near, far] = [&sim.a, &sim.b].map(|peer| (peer.session.stats(), reports(peer)));
    for ((ours, theirs), [there, back]) in near.1.iter().zip(&far.1).zip(links(sim)) {
        assert_eq!(ours.sent_datagrams, there.offered_packets);
        assert_eq!(theirs.received_datagrams, there.delivered_packets);
        assert_eq!(theirs.sent_datagrams, back.offered_packets);
        assert_eq!(ours.received_datagrams, back.delivered_packets);
        let lost = ours.lost_datagrams - ours.spurious_losses;
        assert_eq!(lost, there.lost + there.queue_drops);
        assert_eq!((theirs.lost_datagrams, back.lost), (0, 0));
        // Of 40 ms, and what the peer may hold a report back is taken off.
        let trips = &ours.round_trips;
        assert!(trips.count() > 0 && trips.count() <= ours.received_datagrams);
        let longest = trips.quantile(1.0).expect("it is within the bounds");
        assert!((50 * MS..=100 * MS).contains(&longest), "{trips:?}");
    }
    for (stats, reports) in [&near, &far] {
        assert_eq!(of_paths(&stats.sent), sum(reports));
        let received: u64 = reports.iter().map(|path| path.received_datagrams).sum();
        assert_eq!(stats.received.datagrams, received);
        assert_eq!(stats.dropped.total(), 0);
        // Every datagram carries one of these, or HELLO, which leaves again before the peer has answered.
        let sent = &stats.sent;
        let symbols = sent.source_symbols + sent.retransmissions + sent.repair_symbols;
        let others = sent.feedback + sent.probes;
        let hello = sent.datagrams - (symbols - sent.riding_symbols + others);
        assert!((1..=4).contains(&hello), "{sent:?}");
    }
    for ((one, _), (other, _)) in [(&near, &far), (&far, &near)] {
        // No report was lost, and none of the repairs that arrived came twice.
        assert_eq!(other.received.feedback, one.sent.feedback);
        let (got, sent) = (&other.received, &one.sent);
        assert_eq!(
            got.source_symbols + got.recovered_symbols + got.abandoned_symbols,
            sent.source_symbols
        );
    }
}

#[test]
fn counters_agree_with_the_links_datagram_by_datagram() {
    let mut recovered = 0;
    // Messages of 64 bytes let repairs ride with them.
    for (size, losses) in [
        (1200, &["loss=iid:5%"][..]),
        (64, &["loss=iid:5%"]),
        (1200, &["loss=iid:3%", "loss=iid:1%"]),
        (1200, &["loss=ge:2%,4", ""]),
    ] {
        let sim = stream(size, losses);
        check(&sim);
        let (sent, received) = (sim.a.session.stats().sent, sim.b.session.stats().received);
        recovered += received.recovered_symbols;
        assert_eq!(sent.riding_symbols > 0, size == 64, "{sent:?}");
        assert!(sent.lost_datagrams > 10, "{sent:?}");
        let budget = sim.a.session.stats().budget.expect("`auto` has one");
        assert!((0.1..=1.0).contains(&budget), "{budget}");
    }
    assert!(recovered > 100, "{recovered}");
}

#[test]
fn what_arrives_after_it_was_taken_for_lost_is_counted_apart() {
    let sim = stream(1200, &["jitter=5ms,normal,reorder loss=iid:2%"]);
    check(&sim);
    let sent = sim.a.session.stats().sent;
    assert!(sent.spurious_losses > 0 && sent.lost_datagrams > sent.spurious_losses);
}

#[test]
fn a_path_that_goes_takes_no_counts_of_the_session_with_it() {
    let mut sim = stream(1200, &["loss=iid:2%", "loss=iid:1%"]);
    let before = sim.b.session.stats().received;
    let sent = of_paths(&sim.a.session.stats().sent);
    let now = Time::from_micros(8_000_000);
    for peer in [&mut sim.a, &mut sim.b] {
        let gone = peer.paths[0];
        peer.session.remove_path(now, gone);
        assert_eq!(reports(peer).len(), 1);
    }
    assert_eq!(of_paths(&sim.a.session.stats().sent), sent);
    assert_eq!(sim.b.session.stats().received, before);
    assert_ne!(sum(&reports(&sim.a)), sent);
}
