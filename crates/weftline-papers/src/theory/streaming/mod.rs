//! The streaming code of Karzand, Leith, Cloud and Medard ("Design of FEC for Low Delay in 5G").
//!
//! Slots: l-1 information packets, then one coded packet over all unacknowledged ones; each slot
//! is erased independently with probability e. A received coded packet removes one unknown if
//! there is any. A packet sent in slot t and delivered by slot T has an in-order delay of T - t.

use super::binomial::{self, Sum};
use super::{TheoryError, within};

/// The longest spacing in a computation, in slots.
pub const LONGEST_SPACING: u32 = 100_000;

/// A code and its channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Streaming {
    e: f64,
    spacing: u32,
}

/// Printed equations that are wrong.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Printed {
    /// Equation 8: E S^3.
    pub third_moment_busy: f64,
    /// Theorem 2: (l-1) E S^2 / (2 E S+), a mean per slot instead of per information packet.
    pub delay_bound_slots: f64,
    /// Equation 7 and Table I: a factor of 3/2 and equation 8.
    pub operations_per_packet: f64,
}

impl Streaming {
    /// Repairs each `spacing` slots (l), erasures with probability `loss` (e).
    ///
    /// # Errors
    /// The loss is not a probability, the spacing is not from 2 to [`LONGEST_SPACING`], or l e >=
    /// 1.
    pub fn new(loss: f64, spacing: u32) -> Result<Self, TheoryError> {
        within(
            "loss",
            loss,
            (0.0..1.0).contains(&loss),
            "at least 0 and below 1",
        )?;
        let fits = (2..=LONGEST_SPACING).contains(&spacing);
        within("the spacing", spacing, fits, "from 2 to 100000 slots")?;
        let lost = f64::from(spacing) * loss;
        if lost >= 1.0 {
            return Err(TheoryError::Overloaded { lost });
        }
        Ok(Self { e: loss, spacing })
    }

    fn l(&self) -> f64 {
        f64::from(self.spacing)
    }

    /// 1 - l e: rate at which a deficit shrinks, in symbols an interval.
    fn slack(&self) -> f64 {
        1.0 - self.l() * self.e
    }

    /// (1-e)^n.
    fn all_arrive(&self, n: f64) -> f64 {
        (n * (-self.e).ln_1p()).exp()
    }

    /// l (l-1) e^2 (1-e)^l / (1-le)^3, the difference of the first two moments.
    fn spread(&self) -> f64 {
        let (e, l) = (self.e, self.l());
        l * (l - 1.0) * e * e * self.all_arrive(l) / self.slack().powi(3)
    }

    /// Theorem 1: the probability that in-order delivery stalls for `s` intervals of l slots; 0 for
    /// an interval in which no information packet is lost.
    pub fn busy_time(&self, s: u64) -> f64 {
        let (e, l) = (self.e, self.l());
        let clean = self.all_arrive(l - 1.0);
        if s == 0 {
            return clean;
        }
        let trials = (s - 1).saturating_mul(u64::from(self.spacing));
        (l - 1.0) / s as f64 * e * clean * binomial::pmf(s - 1, trials, e)
    }

    /// Theorem 1: E S.
    pub fn mean_busy(&self) -> f64 {
        let (e, l) = (self.e, self.l());
        (l - 1.0) * e * self.all_arrive(l - 1.0) / self.slack()
    }

    /// Theorem 1: E S^2.
    pub fn second_moment_busy(&self) -> f64 {
        self.mean_busy() + self.spread()
    }

    /// E S^3, by E S^(m+1) = e (1-e) / (1-le) d/de E S^m. Equation 8 is wrong: see [`Printed`].
    pub fn third_moment_busy(&self) -> f64 {
        let (e, l, slack) = (self.e, self.l(), self.slack());
        let more = 2.0 * (1.0 - e) + l * (l - 1.0) * e * e;
        self.second_moment_busy() + self.spread() * more / (slack * slack)
    }

    /// E S+, S+ = max(S, 1): intervals between two in which nothing is missing.
    pub fn mean_busy_plus(&self) -> f64 {
        self.all_arrive(self.l()) / self.slack()
    }

    /// Theorem 2, for each information packet: the mean in-order delay is at most
    /// l E S^2 / (2 E S+) slots.
    pub fn delay_bound(&self) -> f64 {
        self.l() * self.second_moment_busy() / (2.0 * self.mean_busy_plus())
    }

    /// The exact mean in-order delay of information packets, in slots.
    ///
    /// Theorem 2's bound counts all packets of a busy period as waiting. Those before the first
    /// lost one do not wait: if it is the j-th of its interval, E[S | j] = (1 - je) / (1 - le),
    /// since the deficit is a random walk that falls by at most one symbol and by 1 - le on
    /// average.
    pub fn mean_delay(&self) -> f64 {
        let (e, l, slack) = (self.e, self.l(), self.slack());
        let mut early = Sum::default();
        for j in 2..self.spacing {
            let j = f64::from(j);
            let first_lost = e * self.all_arrive(j - 1.0);
            let until = (1.0 - j * e) / slack * l;
            early.add(first_lost * (j - 1.0) * (until - j / 2.0));
        }
        let waited = l * (l - 1.0) / 2.0 * self.second_moment_busy() - early.value();
        waited / ((l - 1.0) * self.mean_busy_plus())
    }

