//! The streaming code with losses in runs, which the paper only simulates.
//!
//! The channel is that of Karzand et al., equation 9. The deficit is a random walk that falls by
//! at most one symbol, here combined with the channel's state. The time to fall by one is the
//! matrix G with G(z) = z (D0 + D1 G(z))^l in the sense that D0 (slot arrives) and D1 (slot is
//! lost) stay in the order of slots and powers of G follow them (Neuts' M/G/1 type). Its
//! derivatives at z = 1 give exact moments.

use super::matrix::{Matrix, Series, TERMS, solve};
use super::streaming::LONGEST_SPACING;
use super::{SlotLoss, TheoryError, within};

/// A streaming code and a channel with memory: moments of its busy periods.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkovStreaming {
    arrives: Matrix,
    lost: Matrix,
    spacing: u32,
    /// The state in which an interval begins when nothing is missing.
    start: [f64; 2],
    moments: Moments,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moments {
    busy: [f64; 3],
    plus: f64,
    delay: f64,
}

impl MarkovStreaming {
    /// Repairs each `spacing` slots over this channel.
    ///
    /// # Errors
    /// Those of [`Streaming::new`](super::streaming::Streaming::new).
    pub fn new(loss: SlotLoss, spacing: u32) -> Result<Self, TheoryError> {
        let loss = loss.checked()?;
        let fits = (2..=LONGEST_SPACING).contains(&spacing);
        within("the spacing", spacing, fits, "from 2 to 100000 slots")?;
        let lost = f64::from(spacing) * loss.rate();
        if lost >= 1.0 {
            return Err(TheoryError::Overloaded { lost });
        }
        let (gamma, beta) = loss.transitions();
        let mut this = Self {
            arrives: Matrix([[1.0 - gamma, 0.0], [beta, 0.0]]),
            lost: Matrix([[0.0, gamma], [0.0, 1.0 - beta]]),
            spacing,
            start: [1.0, 0.0],
            moments: Moments::default(),
        };
        this.derive();
        Ok(this)
    }

    /// (D0 + D1 x)^n with powers of `falls` after it for those of x, for n from 0 to `spacing`.
    fn slots(&self, falls: Series) -> Vec<Series> {
        let mut out = vec![Series::constant(Matrix::ONE)];
        for n in 0..self.spacing as usize {
            let rest = out[n];
            out.push(rest.left(self.arrives) + (rest * falls).left(self.lost));
        }
        out
    }

    fn interval(&self, falls: Series) -> Series {
        let mut rest = Series::constant(Matrix::ONE);
        for _ in 0..self.spacing {
            rest = rest.left(self.arrives) + (rest * falls).left(self.lost);
        }
        rest
    }

    /// One minus the derivative of an interval with respect to G, at `falls`.
    fn tangent(&self, falls: Matrix) -> [[f64; 4]; 4] {
        let mut tangent = [[0.0; 4]; 4];
        for column in 0..4 {
            let mut unit = [0.0; 4];
            unit[column] = 1.0;
            let mut series = Series::constant(falls);
            series.0[1] = Matrix::from_entries(unit);
            let change = self.interval(series).0[1].entries();
            for (row, change) in change.into_iter().enumerate() {
                tangent[row][column] = unit[row] - change;
            }
        }
        tangent
    }

    /// G(z): Newton's method from 0, which rises to it, then term by term.
    fn falls(&self) -> Series {
        let mut falls = Matrix::default();
        for _ in 0..100 {
            let next = self.interval(Series::constant(falls)).0[0];
            let short = (next + falls.scaled(-1.0)).entries();
            let step = solve(self.tangent(falls), short);
            falls = falls + Matrix::from_entries(step);
            if step.iter().all(|s| s.abs() < 1e-15) {
                break;
            }
        }
        let tangent = self.tangent(falls);
        let mut series = Series::constant(falls);
        for n in 1..TERMS {
            let known = self.interval(series).times_z().0[n];
            series.0[n] = Matrix::from_entries(solve(tangent, known.entries()));
        }
        series
    }

    fn derive(&mut self) {
        let l = f64::from(self.spacing);
        let slots = self.slots(self.falls());
        // If the j-th packet is the first lost one, the later slots decide, coded packet included.
        let mut busy = Series::default();
        let mut arrived = Matrix::ONE;
        let mut first_lost = Vec::new();
        for j in 1..self.spacing as usize {
            let first = arrived * self.lost;
            let until = slots[self.spacing as usize - j].times_z();
            busy = busy + until.left(first);
            first_lost.push((first, until.0[1]));
            arrived = arrived * self.arrives;
        }
        let idle = arrived * (self.arrives + self.lost);
        let cycle = idle + busy.0[0];
        // The stationary state of a chain of two.
        let (leave, back) = (cycle.0[0][1], cycle.0[1][0]);
        self.start = [back / (leave + back), leave / (leave + back)];
        if leave + back <= 0.0 {
            self.start = [1.0, 0.0];
        }
        let mean = |matrix: Matrix| matrix.after(self.start).iter().sum::<f64>();
        let (first, second, third) = (
            mean(busy.0[1]),
            2.0 * mean(busy.0[2]),
            6.0 * mean(busy.0[3]),
        );
        let square = second + first;
        let moments = Moments {
            busy: [first, square, third + 3.0 * second + first],
            plus: first + mean(idle),
            delay: 0.0,
        };
        let mut early = 0.0;
        for (j, (first, until)) in (1_u32..).zip(first_lost) {
            let before = f64::from(j - 1);
            early += before * l * mean(first * until) - f64::from(j) * before / 2.0 * mean(first);
        }
        let waited = l * (l - 1.0) / 2.0 * square - early;
        self.moments = Moments {
            delay: waited / ((l - 1.0) * moments.plus),
            ..moments
        };
    }

