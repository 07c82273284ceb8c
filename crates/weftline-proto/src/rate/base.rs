//! The round-trip time of a path without a queue.

use std::collections::VecDeque;

use core::time::Duration;

use crate::time::Time;

/// The base is the smallest round trip of the last epochs of this length, so that a path that became
/// longer is noticed soon.
const EPOCH: Duration = Duration::from_secs(10);
const EPOCHS: usize = 2;

/// The smallest round trip of the last epochs.
#[derive(Clone, Debug, Default)]
pub(super) struct Base(VecDeque<(Time, Duration)>);

impl Base {
    pub(super) fn add(&mut self, now: Time, rtt: Duration) {
        match self.0.back_mut() {
            Some((began, min)) if now.since(*began) < EPOCH => *min = rtt.min(*min),
            _ => self.0.push_back((now, rtt)),
        }
        if self.0.len() > EPOCHS {
            self.0.pop_front();
        }
    }

    pub(super) fn get(&self) -> Option<Duration> {
        self.0.iter().map(|(_, min)| *min).min()
    }
}
