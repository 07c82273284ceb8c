//! Binomial probabilities that stay exact when their factors are too large or too small for a
//! number.

use core::f64::consts::PI;

/// Probability of `k` successes in `n` trials of probability `p`.
///
/// Loader's form (Fast and accurate computation of binomial probabilities, 2000): the deviance
/// from the mean is computed as a whole, so that no large terms cancel. Relative error about 1e-14
/// for `n` up to at least 10^9.
pub(super) fn pmf(k: u64, n: u64, p: f64) -> f64 {
    if k > n {
        return 0.0;
    }
    if p <= 0.0 || p >= 1.0 {
        let certain = if p <= 0.0 { 0 } else { n };
        return if k == certain { 1.0 } else { 0.0 };
    }
    let (kf, nf, q) = (k as f64, n as f64, 1.0 - p);
    if k == 0 {
        return (nf * (-p).ln_1p()).exp();
    }
    if k == n {
        return (nf * p.ln()).exp();
    }
    let rest = nf - kf;
    let log = stirling_error(nf)
        - stirling_error(kf)
        - stirling_error(rest)
        - deviance(kf, nf * p)
        - deviance(rest, nf * q);
    (nf / (2.0 * PI * kf * rest)).sqrt() * log.exp()
}

/// Relative entropy of two coins, a ln(a/b) + (1-a) ln((1-a)/(1-b)), in nats.
pub(super) fn divergence(a: f64, b: f64) -> f64 {
    if b <= 0.0 {
        return if a <= 0.0 { 0.0 } else { f64::INFINITY };
    }
    deviance(a, b) + deviance(1.0 - a, 1.0 - b)
}

/// x ln(x/m) + m - x, also where x is close to m.
fn deviance(x: f64, m: f64) -> f64 {
    if x == 0.0 {
        return m;
    }
    if (x - m).abs() >= 0.1 * (x + m) {
        return x * (x / m).ln() + m - x;
    }
    let v = (x - m) / (x + m);
    let mut sum = (x - m) * v;
    let mut term = 2.0 * x * v;
    for j in 1..200 {
        term *= v * v;
        let next = sum + term / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// ln n! minus Stirling's formula for it.
fn stirling_error(n: f64) -> f64 {
    if n <= 15.0 {
        let factorial: f64 = (1..=n as u64).map(|i| i as f64).product();
        return factorial.ln() - (0.5 * (2.0 * PI * n).ln() + n * n.ln() - n);
    }
    let square = n * n;
    let series =
        1.0 / 360.0 - (1.0 / 1260.0 - (1.0 / 1680.0 - 1.0 / 1188.0 / square) / square) / square;
    (1.0 / 12.0 - series / square) / n
}

/// A sum that keeps small terms (Neumaier's variant of Kahan's).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    pub(super) fn add(&mut self, term: f64) {
        let next = self.sum + term;
        self.lost += if self.sum.abs() >= term.abs() {
            (self.sum - next) + term
        } else {
            (term - next) + self.sum
        };
        self.sum = next;
    }

    pub(super) fn value(self) -> f64 {
        self.sum + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_cases_are_those_of_pascals_triangle() {
        let mut row = vec![1.0_f64];
        for n in 1..60_u64 {
            let mut next = vec![1.0; n as usize + 1];
            for k in 1..n as usize {
                next[k] = row[k - 1] + row[k];
            }
            row = next;
            for (k, choices) in row.iter().enumerate() {
                for p in [0.01_f64, 0.3, 0.5, 0.97] {
                    let expected = choices * p.powi(k as i32) * (1.0 - p).powi(n as i32 - k as i32);
                    let got = pmf(k as u64, n, p);
                    assert!((got / expected - 1.0).abs() < 1e-13, "{n} {k} {p}: {got}");
                }
            }
        }
    }

    #[test]
    fn large_cases_add_up() {
        for (n, p) in [(100_000, 0.01), (1_000_000, 0.5)] {
            let mut sum = Sum::default();
            (0..=n).for_each(|k| sum.add(pmf(k, n, p)));
            assert!((sum.value() - 1.0).abs() < 1e-12, "{}", sum.value());
        }
        assert_eq!(pmf(3, 2, 0.5), 0.0);
        assert_eq!(
            (pmf(0, 5, 0.0), pmf(5, 5, 1.0), pmf(1, 5, 0.0)),
            (1.0, 1.0, 0.0)
        );
    }
}
