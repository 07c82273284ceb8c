//! One direction of a path.

use core::time::Duration;
use std::collections::BTreeMap;

use crate::config::LinkConfig;
use crate::counters::Counters;
use crate::delays::{Bucket, Hold};
use crate::loss::{LossModel, Losses};
use crate::random::Stream;
use crate::transmitter::Transmitter;

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// The loss model dropped it. It has used its time on the link.
    Lost,
    /// The queue was full, the link was down, or the policer dropped it.
    QueueDrop,
    /// It is longer than the MTU.
    TooBig,
    /// It arrives at the far end.
    #[non_exhaustive]
    Delivered {
        /// When the last bit arrives: queue, transmission, propagation and jitter.
        at: Duration,
        /// When a second copy arrives, never before `at`.
        duplicate: Option<Duration>,
        /// Whether it carries a congestion mark from this link; then both copies do.
        marked: bool,
    },
}

/// One direction of a path: decides the fate of each packet at the moment it is sent.
///
/// The steps are, in order: MTU, outage, policer, queue, transmission, loss, propagation with jitter,
/// bunches, reordering, duplication. The same configuration, seed and calls give the same fates.
/// Losses, jitter, reordering and duplication draw from separate streams, so
/// changing one leaves the pattern of the others in place.
#[derive(Debug, Clone)]
pub struct Link {
    config: LinkConfig,
    transmitter: Transmitter,
    bucket: Bucket,
    hold: Hold,
    losses: Losses,
    /// The step of the trace whose loss model is in force.
    loss_step: usize,
    jitter: Stream,
    reorder: Stream,
    duplicate: Stream,
    holds: Stream,
    counters: Counters,
    last_sent: Duration,
    /// Arrival of the latest packet that was not held back.
    last_arrival: Duration,
    /// Arrivals of held-back packets that nothing has overtaken yet.
    held: BTreeMap<Duration, u64>,
    previous_lost: bool,
}

