//! Rate and loss that change over time, as recorded or written down.

use core::time::Duration;
use std::sync::Arc;

use crate::loss::LossModel;
use crate::units::{ValueError, parse_duration, parse_rate};

/// The most steps of a trace.
pub const MAX_STEPS: usize = 1_000_000;
/// Shortest step. With [`MIN_RATE`] it bounds the steps one packet can span.
const MIN_STEP: Duration = Duration::from_millis(1);
/// The slowest rate that is not an outage, in bit/s.
const MIN_RATE: u64 = 1000;
/// Bytes of a delivery opportunity, and the latest one in ms (mahimahi's format).
const OPPORTUNITY: u64 = 1500;
const MAX_OPPORTUNITY: u64 = 1_000_000_000;
/// Longest trace, so that sums of times stay in range.
const MAX_END: Duration = Duration::from_secs(1_000_000_000);

/// Rate and loss over time, read from a file of lines such as
/// `2.5s rate=3mbit loss=ge:10%,8`.
///
/// A line gives a time, counted from the start of the link, and what changes then.
/// What a line leaves out stays as it was. The first line is for time 0. The last
/// line holds for ever, unless it is `TIME repeat`: then the trace starts again at
/// that time. `rate=0bit` is an outage: packets wait if the queue has room for them.
/// `rate=unlimited` removes the limit. Blank lines and comments after `#` are skipped.
///
/// A packet on the wire when the rate changes is finished at the new rate.
///
/// A file of whole numbers alone is in mahimahi's format: each is a millisecond by which 1500 bytes
/// more can have left, and the last one is the length of the trace, which then starts again.
#[derive(Debug, Clone)]
pub struct Trace {
    name: Arc<str>,
    steps: Arc<[Step]>,
    period: Option<Duration>,
    start: Duration,
}

/// Two traces are equal when they have the same name and content, wherever they start.
impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.period == other.period && self.steps == other.steps
    }
}

/// What holds from `from` on.
#[derive(Debug, Clone, PartialEq)]
struct Step {
    from: Duration,
    /// `None`: the rate of the link applies.
    rate: Option<Option<u64>>,
    /// `None`: the loss of the link applies.
    loss: Option<LossModel>,
}

/// What is wrong with a trace.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[error("trace {name}, line {line}: {problem}")]
pub struct TraceError {
    /// The trace's name.
    pub name: String,
    /// Where, counted from 1.
    pub line: usize,
    /// What is wrong there.
    pub problem: TraceProblem,
}

/// What is wrong with a line of a trace.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TraceProblem {
    /// A value cannot be read.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A word that is not known.
    #[error("`{word}` is not accepted; a line is TIME [rate=RATE] [loss=MODEL] or TIME repeat")]
    Word {
        /// The word, shortened.
        word: String,
    },
    /// The first line is not for time 0.
    #[error("the first line must be for time 0")]
    NotZero,
    /// Steps are out of order, or too close to each other.
    #[error("its time must be at least 1ms after that of the line before, and below 30 years")]
    Order,
    /// Something follows `repeat`.
    #[error("`repeat` must be the last line")]
    AfterRepeat,
    /// A rate that is too slow, and not an outage.
    #[error("rates are 0bit (an outage) or at least 1kbit")]
    Slow,
    /// Too many lines.
    #[error("a trace has at most {MAX_STEPS} steps")]
    Long,
    /// A delivery opportunity before the one on the line above, or later than 11 days.
    #[error("delivery opportunities are whole ms that never go back, up to 1000000000")]
    Opportunity,
    /// No delay at all.
    #[error("it says nothing: give a delay in ms on each line, one for each 10 ms")]
    NoDelay,
    /// No line at all, or nothing but `repeat`.
    #[error("it says nothing: give at least one line such as `0s rate=25mbit`")]
    Empty,
}

/// The part of a trace in force at some instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Which step, counted from 0.
    pub(crate) step: usize,
    /// The rate in bit/s, `Some(None)` unlimited, `None` the link's own.
    pub(crate) rate: Option<Option<u64>>,
    /// The first instant at which it is no longer in force.
    pub(crate) until: Option<Duration>,
}

