//! Delay that moves: jitter, bunches, steps, and recorded delays.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;
use std::sync::Arc;

use crate::random::Stream;
use crate::trace::{MAX_STEPS, TraceError, TraceProblem};
use crate::units::{
    ValueError, duration, malformed, parse_duration, parse_rate, parse_size, rate, size,
};

const JITTER: &str = "a jitter such as 5ms (uniform, in order), 5ms,normal or 5ms,normal,reorder";
const BUNCH: &str =
    "two times such as 2ms,30ms: the shortest and the longest hold, the longest at least 1us";
const STEPS: &str =
    "two times such as 30ms,15s: by how much the delay changes, and how often, at least each ms";
const POLICE: &str = "a rate above 0 and a burst, such as 10mbit,64kB";

/// A random part of each packet's delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Jitter {
    /// The largest extra delay; if `normal`, the standard deviation.
    pub spread: Duration,
    /// The delay has a normal distribution around that of the link, never below 0, instead of a
    /// uniform one above it.
    pub normal: bool,
    /// A packet may overtake others. Otherwise one that would do so arrives with the other.
    pub reorders: bool,
}

impl Jitter {
    /// Uniform from 0 to this, in order.
    pub const fn uniform(spread: Duration) -> Self {
        Self {
            spread,
            normal: false,
            reorders: false,
        }
    }

    /// When a packet arrives that left at `sent` on a link with this delay.
    pub(crate) fn apply(&self, sent: Duration, delay: Duration, draws: &mut Stream) -> Duration {
        if !self.normal {
            return sent
                .saturating_add(delay)
                .saturating_add(draws.up_to(self.spread));
        }
        // The sum of twelve uniform draws from 0 to 1 has a variance of 1, and a mean of 6.
        let sum = (0..12).fold(Duration::ZERO, |sum, _| {
            sum.saturating_add(draws.up_to(self.spread))
        });
        let shifted = delay.saturating_add(sum);
        sent.saturating_add(shifted.saturating_sub(self.spread.saturating_mul(6)))
    }
}

impl FromStr for Jitter {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let mut parts = text.split(',');
        let spread = parse_duration(parts.next().unwrap_or_default())?;
        let mut jitter = Self::uniform(spread);
        for part in parts {
            let word = match part {
                "normal" => &mut jitter.normal,
                "reorder" => &mut jitter.reorders,
                _ => return Err(malformed(text, JITTER)),
            };
            if core::mem::replace(word, true) {
                return Err(malformed(text, JITTER));
            }
        }
        Ok(jitter)
    }
}

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let normal = if self.normal { ",normal" } else { "" };
        let reorder = if self.reorders { ",reorder" } else { "" };
        write!(f, "{}{normal}{reorder}", duration(self.spread))
    }
}

/// Packets are held and then arrive at once, as on Wi-Fi: holds of a uniform length follow each
/// other without a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bunch {
    /// The shortest hold.
    pub least: Duration,
    /// The longest hold.
    pub most: Duration,
}

impl Bunch {
    /// Holds of these lengths; the longest is taken as at least 1 us.
    pub fn new(least: Duration, most: Duration) -> Self {
        let most = most.max(Duration::from_micros(1));
        Self {
            least: least.min(most),
            most,
        }
    }
}

impl FromStr for Bunch {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let wrong = || malformed(text, BUNCH);
        let (least, most) = text.split_once(',').ok_or_else(wrong)?;
        let (least, most) = (parse_duration(least)?, parse_duration(most)?);
        match least <= most && most >= Duration::from_micros(1) {
            true => Ok(Self { least, most }),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for Bunch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", duration(self.least), duration(self.most))
    }
}

/// The hold under way.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hold {
    began: Duration,
    ends: Duration,
}