impl Link {
    /// A link that has carried nothing yet.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        let losses = Stream::new(seed);
        let jitter = losses.next_stream();
        let reorder = jitter.next_stream();
        let duplicate = reorder.next_stream();
        let holds = duplicate.next_stream();
        Self {
            losses: Losses::with_stream(first_loss(&config).clone(), losses),
            loss_step: 0,
            config,
            transmitter: Transmitter::default(),
            bucket: Bucket::default(),
            hold: Hold::default(),
            jitter,
            reorder,
            duplicate,
            holds,
            counters: Counters::default(),
            last_sent: Duration::ZERO,
            last_arrival: Duration::ZERO,
            held: BTreeMap::new(),
            previous_lost: false,
        }
    }

    /// Sends a packet of `len` bytes, headers included, at `now`. The packet is never
    /// marked. Time cannot go back: an earlier `now` counts as the latest one seen.
    pub fn send(&mut self, now: Duration, len: usize) -> Fate {
        self.decide(now, len, false)
    }

    /// [`send`](Self::send) for a packet that may be marked instead of dropped
    /// (ECN-capable transport, RFC 3168).
    pub fn send_ect(&mut self, now: Duration, len: usize) -> Fate {
        self.decide(now, len, true)
    }

    fn decide(&mut self, now: Duration, len: usize, ect: bool) -> Fate {
        let now = self.last_sent.max(now);
        self.last_sent = now;
        self.counters.offered_packets += 1;
        self.counters.offered_bytes = self.counters.offered_bytes.saturating_add(len as u64);

        if self.config.mtu.is_some_and(|mtu| len > mtu) {
            self.counters.too_big += 1;
            return Fate::TooBig;
        }
        if self.config.down.cover(now) {
            self.counters.queue_drops += 1;
            return Fate::QueueDrop;
        }
        if let Some(policer) = self.config.police
            && !self.bucket.passes(policer, now, len)
        {
            self.counters.queue_drops += 1;
            return Fate::QueueDrop;
        }
        let Some(slot) = self.transmitter.accept(now, len, &self.config) else {
            self.counters.queue_drops += 1;
            return Fate::QueueDrop;
        };
        let wait = slot.start.saturating_sub(now);
        self.counters.queue_delay.record(wait);

        self.follow_trace(slot.start);
        let mut luck = self.draw(slot.end);
        luck.lost |= self.config.down.cover(slot.end);
        let lost_before = core::mem::replace(&mut self.previous_lost, luck.lost);
        if luck.lost {
            self.counters.lost += 1;
            self.counters.loss_runs += u64::from(!lost_before);
            return Fate::Lost;
        }
        let marked = slot.marked && ect;
        self.counters.delivered_packets += 1;
        self.counters.delivered_bytes = self.counters.delivered_bytes.saturating_add(len as u64);
        self.counters.marked += u64::from(marked);
        self.deliver(now, luck, marked)
    }

    /// The step of the trace at which a packet leaves the queue decides its loss.
    fn follow_trace(&mut self, start: Duration) {
        if let Some(trace) = &self.config.trace {
            let step = trace.at(start).step;
            if step != self.loss_step {
                self.loss_step = step;
                let model = trace.loss(step).unwrap_or(&self.config.loss);
                self.losses.set_model(model.clone());
            }
        }
    }

    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The configuration in force.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Changes the configuration from the next packet on. Packets accepted before
    /// keep their times, and later ones still queue behind them and do not
    /// overtake them; the loss model keeps its state unless it changed.
    pub fn set_config(&mut self, config: LinkConfig) {
        if (config.rate, &config.trace) != (self.config.rate, &self.config.trace) {
            self.transmitter.rate_changes();
        }
        self.losses.set_model(first_loss(&config).clone());
        self.loss_step = 0;
        self.config = config;
    }

    /// All random draws for a packet that passed the queue and left at `sent`, even if it is lost:
    /// the n-th packet has the same jitter under every loss model.
    fn draw(&mut self, sent: Duration) -> Luck {
        let config = &self.config;
        let delay = match &config.delays {
            Some(delays) => delays.at(sent),
            None => config.delay,
        };
        let step = config.steps.map_or(Duration::ZERO, |steps| steps.at(sent));
        let delay = delay.saturating_add(step);
        let held_for = match self.config.reorder {
            Some(r) => self.reorder.chance(r.probability).then_some(r.extra),
            None => None,
        };
        let copied = self.duplicate.chance(self.config.duplicate);
        let copy = self.config.jitter.apply(sent, delay, &mut self.duplicate);
        Luck {
            lost: self.losses.next_is_lost(),
            arrives: self.config.jitter.apply(sent, delay, &mut self.jitter),
            held_for,
            copy: copied.then_some(copy),
        }
    }

    fn deliver(&mut self, now: Duration, luck: Luck, marked: bool) -> Fate {
        let mut arrives = match self.config.jitter.reorders {
            true => luck.arrives,
            false => self.last_arrival.max(luck.arrives),
        };
        if let Some(bunch) = self.config.bunch {
            arrives = self.hold.release(bunch, arrives, &mut self.holds);
        }
        let at = arrives.saturating_add(luck.held_for.unwrap_or_default());
        self.count_overtaken(
            now,
            at,
            luck.held_for.is_some() || self.config.jitter.reorders,
        );

        let duplicate = luck.copy.map(|copy| at.max(copy));
        self.counters.duplicated += u64::from(duplicate.is_some());
        if luck.held_for.is_none() {
            self.last_arrival = self.last_arrival.max(duplicate.unwrap_or(at));
        }
        Fate::Delivered {
            at,
            duplicate,
            marked,
        }
    }

    /// Counts the held-back packets that the one arriving at `at` overtakes. No packet
    /// can overtake the remaining ones after a packet that was not held back.
    fn count_overtaken(&mut self, now: Duration, at: Duration, held: bool) {
        while let Some(last) = self.held.last_entry()
            && *last.key() > at
        {
            self.counters.reordered += last.remove();
        }
        if !held {
            self.held.clear();
            return;
        }
        while let Some(first) = self.held.first_entry()
            && *first.key() <= now
        {
            first.remove();
        }
        *self.held.entry(at).or_default() += 1;
    }
}

fn first_loss(config: &LinkConfig) -> &LossModel {
    match &config.trace {
        Some(trace) => trace.loss(0).unwrap_or(&config.loss),
        None => &config.loss,
    }
}

/// The random draws for one packet.
#[derive(Debug, Clone, Copy)]
struct Luck {
    lost: bool,
    /// When it arrives, if nothing holds it back.
    arrives: Duration,
    /// How long reordering holds it back.
    held_for: Option<Duration>,
    /// When its second copy arrives, if there is one.
    copy: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Queue;

    const fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    fn at(time: Duration) -> Fate {
        Fate::Delivered {
            at: time,
            duplicate: None,
            marked: false,
        }
    }

