//! UDP-RC (Chong et al., "Improving Reliable Transmission Throughput with Systematic Random
//! Code"): k source symbols, then random combinations of them, the first k+10 at full rate.

use serde::Serialize;

use super::channel::{Channel, Draws};
use super::estimate::Estimate;
use super::rank::Receiver;
use super::spread::spread;
use super::{Code, Progress, SlotError, within};
use crate::theory::SlotLoss;
use crate::theory::rlnc::Vectors;

/// Symbols of the longest message.
const LONGEST: u32 = 1 << 20;
/// Trials that a thread runs at a time.
const PART: u64 = 256;

/// The model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UdpRc {
    /// The channel.
    pub loss: SlotLoss,
    /// Symbols of a message.
    pub k: u32,
    /// Coefficients are in GF(2^q); the paper's q is 1.
    pub q: u32,
    /// Ideal or real.
    pub code: Code,
    /// Symbols beyond k that are sent at full rate; also the received symbols beyond k for the
    /// decoding probability: the paper's 10.
    pub extra: u32,
    /// Share of the full rate for all later symbols.
    pub pace: f64,
    /// Seconds that a packet takes at full rate.
    pub packet_s: f64,
    /// Round-trip time in seconds.
    pub rtt_s: f64,
    /// Number of messages.
    pub trials: u64,
    /// Seed of all random choices.
    pub seed: u64,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Number of messages.
    pub trials: u64,
    /// Share of messages decoded from k + `extra` received symbols.
    pub decode_probability: f64,
    /// Its standard error.
    pub decode_probability_stderr: f64,
    /// The same for k + 0 to k + `extra`.
    pub decode_probability_by_excess: Vec<f64>,
    /// Symbols received beyond k until the message was decoded.
    pub excess: Estimate,
    /// Symbols sent until then.
    pub sent: Estimate,
    /// Seconds from the first packet until the receiver has the message: there is no handshake.
    pub transfer_s: Estimate,
    /// The 99th percentile of these times.
    pub transfer_p99_s: f64,
}

struct Trial {
    excess: u64,
    sent: u64,
}

