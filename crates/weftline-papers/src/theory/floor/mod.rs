//! Floors of the in-order delay, for comparison with real systems.
//!
//! An ideal code: every repair that arrives replaces any one loss. Source packets are due at even
//! intervals, repairs directly follow the packet after which their share is full, and each packet
//! takes its time on the link.

use super::binomial::Sum;
use super::{SlotLoss, TheoryError, binomial, within};

/// A stream of packets on a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// The loss model of the link.
    pub loss: SlotLoss,
    /// Repairs for each source packet.
    pub share: f64,
    /// Time between two source packets, ms.
    pub period_ms: f64,
    /// Time of a packet on the link, ms.
    pub packet_ms: f64,
}

/// In-order delays, from when a packet is due until it is delivered, in ms, without the path's
/// delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Delays {
    /// Delay and probability, in ascending order.
    points: Vec<(f64, f64)>,
}

impl Delays {
    /// The mean.
    pub fn mean(&self) -> f64 {
        let mut sum = Sum::default();
        self.points.iter().for_each(|(delay, p)| sum.add(delay * p));
        sum.value() / self.total()
    }

    /// The least delay within which this share of packets is delivered.
    pub fn quantile(&self, share: f64) -> f64 {
        let (total, mut sum) = (self.total(), Sum::default());
        let mut points = self.points.iter();
        let found = points.find(|(_, p)| {
            sum.add(*p);
            sum.value() >= share * total
        });
        let point = found.or(self.points.last());
        point.map_or(0.0, |(delay, _)| *delay)
    }

    fn total(&self) -> f64 {
        let mut sum = Sum::default();
        self.points.iter().for_each(|(_, p)| sum.add(*p));
        sum.value()
    }
}

/// Most work of a whole computation: states times events.
const MOST_WORK: u64 = 2_000_000_000;
/// Longest period of the repair pattern to which shares are rounded.
const LONGEST_PATTERN: u32 = 100;
/// Probability that is left out of a distribution.
const NEGLIGIBLE: f64 = 1e-10;

/// Probabilities by deficit and state of the channel.
type Walk = Vec<[f64; 2]>;

impl Stream {
    /// The delays of an ideal code without feedback; also those of any code within less than a
    /// round-trip time. Exact up to 1e-10 of the distribution.
    ///
    /// # Errors
    /// The share is too small for the losses, or so close to the limit that the computation takes
    /// too long.
    pub fn without_feedback(&self) -> Result<Delays, TheoryError> {
        self.check()?;
        let repairs = self.pattern();
        let channel = Channel::new(self.loss);
        let mut work = 0;
        let start = channel.settled(&repairs, &mut work)?;
        let mut points = Vec::new();
        let mut walk = start;
        for place in 0..repairs.len() {
            let (next, intact) = channel.source(&walk);
            points.push((self.packet_ms, intact));
            self.follow(
                &channel,
                &repairs,
                place,
                next.clone(),
                &mut points,
                &mut work,
            )?;
            walk = next;
            for _ in 0..repairs[place] {
                channel.repair(&mut walk);
            }
        }
        let packets = repairs.len() as f64;
        points.iter_mut().for_each(|(_, p)| *p /= packets);
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Delays { points })
    }

    /// Follows the packets sent at `place` that wait until nothing is missing any more.
    fn follow(
        &self,
        channel: &Channel,
        repairs: &[u32],
        place: usize,
        mut walk: Walk,
        points: &mut Vec<(f64, f64)>,
        work: &mut u64,
    ) -> Result<(), TheoryError> {
        walk[0] = [0.0; 2];
        for after in 0.. {
            let sent = self.period_ms * after as f64 + self.packet_ms;
            for n in 1..=repairs[(place + after) % repairs.len()] {
                channel.repair(&mut walk);
                let released: f64 = walk[0].iter().sum();
                walk[0] = [0.0; 2];
                points.push((sent + f64::from(n) * self.packet_ms, released));
            }
            let left: f64 = walk.iter().flatten().sum();
            if left < NEGLIGIBLE {
                return Ok(());
            }
            walk = channel.source(&walk).0;
            spend(work, walk.len())?;
        }
        Ok(())
    }

    /// Repairs after each source packet, over a period: the share as a fraction of small terms.
    fn pattern(&self) -> Vec<u32> {
        let error = |n: u32| {
            let repairs = (self.share * f64::from(n)).round();
            (repairs / f64::from(n) - self.share).abs()
        };
        // The shortest of the best patterns.
        let best = (1..=LONGEST_PATTERN)
            .map(error)
            .fold(f64::INFINITY, f64::min);
        let length = (1..=LONGEST_PATTERN).find(|n| error(*n) <= best + 1e-12);
        let length = u64::from(length.unwrap_or(LONGEST_PATTERN));
        let repairs = (self.share * length as f64).round() as u64;
        let due = |n: u64| n * repairs / length;
        (0..length).map(|n| (due(n + 1) - due(n)) as u32).collect()
    }

    fn check(&self) -> Result<(), TheoryError> {
        let loss = self.loss.checked()?.rate();
        let fits = self.share > 0.0 && self.share <= 10.0;
        within(
            "the repair share",
            self.share,
            fits,
            "above 0 and at most 10",
        )?;
        self.check_times()?;
        let lost = loss * (1.0 + self.share) / self.share;
        if lost < 1.0 {
            Ok(())
        } else {
            Err(TheoryError::Overloaded { lost })
        }
    }

    fn check_times(&self) -> Result<(), TheoryError> {
        for (name, got) in [
            ("the period", self.period_ms),
            ("the time of a packet", self.packet_ms),
        ] {
            within(name, got, got > 0.0 && got.is_finite(), "above 0 ms")?;
        }
        Ok(())
    }

    /// Time in which the tail of delays falls by a factor of e without feedback, ms: one over the
    /// sphere-packing exponent D(1-R || p) of the code's rate R = 1 / (1 + share), which no code
    /// exceeds at a fixed delay. `None` for losses in runs.
    pub fn tail_ms(&self) -> Option<f64> {
        let SlotLoss::Iid { loss } = self.loss else {
            return None;
        };
        let slot = self.period_ms / (1.0 + self.share);
        Some(slot / binomial::divergence(self.share / (1.0 + self.share), loss))
    }

    /// Mean delay, and the time in which its tail falls by a factor of e, in ms, if the sender
    /// learns of each loss at once and repeats the packet until it arrives: a D/Geo/1 queue, the
    /// floor of every scheme on this link. The share does not matter. `None` for losses in runs.
    ///
    /// # Errors
    /// The link is too slow for the stream.
    pub fn immediate_feedback(&self) -> Result<Option<(f64, f64)>, TheoryError> {
        self.check_times()?;
        let SlotLoss::Iid { loss } = self.loss.checked()? else {
            return Ok(None);
        };
        let slots = self.period_ms / self.packet_ms;
        let load = 1.0 / (slots * (1.0 - loss));
        within(
            "the load of the link",
            load,
            load < 1.0,
            "below 1: reserve rate for losses",
        )?;
        if loss == 0.0 {
            return Ok(Some((self.packet_ms, 0.0)));
        }
        // A packet waits more than n slots with probability x^n, x = p + (1-p) x^slots: rises from
        // p.
        let mut x = loss;
        for _ in 0..1_000_000 {
            let next = loss + (1.0 - loss) * x.powf(slots);
            if next - x <= 1e-16 {
                break;
            }
            x = next;
        }
        Ok(Some((self.packet_ms / (1.0 - x), -self.packet_ms / x.ln())))
    }

    /// The mean delay that losses add without repairs in advance, on a link that is never full,
    /// when the sender learns of a loss after `rtt_ms`: retransmission at its best, RTT sum over m
    /// of [1 - (1 - exp(-k q)) / (k q)], q = -ln(1 - p^m), k packets in a round trip. `None` for
    /// losses in runs.
    ///
    /// # Errors
    /// `rtt_ms` is not a number from 0 on.
    pub fn retransmission(&self, rtt_ms: f64) -> Result<Option<f64>, TheoryError> {
        self.check_times()?;
        within(
            "the RTT",
            rtt_ms,
            rtt_ms >= 0.0 && rtt_ms.is_finite(),
            "0 ms or more",
        )?;
        let SlotLoss::Iid { loss } = self.loss.checked()? else {
            return Ok(None);
        };
        let packets = rtt_ms / self.period_ms;
        let mut sum = 0.0;
        let mut lost = loss;
        while lost * packets > 1e-16 {
            let rate = -packets * (-lost).ln_1p();
            sum += 1.0 + (-rate).exp_m1() / rate;
            lost *= loss;
        }
        Ok(Some(rtt_ms * sum))
    }
}