    #[test]
    fn arrival_is_queue_plus_transmission_plus_delay() {
        // 1,250 bytes at 25 Mbit/s take 400 us.
        let config = LinkConfig::default()
            .with_rate(25_000_000)
            .with_delay(us(30_000));
        let mut link = Link::new(config, 1);
        assert_eq!(link.send(us(0), 1250), at(us(30_400)));
        assert_eq!(link.send(us(100), 1250), at(us(30_800)));
        assert_eq!(link.send(us(100), 625), at(us(31_000)));
        // The link was idle from 1,000 us on.
        assert_eq!(link.send(us(5_000), 1250), at(us(35_400)));
        let counters = link.counters();
        // Waits: 0, 300, 700, 0.
        assert_eq!(counters.queue_delay.max(), us(700));
        assert_eq!(counters.queue_delay_mean(), us(250));
        assert_eq!(
            (counters.delivered_packets, counters.delivered_bytes),
            (4, 4375)
        );
    }

    #[test]
    fn a_lost_packet_uses_link_time_and_a_dropped_one_does_not() {
        let config = LinkConfig::default()
            .with_rate(8_000_000)
            .with_queue(Queue::packets(2))
            .with_mtu(1000)
            .with_loss(LossModel::trace([true, false, false, true]));
        let mut link = Link::new(config, 1);
        let fates: Vec<Fate> = [1000, 1001, 1000, 1000, 1000]
            .map(|len| link.send(us(0), len))
            .into();
        let expected = [
            Fate::Lost,
            Fate::TooBig,
            at(us(2000)),
            at(us(3000)),
            Fate::QueueDrop,
        ];
        assert_eq!(fates, expected);
        assert_eq!(link.send(us(2000), 1000), Fate::Lost);
        assert_eq!(link.send(us(2000), 500), Fate::Lost);
        assert_eq!(link.send(us(9000), 500), at(us(9500)));
        let counters = link.counters();
        assert_eq!(
            (counters.offered_packets, counters.offered_bytes),
            (8, 7001)
        );
        assert_eq!((counters.lost, counters.loss_runs), (3, 2));
        assert_eq!((counters.queue_drops, counters.too_big), (1, 1));
        assert_eq!(counters.mean_loss_run(), 1.5);
        assert_eq!(counters.loss_rate(), 0.5);
    }

    #[test]
    fn jitter_spreads_arrivals_but_never_reorders() {
        let config = LinkConfig::default()
            .with_delay(us(1000))
            .with_jitter(us(500));
        let mut link = Link::new(config, 5);
        let mut last = Duration::ZERO;
        let mut lags = Vec::new();
        for i in 0..20_000 {
            let now = us(i * 50);
            let Fate::Delivered { at, .. } = link.send(now, 100) else {
                panic!("lost")
            };
            assert!(at >= last);
            last = at;
            lags.push(at - now);
        }
        // Held in order, a packet is never later than the largest draw allows.
        assert!(lags.iter().all(|lag| (us(1000)..=us(1500)).contains(lag)));
        assert!(lags.iter().any(|lag| *lag < us(1150)) && lags.iter().any(|lag| *lag > us(1480)));
        assert_eq!(link.counters().reordered, 0);

        // Far apart, draws are not clamped: mean 1,250 us, standard error 1 us.
        let mut link = Link::new(link.config().clone(), 5);
        let lag = |i: u64, link: &mut Link| match link.send(us(i * 1000), 100) {
            Fate::Delivered { at, .. } => (at - us(i * 1000)).as_nanos() as f64,
            other => panic!("{other:?}"),
        };
        let mean = (0..20_000).map(|i| lag(i, &mut link)).sum::<f64>() / 20_000.0;
        assert!((mean - 1_250_000.0).abs() < 4_100.0, "{mean}");
    }

    #[test]
    fn only_jitter_that_may_reorder_does() {
        let reordered = |text: &str| {
            let mut link = Link::new(text.parse().unwrap(), 5);
            for i in 0..2000 {
                link.send(us(i * 500), 100);
            }
            link.counters().reordered
        };
        assert_eq!(reordered("delay=20ms jitter=5ms,normal"), 0);
        assert_eq!(
            reordered("delay=20ms jitter=5ms bunch=2ms,30ms steps=10ms,1s"),
            0
        );
        assert!(reordered("delay=20ms jitter=5ms,reorder") > 500);
        assert!(reordered("delay=20ms jitter=5ms,normal,reorder") > 500);
    }

    #[test]
    fn a_recorded_rate_carries_its_packets_and_the_link_its_losses() {
        let mut read = |_: &str| Ok("1\n1\n5\n10\n".to_owned());
        let text = "rate=trace:f loss=trace:0001";
        let config = LinkConfig::parse_with(text, &mut read).unwrap();
        let mut link = Link::new(config, 1);
        let fates: Vec<Fate> = (0..6).map(|_| link.send(us(0), 1500)).collect();
        let expected = [
            at(us(500)),
            at(us(1000)),
            at(us(5000)),
            Fate::Lost,
            at(us(10_500)),
            at(us(11_000)),
        ];
        assert_eq!(fates, expected);
    }

