//! As much data as the path carries.

use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep_until, timeout, timeout_at};

use super::stamps::{self, Stamps};
use super::{Outcome, PIECE, dismissed, farewell, guest};
use crate::load::LoadError;
use crate::load::clock::{Timer, instant, nanos, now};
use crate::load::filler::Filler;
use crate::load::schedule::{HEADER, LARGEST, LONGEST, Schedule};
use crate::load::transport::{ByteStream, Link, Listener, Messages, Symbols};
use weftline_proto::Settings;
use weftline_sim::Pace;
use weftline_sim::Summary;

/// How much longer than requested the sender sends, in seconds: the receiver starts its clock with
/// the first byte, which arrives later by the path's delay.
const LEAD_OUT: f64 = 0.5;
/// The largest amount, in bytes.
const AMOUNT: u64 = 1 << 40;
/// Most entries of a series.
const SERIES: f64 = 100_000.0;

/// The settings.
pub(crate) struct Bulk {
    secs: f64,
    skip: f64,
    interval: Option<f64>,
    /// The amount to send, in bytes.
    amount: Option<u64>,
    /// Bytes of a piece with a time stamp.
    stamp: Option<usize>,
    /// For messages: their schedule is the only limit.
    schedule: Option<Schedule>,
}

/// The receiver's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Received {
    /// Bytes read after `skip`.
    bytes: u64,
    /// Seconds in which they were read: less than requested if the connection ended early.
    secs: f64,
    /// Mbit/s over those seconds.
    goodput: f64,
    /// Bytes read, `skip` included.
    total: u64,
    /// When the first bytes were read, in nanoseconds of the monotonic clock.
    start: i64,
    /// Milliseconds from when the transport accepted a piece to when it was read.
    #[serde(flatten)]
    delay: Option<Summary>,
    /// Their distribution: shares and the milliseconds that they do not exceed.
    #[serde(skip_serializing_if = "Option::is_none")]
    cdf: Option<Vec<(f64, f64)>>,
    /// Mbit/s in each interval, `skip` included.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<Vec<f64>>,
    /// Why the connection ended early, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<String>,
}

/// The sender's result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Sent {
    /// Bytes that the transport accepted.
    bytes: u64,
    /// Seconds from the connection to the end.
    secs: f64,
    /// Symbols in which they were sent, if the transport counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    symbols: Option<Symbols>,
}

impl Bulk {
    pub(crate) fn take(settings: &mut Settings, is_messages: bool) -> Result<Self, LoadError> {
        let secs = settings
            .number("secs", "seconds", 0.1..=LONGEST)?
            .unwrap_or(10.0);
        let skip = settings
            .number("skip", "seconds", 0.0..=LONGEST)?
            .unwrap_or(0.0);
        let interval = settings.number("series", "seconds", 0.01..=LONGEST)?;
        if skip >= secs {
            let message = format!("skip={skip} leaves nothing of secs={secs}: lower skip");
            return Err(LoadError::Contradiction(message));
        }
        if interval.is_some_and(|interval| secs / interval > SERIES) {
            let message = format!("at most {SERIES} entries are allowed: raise series");
            return Err(LoadError::Contradiction(message));
        }
        let (mut amount, mut stamp) = (None, None);
        let mut schedule = None;
        if is_messages {
            schedule = Some(Schedule::take(
                settings,
                Pace::Constant,
                secs + LEAD_OUT,
                0.0,
                None,
            )?);
        } else {
            amount = settings.number("amount", "bytes", 1..=AMOUNT)?;
            stamp = settings.number("stamp", "bytes of a piece", HEADER..=LARGEST)?;
        }
        Ok(Bulk {
            secs,
            skip,
            interval,
            amount,
            stamp,
            schedule,
        })
    }

