//! Random linear coding of blocks after Garrido et al. ("Providing Reliable Services over Wireless
//! Networks Using a Low Overhead Random Linear Coding Scheme").
//!
//! K source packets, coding vectors uniform over GF(Q)^K, Q = 2^q.

use super::{TheoryError, binomial, within};

/// Source packets of the longest block.
pub const LONGEST_BLOCK: u32 = 256;
/// Most packets in a computation.
pub const MOST_PACKETS: u32 = 1_000_000;
/// Bytes of either header before the part that determines the coding vector.
pub const FIXED_HEADER: u32 = 9;
/// Bytes of the seed in the short header.
pub const SEED: u32 = 4;

/// The coding vectors that a sender draws from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    /// All but the zero vector, as in the paper.
    NonZero,
    /// All vectors.
    Any,
}

/// A block code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rlnc {
    q: u32,
    k: u32,
    vectors: Vectors,
}

impl Rlnc {
    /// Blocks of `symbols` packets (K) in GF(2^`q`).
    ///
    /// # Errors
    /// q is not from 1 to 8, or K is not from 1 to 256.
    pub fn new(q: u32, symbols: u32, vectors: Vectors) -> Result<Self, TheoryError> {
        within("q", q, (1..=8).contains(&q), "from 1 to 8")?;
        let fits = (1..=LONGEST_BLOCK).contains(&symbols);
        within("the number of symbols", symbols, fits, "from 1 to 256")?;
        Ok(Self {
            q,
            k: symbols,
            vectors,
        })
    }

    /// Q^-n.
    fn power(&self, n: u32) -> f64 {
        (-f64::from(self.q * n)).exp2()
    }

    /// Probability that a packet raises the rank above `rank`.
    fn innovative(&self, rank: u32) -> f64 {
        let news = 1.0 - self.power(self.k - rank);
        match self.vectors {
            Vectors::Any => news,
            Vectors::NonZero => news / (1.0 - self.power(self.k)),
        }
    }

    /// Probabilities of all K+1 ranks after `received` packets.
    fn ranks(&self, received: u32) -> Vec<f64> {
        let k = self.k as usize;
        let mut ranks = vec![0.0; k + 1];
        ranks[0] = 1.0;
        self.receive(&mut ranks, received);
        ranks
    }

    fn receive(&self, ranks: &mut [f64], packets: u32) {
        let k = self.k as usize;
        let news: Vec<f64> = (0..self.k).map(|rank| self.innovative(rank)).collect();
        for _ in 0..packets {
            // Complete within the precision of a number.
            if 1.0 - ranks[k] <= f64::EPSILON / 4.0 {
                break;
            }
            for rank in (0..k).rev() {
                let up = ranks[rank] * news[rank];
                ranks[rank + 1] += up;
                ranks[rank] *= 1.0 - news[rank];
            }
        }
    }

    /// Probability to decode from `received` packets: rank K.
    ///
    /// Equation 1 in its correct form (see [`printed_excess_log10`](Self::printed_excess_log10)),
    /// and equation 2 where `received` is K; summed over the intermediate ranks instead of with
    /// alternating signs, so that nothing cancels.
    pub fn decode_probability(&self, received: u32) -> f64 {
        self.ranks(received)[self.k as usize].min(1.0)
    }

    /// The decimal logarithm of the factor by which equation 1 as printed is too large: it lacks
    /// the factor (Q^K - 1)^-(N-K), and so exceeds 1.
    pub fn printed_excess_log10(&self, received: u32) -> f64 {
        let vectors = f64::from(self.q * self.k) + (-self.power(self.k)).ln_1p() / 2.0_f64.ln();
        f64::from(received.saturating_sub(self.k)) * vectors * 2.0_f64.log10()
    }

    /// Equation 7: probability to decode when `sent` packets are sent and each is lost with
    /// probability `loss`.
    ///
    /// # Errors
    /// `loss` is not a probability, or more than [`MOST_PACKETS`] are sent.
    pub fn decode_probability_sent(&self, sent: u32, loss: f64) -> Result<f64, TheoryError> {
        within("loss", loss, (0.0..=1.0).contains(&loss), "from 0 to 1")?;
        within(
            "the number sent",
            sent,
            sent <= MOST_PACKETS,
            "at most 1000000",
        )?;
        let mut ranks = self.ranks(0);
        let mut sum = binomial::Sum::default();
        for received in 0..=sent {
            let chance = binomial::pmf(received.into(), sent.into(), 1.0 - loss);
            sum.add(chance * ranks[self.k as usize]);
            self.receive(&mut ranks, 1);
        }
        Ok(sum.value().min(1.0))
    }

    /// Equation 3: mean number of packets received until the block is decoded, E N.
    pub fn mean_receptions(&self) -> f64 {
        let mut sum = binomial::Sum::default();
        (0..self.k).for_each(|rank| sum.add(1.0 / self.innovative(rank)));
        sum.value()
    }

    /// Equation 4: the share of excess receptions, epsilon = (E N - K) / E N.
    pub fn excess_ratio(&self) -> f64 {
        self.excess_packets() / self.mean_receptions()
    }