impl Hold {
    /// When a packet that arrives at `at` is let go.
    pub(crate) fn release(&mut self, bunch: Bunch, at: Duration, draws: &mut Stream) -> Duration {
        // A long silence must not cost a draw for each hold that nobody saw.
        if at.saturating_sub(self.ends) > bunch.most.saturating_mul(1000) {
            *self = Self {
                began: at,
                ends: at,
            };
        }
        while self.ends < at {
            self.began = self.ends;
            let more = draws.up_to(bunch.most - bunch.least);
            let length = (bunch.least + more).max(Duration::from_nanos(1));
            self.ends = self.ends.saturating_add(length);
        }
        if at <= self.began {
            self.began
        } else {
            self.ends
        }
    }
}

/// The delay changes by a step and back again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Steps {
    /// By how much.
    pub by: Duration,
    /// How long each value holds.
    pub every: Duration,
}

impl Steps {
    /// A step by `by` each `every`, which is taken as at least 1 ms.
    pub fn new(by: Duration, every: Duration) -> Self {
        Self {
            by,
            every: every.max(Duration::from_millis(1)),
        }
    }

    /// What it adds to the delay at `now`: nothing at first.
    pub(crate) fn at(&self, now: Duration) -> Duration {
        match (now.as_nanos() / self.every.as_nanos().max(1)) % 2 {
            0 => Duration::ZERO,
            _ => self.by,
        }
    }
}

impl FromStr for Steps {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let wrong = || malformed(text, STEPS);
        let (by, every) = text.split_once(',').ok_or_else(wrong)?;
        let (by, every) = (parse_duration(by)?, parse_duration(every)?);
        match every >= Duration::from_millis(1) {
            true => Ok(Self { by, every }),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", duration(self.by), duration(self.every))
    }
}

/// A policer: packets beyond a rate and a burst are dropped, and none waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policer {
    /// Bit/s that pass for ever.
    pub rate: u64,
    /// Bytes that pass at once after a silence.
    pub burst: usize,
}

impl Policer {
    /// A policer of this rate in bit/s and this burst in bytes.
    pub const fn new(rate: u64, burst: usize) -> Self {
        Self { rate, burst }
    }
}

impl FromStr for Policer {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let wrong = || malformed(text, POLICE);
        let (rate, burst) = text.split_once(',').ok_or_else(wrong)?;
        let (rate, burst) = (parse_rate(rate)?, parse_size(burst)?);
        match rate > 0 {
            true => Ok(Self { rate, burst }),
            false => Err(wrong()),
        }
    }
}

impl fmt::Display for Policer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", rate(self.rate), size(self.burst))
    }
}

/// What has passed a policer: a bucket of byte-nanoseconds at its rate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Bucket {
    /// When it will be full again.
    full_at: Duration,
}

impl Bucket {
    /// Whether a packet of `len` bytes passes at `now`.
    pub(crate) fn passes(&mut self, policer: Policer, now: Duration, len: usize) -> bool {
        let time = |bytes: usize| {
            let nanos = bytes as u128 * 8_000_000_000 / u128::from(policer.rate.max(1));
            Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
        };
        let after = self.full_at.max(now).saturating_add(time(len));
        let passes = after.saturating_sub(now) <= time(policer.burst);
        if passes {
            self.full_at = after;
        }
        passes
    }
}

/// Delays as recorded: one value for each 10 ms, from the start of the link, over and over.
#[derive(Debug, Clone, PartialEq)]
pub struct Delays {
    name: Arc<str>,
    values: Arc<[Duration]>,
}

/// The time that a value holds.
const EACH: Duration = Duration::from_millis(10);