    pub(crate) async fn receive(
        &self,
        mut listener: Box<dyn Listener>,
        patience: Duration,
    ) -> Result<Outcome<Received>, LoadError> {
        let mut link = guest(&mut *listener, patience).await?;
        let mut buffer = vec![0; PIECE];
        let first = match timeout(patience, read(&mut link, &mut buffer)).await {
            Ok(read) => read?,
            Err(_) => 0,
        };
        if first == 0 {
            return Err(LoadError::NobodyCame {
                seconds: patience.as_secs_f64(),
            });
        }
        let mut meter = Meter::new(self, now());
        meter.add(&buffer[..first], meter.start)?;
        let mut over = std::pin::pin!(sleep_until(instant(meter.end)));
        let (mut broken, mut ended) = (None, meter.end);
        loop {
            if meter.has_all() {
                ended = meter.last;
                break;
            }
            let read = tokio::select! {
                biased;
                () = &mut over => break,
                read = read(&mut link, &mut buffer) => read,
            };
            let time = now();
            match read {
                Ok(n) if n > 0 && time < meter.end => {
                    meter.add(&buffer[..n], time)?;
                    continue;
                }
                Ok(n) if n > 0 => break,
                Ok(_) => {}
                Err(error) => broken = Some(error.to_string()),
            }
            ended = time.min(meter.end);
            break;
        }
        Ok((meter.report(ended, broken), Box::pin(farewell(link))))
    }

    pub(crate) async fn send(&self, mut link: Link) -> Result<Sent, LoadError> {
        let start = now();
        let end = start + nanos(self.secs + LEAD_OUT);
        let bytes = match &mut link {
            Link::Bytes(stream) => match self.stamp {
                Some(size) => stamps::pour(&mut **stream, size, self.amount, end).await,
                None => pour(&mut **stream, self.amount, end).await,
            },
            Link::Messages(messages) => match &self.schedule {
                Some(schedule) => drip(&mut **messages, schedule).await?,
                None => 0,
            },
        };
        if self.amount == Some(bytes) {
            // Written data has not arrived yet; the receiver reports failures.
            if let Link::Bytes(stream) = &mut link {
                let _ = timeout_at(instant(end), stream.flush()).await;
            }
            dismissed(&mut link, end).await;
        }
        let symbols = match &link {
            Link::Bytes(stream) => stream.symbols(),
            Link::Messages(_) => None,
        };
        Ok(Sent {
            bytes,
            secs: (now() - start) as f64 / 1e9,
            symbols,
        })
    }
}

async fn read(link: &mut Link, buffer: &mut [u8]) -> Result<usize, LoadError> {
    match link {
        Link::Bytes(stream) => Ok(stream.read(buffer).await?),
        Link::Messages(messages) => messages.recv(buffer).await,
    }
}

/// Writes until `end` or `amount` bytes, or until the receiver has read enough.
async fn pour(stream: &mut dyn ByteStream, amount: Option<u64>, end: i64) -> u64 {
    let mut filler = Filler::new(PIECE);
    let (limit, mut bytes) = (instant(end), 0);
    while now() < end && amount.is_none_or(|amount| bytes < amount) {
        let left = amount.map_or(u64::MAX, |amount| amount - bytes);
        let piece = filler.peek(left.min(PIECE as u64) as usize);
        match timeout_at(limit, stream.write(piece)).await {
            Ok(Ok(n)) if n > 0 => {
                filler.skip(n);
                bytes += n as u64;
            }
            _ => break,
        }
    }
    bytes
}

/// Sends all messages at their due times.
async fn drip(messages: &mut dyn Messages, schedule: &Schedule) -> Result<u64, LoadError> {
    let mut filler = Filler::new(schedule.size);
    let (mut timer, start) = (Timer::new()?, now());
    for index in 0..schedule.total {
        timer.until(start + schedule.offset(index)).await?;
        messages.send(filler.next(schedule.size)).await?;
    }
    Ok(schedule.total * schedule.size as u64)
}

/// Counts the received bytes over time.
struct Meter {
    start: i64,
    /// Counting starts here.
    skip: i64,
    end: i64,
    bytes: u64,
    /// Received bytes, those before `skip` too, and the time of the last of them.
    total: u64,
    last: i64,
    amount: Option<u64>,
    stamps: Option<Stamps>,
    /// Length of an interval, and the bytes in each.
    series: Option<(i64, Vec<u64>)>,
}

