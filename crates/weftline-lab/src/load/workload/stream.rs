//! Messages at a constant rate, and the delay of each.

use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::{Outcome, PIECE, dismissed, farewell, guest};
use crate::load::LoadError;
use crate::load::arrivals::{Arrival, Arrivals, Header};
use crate::load::clock::{Timer, instant, nanos, now};
use crate::load::filler::Filler;
use crate::load::schedule::{LONGEST, Schedule};
use crate::load::transport::{Link, Listener, Symbols};
use weftline_proto::Settings;
use weftline_sim::Pace;
use weftline_sim::{Delays, Summary};

/// Time from connecting to the first message, in nanoseconds.
const LEAD_IN: i64 = 20_000_000;

/// The settings.
pub(crate) struct Stream {
    schedule: Schedule,
    /// Nanoseconds.
    drain: i64,
    curve: bool,
}

/// The receiver's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Received {
    /// Messages that were due after `skip`, written or not.
    sent: u64,
    /// Messages among them that were read.
    got: u64,
    /// Messages among them that were not read.
    missing: u64,
    /// Milliseconds from when a message was due to when it was read.
    #[serde(flatten)]
    delay: Summary,
    /// Shares and the milliseconds that they do not exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    cdf: Option<Vec<(f64, f64)>>,
    /// Why the connection ended early, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<String>,
}

/// The sender's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Sent {
    /// Messages that the transport accepted, `skip` included.
    sent: u64,
    /// Whether the receiver said that it has all of them.
    done: bool,
    /// Milliseconds by which the sender itself was late: from when a message was due to when its
    /// writing began, for messages that waited for no earlier one.
    late: Summary,
    /// Messages that waited until an earlier one was accepted.
    blocked: u64,
    /// Symbols in which they were sent, if the transport counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    symbols: Option<Symbols>,
}

impl Stream {
    pub(crate) fn take(settings: &mut Settings) -> Result<Self, LoadError> {
        let secs = settings
            .number("secs", "seconds", 0.1..=LONGEST)?
            .unwrap_or(10.0);
        let skip = settings
            .number("skip", "seconds", 0.0..=LONGEST)?
            .unwrap_or(0.0);
        let drain = settings
            .number("drain", "seconds", 0.0..=3600.0)?
            .unwrap_or(2.0);
        let pace = match settings.switch("video")? {
            Some(true) => Pace::Video,
            _ => Pace::Constant,
        };
        Ok(Stream {
            schedule: Schedule::take(settings, pace, secs, skip, Some(10.0))?,
            drain: nanos(drain),
            curve: settings.switch("cdf")?.unwrap_or(false),
        })
    }

    pub(crate) async fn receive(
        &self,
        mut listener: Box<dyn Listener>,
        patience: Duration,
    ) -> Result<Outcome<Received>, LoadError> {
        let mut link = guest(&mut *listener, patience).await?;
        let mut arrivals = Arrivals::new(self.schedule, self.drain);
        let mut inbox = Inbox::new(self.schedule.size, matches!(link, Link::Bytes(_)));
        let mut over = std::pin::pin!(sleep_until(Instant::now() + patience));
        let mut is_known = false;
        let broken = loop {
            let read = tokio::select! {
                biased;
                read = inbox.read(&mut link) => read,
                () = &mut over => break None,
            };
            let time = now();
            match read {
                Ok(true) => inbox.sort(&mut arrivals, time)?,
                Ok(false) => break Some("the sender ended early".to_owned()),
                Err(error) => break Some(error.to_string()),
            }
            if arrivals.is_complete() {
                break None;
            }
            match arrivals.end() {
                Some(end) if time >= end => break None,
                Some(end) if !is_known => {
                    over.as_mut().reset(instant(end));
                    is_known = true;
                }
                _ => {}
            }
        };
        if arrivals.end().is_none() {
            return Err(match broken {
                Some(reason) => LoadError::Connection(std::io::Error::other(reason)),
                None => LoadError::NobodyCame {
                    seconds: patience.as_secs_f64(),
                },
            });
        }
        let (sent, got) = (self.schedule.counted(), arrivals.got());
        let delays = arrivals.into_delays();
        let received = Received {
            sent,
            got,
            missing: sent - got,
            delay: delays.summary(),
            cdf: self.curve.then(|| delays.curve()),
            broken,
        };
        Ok((received, Box::pin(farewell(link))))
    }