    /// Theorem 4: operations of elimination for each information packet, if a busy period of S
    /// intervals costs 2 S^3 / 3: (2/3) E S^3 / ((l-1) E S+).
    pub fn operations_per_packet(&self) -> f64 {
        2.0 / 3.0 * self.third_moment_busy() / ((self.l() - 1.0) * self.mean_busy_plus())
    }

    /// The values that the paper prints.
    pub fn printed(&self) -> Printed {
        let (e, l, slack) = (self.e, self.l(), self.slack());
        // Equation 8 adds l e (1-e) (1-le) to the brackets of the correct moment: with it,
        // equation 7 gives all ten values of Table I.
        let added = self.spread() * l * e * (1.0 - e) / slack;
        let third = self.third_moment_busy() + added;
        let packets = (l - 1.0) * self.mean_busy_plus();
        Printed {
            third_moment_busy: third,
            delay_bound_slots: (l - 1.0) / l * self.delay_bound(),
            operations_per_packet: 1.5 * third / packets,
        }
    }

    /// The exponent of delays, per slot: P(S > s) <= exp(-s l D(1/l || e)), and no code of this
    /// rate has a larger one without feedback. Theorem 3 needs only that it is positive.
    pub fn tail_exponent(&self) -> f64 {
        binomial::divergence(1.0 / self.l(), self.e)
    }

    /// The same as a Chernoff bound for Theorem 3's proof, which prints (l-1)^2 instead of
    /// (1-le)^2: P(S > s) <= exp(-s (1-le)^2 / (1+le)), here per slot.
    pub fn chernoff_exponent(&self) -> f64 {
        let slack = self.slack();
        slack * slack / (2.0 - slack) / self.l()
    }

    /// Probability of an in-order delay of 0.
    pub fn undelayed(&self) -> f64 {
        let l = self.l();
        let mut early = Sum::default();
        for j in 2..self.spacing {
            let before = f64::from(j - 1);
            early.add(self.e * self.all_arrive(before) * before);
        }
        let held = (l - 1.0) * self.mean_busy() - early.value();
        1.0 - held / ((l - 1.0) * self.mean_busy_plus())
    }

    /// The distribution of the in-order delay, in slots: calls `visit` with delays in ascending
    /// order and their probabilities, 0 first, until it returns false. Multiples of l do not occur.
    ///
    /// The packet at place m of the interval that is the r-th from the end of a busy period waits
    /// r l - m slots: P = (P(S >= r) - P(S = r, m packets arrive first)) / ((l-1) E S+), the second
    /// by the ballot theorem.
    pub fn delays(&self, mut visit: impl FnMut(u64, f64) -> bool) {
        if !visit(0, self.undelayed()) || self.e == 0.0 {
            return;
        }
        let l = u64::from(self.spacing);
        let packets = (self.l() - 1.0) * self.mean_busy_plus();
        let mut ended = Sum::default();
        ended.add(self.busy_time(0));
        let mut joint = vec![0.0; l as usize];
        for r in 1.. {
            let goes_on = 1.0 - ended.value();
            self.late_starts(r, &mut joint);
            for m in (1..l).rev() {
                let p = (goes_on - joint[m as usize]).max(0.0) / packets;
                if !visit(r * l - m, p) {
                    return;
                }
            }
            ended.add(self.busy_time(r));
            let (left, exponent) = (1.0 - ended.value(), self.tail_exponent());
            // The rest is below the precision of the sum.
            if left <= 1e-15 || (-(r as f64) * self.l() * exponent).exp() < 1e-17 {
                return;
            }
        }
    }

    /// P(S = r, and the first m information packets arrive), for m from 1 to l-1, to `out[m]`.
    fn late_starts(&self, r: u64, out: &mut [f64]) {
        let (e, l) = (self.e, u64::from(self.spacing));
        let clean = self.all_arrive(self.l() - 1.0);
        if r == 1 {
            for m in 1..l {
                out[m as usize] = (l - 1 - m) as f64 * e * clean;
            }
            return;
        }
        let n = (r - 1) * l;
        let to_the_end = self.all_arrive(self.l()) * binomial::pmf(r, n, e) / (r - 1) as f64;
        // Bin(n + k, e)(r - 1) for k = l-1-m from 0 on.
        let mut rest = binomial::pmf(r - 1, n, e);
        for k in 0..l - 1 {
            let m = l - 1 - k;
            let unless = m as f64 / r as f64 * e * rest * self.all_arrive(m as f64);
            out[m as usize] = (to_the_end - unless).max(0.0);
            let trials = (n + k + 1) as f64;
            rest *= (1.0 - e) * trials / (trials - (r - 1) as f64);
        }
    }

    /// The least delay, in slots, within which this share of packets is delivered; `None` if the
    /// distribution ends earlier, beyond 1 - 1e-14.
    pub fn delay_quantile(&self, share: f64) -> Option<u64> {
        let (mut sum, mut found) = (Sum::default(), None);
        self.delays(|delay, p| {
            sum.add(p);
            if sum.value() >= share {
                found = Some(delay);
            }
            found.is_none()
        });
        found
    }
}

#[cfg(test)]
mod tests;