impl Meter {
    fn new(bulk: &Bulk, start: i64) -> Self {
        let series = bulk.interval.map(|interval| {
            let intervals = (bulk.secs / interval).ceil() as usize;
            (nanos(interval), vec![0; intervals])
        });
        Meter {
            start,
            skip: start + nanos(bulk.skip),
            end: start + nanos(bulk.secs),
            bytes: 0,
            total: 0,
            last: start,
            amount: bulk.amount,
            stamps: bulk.stamp.map(Stamps::new),
            series,
        }
    }

    /// Whether all sent data has arrived.
    fn has_all(&self) -> bool {
        self.amount.is_some_and(|amount| self.total >= amount)
    }

    fn add(&mut self, read: &[u8], time: i64) -> Result<(), LoadError> {
        let bytes = read.len();
        (self.total, self.last) = (self.total + bytes as u64, time);
        if let Some(stamps) = &mut self.stamps {
            stamps.read(read, time)?;
        }
        if time >= self.skip {
            self.bytes += bytes as u64;
        }
        if let Some((interval, series)) = &mut self.series {
            let at = ((time - self.start) / *interval) as usize;
            if let Some(sum) = series.get_mut(at) {
                *sum += bytes as u64;
            }
        }
        Ok(())
    }

    fn report(self, ended: i64, broken: Option<String>) -> Received {
        // A failed connection carries nothing until the end.
        let until = if broken.is_some() { self.end } else { ended };
        let secs = (until - self.skip).max(0) as f64 / 1e9;
        let mbit = |bytes: u64, secs: f64| match secs > 0.0 {
            true => bytes as f64 * 8.0 / 1e6 / secs,
            false => 0.0,
        };
        let delays = self.stamps.map(Stamps::into_delays);
        Received {
            bytes: self.bytes,
            secs,
            goodput: mbit(self.bytes, secs),
            total: self.total,
            start: self.start,
            delay: delays.as_ref().map(|delays| delays.summary()),
            cdf: delays.map(|delays| delays.curve()),
            series: self.series.map(|(interval, series)| {
                let span = (self.end - self.start) as f64 / 1e9;
                let interval = interval as f64 / 1e9;
                let rates = series
                    .iter()
                    .enumerate()
                    .map(|(i, bytes)| mbit(*bytes, interval.min(span - i as f64 * interval)));
                rates.collect()
            }),
            broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn bulk() -> Bulk {
        Bulk {
            secs: 2.5,
            skip: 1.0,
            interval: Some(1.0),
            amount: None,
            stamp: None,
            schedule: None,
        }
    }

    #[test]
    fn goodput_counts_from_the_skip() {
        let mut meter = Meter::new(&bulk(), 0);
        // 8 Mbit/s in the first second, then 4.
        for tenth in 0..25 {
            let bytes = if tenth < 10 { 100_000 } else { 50_000 };
            meter.add(&vec![0; bytes], tenth * SECOND / 10).unwrap();
        }
        let end = meter.end;
        let report = meter.report(end, None);
        assert_eq!((report.bytes, report.secs), (750_000, 1.5));
        assert_eq!(report.goodput, 4.0);
        assert_eq!(report.series, Some(vec![8.0, 4.0, 4.0]));
    }

    #[test]
    fn an_early_end_shortens_the_time_but_a_failure_does_not() {
        let mut meter = Meter::new(&bulk(), 0);
        meter.add(&[0; 500_000], SECOND).unwrap();
        let report = meter.report(2 * SECOND, None);
        assert_eq!((report.secs, report.goodput), (1.0, 4.0));
        let mut meter = Meter::new(&bulk(), 0);
        meter.add(&[0; 750_000], SECOND).unwrap();
        let report = meter.report(2 * SECOND, Some("reset".into()));
        assert_eq!((report.secs, report.goodput), (1.5, 4.0));
    }

    #[test]
    fn an_end_before_the_skip_is_over_has_no_goodput() {
        let report = Meter::new(&bulk(), 0).report(SECOND / 2, None);
        assert_eq!((report.secs, report.goodput), (0.0, 0.0));
    }
}