    #[test]
    fn reordering_holds_back_its_share() {
        let config = LinkConfig::default().with_reorder(0.1, us(250));
        let mut link = Link::new(config, 2);
        let mut late = 0;
        for i in 0..100_000u64 {
            late += u64::from(link.send(us(i * 100), 100) == at(us(i * 100 + 250)));
        }
        // Four standard deviations of a binomial are 380.
        assert!(late.abs_diff(10_000) < 380, "{late}");
        // Only one held back with the next two as well arrives in order: 1 in 100.
        let reordered = link.counters().reordered;
        assert!(
            reordered.abs_diff(late * 99 / 100) < 45,
            "{reordered} of {late}"
        );
    }

    #[test]
    fn duplicates_come_at_their_rate_and_not_first() {
        let config = LinkConfig::default()
            .with_duplicate(0.2)
            .with_jitter(us(10));
        let mut link = Link::new(config, 2);
        for i in 0..10_000 {
            if let Fate::Delivered {
                at,
                duplicate: Some(copy),
                ..
            } = link.send(us(i), 100)
            {
                assert!(copy >= at);
            }
        }
        // Four standard deviations are 160.
        assert!(link.counters().duplicated.abs_diff(2_000) < 160);
        assert_eq!(link.counters().delivered_packets, 10_000);
    }

    #[test]
    fn other_impairments_leave_the_loss_pattern_in_place() {
        let lossy = LinkConfig::default().with_loss(LossModel::bursts(0.2, 3.0).unwrap());
        let pattern = |config: LinkConfig, seed| -> Vec<bool> {
            let mut link = Link::new(config, seed);
            (0..5000)
                .map(|i| link.send(us(i), 100) == Fate::Lost)
                .collect()
        };
        let plain = pattern(lossy.clone(), 9);
        let busy = lossy
            .clone()
            .with_jitter(us(99))
            .with_duplicate(0.3)
            .with_reorder(0.1, us(9));
        assert_eq!(pattern(busy, 9), plain);
        let alone: Vec<bool> = Losses::new(lossy.loss.clone(), 9).take(5000).collect();
        assert_eq!(alone, plain);
        assert_ne!(pattern(lossy, 10), plain);
    }

    #[test]
    fn jitter_does_not_depend_on_loss() {
        let whole = LinkConfig::default().with_jitter(us(1000));
        let lossy = whole.clone().with_loss(LossModel::iid(0.5));
        let (mut whole, mut lossy) = (Link::new(whole, 4), Link::new(lossy, 4));
        let (mut early, mut arrived) = (0u64, 0u64);
        for i in 0..10_000 {
            let undisturbed = whole.send(us(i * 2000), 10);
            let fate = lossy.send(us(i * 2000), 10);
            if let Fate::Delivered { at, .. } = fate {
                assert_eq!(fate, undisturbed);
                arrived += 1;
                early += u64::from(at < us(i * 2000 + 500));
            }
        }
        // Half of about 5,000; four standard deviations are 142.
        assert!(early.abs_diff(arrived / 2) < 142, "{early} of {arrived}");
    }

    #[test]
    fn a_live_change_applies_to_later_packets_only() {
        let slow = LinkConfig::default()
            .with_rate(8_000_000)
            .with_delay(us(5000));
        let mut link = Link::new(slow.clone(), 1);
        assert_eq!(link.send(us(0), 1000), at(us(6000)));
        link.set_config(slow.clone().with_rate(80_000_000));
        // Behind the first one on the wire, then ten times as fast.
        assert_eq!(link.send(us(0), 1000), at(us(6100)));
        link.set_config(slow.clone().with_delay(us(0)));
        // The shorter delay must not reorder.
        assert_eq!(link.send(us(2000), 1000), at(us(6100)));
        link.set_config(slow.with_rate(0));
        assert_eq!(link.send(us(9000), 1000), Fate::QueueDrop);
    }

    #[test]
    fn a_live_change_of_rate_keeps_no_fraction_of_the_old_one() {
        let mut link = Link::new(LinkConfig::default().with_rate(3_000_000_000), 1);
        // 2 2/3 ns, then 8 ns more.
        assert_eq!(link.send(us(0), 1), at(Duration::from_nanos(3)));
        link.set_config(LinkConfig::default().with_rate(1_000_000_000));
        assert_eq!(link.send(us(0), 1), at(Duration::from_nanos(11)));
    }

    #[test]
    fn time_does_not_go_back() {
        let mut link = Link::new(LinkConfig::default(), 1);
        link.send(us(100), 10);
        assert_eq!(link.send(us(50), 10), at(us(100)));
    }

