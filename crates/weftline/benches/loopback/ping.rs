//! One small message at a time there and back, on a path without anything else.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Bytes of a message.
const SIZE: usize = 64;
/// Between an answer and the next question, so that all is idle when it comes.
const PAUSE: Duration = Duration::from_millis(2);
/// Questions before those that count.
const WARM_UP: u32 = 100;

/// What carries messages that may be lost.
pub(crate) trait Messages {
    fn send(&self, data: Bytes) -> impl Future<Output = Result<()>> + Send;
    fn recv(&self) -> impl Future<Output = Result<Bytes>> + Send;
}

/// Round trips, in microseconds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Trips {
    pub(crate) median: f64,
    pub(crate) p99: f64,
}

/// Asks `count` times; a question without an answer fails the run.
pub(crate) async fn ask(messages: &impl Messages, count: u32) -> Result<Trips> {
    let mut trips = Vec::with_capacity(count as usize);
    for number in 0..WARM_UP + count {
        tokio::time::sleep(PAUSE).await;
        let start = Instant::now();
        messages.send(Bytes::from(vec![number as u8; SIZE])).await?;
        let answer = tokio::time::timeout(Duration::from_secs(5), messages.recv()).await;
        answer.context("no answer")??;
        if number >= WARM_UP {
            trips.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    trips.sort_by(f64::total_cmp);
    let at = |share: f64| trips[(share * (trips.len() - 1) as f64) as usize];
    Ok(Trips {
        median: at(0.5),
        p99: at(0.99),
    })
}

/// Sends back what comes, until the end.
pub(crate) async fn answer(messages: &impl Messages) {
    while let Ok(data) = messages.recv().await {
        if messages.send(data).await.is_err() {
            return;
        }
    }
}