impl Trace {
    /// Reads the content of a trace file. Errors and the text form show `name`.
    ///
    /// # Errors
    /// When a line is not valid: the error gives its number and what is wrong.
    pub fn parse(name: &str, text: &str) -> Result<Self, TraceError> {
        let mut steps: Vec<Step> = Vec::new();
        let mut period = None;
        let mut last_line = 1;
        if is_opportunities(text) {
            return Self::of_opportunities(name, text);
        }
        for (number, line) in text.lines().enumerate() {
            let line = line.split_once('#').map_or(line, |(before, _)| before);
            if line.trim().is_empty() {
                continue;
            }
            last_line = number + 1;
            let read = read_line(line, &mut steps, &mut period);
            read.map_err(|problem| TraceError {
                name: name.to_owned(),
                line: last_line,
                problem,
            })?;
        }
        if steps.is_empty() {
            return Err(TraceError {
                name: name.to_owned(),
                line: last_line,
                problem: TraceProblem::Empty,
            });
        }
        Ok(Self {
            name: name.into(),
            steps: steps.into(),
            period,
            start: Duration::ZERO,
        })
    }

    /// Reads mahimahi's format.
    fn of_opportunities(name: &str, text: &str) -> Result<Self, TraceError> {
        let error = |line, problem| TraceError {
            name: name.to_owned(),
            line,
            problem,
        };
        // Bytes that leave in the ms that begins at each time.
        let mut bytes: Vec<(u64, u64)> = Vec::new();
        let mut end = 0;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let at = line
                .parse()
                .ok()
                .filter(|at| (end..=MAX_OPPORTUNITY).contains(at));
            let at: u64 = at.ok_or_else(|| error(number + 1, TraceProblem::Opportunity))?;
            end = at;
            let begins = at.saturating_sub(1);
            match bytes.last_mut() {
                Some((last, sum)) if *last == begins => *sum += OPPORTUNITY,
                _ => bytes.push((begins, OPPORTUNITY)),
            }
        }
        let mut steps: Vec<Step> = Vec::new();
        let mut add = |from: u64, rate: u64| {
            let rate = Some(Some(rate));
            if steps.last().is_none_or(|last| last.rate != rate) {
                let from = Duration::from_millis(from);
                steps.push(Step {
                    from,
                    rate,
                    loss: None,
                });
            }
        };
        let mut done = 0;
        for (begins, sum) in bytes {
            if begins > done {
                add(done, 0);
            }
            add(begins, sum * 8 * 1000);
            done = begins + 1;
        }
        if steps.len() > MAX_STEPS {
            return Err(error(MAX_STEPS, TraceProblem::Long));
        }
        Ok(Self {
            name: name.into(),
            steps: steps.into(),
            period: Some(Duration::from_millis(end.max(1))),
            start: Duration::ZERO,
        })
    }

    /// After this time it starts again; `None`: it does not.
    pub fn period(&self) -> Option<Duration> {
        self.period
    }

    /// Bits that a link can carry from one time to another that follows it, and has the rate `own`
    /// where it gives none; `None` if the rate is unlimited at some time between them.
    pub(crate) fn bits(&self, own: Option<u64>, from: Duration, to: Duration) -> Option<u64> {
        let (mut at, mut bit_nanos) = (from, 0u128);
        while at < to {
            let segment = self.at(at);
            let rate = segment.rate.unwrap_or(own)?;
            let end = segment.until.unwrap_or(to).min(to);
            bit_nanos += u128::from(rate) * (end - at).as_nanos();
            at = end;
        }
        u64::try_from(bit_nanos / 1_000_000_000).ok()
    }

    /// Whether it changes the loss.
    pub(crate) fn has_loss(&self) -> bool {
        self.steps.iter().any(|step| step.loss.is_some())
    }

    /// The same trace with its time 0 at `start` of the link's time; before that
    /// the first line holds.
    pub fn starting_at(mut self, start: Duration) -> Self {
        self.start = start;
        self
    }

    /// The name given to [`parse`](Self::parse).
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of steps, not counting repetitions.
    pub(crate) fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The loss model of a step; `None`: the link's own.
    pub(crate) fn loss(&self, step: usize) -> Option<&LossModel> {
        self.steps[step].loss.as_ref()
    }

    /// What is in force at `now`.
    pub(crate) fn at(&self, now: Duration) -> Segment {
        let elapsed = now.saturating_sub(self.start);
        let (round_start, phase) = match self.period {
            Some(period) => {
                let rounds = elapsed.as_nanos() / period.as_nanos();
                let start = rounds * period.as_nanos();
                (start, elapsed.as_nanos() - start)
            }
            None => (0, elapsed.as_nanos()),
        };
        let after = self.steps.partition_point(|s| s.from.as_nanos() <= phase);
        let step = after.saturating_sub(1);
        let next = self.steps.get(after).map(|s| s.from).or(self.period);
        let until = next.and_then(|next| {
            let nanos = u64::try_from(round_start).ok()?;
            let ends = Duration::from_nanos(nanos).checked_add(next)?;
            self.start.checked_add(ends)
        });
        Segment {
            step,
            rate: self.steps[step].rate,
            until,
        }
    }
}