    pub(crate) async fn send(&self, mut link: Link) -> Result<Sent, LoadError> {
        let (schedule, start) = (&self.schedule, now() + LEAD_IN);
        let end = start + schedule.span() + self.drain;
        let mut filler = Filler::new(schedule.size);
        let mut message = vec![0; schedule.size];
        let mut timer = Timer::new()?;
        let (mut late, mut blocked, mut sent) = (Delays::default(), 0, 0);
        let (limit, mut free) = (instant(end), 0);
        for index in 0..schedule.total {
            let scheduled = start + schedule.offset(index);
            timer.until(scheduled).await?;
            match free > scheduled {
                true => blocked += 1,
                false => late.add(now() - scheduled),
            }
            message.copy_from_slice(filler.next(schedule.size));
            Header { scheduled, index }.write(&mut message);
            // The receiver reports the cost of a failure here.
            match timeout_at(limit, write(&mut link, &message)).await {
                Ok(Ok(())) => sent += 1,
                _ => break,
            }
            free = now();
        }
        let patience = end + nanos(super::FAREWELL.as_secs_f64());
        let done = dismissed(&mut link, patience).await;
        let symbols = match &link {
            Link::Bytes(stream) => stream.symbols(),
            Link::Messages(_) => None,
        };
        Ok(Sent {
            sent,
            done,
            late: late.summary(),
            blocked,
            symbols,
        })
    }
}

async fn write(link: &mut Link, message: &[u8]) -> Result<(), LoadError> {
    match link {
        Link::Bytes(stream) => {
            stream.write_all(message).await?;
            Ok(stream.flush().await?)
        }
        Link::Messages(messages) => messages.send(message).await,
    }
}

/// Splits the received data into messages.
struct Inbox {
    buffer: Vec<u8>,
    filled: usize,
    size: usize,
    /// Messages follow each other without a gap.
    is_ordered: bool,
}

impl Inbox {
    fn new(size: usize, is_ordered: bool) -> Self {
        Inbox {
            // For messages: room for a message that is too long, to detect it.
            buffer: vec![0; PIECE.max(2 * size)],
            filled: 0,
            size,
            is_ordered,
        }
    }

    /// Waits for more data; false at the end of the stream.
    async fn read(&mut self, link: &mut Link) -> Result<bool, LoadError> {
        match link {
            Link::Bytes(stream) => {
                let n = stream.read(&mut self.buffer[self.filled..]).await?;
                self.filled += n;
                Ok(n > 0)
            }
            Link::Messages(messages) => {
                self.filled = messages.recv(&mut self.buffer).await?;
                Ok(true)
            }
        }
    }

    /// Counts the complete messages, read at `time`.
    fn sort(&mut self, arrivals: &mut Arrivals, time: i64) -> Result<(), LoadError> {
        let mut start = 0;
        while self.filled - start >= self.size {
            let header = Header::read(&self.buffer[start..start + self.size]);
            let expected = arrivals.arrived();
            let arrival = header.map(|header| (header.index, arrivals.read(header, time)));
            if self.is_ordered && arrival != Some((expected, Arrival::New)) {
                let got = match header {
                    Some(header) => format!("message {}", header.index),
                    None => "other data".to_owned(),
                };
                let what = format!("expected message {expected}, received {got}");
                return Err(LoadError::Corrupt(what));
            }
            start += self.size;
        }
        self.buffer.copy_within(start..self.filled, 0);
        self.filled -= start;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule() -> Schedule {
        Schedule::new(Pace::Constant, 32, 256_000, 0.01, 0.0).unwrap()
    }

    fn messages(indices: &[u64]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &index in indices {
            let mut message = [7; 32];
            let scheduled = 5000 + schedule().offset(index);
            Header { scheduled, index }.write(&mut message);
            bytes.extend_from_slice(&message);
        }
        bytes
    }

    fn put(inbox: &mut Inbox, bytes: &[u8]) {
        inbox.buffer[inbox.filled..inbox.filled + bytes.len()].copy_from_slice(bytes);
        inbox.filled += bytes.len();
    }

    #[test]
    fn messages_are_found_wherever_reads_split_them() {
        let bytes = messages(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
        for cut in 1..bytes.len() {
            let mut arrivals = Arrivals::new(schedule(), 0);
            let mut inbox = Inbox::new(32, true);
            for piece in bytes.chunks(cut) {
                put(&mut inbox, piece);
                inbox.sort(&mut arrivals, 6000).unwrap();
            }
            assert!(arrivals.is_complete(), "cut at {cut}");
        }
    }

    #[test]
    fn a_stream_out_of_order_is_an_error() {
        for wrong in [[0, 2], [0, 0], [1, 0]] {
            let mut arrivals = Arrivals::new(schedule(), 0);
            let mut inbox = Inbox::new(32, true);
            put(&mut inbox, &messages(&wrong));
            let error = inbox.sort(&mut arrivals, 6000).unwrap_err();
            assert!(matches!(error, LoadError::Corrupt(_)), "{wrong:?}");
        }
    }

    #[test]
    fn bare_messages_may_arrive_in_any_order() {
        let mut arrivals = Arrivals::new(schedule(), 0);
        for index in [3, 1, 1] {
            let mut inbox = Inbox::new(32, false);
            put(&mut inbox, &messages(&[index]));
            inbox.sort(&mut arrivals, 6000).unwrap();
        }
        assert_eq!(arrivals.got(), 2);
    }
}