    /// E N - K without cancellation.
    pub fn excess_packets(&self) -> f64 {
        let mut sum = binomial::Sum::default();
        for rank in 0..self.k {
            let news = self.innovative(rank);
            let useless = match self.vectors {
                Vectors::Any => self.power(self.k - rank),
                // (Q^rank - 1) / (Q^K - 1)
                Vectors::NonZero => {
                    (self.power(self.k - rank) - self.power(self.k)) / (1.0 - self.power(self.k))
                }
            };
            sum.add(useless / news);
        }
        sum.value()
    }

    /// Equation 5: the share of a block's time spent waiting for its acknowledgement, if that
    /// takes as long as `packets` packets: A / (E N + A). The paper prints the ratio epsilon
    /// instead of the packets in excess, E N - K: see
    /// [`printed_ack_penalty`](Self::printed_ack_penalty).
    pub fn ack_penalty(&self, packets: f64) -> f64 {
        packets / (self.mean_receptions() + packets)
    }

    /// [`ack_penalty`](Self::ack_penalty) with K + epsilon for E N.
    pub fn printed_ack_penalty(&self, packets: f64) -> f64 {
        packets / (f64::from(self.k) + self.excess_ratio() + packets)
    }

    /// Bytes of the header that carries the coding vector.
    pub fn vector_header(&self) -> u32 {
        FIXED_HEADER + (self.k * self.q).div_ceil(8)
    }

    /// Bytes of the header that carries a seed.
    pub fn seed_header(&self) -> u32 {
        FIXED_HEADER + SEED
    }