impl Delays {
    /// Reads the content of a file: a delay in ms on each line. Errors and the text form show `name`.
    ///
    /// # Errors
    /// A line is not such a delay, or there are none or too many.
    pub fn parse(name: &str, text: &str) -> Result<Self, TraceError> {
        let error = |line, problem| TraceError {
            name: name.to_owned(),
            line,
            problem,
        };
        let mut values = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let value = parse_duration(&format!("{line}ms"));
            values.push(value.map_err(|source| error(at + 1, source.into()))?);
            if values.len() > MAX_STEPS {
                return Err(error(at + 1, TraceProblem::Long));
            }
        }
        match values.is_empty() {
            true => Err(error(1, TraceProblem::NoDelay)),
            false => Ok(Self {
                name: name.into(),
                values: values.into(),
            }),
        }
    }

    /// The name given to [`parse`](Self::parse).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The delay at `now`.
    pub(crate) fn at(&self, now: Duration) -> Duration {
        let index = now.as_nanos() / EACH.as_nanos() % self.values.len() as u128;
        self.values[index as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn normal_jitter_has_its_mean_and_deviation_and_is_never_early() {
        let mut draws = Stream::new(3);
        let jitter = Jitter {
            normal: true,
            ..Jitter::uniform(ms(4))
        };
        let n = 20_000;
        let all: Vec<f64> = (0..n)
            .map(|_| jitter.apply(ms(100), ms(30), &mut draws).as_secs_f64() * 1e3 - 130.0)
            .collect();
        let mean = all.iter().sum::<f64>() / f64::from(n);
        let deviation = (all.iter().map(|x| x * x).sum::<f64>() / f64::from(n)).sqrt();
        // Four standard errors are 0.11 ms and 0.08 ms.
        assert!(
            mean.abs() < 0.12 && (deviation - 4.0).abs() < 0.1,
            "{mean} {deviation}"
        );
        let wide = Jitter {
            spread: ms(100),
            ..jitter
        };
        assert!((0..1000).all(|_| wide.apply(ms(5), ms(1), &mut draws) >= ms(5)));
    }

    #[test]
    fn a_hold_lets_all_go_at_its_end() {
        let (mut hold, mut draws) = (Hold::default(), Stream::new(1));
        let bunch = Bunch::new(ms(2), ms(30));
        let mut released = Vec::new();
        for at in 0..10_000 {
            let out = hold.release(bunch, ms(at), &mut draws);
            assert!(out >= ms(at) && out - ms(at) <= ms(30));
            released.push(out);
        }
        released.dedup();
        // A hold takes 16 ms on average.
        assert!((550..700).contains(&released.len()), "{}", released.len());
        let gaps = released.windows(2).map(|pair| pair[1] - pair[0]);
        assert!(gaps.clone().all(|gap| (ms(2)..=ms(30)).contains(&gap)));
        // One that comes late to a hold that has ended goes at once.
        let last = hold.release(bunch, ms(20_000), &mut draws);
        assert!(hold.release(bunch, ms(19_000), &mut draws) <= last);
        // A long silence costs nothing.
        hold.release(bunch, Duration::from_secs(u64::from(u32::MAX)), &mut draws);
    }

    #[test]
    fn steps_go_up_and_down() {
        let steps = Steps::new(ms(30), ms(15_000));
        let at = |time| steps.at(ms(time));
        assert_eq!(
            [at(0), at(14_999), at(15_000), at(29_999), at(30_000)],
            [0, 0, 30, 30, 0].map(ms)
        );
    }

    #[test]
    fn a_policer_passes_its_burst_and_then_its_rate() {
        let policer = Policer::new(8_000_000, 10_000);
        let mut bucket = Bucket::default();
        let at_once = (0..20)
            .filter(|_| bucket.passes(policer, ms(5), 1000))
            .count();
        assert_eq!(at_once, 10);
        let passed = (0..1000)
            .filter(|at| bucket.passes(policer, ms(5 + at), 1000))
            .count();
        // A packet each ms.
        assert!((998..=1000).contains(&passed), "{passed}");
        let twice = (0..1000)
            .filter(|at| bucket.passes(policer, ms(2000 + at / 2), 1000))
            .count();
        assert!((509..=511).contains(&twice), "{twice}");
    }

    #[test]
    fn recorded_delays_repeat_and_wrong_lines_are_named() {
        let delays = Delays::parse("d", "# one way\n12\n30.5\n").unwrap();
        let at = |time| delays.at(ms(time));
        assert_eq!(
            [at(0), at(9), at(10), at(20)],
            [ms(12), ms(12), Duration::from_micros(30_500), ms(12)]
        );
        for (text, place) in [("", "line 1"), ("1\nx", "line 2"), ("1\n-3", "line 2")] {
            let message = Delays::parse("d", text).unwrap_err().to_string();
            assert!(message.contains(place), "{message}");
        }
    }
}