fn spend(work: &mut u64, states: usize) -> Result<(), TheoryError> {
    *work += states as u64;
    let fits = *work < MOST_WORK;
    within(
        "the repair share",
        f64::NAN,
        fits,
        "further above the loss to be computed",
    )
    .map(drop)
}

/// A channel as transitions, with the loss of each state.
struct Channel {
    /// Probability that the next packet is lost, by the state after the last packet.
    loses: [f64; 2],
}

impl Channel {
    fn new(loss: SlotLoss) -> Self {
        let (gamma, beta) = loss.transitions();
        Self {
            loses: [gamma, 1.0 - beta],
        }
    }

    /// A source packet: the walk after it, and the probability that it is delivered at once.
    fn source(&self, walk: &Walk) -> (Walk, f64) {
        let mut next = vec![[0.0; 2]; walk.len() + 1];
        for (level, states) in walk.iter().enumerate() {
            for (p, loses) in states.iter().zip(self.loses) {
                next[level][0] += p * (1.0 - loses);
                next[level + 1][1] += p * loses;
            }
        }
        let intact = next[0][0];
        // Levels that are too rare to matter would only grow.
        while next.len() > 2 && next.last().is_some_and(|top| top[0] + top[1] < 1e-30) {
            next.pop();
        }
        (next, intact)
    }

    /// A repair packet.
    fn repair(&self, walk: &mut Walk) {
        let mut below = walk[0];
        for level in 0..walk.len() {
            let states = if level == 0 { below } else { walk[level] };
            below = states;
            walk[level] = [0.0; 2];
            for (p, loses) in below.iter().zip(self.loses) {
                walk[level.saturating_sub(1)][0] += p * (1.0 - loses);
                walk[level][1] += p * loses;
            }
        }
    }

    /// The stationary walk at the start of a period.
    fn settled(&self, repairs: &[u32], work: &mut u64) -> Result<Walk, TheoryError> {
        let mut walk = vec![[1.0, 0.0]];
        loop {
            let before = walk.clone();
            for repairs in repairs {
                walk = self.source(&walk).0;
                for _ in 0..*repairs {
                    self.repair(&mut walk);
                }
                spend(work, walk.len())?;
            }
            let none = [0.0; 2];
            let change: f64 = (0..walk.len().max(before.len()))
                .map(|level| {
                    let (a, b) = (walk.get(level), before.get(level));
                    let (a, b) = (a.unwrap_or(&none), b.unwrap_or(&none));
                    (a[0] - b[0]).abs() + (a[1] - b[1]).abs()
                })
                .sum();
            if change < 1e-13 {
                return Ok(walk);
            }
        }
    }
}

#[cfg(test)]
mod tests;
