//! What holds for every link.

use std::time::Duration;

use proptest::prelude::*;
use weftline_netem::{Fate, GilbertElliott, Jitter, Link, LinkConfig, LossModel, Queue, Reorder};

fn probability() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(1.0),
        0.0..=1.0,
        (0u32..=10_000).prop_map(|n| n as f64 / 1e4)
    ]
}

fn duration(most: Duration) -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        (0..=most.as_millis() as u64).prop_map(Duration::from_millis),
        (0..=most.as_nanos() as u64).prop_map(Duration::from_nanos),
    ]
}

fn loss() -> impl Strategy<Value = LossModel> {
    prop_oneof![
        Just(LossModel::None),
        probability().prop_map(LossModel::iid),
        [probability(), probability(), probability(), probability()].prop_map(
            |[p, r, loss_good, loss_bad]| {
                LossModel::GilbertElliott(GilbertElliott {
                    p,
                    r,
                    loss_good,
                    loss_bad,
                })
            }
        ),
        (0.0..0.9, 1.0..50.0).prop_filter_map("no such chain", |(loss, burst)| LossModel::bursts(
            loss, burst
        )
        .ok()),
        (1u64..1000).prop_map(|n| LossModel::Periodic { n }),
        prop::collection::vec(any::<bool>(), 1..50).prop_map(LossModel::trace),
    ]
}

fn queue() -> impl Strategy<Value = Queue> {
    prop_oneof![
        Just(Queue::UNLIMITED),
        (0usize..200).prop_map(Queue::packets),
        (0usize..200_000).prop_map(Queue::bytes),
        duration(Duration::from_secs(1)).prop_map(Queue::time),
        (0usize..200, duration(Duration::from_secs(1)))
            .prop_map(|(packets, time)| Queue::packets(packets).and(Queue::time(time))),
    ]
}

prop_compose! {
    fn link()(
        rate in prop::option::of(prop_oneof![0..2_000_000_000u64, (1..1000u64).prop_map(|n| n * 1_000_000)]),
        delay in duration(Duration::from_secs(2)),
        jitter in duration(Duration::from_millis(20)),
        queue in queue(),
        ecn in prop::option::of(queue()),
        loss in loss(),
        reorder in prop::option::of((probability(), duration(Duration::from_millis(20)))),
        duplicate in probability(),
        mtu in prop::option::of(0usize..2000),
    ) -> LinkConfig {
        let mut link = LinkConfig::default();
        link.rate = rate;
        link.delay = delay;
        link.jitter = Jitter::uniform(jitter);
        link.queue = queue;
        link.ecn = ecn;
        link.loss = loss;
        link.reorder = reorder.map(|(probability, extra)| Reorder { probability, extra });
        link.duplicate = duplicate;
        link.mtu = mtu;
        link
    }
}

/// Gaps before packets in nanoseconds, and their lengths.
fn packets() -> impl Strategy<Value = Vec<(u64, usize)>> {
    prop::collection::vec(
        (prop_oneof![Just(0), 0..5_000_000u64], 0usize..2000),
        0..300,
    )
}

fn run(config: LinkConfig, seed: u64, packets: &[(u64, usize)]) -> (Link, Vec<(Duration, Fate)>) {
    let mut link = Link::new(config, seed);
    let mut now = Duration::ZERO;
    let mut fates = Vec::new();
    for (gap, len) in packets {
        now += Duration::from_nanos(*gap);
        fates.push((now, link.send(now, *len)));
    }
    (link, fates)
}

proptest! {
    #[test]
    fn text_form_reads_back_as_the_same_link(link in link()) {
        let text = link.to_string();
        prop_assert_eq!(text.parse::<LinkConfig>(), Ok(link), "{}", text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,60}", value in "[0-9.,:%a-zB=]{0,12}") {
        let _ = text.parse::<LinkConfig>();
        for part in ["rate", "delay", "queue", "ecn", "loss", "reorder", "duplicate", "mtu"] {
            let _ = format!("{part}={value}").parse::<LinkConfig>();
        }
        for kind in ["iid", "ge", "ge4", "periodic", "trace"] {
            let _ = format!("{kind}:{value}").parse::<LossModel>();
        }
    }

    #[test]
    fn same_seed_same_fates(link in link(), seed: u64, packets in packets()) {
        let (first, fates) = run(link.clone(), seed, &packets);
        let (second, again) = run(link, seed, &packets);
        prop_assert_eq!(fates, again);
        prop_assert_eq!(first.counters(), second.counters());
    }

    #[test]
    fn nothing_arrives_before_the_path_allows_and_every_packet_is_counted_once(
        config in link(), seed: u64, packets in packets()
    ) {
        let (link, fates) = run(config.clone(), seed, &packets);
        for ((now, fate), (_, len)) in fates.iter().zip(&packets) {
            if let Fate::Delivered { at, duplicate, .. } = *fate {
                let bits = *len as u128 * 8_000_000_000;
                let on_wire = config.rate.map_or(0, |rate| bits / u128::from(rate));
                prop_assert!(at.as_nanos() >= (*now + config.delay).as_nanos() + on_wire);
                prop_assert!(duplicate.is_none_or(|copy| copy >= at));
            }
        }
        let c = link.counters();
        prop_assert_eq!(c.offered_packets, packets.len() as u64);
        prop_assert_eq!(c.offered_packets, c.delivered_packets + c.lost + c.queue_drops + c.too_big);
        prop_assert!(c.loss_runs <= c.lost && c.duplicated <= c.delivered_packets);
        if let Some(most) = config.queue.time {
            prop_assert!(c.queue_delay.max() <= most);
        }
    }

    #[test]
    fn without_reordering_arrivals_keep_the_order_of_sending(
        mut config in link(), seed: u64, packets in packets()
    ) {
        config.reorder = None;
        let (link, fates) = run(config, seed, &packets);
        let mut last = Duration::ZERO;
        for (_, fate) in fates {
            if let Fate::Delivered { at, duplicate, .. } = fate {
                prop_assert!(at >= last);
                last = duplicate.unwrap_or(at);
            }
        }
        prop_assert_eq!(link.counters().reordered, 0);
    }

    #[test]
    fn reordered_counts_packets_that_a_later_one_overtook(
        config in link(), seed: u64, packets in packets()
    ) {
        let (link, fates) = run(config, seed, &packets);
        let arrivals: Vec<Duration> = fates
            .iter()
            .filter_map(|(_, fate)| match fate {
                Fate::Delivered { at, .. } => Some(*at),
                _ => None,
            })
            .collect();
        let overtaken = |i: &usize| arrivals[i + 1..].iter().any(|later| *later < arrivals[*i]);
        let expected = (0..arrivals.len()).filter(overtaken).count();
        prop_assert_eq!(link.counters().reordered, expected as u64);
    }
}
