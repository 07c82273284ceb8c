//! Records which messages of a stream have arrived, and their delays.

use super::schedule::{HEADER, Schedule};
use weftline_sim::Delays;

/// The start of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// When the message was due to be written: nanoseconds of the monotonic clock.
    pub(crate) scheduled: i64,
    /// Its number, from 0.
    pub(crate) index: u64,
}

impl Header {
    /// Writes the header into the first 16 bytes of a message: two little-endian integers.
    pub(crate) fn write(self, message: &mut [u8]) {
        message[..8].copy_from_slice(&self.scheduled.to_le_bytes());
        message[8..HEADER].copy_from_slice(&self.index.to_le_bytes());
    }

    /// Reads the header of a message; `None` if the message is too short or the number negative.
    pub(crate) fn read(message: &[u8]) -> Option<Self> {
        let scheduled = i64::from_le_bytes(message.get(..8)?.try_into().ok()?);
        let index = i64::from_le_bytes(message.get(8..HEADER)?.try_into().ok()?);
        Some(Header {
            scheduled,
            index: index.try_into().ok()?,
        })
    }
}

/// The receiver's record: one bit for each message, and a histogram.
pub(crate) struct Arrivals {
    schedule: Schedule,
    /// Nanoseconds after the last message's due time at which waiting ends.
    drain: i64,
    /// When message 0 was due; known from the first message that arrives.
    start: Option<i64>,
    seen: Vec<u64>,
    /// Messages that have arrived, with those that are not counted.
    arrived: u64,
    /// The messages that are counted.
    got: u64,
    delays: Delays,
}

/// The result of reading a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is new.
    New,
    /// It is a duplicate.
    Again,
    /// It belongs to another run.
    Foreign,
}

impl Arrivals {
    /// The record before the first message.
    pub(crate) fn new(schedule: Schedule, drain: i64) -> Self {
        let words = schedule.total.div_ceil(64) as usize;
        Arrivals {
            schedule,
            drain,
            start: None,
            seen: vec![0; words],
            arrived: 0,
            got: 0,
            delays: Delays::default(),
        }
    }

    /// Records a message that was read at `now`.
    pub(crate) fn read(&mut self, header: Header, now: i64) -> Arrival {
        let Header { scheduled, index } = header;
        if index >= self.schedule.total {
            return Arrival::Foreign;
        }
        let start = scheduled.saturating_sub(self.schedule.offset(index));
        if *self.start.get_or_insert(start) != start {
            return Arrival::Foreign;
        }
        let (word, bit) = ((index / 64) as usize, 1u64 << (index % 64));
        if self.seen[word] & bit != 0 {
            return Arrival::Again;
        }
        self.seen[word] |= bit;
        self.arrived += 1;
        if index >= self.schedule.first {
            self.got += 1;
            self.delays.add(now.saturating_sub(scheduled));
        }
        Arrival::New
    }

    /// Number of messages that have arrived: on an in-order stream, the number of the next.
    pub(crate) fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Whether all messages have arrived.
    pub(crate) fn is_complete(&self) -> bool {
        self.arrived == self.schedule.total
    }

    /// When waiting ends; `None` before the first message.
    pub(crate) fn end(&self) -> Option<i64> {
        let start = self.start?;
        Some(start.saturating_add(self.schedule.span() + self.drain))
    }

    /// Counted messages that have arrived.
    pub(crate) fn got(&self) -> u64 {
        self.got
    }

    /// The delays. A message that has not arrived has the time that it has waited until the end.
    /// Without any message the due times are unknown, and there are no delays.
    pub(crate) fn into_delays(mut self) -> Delays {
        let (Some(start), Some(end)) = (self.start, self.end()) else {
            return self.delays;
        };
        for index in self.schedule.first..self.schedule.total {
            if self.seen[(index / 64) as usize] & (1 << (index % 64)) == 0 {
                self.delays.add(end - start - self.schedule.offset(index));
            }
        }
        self.delays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weftline_sim::Pace;

    const MS: i64 = 1_000_000;
    const START: i64 = 77 * MS;

    /// A hundred messages, one in a millisecond; the first ten are not counted; 50 ms of drain.
    fn arrivals() -> Arrivals {
        let schedule = Schedule::new(Pace::Constant, 125, 1_000_000, 0.1, 0.01).unwrap();
        assert_eq!((schedule.total, schedule.first), (100, 10));
        Arrivals::new(schedule, 50 * MS)
    }

    fn header(index: u64) -> Header {
        Header {
            scheduled: START + index as i64 * MS,
            index,
        }
    }

    #[test]
    fn a_header_round_trips() {
        let mut message = [0; 20];
        header(5).write(&mut message);
        assert_eq!(Header::read(&message), Some(header(5)));
        assert_eq!(message[8], 5, "little-endian");
        assert_eq!(Header::read(&message[..15]), None);
        message[15] = 0x80;
        assert_eq!(Header::read(&message), None, "a negative number");
    }

    #[test]
    fn delays_are_counted_from_the_scheduled_time_and_after_the_skip() {
        let mut arrivals = arrivals();
        for index in 0..100 {
            // The skipped messages would be far off.
            let delay = if index < 10 { 900 * MS } else { 3 * MS };
            let header = header(index);
            assert_eq!(
                arrivals.read(header, header.scheduled + delay),
                Arrival::New
            );
        }
        assert!(arrivals.is_complete());
        assert_eq!(arrivals.got(), 90);
        let summary = arrivals.into_delays().summary();
        assert_eq!((summary.mean, summary.max), (Some(3.0), Some(3.0)));
    }

    #[test]
    fn a_missing_message_counts_with_the_time_it_waited() {
        let mut arrivals = arrivals();
        // The receiver starts late: the first message to arrive is number 40; number 99 is lost.
        for index in 40..99 {
            arrivals.read(header(index), START + index as i64 * MS);
        }
        assert_eq!(arrivals.end(), Some(START + (99 + 50) * MS));
        assert_eq!(arrivals.got(), 59);
        let delays = arrivals.into_delays();
        assert_eq!(delays.len(), 90);
        // Numbers 10 to 39 have waited 139 to 110 ms, number 99 for 50 ms.
        let waited: i64 = (110..=139).sum::<i64>() + 50;
        let summary = delays.summary();
        assert!((summary.mean.unwrap() - waited as f64 / 90.0).abs() < 1e-5);
        assert_eq!(summary.max, Some(139.0));
        assert_eq!(summary.p50, Some(0.0));
    }

    #[test]
    fn duplicates_and_messages_of_other_runs_are_not_counted() {
        let mut arrivals = arrivals();
        assert_eq!(arrivals.read(header(20), START), Arrival::New);
        assert_eq!(arrivals.read(header(20), START), Arrival::Again);
        assert_eq!(arrivals.read(header(100), START), Arrival::Foreign);
        let other_run = Header {
            scheduled: START,
            index: 21,
        };
        assert_eq!(arrivals.read(other_run, START), Arrival::Foreign);
        assert_eq!((arrivals.got(), arrivals.arrived()), (1, 1));
    }

    #[test]
    fn without_any_message_there_are_no_delays() {
        let arrivals = arrivals();
        assert_eq!(arrivals.end(), None);
        assert!(arrivals.into_delays().is_empty());
    }
}
