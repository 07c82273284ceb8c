//! The messages of a session, and what is counted of them at the other end.

use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use bytes::Bytes;

use crate::options::Crowd;

/// A message begins with the time at which it was due.
const STAMP: usize = 8;

/// A task is not woken more often than this for its messages.
const TICK: Duration = Duration::from_millis(1);

fn clock() -> u64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.map_or(0, |time| time.as_micros() as u64)
}

/// Gives the messages of session `number` when they are due, until the time is over; returns how many
/// there were. The sessions begin one after the other.
pub(crate) async fn send<F>(
    crowd: Crowd,
    number: usize,
    mut give: impl FnMut(Bytes) -> F,
) -> Result<u64>
where
    F: Future<Output = Result<()>>,
{
    let period = Duration::from_secs(1) / crowd.rate;
    let (start, end) = (Instant::now(), Duration::from_secs_f64(crowd.secs));
    let first = period
        .max(TICK)
        .mul_f64(number as f64 / crowd.sessions as f64);
    let mut sent = 0;
    loop {
        let due = first + period.mul_f64(sent as f64);
        let waits = due.saturating_sub(start.elapsed());
        if !waits.is_zero() {
            tokio::time::sleep(waits.max(TICK)).await;
        }
        if start.elapsed() >= end {
            return Ok(sent);
        }
        let mut message = vec![0; crowd.bytes];
        message[..STAMP].copy_from_slice(&clock().to_be_bytes());
        give(message.into()).await?;
        sent += 1;
    }
}

/// What has arrived since it was last asked for.
#[derive(Default)]
pub(crate) struct Arrivals(Mutex<Vec<u32>>);

impl Arrivals {
    pub(crate) fn count(&self, message: &[u8]) {
        let Some((stamp, _)) = message.split_first_chunk::<STAMP>() else {
            return;
        };
        let micros = clock().saturating_sub(u64::from_be_bytes(*stamp));
        let mut delays = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        delays.push(micros.try_into().unwrap_or(u32::MAX));
    }

    /// How many there were, and their median and 99th percentile of delay in milliseconds.
    pub(crate) fn take(&self) -> (u64, [f64; 2]) {
        let mut delays =
            std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        delays.sort_unstable();
        let at = |share: f64| {
            let index = (delays.len() as f64 * share) as usize;
            delays
                .get(index)
                .map_or(0.0, |&micros| f64::from(micros) / 1000.0)
        };
        (delays.len() as u64, [at(0.5), at(0.99)])
    }
}
