//! Models of TCP as competing traffic: full packets, and an ideal acknowledgement of each.
//!
//! What is lost is noticed when the next packet that arrived is acknowledged, and is not sent again:
//! only the rate is of interest.

use std::collections::VecDeque;
use std::time::Duration;

use super::Sender;
use super::bbr::Bbr;
use super::cubic::Cubic;

/// Bytes of data in a packet, and with TCP's and IP's headers.
pub(super) const DATA: usize = 1448;
const WIRE: usize = 1500;
/// Without an acknowledgement for this long, all packets in flight count as lost.
const SILENCE: Duration = Duration::from_secs(1);

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u64,
    at: Duration,
    /// Packets that had been acknowledged then, and when the last one was.
    delivered: u64,
    delivered_at: Duration,
    /// When its fate is known, and whether it arrived.
    known: Duration,
    arrived: bool,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub(super) now: Duration,
    pub(super) rtt: Duration,
    /// Packets a second that arrived while this one was in flight.
    pub(super) rate: f64,
    /// A packet that was sent after the last one of the round before.
    pub(super) new_round: bool,
    /// Packets in flight now.
    pub(super) in_flight: usize,
}

#[derive(Debug)]
enum Control {
    Cubic(Cubic),
    Bbr(Bbr),
}

/// A sender and its receiver.
#[derive(Debug)]
pub(super) struct Competitor {
    control: Control,
    in_flight: VecDeque<Sent>,
    next: u64,
    delivered: u64,
    delivered_at: Duration,
    round_ends: u64,
    /// Losses of packets before this one belong to the last decrease.
    decreased: u64,
    /// When pacing lets the next packet leave.
    paced: Duration,
    heard: Duration,
}

impl Competitor {
    pub(super) fn new(sender: Sender) -> Self {
        Competitor {
            control: match sender {
                Sender::Bbr => Control::Bbr(Bbr::default()),
                _ => Control::Cubic(Cubic::default()),
            },
            in_flight: VecDeque::new(),
            next: 0,
            delivered: 0,
            delivered_at: Duration::ZERO,
            round_ends: 0,
            decreased: 0,
            paced: Duration::ZERO,
            heard: Duration::ZERO,
        }
    }

    /// Bytes of data that arrived.
    pub(super) fn delivered(&self) -> u64 {
        self.delivered * DATA as u64
    }

    fn has_room(&self) -> bool {
        let window = match &self.control {
            Control::Cubic(cubic) => cubic.window(),
            Control::Bbr(bbr) => bbr.window(),
        };
        (self.in_flight.len() as f64) < window.floor()
    }

    /// The length of a packet that leaves now.
    pub(super) fn transmit(&mut self, now: Duration) -> Option<usize> {
        if !self.has_room() || self.paced > now {
            return None;
        }
        if let Control::Bbr(bbr) = &self.control {
            self.paced = self.paced.max(now) + bbr.spacing();
        }
        Some(WIRE)
    }

    /// The packet that left is acknowledged at this time, or lost.
    pub(super) fn on_fate(&mut self, now: Duration, acknowledged: Option<Duration>) {
        if self.in_flight.is_empty() {
            (self.heard, self.delivered_at) = (now, now);
        }
        let before = self.in_flight.back().map_or(now, |sent| sent.known);
        self.in_flight.push_back(Sent {
            number: self.next,
            at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            known: acknowledged.unwrap_or(now).max(before),
            arrived: acknowledged.is_some(),
        });
        self.next += 1;
    }

    pub(super) fn next_timeout(&self) -> Option<Duration> {
        let known = self.in_flight.iter().find(|sent| sent.arrived);
        let silence = (!self.in_flight.is_empty()).then_some(self.heard + SILENCE);
        let paced = self.has_room().then_some(self.paced);
        let times = [known.map(|sent| sent.known), silence, paced];
        times.into_iter().flatten().min()
    }

    /// Handles all acknowledgements that have come.
    pub(super) fn timeout(&mut self, now: Duration) {
        while let Some(index) = self.in_flight.iter().position(|sent| sent.arrived)
            && self.in_flight[index].known <= now
        {
            let lost = self.in_flight.drain(..index).next_back();
            if let Some(lost) = lost
                && lost.number >= self.decreased
            {
                self.decreased = self.next;
                if let Control::Cubic(cubic) = &mut self.control {
                    cubic.on_loss();
                }
            }
            if let Some(sent) = self.in_flight.pop_front() {
                self.acknowledge(now, &sent);
            }
        }
        if now >= self.heard + SILENCE && !self.in_flight.is_empty() {
            self.in_flight.clear();
            self.heard = now;
            match &mut self.control {
                Control::Cubic(cubic) => cubic.on_silence(),
                Control::Bbr(bbr) => *bbr = Bbr::default(),
            }
        }
    }

    fn acknowledge(&mut self, now: Duration, sent: &Sent) {
        self.delivered += 1;
        self.delivered_at = now;
        self.heard = now;
        let new_round = sent.number >= self.round_ends;
        if new_round {
            self.round_ends = self.next;
        }
        let took = now.saturating_sub(sent.delivered_at).as_secs_f64();
        let ack = Ack {
            now,
            rtt: now.saturating_sub(sent.at),
            rate: (self.delivered - sent.delivered) as f64 / took.max(1e-6),
            new_round,
            in_flight: self.in_flight.len(),
        };
        match &mut self.control {
            Control::Cubic(cubic) => cubic.on_ack(&ack),
            Control::Bbr(bbr) => bbr.on_ack(&ack),
        }
    }
}