impl UdpRc {
    /// Runs the model on this many threads.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn run(&self, threads: usize, progress: Progress<'_>) -> Result<Outcome, SlotError> {
        let loss = self.loss.checked()?;
        within(
            "k",
            self.k,
            (1..=LONGEST).contains(&self.k),
            "from 1 to 1048576",
        )?;
        within("the loss", loss.rate(), loss.rate() <= 0.95, "at most 0.95")?;
        within(
            "the symbols in excess",
            self.extra,
            self.extra <= 1000,
            "at most 1000",
        )?;
        let fits = self.pace > 0.0 && self.pace <= 1.0;
        within("the pace", self.pace, fits, "above 0 and at most 1")?;
        for (name, got) in [
            ("the time of a packet", self.packet_s),
            ("the RTT", self.rtt_s),
        ] {
            within(name, got, (0.0..=3600.0).contains(&got), "from 0 to 3600 s")?;
        }
        let fits = (1..=10_000_000).contains(&self.trials);
        within(
            "the number of trials",
            self.trials as f64,
            fits,
            "from 1 to 10^7",
        )?;
        Receiver::new(self.code, self.q, self.k, Vectors::Any)?;
        let parts = spread(self.trials.div_ceil(PART), threads, progress, |part| {
            let trials = part * PART..self.trials.min((part + 1) * PART);
            let mut receiver = Receiver::new(self.code, self.q, self.k, Vectors::Any)?;
            trials
                .map(|trial| self.trial(trial, &mut receiver))
                .collect::<Result<Vec<_>, _>>()
        });
        let mut trials = Vec::new();
        for part in parts {
            trials.extend(part?);
        }
        Ok(self.outcome(&trials))
    }

    fn trial(&self, trial: u64, receiver: &mut Receiver) -> Result<Trial, SlotError> {
        let mut channel = Channel::new(self.loss, Draws::new(self.seed, 2 * trial));
        let mut draws = Draws::new(self.seed, 2 * trial + 1);
        receiver.begin();
        let (mut sent, mut received) = (0, 0);
        while receiver.deficit() > 0 {
            let lost = channel.next_is_lost();
            if !lost && sent < u64::from(self.k) {
                receiver.source(sent as usize);
            } else if !lost {
                receiver.combination(&mut draws)?;
            }
            sent += 1;
            received += u64::from(!lost);
        }
        Ok(Trial {
            excess: received - u64::from(self.k),
            sent,
        })
    }

    /// Seconds until the receiver has this many sent packets.
    fn seconds(&self, sent: u64) -> f64 {
        let full = sent.min(u64::from(self.k) + u64::from(self.extra));
        let paced = (sent - full) as f64 / self.pace;
        (full as f64 + paced) * self.packet_s + self.rtt_s / 2.0
    }

    fn outcome(&self, trials: &[Trial]) -> Outcome {
        let n = trials.len() as f64;
        let within = |excess: u64| trials.iter().filter(|t| t.excess <= excess).count() as f64 / n;
        let probability = within(u64::from(self.extra));
        let values = |of: &dyn Fn(&Trial) -> f64| trials.iter().map(of).collect::<Vec<_>>();
        let mut times = values(&|trial| self.seconds(trial.sent));
        times.sort_by(f64::total_cmp);
        let place = (0.99 * (n - 1.0)).ceil() as usize;
        Outcome {
            trials: self.trials,
            decode_probability: probability,
            decode_probability_stderr: (probability * (1.0 - probability) / n).sqrt(),
            decode_probability_by_excess: (0..=u64::from(self.extra)).map(within).collect(),
            excess: Estimate::of(&values(&|trial| trial.excess as f64)),
            sent: Estimate::of(&values(&|trial| trial.sent as f64)),
            transfer_s: Estimate::of(&times),
            transfer_p99_s: times.get(place).copied().unwrap_or(0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::silent;
    use super::*;

    fn model(k: u32, q: u32, code: Code, trials: u64) -> UdpRc {
        UdpRc {
            loss: "0.1".parse().unwrap(),
            k,
            q,
            code,
            extra: 10,
            pace: 0.5,
            packet_s: 0.01,
            rtt_s: 0.1,
            trials,
            seed: 9,
        }
    }

    #[test]
    fn the_decoding_probability_matches_the_reference_simulation() {
        for (k, more, expected, stderr) in [
            (100, 10, 0.99894, 0.00007),
            (100, 0, 0.29080, 0.00102),
            (200, 5, 0.96930, 0.00039),
            (10, 10, 0.99958, 0.00005),
        ] {
            let got = model(k, 1, Code::Genie, 100_000).run(2, &silent).unwrap();
            let probability = got.decode_probability_by_excess[more];
            let error = (probability * (1.0 - probability) / 1e5)
                .sqrt()
                .hypot(stderr);
            assert!(
                (probability - expected).abs() < 4.0 * error,
                "k {k} + {more}: {probability}"
            );
        }
    }

    #[test]
    fn real_coefficients_need_as_many_symbols_as_ideal_ones() {
        // The mean excess over GF(2) is 1.6067 with many missing, over GF(2^8) 0.0039.
        for (q, trials, expected) in [(1, 3_000, 1.6067), (8, 3_000, 0.0039), (4, 1_000, 0.0709)] {
            let real = model(60, q, Code::Real, trials).run(2, &silent).unwrap();
            let error = 4.0 * real.excess.stderr.max(0.0012);
            assert!(
                (real.excess.mean - expected).abs() < error,
                "q {q}: {:?}",
                real.excess
            );
        }
        let one = model(60, 1, Code::Real, 500).run(1, &silent).unwrap();
        assert_eq!(one, model(60, 1, Code::Real, 500).run(2, &silent).unwrap());
    }

    #[test]
    fn the_time_is_that_of_the_packets_plus_half_a_round_trip() {
        let clean = UdpRc {
            loss: "0".parse().unwrap(),
            ..model(100, 1, Code::Genie, 10)
        };
        let got = clean.run(1, &silent).unwrap();
        assert_eq!(
            (got.sent.mean, got.excess.mean, got.decode_probability),
            (100.0, 0.0, 1.0)
        );
        assert!((got.transfer_s.mean - 1.05).abs() < 1e-12);
        // 110 at full rate, the other 10 at half of it.
        assert!((clean.seconds(120) - (1.1 + 0.2 + 0.05)).abs() < 1e-12);
        assert!(model(8193, 1, Code::Real, 1).run(1, &silent).is_err());
    }
}