/// Whether a file is in mahimahi's format.
fn is_opportunities(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty());
    first.is_some_and(|line| line.bytes().all(|byte| byte.is_ascii_digit()))
}

fn read_line(
    line: &str,
    steps: &mut Vec<Step>,
    period: &mut Option<Duration>,
) -> Result<(), TraceProblem> {
    if period.is_some() {
        return Err(TraceProblem::AfterRepeat);
    }
    let mut words = line.split_whitespace();
    let from = parse_duration(words.next().unwrap_or_default())?;
    let (mut rate, mut loss) = match steps.last() {
        None if from > Duration::ZERO => return Err(TraceProblem::NotZero),
        None => (None, None),
        Some(before) if from.saturating_sub(before.from) < MIN_STEP || from > MAX_END => {
            return Err(TraceProblem::Order);
        }
        Some(before) => (before.rate, before.loss.clone()),
    };
    for word in words {
        if word == "repeat" && !steps.is_empty() {
            *period = Some(from);
        } else if let Some(value) = word.strip_prefix("rate=") {
            rate = Some(match value {
                "unlimited" => None,
                _ => Some(parse_rate(value)?).filter(|rate| *rate == 0 || *rate >= MIN_RATE),
            });
            if rate == Some(None) && value != "unlimited" {
                return Err(TraceProblem::Slow);
            }
        } else if let Some(value) = word.strip_prefix("loss=") {
            loss = Some(value.parse()?);
        } else {
            return Err(TraceProblem::Word {
                word: word.chars().take(40).collect(),
            });
        }
    }
    if period.is_some() {
        return Ok(());
    }
    if steps.len() == MAX_STEPS {
        return Err(TraceProblem::Long);
    }
    steps.push(Step { from, rate, loss });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    const EXAMPLE: &str = "\
# what a tunnel looks like
0s   rate=25mbit loss=iid:1%
2s   rate=3mbit

2.5s rate=0bit loss=none   # inside
3s   rate=unlimited
4s   repeat
";

    #[test]
    fn a_line_holds_from_its_time_until_the_next() {
        let trace = Trace::parse("t", EXAMPLE).unwrap();
        let rate = |at| trace.at(ms(at)).rate.unwrap();
        assert_eq!(rate(0), Some(25_000_000));
        assert_eq!(rate(1999), Some(25_000_000));
        assert_eq!(rate(2000), Some(3_000_000));
        assert_eq!(rate(2500), Some(0));
        assert_eq!(rate(3999), None);
        assert_eq!(trace.at(ms(2100)).until, Some(ms(2500)));
        // What a line leaves out stays.
        assert_eq!(trace.loss(1), Some(&LossModel::iid(0.01)));
        assert_eq!(trace.loss(2), Some(&LossModel::None));
    }

    #[test]
    fn it_repeats_for_ever_or_stays() {
        let trace = Trace::parse("t", EXAMPLE).unwrap();
        let far = ms(4000 * 1_000_003 + 2600);
        assert_eq!(trace.at(far).step, 2);
        assert_eq!(trace.at(far).until, Some(ms(4000 * 1_000_003 + 3000)));
        let once = Trace::parse("t", "0 loss=iid:50%\n1s rate=1mbit").unwrap();
        assert_eq!(once.at(ms(0)).rate, None);
        assert_eq!(once.at(Duration::MAX).rate, Some(Some(1_000_000)));
        assert_eq!(once.at(Duration::MAX).until, None);
    }

    #[test]
    fn delivery_opportunities_are_rates_of_a_millisecond() {
        let trace = Trace::parse("m", "1\n1\n4\n5\n5\n\n8\n").unwrap();
        let rate = |at| trace.at(ms(at)).rate.unwrap().unwrap();
        let expected = [24, 0, 0, 12, 24, 0, 0, 12, 24, 0].map(|mbit| mbit * 1_000_000);
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(rate), expected);
        assert!(!trace.has_loss());
        for (text, line) in [("5\n4", 2), ("1\nx", 2), ("1\n1000000001", 2)] {
            assert_eq!(Trace::parse("m", text).unwrap_err().line, line, "{text}");
        }
    }

    #[test]
    fn the_bits_of_a_time_are_those_of_its_opportunities() {
        let trace = Trace::parse("m", "1\n1\n4\n5\n5\n\n8\n").unwrap();
        assert_eq!(trace.period(), Some(ms(8)));
        let packets = |from, to| trace.bits(None, ms(from), ms(to)).unwrap() as f64 / 12_000.0;
        assert_eq!(packets(0, 8), 6.0);
        assert_eq!(packets(1, 3), 0.0);
        assert_eq!(packets(4, 12), 6.0);
        assert_eq!(packets(0, 80), 60.0);
        assert_eq!(packets(9, 9), 0.0);
        let half = Duration::from_micros(500);
        assert_eq!(trace.bits(None, Duration::ZERO, half), Some(12_000));
        let unlimited = Trace::parse("t", EXAMPLE).unwrap();
        assert_eq!(unlimited.bits(None, ms(0), ms(2500)), Some(51_500_000));
        assert_eq!(unlimited.bits(None, ms(0), ms(3500)), None);
        let lossy = Trace::parse("t", "0s loss=iid:1%").unwrap();
        assert_eq!(lossy.bits(Some(8000), ms(500), ms(1500)), Some(8000));
    }

    #[test]
    fn it_can_start_later_than_the_link() {
        let trace = Trace::parse("t", EXAMPLE).unwrap().starting_at(ms(700));
        assert_eq!(trace.at(ms(0)).step, 0);
        assert_eq!(trace.at(ms(100)).until, Some(ms(2700)));
        assert_eq!(trace.at(ms(2700)).step, 1);
    }

    #[test]
    fn errors_name_the_line() {
        let says = |text: &str, line: usize, words: &str| {
            let message = Trace::parse("f.txt", text).unwrap_err().to_string();
            let place = format!("f.txt, line {line}");
            assert!(
                message.contains(&place) && message.contains(words),
                "{message}"
            );
        };
        says("", 1, "nothing");
        says("0s repeat", 1, "`repeat`");
        says("1s rate=1mbit", 1, "time 0");
        says("0s rate=1mbit\n\n0s rate=2mbit", 3, "1ms after");
        says("0s rate=1mbit\n1s\n1s repeat", 3, "1ms after");
        says("0s rate=1mbit\n1s repeat\n2s rate=1mbit", 3, "last line");
        says("0s rate=999bit", 1, "1kbit");
        says("0s rate=fast", 1, "25mbit");
        says("0s delay=3ms", 1, "`delay=3ms`");
        says("0s loss=iid:200%", 1, "100%");
        says("zero rate=1mbit", 1, "30ms");
        says("7 rate=1mbit", 1, "30ms");
    }
}
