//! A coarse TCP CUBIC. It sends full packets and acknowledges each one. It counts losses and does not
//! repair them.

use std::collections::VecDeque;
use std::time::Duration;

const PACKET: usize = 1400;
/// RFC 9438, sections 4.1, 4.3 and 4.6.
const SCALE: f64 = 0.4;
const DECREASE: f64 = 0.7;
const RENO: f64 = 0.53;
/// A packet counts as lost when one sent this many later has arrived.
const REORDERING: usize = 3;
/// A sender that gets no acknowledgement starts again after this long.
const SILENCE: Duration = Duration::from_secs(1);

/// The receiving end.
#[derive(Default)]
pub(crate) struct Sink {
    pub(crate) bytes: u64,
    acknowledgements: VecDeque<Vec<u8>>,
}

impl Sink {
    pub(crate) fn received(&mut self, packet: &[u8]) {
        self.bytes += packet.len() as u64;
        self.acknowledgements.push_back(packet[..8].to_vec());
    }

    pub(crate) fn transmit(&mut self) -> Option<Vec<u8>> {
        self.acknowledgements.pop_front()
    }
}

/// The sending end.
pub(crate) struct Cubic {
    /// When each packet left, from the oldest unresolved one on; `None` once its fate is known.
    sent: VecDeque<Option<Duration>>,
    first: u64,
    in_flight: usize,
    window: f64,
    threshold: f64,
    most: f64,
    reno: f64,
    since: Option<Duration>,
    /// Losses of packets sent before this time belong to the last decrease.
    decreased: Duration,
    heard: Duration,
}

impl Cubic {
    pub(crate) fn new(start: Duration) -> Self {
        Cubic {
            sent: VecDeque::new(),
            first: 0,
            in_flight: 0,
            window: 10.0,
            threshold: f64::INFINITY,
            most: 0.0,
            reno: 0.0,
            since: None,
            decreased: start,
            heard: start,
        }
    }

    pub(crate) fn acknowledged(&mut self, now: Duration, number: &[u8]) {
        self.heard = now;
        let number = u64::from_be_bytes(number.try_into().expect("eight bytes"));
        let Some(index) = number.checked_sub(self.first).map(|index| index as usize) else {
            return;
        };
        let Some(left) = self.sent[index].take() else {
            return;
        };
        self.in_flight -= 1;
        let mut newest_lost = None;
        for packet in self.sent.iter_mut().take(index.saturating_sub(REORDERING)) {
            if let Some(left) = packet.take() {
                self.in_flight -= 1;
                newest_lost = Some(left);
            }
        }
        while self.sent.len() > 1 && self.sent[0].is_none() {
            self.sent.pop_front();
            self.first += 1;
        }
        match newest_lost {
            Some(left) if left >= self.decreased => self.decrease(now),
            _ => self.grow(now, now - left),
        }
    }

    fn decrease(&mut self, now: Duration) {
        self.decreased = now;
        self.most = self.window;
        self.window = (self.window * DECREASE).max(2.0);
        self.threshold = self.window;
        self.reno = self.window;
        self.since = None;
    }

    fn grow(&mut self, now: Duration, rtt: Duration) {
        if self.window < self.threshold {
            self.window += 1.0;
            return;
        }
        let since = *self.since.get_or_insert(now);
        let way = (self.most * (1.0 - DECREASE) / SCALE).cbrt();
        let cubic = SCALE * ((now - since + rtt).as_secs_f64() - way).powi(3) + self.most;
        self.reno += RENO / self.window;
        self.window += ((cubic - self.window) / self.window).clamp(0.01 / self.window, 0.5);
        self.window = self.window.max(self.reno);
    }

    pub(crate) fn transmit(&mut self, now: Duration) -> Option<Vec<u8>> {
        if now >= self.heard + SILENCE && self.in_flight > 0 {
            self.heard = now;
            self.sent.iter_mut().for_each(|packet| *packet = None);
            self.in_flight = 0;
            self.window = 2.0;
        }
        if self.in_flight as f64 >= self.window.floor() {
            return None;
        }
        let number = self.first + self.sent.len() as u64;
        self.sent.push_back(Some(now));
        self.in_flight += 1;
        let mut packet = vec![0; PACKET];
        packet[..8].copy_from_slice(&number.to_be_bytes());
        Some(packet)
    }

    pub(crate) fn next_timeout(&self) -> Duration {
        self.heard + SILENCE
    }
}