    /// E S.
    pub fn mean_busy(&self) -> f64 {
        self.moments.busy[0]
    }

    /// E S^2.
    pub fn second_moment_busy(&self) -> f64 {
        self.moments.busy[1]
    }

    /// E S^3.
    pub fn third_moment_busy(&self) -> f64 {
        self.moments.busy[2]
    }

    /// E S+.
    pub fn mean_busy_plus(&self) -> f64 {
        self.moments.plus
    }

    /// Theorem 2's bound for this channel: l E S^2 / (2 E S+) slots for each information packet.
    pub fn delay_bound(&self) -> f64 {
        f64::from(self.spacing) * self.second_moment_busy() / (2.0 * self.mean_busy_plus())
    }

    /// The mean in-order delay of information packets, exactly, in slots.
    pub fn mean_delay(&self) -> f64 {
        self.moments.delay
    }

    /// (2/3) E S^3 / ((l-1) E S+), as Theorem 4 counts.
    pub fn operations_per_packet(&self) -> f64 {
        let packets = (f64::from(self.spacing) - 1.0) * self.mean_busy_plus();
        2.0 / 3.0 * self.third_moment_busy() / packets
    }

    /// P(S = s) for s from 0 to `terms` - 1, by following the walk. O(`terms`^2 l).
    pub fn busy_time(&self, terms: usize) -> Vec<f64> {
        // A deficit of `terms` or more lasts too long to matter.
        let mut walk = vec![[0.0; 2]; terms + 2];
        walk[0] = self.start;
        for _ in 1..self.spacing {
            self.slot(&mut walk);
        }
        let mut pmf = vec![walk[0].iter().sum()];
        walk[0] = [0.0; 2];
        self.slot(&mut walk);
        while pmf.len() < terms {
            // The coded packet removes one.
            walk.rotate_left(1);
            walk[terms + 1] = [0.0; 2];
            pmf.push(walk[0].iter().sum());
            walk[0] = [0.0; 2];
            for _ in 0..self.spacing {
                self.slot(&mut walk);
            }
        }
        pmf.truncate(terms);
        pmf
    }

    /// Advances by a slot: a lost packet raises the deficit by one.
    fn slot(&self, walk: &mut [[f64; 2]]) {
        for level in (0..walk.len()).rev() {
            let here = walk[level];
            walk[level] = self.arrives.after(here);
            if let Some(above) = walk.get_mut(level + 1) {
                let lost = self.lost.after(here);
                above[0] += lost[0];
                above[1] += lost[1];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::streaming::Streaming;

    #[test]
    fn without_memory_it_is_the_closed_form() {
        for (loss, spacing) in [
            (0.05, 10),
            (0.1, 8),
            (0.2, 3),
            (0.3, 2),
            (0.01, 50),
            (0.02, 49),
        ] {
            let markov = MarkovStreaming::new(SlotLoss::Iid { loss }, spacing).unwrap();
            let closed = Streaming::new(loss, spacing).unwrap();
            for (got, expected) in [
                (markov.mean_busy(), closed.mean_busy()),
                (markov.second_moment_busy(), closed.second_moment_busy()),
                (markov.third_moment_busy(), closed.third_moment_busy()),
                (markov.mean_busy_plus(), closed.mean_busy_plus()),
                (markov.mean_delay(), closed.mean_delay()),
            ] {
                assert!(
                    (got / expected - 1.0).abs() < 1e-9,
                    "{loss} {spacing}: {got} {expected}"
                );
            }
            for (s, p) in markov.busy_time(40).into_iter().enumerate() {
                let expected = closed.busy_time(s as u64);
                assert!(
                    (p - expected).abs() < 1e-13,
                    "{loss} {spacing} {s}: {p} {expected}"
                );
            }
        }
    }

    #[test]
    fn the_distribution_has_the_moments() {
        let loss = "markov:0.05,2".parse().unwrap();
        let markov = MarkovStreaming::new(loss, 8).unwrap();
        let pmf = markov.busy_time(900);
        let moment = |n| -> f64 {
            let terms = pmf.iter().enumerate();
            terms.map(|(s, p)| (s as f64).powi(n) * p).sum()
        };
        for (n, expected) in [
            (0, 1.0),
            (1, markov.mean_busy()),
            (2, markov.second_moment_busy()),
            (3, markov.third_moment_busy()),
        ] {
            assert!(
                (moment(n) / expected - 1.0).abs() < 1e-9,
                "{n}: {} {expected}",
                moment(n)
            );
        }
    }

    #[test]
    fn delays_match_the_simulation() {
        // Pi_B, mean run, spacing; genie simulation of 20 to 60 million slots and its standard
        // error.
        for (loss, spacing, delay, stderr) in [
            ("markov:0.05,2", 10, 22.0607, 0.1045),
            ("markov:0.1,4", 5, 25.7485, 0.1128),
            ("markov:0.05,4", 12, 134.1339, 1.0982),
        ] {
            let markov = MarkovStreaming::new(loss.parse().unwrap(), spacing).unwrap();
            let (got, bound) = (markov.mean_delay(), markov.delay_bound());
            assert!((got - delay).abs() < 4.0 * stderr, "{loss}: {got} {delay}");
            assert!(got < bound);
        }
    }

    #[test]
    fn losses_above_the_repairs_are_refused() {
        let loss = "markov:0.1,4".parse().unwrap();
        let error = MarkovStreaming::new(loss, 10).unwrap_err();
        assert!(matches!(error, TheoryError::Overloaded { .. }));
    }
}
