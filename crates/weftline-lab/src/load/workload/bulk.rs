//! As much as gets through.

use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{sleep_until, timeout, timeout_at};

use super::{Outcome, PIECE, farewell, guest};
use crate::load::LoadError;
use crate::load::clock::{Timer, instant, nanos, now};
use crate::load::filler::Filler;
use crate::load::schedule::{LONGEST, Schedule};
use crate::load::settings::Settings;
use crate::load::transport::{ByteStream, Link, Listener, Messages};

/// How much longer than asked the sender sends, in seconds: the receiver starts its clock with
/// the first byte, which is later by the path's delay.
const LEAD_OUT: f64 = 0.5;
/// Most entries of a series.
const SERIES: f64 = 100_000.0;

/// The settings.
pub(crate) struct Bulk {
    secs: f64,
    skip: f64,
    interval: Option<f64>,
    /// For messages: nothing else limits them.
    schedule: Option<Schedule>,
}

/// What the receiver tells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Received {
    /// Bytes read after `skip`.
    bytes: u64,
    /// Seconds in which they were: less than asked if the connection ended early.
    secs: f64,
    /// Mbit/s over those seconds.
    goodput: f64,
    /// Mbit/s in each interval, `skip` included.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<Vec<f64>>,
    /// Why the connection ended early, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<String>,
}

/// What the sender tells.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Sent {
    /// Bytes that the transport took.
    bytes: u64,
    /// Seconds from the connection to the end.
    secs: f64,
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
            let message = format!("skip={skip} leaves nothing of secs={secs}: lower it");
            return Err(LoadError::Contradiction(message));
        }
        if interval.is_some_and(|interval| secs / interval > SERIES) {
            let message = format!("at most {SERIES} entries are possible: raise series");
            return Err(LoadError::Contradiction(message));
        }
        let schedule = match is_messages {
            true => Some(Schedule::take(settings, secs + LEAD_OUT, 0.0, None)?),
            false => None,
        };
        Ok(Bulk {
            secs,
            skip,
            interval,
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
        meter.add(first, meter.start);
        let mut over = std::pin::pin!(sleep_until(instant(meter.end)));
        let (mut broken, mut ended) = (None, meter.end);
        loop {
            let read = tokio::select! {
                biased;
                () = &mut over => break,
                read = read(&mut link, &mut buffer) => read,
            };
            let time = now();
            match read {
                Ok(n) if n > 0 && time < meter.end => {
                    meter.add(n, time);
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

    pub(crate) async fn send(&self, link: Link) -> Result<Sent, LoadError> {
        let start = now();
        let end = start + nanos(self.secs + LEAD_OUT);
        let bytes = match link {
            Link::Bytes(stream) => pour(stream, end).await,
            Link::Messages(messages) => match &self.schedule {
                Some(schedule) => drip(messages, schedule).await?,
                None => 0,
            },
        };
        Ok(Sent {
            bytes,
            secs: (now() - start) as f64 / 1e9,
        })
    }
}

async fn read(link: &mut Link, buffer: &mut [u8]) -> Result<usize, LoadError> {
    match link {
        Link::Bytes(stream) => Ok(stream.read(buffer).await?),
        Link::Messages(messages) => messages.recv(buffer).await,
    }
}

/// Writes until `end`, or until the receiver has had enough.
async fn pour(mut stream: Box<dyn ByteStream>, end: i64) -> u64 {
    let mut filler = Filler::new(PIECE);
    let (limit, mut bytes) = (instant(end), 0);
    while now() < end {
        match timeout_at(limit, stream.write(filler.peek(PIECE))).await {
            Ok(Ok(n)) if n > 0 => {
                filler.skip(n);
                bytes += n as u64;
            }
            _ => break,
        }
    }
    bytes
}

/// Sends messages at their times, all of them.
async fn drip(mut messages: Box<dyn Messages>, schedule: &Schedule) -> Result<u64, LoadError> {
    let mut filler = Filler::new(schedule.size);
    let (mut timer, start) = (Timer::new()?, now());
    for index in 0..schedule.total {
        timer.until(start + schedule.offset(index)).await?;
        messages.send(filler.next(schedule.size)).await?;
    }
    Ok(schedule.total * schedule.size as u64)
}

/// Counts what arrives, by time.
struct Meter {
    start: i64,
    /// From here it counts.
    skip: i64,
    end: i64,
    bytes: u64,
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
            series,
        }
    }

    fn add(&mut self, bytes: usize, time: i64) {
        if time >= self.skip {
            self.bytes += bytes as u64;
        }
        if let Some((interval, series)) = &mut self.series {
            let at = ((time - self.start) / *interval) as usize;
            if let Some(sum) = series.get_mut(at) {
                *sum += bytes as u64;
            }
        }
    }

    fn report(self, ended: i64, broken: Option<String>) -> Received {
        // A connection that breaks carries nothing until the end.
        let until = if broken.is_some() { self.end } else { ended };
        let secs = (until - self.skip).max(0) as f64 / 1e9;
        let mbit = |bytes: u64, secs: f64| match secs > 0.0 {
            true => bytes as f64 * 8.0 / 1e6 / secs,
            false => 0.0,
        };
        Received {
            bytes: self.bytes,
            secs,
            goodput: mbit(self.bytes, secs),
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
            schedule: None,
        }
    }

    #[test]
    fn goodput_is_that_after_the_skip() {
        let mut meter = Meter::new(&bulk(), 0);
        // 8 Mbit/s in the first second, then 4.
        for tenth in 0..25 {
            let bytes = if tenth < 10 { 100_000 } else { 50_000 };
            meter.add(bytes, tenth * SECOND / 10);
        }
        let end = meter.end;
        let report = meter.report(end, None);
        assert_eq!((report.bytes, report.secs), (750_000, 1.5));
        assert_eq!(report.goodput, 4.0);
        assert_eq!(report.series, Some(vec![8.0, 4.0, 4.0]));
    }

    #[test]
    fn an_early_end_shortens_the_time_and_a_break_does_not() {
        let mut meter = Meter::new(&bulk(), 0);
        meter.add(500_000, SECOND);
        let report = meter.report(2 * SECOND, None);
        assert_eq!((report.secs, report.goodput), (1.0, 4.0));
        let mut meter = Meter::new(&bulk(), 0);
        meter.add(750_000, SECOND);
        let report = meter.report(2 * SECOND, Some("reset".into()));
        assert_eq!((report.secs, report.goodput), (1.5, 4.0));
    }

    #[test]
    fn an_end_before_the_skip_is_over_has_no_goodput() {
        let report = Meter::new(&bulk(), 0).report(SECOND / 2, None);
        assert_eq!((report.secs, report.goodput), (0.0, 0.0));
    }
}
