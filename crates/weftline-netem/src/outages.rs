//! Times at which a link is down.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

use crate::units::{ValueError, duration, malformed, parse_duration};

const DOWN: &str = "times such as 5s..10s, several of them in their order as in 5s..10s,20s..21s, or 5s.. to the end";

/// The link carries nothing at these times: a cable that is pulled, a radio without a cell. What is
/// sent then is dropped at once, and what waits in the queue is lost.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outages {
    /// In order, apart from each other; none is empty.
    times: Vec<(Duration, Duration)>,
}

impl Outages {
    /// Down from one time to another.
    pub fn new(from: Duration, to: Duration) -> Self {
        let times = (from < to).then_some((from, to));
        Self {
            times: times.into_iter().collect(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The same times, counted from `start`.
    pub fn starting_at(mut self, start: Duration) -> Self {
        for (from, to) in &mut self.times {
            (*from, *to) = (from.saturating_add(start), to.saturating_add(start));
        }
        self
    }

    /// Whether the link is down at `now`.
    pub(crate) fn cover(&self, now: Duration) -> bool {
        let ended = self.times.partition_point(|(_, to)| *to <= now);
        self.times.get(ended).is_some_and(|(from, _)| *from <= now)
    }

    /// The times between `from` and `to` at which the link is not down.
    pub(crate) fn up(&self, from: Duration, to: Duration) -> Vec<(Duration, Duration)> {
        let ends = self.times.iter().map(|(down, _)| *down).chain([to]);
        let begins = [from].into_iter().chain(self.times.iter().map(|t| t.1));
        let clipped = begins.zip(ends).map(|(a, b)| (a.max(from), b.min(to)));
        clipped.filter(|(a, b)| a < b).collect()
    }
}

impl FromStr for Outages {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let wrong = || malformed(text, DOWN);
        let mut times: Vec<(Duration, Duration)> = Vec::new();
        for one in text.split(',') {
            let (from, to) = one.split_once("..").ok_or_else(wrong)?;
            let from = parse_duration(from)?;
            let to = match to {
                "" => Duration::MAX,
                to => parse_duration(to)?,
            };
            if from >= to || times.last().is_some_and(|(_, end)| *end >= from) {
                return Err(wrong());
            }
            times.push((from, to));
        }
        Ok(Self { times })
    }
}

impl fmt::Display for Outages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (from, to)) in self.times.iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            write!(f, "{comma}{}..", duration(*from))?;
            if *to < Duration::MAX {
                write!(f, "{}", duration(*to))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Fate, Link, LinkConfig};
    use core::time::Duration;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    #[test]
    fn what_is_sent_or_waits_while_a_link_is_down_does_not_arrive() {
        // A packet takes 10 ms on the link.
        let text = "rate=1mbit delay=5ms down=15ms..100ms,200ms..";
        let mut link = Link::new(text.parse().unwrap(), 1);
        let mut fate = |at| link.send(ms(at), 1250);
        let arrives = |fate| matches!(fate, Fate::Delivered { .. });
        assert!(arrives(fate(0)));
        assert_eq!(fate(0), Fate::Lost, "it would have left at 20 ms");
        assert_eq!(fate(15), Fate::QueueDrop);
        assert_eq!(fate(99), Fate::QueueDrop);
        assert!(arrives(fate(100)), "it is back, and nothing waits");
        assert_eq!(fate(10_000), Fate::QueueDrop);
        let counters = link.counters();
        assert_eq!((counters.lost, counters.queue_drops), (1, 3));
    }

    #[test]
    fn a_link_that_is_down_has_no_capacity() {
        let link: LinkConfig = "rate=1mbit down=1s..2s,4s..".parse().unwrap();
        let bits = |from, to| link.capacity(ms(from), ms(to)).unwrap();
        assert_eq!(bits(0, 10_000), 3_000_000);
        assert_eq!((bits(1500, 2500), bits(1000, 2000)), (500_000, 0));
    }

    #[test]
    fn outages_are_read_as_they_are_written() {
        for text in ["down=5s..10s", "down=1.5s..2s,4s..5s,9s.."] {
            let link: LinkConfig = text.parse().unwrap();
            assert_eq!(link.to_string(), text);
        }
        for wrong in ["5s", "5s..5s", "5s..4s", "1s..3s,2s..4s", "1s..,2s..3s", ""] {
            let error = format!("down={wrong}").parse::<LinkConfig>().unwrap_err();
            assert!(error.to_string().starts_with("down=: "), "{error}");
        }
    }
}
