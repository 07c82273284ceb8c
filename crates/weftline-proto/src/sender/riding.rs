//! Repair symbols that ride in the datagram of a new source symbol: they cost no headers of their own.

use std::ops::Range;

use weftline_codec::Esi;

use super::Sender;
use super::situation::Situation;
use super::window::EncodingWindow;
use crate::time::Time;
use crate::wire::{REPAIR_HEADER, Riders, RidersHeader, SOURCE_HEADER};

/// The newest symbols, as many as the peer accepts.
const NEWEST: EncodingWindow = EncodingWindow::Elastic { max: u16::MAX };

/// The room for repair symbols in the datagram of a new source symbol.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Room {
    /// Repair symbols that fit; 0 also if there is nothing to protect.
    pub most: u8,
    /// Bytes of one, as a share of the bytes that it takes in a datagram of its own.
    pub cost: f64,
}

/// Repair symbols that ride, and what they cover.
pub(super) struct Boarded {
    pub(super) header: RidersHeader,
    pub(super) window: Range<Esi>,
}

impl Sender {
    /// The repair symbols that ride with the next new source symbol, of `symbol` bytes, in a datagram of
    /// at most `longest` bytes.
    pub(super) fn board(
        &mut self,
        now: Time,
        path: usize,
        symbol: usize,
        longest: usize,
    ) -> Option<Boarded> {
        if !self.can_ride {
            return None;
        }
        let at = Situation::on(path, now, true, &self.flow);
        let window = at.newest_window(NEWEST);
        let nss = (window.end - window.start) as u16;
        let len = self.flow.encoder.repair_len(window.clone()).unwrap_or(0);
        let overhead = RidersHeader::overhead(nss, len);
        let room = longest.saturating_sub(SOURCE_HEADER + overhead + symbol);
        let fit = room.checked_div(len).unwrap_or(0);
        let alone = REPAIR_HEADER + len + usize::from(self.datagram_overhead);
        let room = Room {
            most: Riders::MOST.min(u8::try_from(fit).unwrap_or(u8::MAX)),
            cost: (overhead + len) as f64 / alone as f64,
        };
        let count = self.rule.riders(&at, &room).min(room.most);
        let key = self.next_key;
        self.next_key = key.wrapping_add(count.into());
        let header = RidersHeader {
            count,
            nss,
            key,
            len,
        };
        (count > 0).then_some(Boarded { header, window })
    }

    /// Writes the coded symbols. Returns false if the encoder does not hold the window.
    pub(super) fn put_riders(&self, boarded: &Boarded, out: &mut Vec<u8>) -> bool {
        let Boarded { header, window } = boarded;
        (0..header.count).all(|n| {
            let key = header.key.wrapping_add(n.into());
            let encoder = &self.flow.encoder;
            encoder.repair(window.clone(), u32::from(key), out).is_ok()
        })
    }
}