    #[test]
    fn memory_for_held_back_packets_is_bounded_by_those_in_flight() {
        let mut link = Link::new(LinkConfig::default().with_reorder(1.0, us(10)), 1);
        for i in 0..1000 {
            link.send(us(i), 10);
            assert!(link.held.len() <= 10);
        }
        link.set_config(LinkConfig::default());
        link.send(us(1000), 10);
        assert!(link.held.is_empty());
    }

    fn text(link: &str, trace: &str) -> LinkConfig {
        LinkConfig::parse_with(link, &mut |_| Ok(trace.to_owned())).unwrap()
    }

    #[test]
    fn a_packet_under_way_when_the_rate_changes_ends_at_the_new_rate() {
        // 1,000 bytes are 8 ms at 1 Mbit/s; half of them are out after 4 ms, the
        // outage takes 3 ms, and the other half needs 0.4 ms at 10 Mbit/s.
        let trace = "0s rate=1mbit\n4ms rate=0bit\n7ms rate=10mbit";
        let mut link = Link::new(text("loss=trace:f delay=1ms", trace), 1);
        assert_eq!(link.send(us(0), 1000), at(us(8_400)));
        assert_eq!(link.send(us(0), 1000), at(us(9_200)));
        assert_eq!(link.counters().queue_delay.max(), us(7_400));
        assert_eq!(link.send(us(50_000), 1000), at(us(51_800)));
    }

    #[test]
    fn packets_wait_for_the_end_of_an_outage_as_far_as_the_queue_has_room() {
        let trace = "0s rate=8mbit\n10ms rate=0bit\n20ms repeat";
        let mut link = Link::new(text("loss=trace:f queue=2pkt", trace), 1);
        assert_eq!(link.send(us(15_000), 1000), at(us(21_000)));
        assert_eq!(link.send(us(15_000), 1000), at(us(22_000)));
        assert_eq!(link.send(us(15_000), 1000), Fate::QueueDrop);
        // For good, there is nothing to wait for.
        let mut link = Link::new(text("loss=trace:f", "0s rate=8mbit\n10ms rate=0bit"), 1);
        assert_eq!(link.send(us(9_000), 1000), at(us(10_000)));
        assert_eq!(link.send(us(9_500), 1000), Fate::QueueDrop);
        assert_eq!(link.send(us(15_000), 1000), Fate::QueueDrop);
    }

    #[test]
    fn losses_follow_the_trace_by_the_time_of_leaving_the_queue() {
        let trace = "0s loss=none\n10ms loss=iid:100%\n20ms loss=periodic:2\n30ms repeat";
        let mut link = Link::new(text("rate=8mbit loss=trace:f", trace), 1);
        // 1 ms each, all offered at once: packet n leaves at n ms.
        let lost: String = (0..40)
            .map(|_| match link.send(us(0), 1000) {
                Fate::Lost => 'x',
                _ => '.',
            })
            .collect();
        assert_eq!(lost, "..........xxxxxxxxxx.x.x.x.x.x..........");
    }

    #[test]
    fn a_restarted_trace_begins_at_its_first_line() {
        let mut link = Link::new(text("loss=trace:f", "0s loss=none\n1ms loss=iid:100%"), 1);
        assert_eq!(link.send(us(2_000), 10), Fate::Lost);
        let mut config = link.config().clone();
        config.trace = config.trace.map(|t| t.starting_at(us(5_000)));
        link.set_config(config);
        assert_eq!(link.send(us(5_999), 10), at(us(5_999)));
        assert_eq!(link.send(us(6_000), 10), Fate::Lost);
    }

    #[test]
    fn packets_that_allow_it_are_marked_when_the_queue_is_past_its_threshold() {
        let config = LinkConfig::default()
            .with_rate(8_000_000)
            .with_queue(Queue::packets(4))
            .with_ecn(Queue::time(us(2_000)));
        let marks = |ect: bool| {
            let mut link = Link::new(config.clone(), 1);
            let fates: Vec<Option<bool>> = (0..6)
                .map(|_| {
                    match if ect {
                        link.send_ect(us(0), 1000)
                    } else {
                        link.send(us(0), 1000)
                    } {
                        Fate::Delivered { marked, .. } => Some(marked),
                        _ => None,
                    }
                })
                .collect();
            (fates, link.counters().marked)
        };
        let (no, yes) = (Some(false), Some(true));
        assert_eq!(marks(true), (vec![no, no, no, yes, yes, None], 2));
        assert_eq!(marks(false), (vec![no, no, no, no, no, None], 0));
    }
}