    /// The shortest block for which a header with a seed is shorter (Fig. 3): Kq > 32.
    pub fn crossover(&self) -> u32 {
        8 * SEED / self.q + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weftline_codec::field::Arithmetic;

    fn code(q: u32, k: u32) -> Rlnc {
        Rlnc::new(q, k, Vectors::NonZero).unwrap()
    }

    #[test]
    fn results_match_the_reference_values() {
        for (q, k, received, expected) in [
            (1, 4, 6, 0.8495407407407407),
            (1, 8, 10, 0.7783218011455854),
            (2, 4, 5, 0.9227659630512087),
            (4, 16, 17, 0.9958343545595767),
            (8, 64, 64, 0.996078491211847),
            (1, 64, 70, 0.9844561987452083),
        ] {
            let got = code(q, k).decode_probability(received);
            assert!(
                (got / expected - 1.0).abs() < 1e-12,
                "q {q} K {k} N {received}: {got}"
            );
        }
        for (q, k, receptions, vector, seed) in [
            (1, 8, 9.565272933373247, 10, 13),
            (1, 64, 65.60669515241528, 17, 13),
            (2, 16, 16.421097682132476, 13, 13),
            (4, 16, 16.07084871181373, 17, 13),
            (8, 16, 16.00393688748774, 25, 13),
            (1, 256, 257.6066951524152, 41, 13),
            (8, 256, 256.0039368874877, 265, 13),
        ] {
            let code = code(q, k);
            let got = code.mean_receptions();
            assert!((got / receptions - 1.0).abs() < 1e-12, "q {q} K {k}: {got}");
            assert_eq!((code.vector_header(), code.seed_header()), (vector, seed));
            let excess = got - f64::from(k);
            assert!((code.excess_packets() - excess).abs() < 1e-9 * got);
            assert!((code.excess_ratio() - excess / got).abs() < 1e-12);
        }
    }

    /// The rank of `rows` vectors of `k` elements.
    fn rank(field: Arithmetic, mut rows: Vec<Vec<u8>>, k: usize) -> usize {
        let mut rank = 0;
        for column in 0..k {
            let Some(pivot) = (rank..rows.len()).find(|r| rows[*r][column] != 0) else {
                continue;
            };
            rows.swap(rank, pivot);
            let lead = rows[rank].clone();
            for row in rows
                .iter_mut()
                .skip(rank + 1)
                .filter(|row| row[column] != 0)
            {
                let factor = field.product(row[column], field.inverse(lead[column]));
                for (element, lead) in row.iter_mut().zip(&lead) {
                    *element ^= field.product(factor, *lead);
                }
            }
            rank += 1;
        }
        rank
    }

    #[test]
    fn probabilities_match_a_count_of_all_matrices() {
        for (q, k, n) in [
            (1, 2, 4),
            (1, 3, 3),
            (1, 3, 4),
            (1, 4, 4),
            (2, 2, 2),
            (2, 2, 4),
            (4, 2, 2),
        ] {
            let field = Arithmetic::with_bits(q).unwrap();
            let order = field.order();
            let all = order.pow(k as u32);
            let vector = |mut index: usize| -> Vec<u8> {
                let digits = (0..k).map(|_| {
                    let digit = index % order;
                    index /= order;
                    digit as u8
                });
                digits.collect()
            };
            for (vectors, first) in [(Vectors::NonZero, 1), (Vectors::Any, 0)] {
                let choices = all - first;
                let total = choices.pow(n);
                let full = (0..total).filter(|outcome| {
                    let rows = (0..n).map(|i| vector(outcome / choices.pow(i) % choices + first));
                    rank(field, rows.collect(), k) == k
                });
                let expected = full.count() as f64 / total as f64;
                let code = Rlnc::new(q, k as u32, vectors).unwrap();
                let got = code.decode_probability(n);
                assert!(
                    (got - expected).abs() < 1e-12,
                    "q {q} K {k} N {n} {vectors:?}: {got}"
                );
            }
        }
    }

    #[test]
    fn the_alternating_sum_agrees_where_it_can_be_computed() {
        for (q, k, n) in [(1, 4, 6), (1, 8, 10), (2, 3, 7), (8, 2, 4)] {
            let order = 2_f64.powi(q);
            let choose = |t: i32| (0..t).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
            let sum: f64 = (0..=n - k)
                .map(|t| {
                    let full: f64 = (0..k).map(|i| order.powi(n - t) - order.powi(i)).product();
                    choose(t) * full * if t % 2 == 0 { 1.0 } else { -1.0 }
                })
                .sum();
            let vectors = order.powi(k) - 1.0;
            let got = code(q as u32, k as u32).decode_probability(n as u32);
            assert!(
                (got - sum / vectors.powi(k.max(n))).abs() < 1e-9,
                "q {q} K {k} N {n}"
            );
            let printed = (sum / vectors.powi(k)).log10();
            let excess = code(q as u32, k as u32).printed_excess_log10(n as u32);
            assert!((printed - got.log10() - excess).abs() < 1e-9);
            assert!(n == k || printed > 0.0, "printed, it exceeds 1");
        }
    }

    #[test]
    fn uniform_vectors_have_a_product() {
        let code = Rlnc::new(1, 100, Vectors::Any).unwrap();
        for more in [0, 1, 2, 5, 10] {
            let product: f64 = (0..100).map(|i| 1.0 - 2_f64.powi(i - 100 - more)).product();
            let got = code.decode_probability((100 + more) as u32);
            assert!((got / product - 1.0).abs() < 1e-12, "{more}");
        }
    }

    #[test]
    fn a_systematic_code_decodes_as_often_as_in_the_reference_simulation() {
        // UDP-RC: of k sources, m are lost; of k + more symbols received, m + more are
        // combinations.
        for (k, more, expected, stderr) in [
            (100, 10, 0.99894, 0.00007),
            (100, 0, 0.29080, 0.00102),
            (200, 5, 0.96930, 0.00039),
            (10, 10, 0.99958, 0.00005),
        ] {
            let mut got = binomial::pmf(0, k, 0.1);
            for m in 1..=k as u32 {
                let missing = Rlnc::new(1, m, Vectors::Any).unwrap();
                got += binomial::pmf(m.into(), k, 0.1) * missing.decode_probability(m + more);
            }
            assert!(
                (got - expected).abs() < 4.0 * stderr,
                "k {k} + {more}: {got}"
            );
        }
    }

    #[test]
    fn losses_mix_what_is_received() {
        let code = code(1, 8);
        assert_eq!(
            code.decode_probability_sent(10, 0.0),
            Ok(code.decode_probability(10))
        );
        assert_eq!(code.decode_probability_sent(10, 1.0), Ok(0.0));
        let (loss, sent) = (0.2_f64, 14);
        let choose =
            |n: u32, k: u32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
        let expected: f64 = (0..=sent)
            .map(|n| {
                let chance = (1.0 - loss).powi(n as i32) * loss.powi((sent - n) as i32);
                choose(sent, n) * chance * code.decode_probability(n)
            })
            .sum();
        let got = code.decode_probability_sent(sent, loss).unwrap();
        assert!((got - expected).abs() < 1e-12);
        // The largest block, long after it must be decoded.
        let large = Rlnc::new(8, 256, Vectors::NonZero).unwrap();
        let sure = large.decode_probability_sent(1_000, 0.5).unwrap();
        assert!(sure > 1.0 - 1e-9 && large.decode_probability(u32::MAX) <= 1.0);
    }

    #[test]
    fn a_seed_is_shorter_beyond_32_bits_of_vector() {
        for q in 1..=8 {
            let shortest = (1..=256).find(|k| {
                let code = code(q, *k);
                code.seed_header() < code.vector_header()
            });
            assert_eq!(shortest, Some(code(q, 1).crossover()), "q {q}");
        }
        assert_eq!((code(1, 1).crossover(), code(8, 1).crossover()), (33, 5));
    }

    #[test]
    fn waiting_for_the_ack_costs_a_longer_block_less() {
        let (short, long) = (code(1, 8), code(1, 128));
        assert!(short.ack_penalty(1.0) > long.ack_penalty(1.0));
        assert!((short.ack_penalty(1.0) - 1.0 / 10.565272933373247).abs() < 1e-12);
        assert!(short.printed_ack_penalty(1.0) > short.ack_penalty(1.0));
    }
}
