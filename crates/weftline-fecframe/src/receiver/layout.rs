//! Where ADUIs begin and end among the symbols.
//!
//! A recovered symbol does not show whether it is the first of its ADUI; that follows
//! only from the end of the ADUI before it. So the layout keeps, for each symbol,
//! whether an ADUI is known to begin with it and, once its header is readable or its
//! packet has arrived, which symbols that ADUI has.

use std::collections::VecDeque;

use crate::adui::{self, HEADER_BYTES, Header};
use crate::{FlowSet, Time};

/// The rules for accepting a recovered header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) symbol_size: u16,
    pub(super) flows: FlowSet,
    pub(super) one_symbol_adus: bool,
    pub(super) max_adu: usize,
    pub(super) max_symbols: u64,
}

/// What is known about the symbols `first..end`.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    rules: Rules,
    first: u64,
    slots: VecDeque<Slot>,
    /// The end of the last known ADUI, if it lies beyond the newest symbol, and where
    /// that ADUI begins.
    ahead: Option<(u64, u64)>,
    /// First symbols of ADUIs that became complete.
    ready: VecDeque<u64>,
    /// Recovered headers that were rejected.
    rejected: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    heard: Time,
    known: bool,
    start: bool,
    /// Symbols back to the first of its ADUI plus 1, or 0 if that is not known.
    within: u32,
    adui: Option<Adui>,
}

/// An ADUI whose header is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Adui {
    pub(super) header: Header,
    pub(super) symbols: u32,
    /// Symbols that are not known yet.
    pub(super) missing: u32,
    /// Whether it arrived in its own packet, rather than by decoding.
    pub(super) received: bool,
    /// Whether it was found impossible.
    pub(super) rejected: bool,
}

impl Layout {
    pub(super) fn new(rules: Rules, first: u64) -> Self {
        Self {
            rules,
            first,
            slots: VecDeque::new(),
            ahead: None,
            ready: VecDeque::new(),
            rejected: 0,
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.first + self.slots.len() as u64
    }

    /// Headers rejected since the last call.
    pub(super) fn take_rejected(&mut self) -> u64 {
        core::mem::take(&mut self.rejected)
    }

    pub(super) fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>() + self.ready.capacity() * size_of::<u64>()
    }

    /// When a symbol was first heard of.
    pub(super) fn heard(&self, esi: u64) -> Option<Time> {
        self.slot(esi).map(|slot| slot.heard)
    }

    pub(super) fn is_known(&self, esi: u64) -> bool {
        self.slot(esi).is_some_and(|slot| slot.known)
    }

    /// The ADUI that begins with this symbol.
    pub(super) fn adui(&self, start: u64) -> Option<Adui> {
        self.slot(start)?.adui
    }

    pub(super) fn reject(&mut self, start: u64) {
        if let Some(adui) = self.slot_mut(start).and_then(|slot| slot.adui.as_mut()) {
            adui.rejected = true;
            self.rejected += 1;
        }
    }

    /// The first symbol of an ADUI that became complete since the last call.
    pub(super) fn next_ready(&mut self) -> Option<u64> {
        self.ready.pop_front()
    }

    /// Adds symbols up to `end`, first heard of now. The caller has checked the bound.
    pub(super) fn extend(&mut self, end: u64, now: Time) {
        while self.end() < end {
            let esi = self.end();
            let mut slot = Slot {
                heard: now,
                known: false,
                start: self.rules.one_symbol_adus,
                within: 0,
                adui: None,
            };
            if let Some((start, until)) = self.ahead {
                if esi < until {
                    slot.within = (esi - start) as u32 + 1;
                } else {
                    slot.start |= esi == until;
                    self.ahead = None;
                }
            }
            self.slots.push_back(slot);
        }
    }

    /// Forgets the symbols below `esi`.
    pub(super) fn drop_before(&mut self, esi: u64) {
        let gone = esi.saturating_sub(self.first).min(self.slots.len() as u64);
        self.slots.drain(..gone as usize);
        self.first = self.first.max(esi);
        if self.slots.is_empty() && self.ahead.is_some_and(|(_, until)| until < esi) {
            self.ahead = None;
        }
    }

    /// Whether an ADUI of this many symbols can begin there, given the others.
    pub(super) fn fits(&self, start: u64, header: Header, symbols: u64) -> bool {
        if let Some((from, until)) = self.ahead
            && start != from
            && start < until
            && until < start + symbols.max(1)
        {
            return false;
        }
        for i in 0..symbols {
            let Some(slot) = self.slot(start + i) else {
                // Not heard of yet; it may belong to an earlier ADUI.
                let taken = |(from, until)| from != start && start + i < until;
                if self.ahead.is_some_and(taken) {
                    return false;
                }
                continue;
            };
            if slot.within != 0 && u64::from(slot.within) != i + 1 {
                return false;
            }
            if i > 0 && slot.start {
                return false;
            }
            let other = |adui: Adui| !adui.rejected && adui.header != header;
            if i == 0 && slot.adui.is_some_and(other) {
                return false;
            }
        }
        true
    }

    /// Notes an ADUI that arrived in a packet. It [fits](Self::fits), and its symbols
    /// have been added.
    pub(super) fn received(
        &mut self,
        start: u64,
        header: Header,
        symbols: u32,
        octet: &impl Fn(u64, usize) -> Option<u8>,
    ) {
        self.claim(start, header, symbols, true);
        self.parse_from(start + u64::from(symbols), octet);
    }

    /// Notes a symbol that became known.
    pub(super) fn known(&mut self, esi: u64, octet: &impl Fn(u64, usize) -> Option<u8>) {
        let Some(slot) = self.slot_mut(esi) else {
            return;
        };
        if core::mem::replace(&mut slot.known, true) {
            return;
        }
        let within = u64::from(slot.within);
        if within == 0 {
            // With small symbols a header may take three of them.
            let symbols = HEADER_BYTES.div_ceil(usize::from(self.rules.symbol_size)) as u64;
            for start in esi.saturating_sub(symbols - 1)..=esi {
                self.parse_from(start, octet);
            }
            return;
        }
        let start = esi - (within - 1);
        let adui = self.slot_mut(start).and_then(|slot| slot.adui.as_mut());
        if let Some(adui) = adui {
            adui.missing = adui.missing.saturating_sub(1);
            if adui.missing == 0 && !adui.rejected {
                self.ready.push_back(start);
            }
        }
    }

    /// Reads the header of the ADUI that begins there, and those of the next ADUIs, as
    /// far as they are known.
    fn parse_from(&mut self, mut start: u64, octet: &impl Fn(u64, usize) -> Option<u8>) {
        let symbol_size = usize::from(self.rules.symbol_size);
        loop {
            let unread = |slot: &Slot| slot.start && slot.adui.is_none();
            if !self.slot(start).is_some_and(unread) {
                return;
            }
            let mut octets = [0; HEADER_BYTES];
            for (i, place) in octets.iter_mut().enumerate() {
                let Some(octet) = octet(start + (i / symbol_size) as u64, i % symbol_size) else {
                    return;
                };
                *place = octet;
            }
            let header = Header::parse(octets);
            let length = usize::from(header.length);
            let symbols = adui::symbols(length, self.rules.symbol_size) as u64;
            let believed = self.rules.flows.contains(header.flow)
                && length <= self.rules.max_adu
                && symbols <= self.rules.max_symbols
                && !(self.rules.one_symbol_adus && symbols > 1)
                && self.fits(start, header, symbols);
            if !believed {
                if let Some(slot) = self.slot_mut(start) {
                    slot.adui = Some(Adui {
                        header,
                        symbols: 1,
                        missing: 0,
                        received: false,
                        rejected: true,
                    });
                }
                self.rejected += 1;
                return;
            }
            self.claim(start, header, symbols as u32, false);
            start += symbols;
        }
    }

    /// Assigns symbols to an ADUI.
    fn claim(&mut self, start: u64, header: Header, symbols: u32, received: bool) {
        let mut missing = 0;
        for i in 0..symbols {
            match self.slot_mut(start + u64::from(i)) {
                Some(slot) => {
                    slot.within = i + 1;
                    missing += u32::from(!slot.known);
                }
                None => missing += 1,
            }
        }
        let until = start + u64::from(symbols);
        if let Some(next) = self.slot_mut(until) {
            next.start = true;
        } else if until >= self.end() {
            self.ahead = Some((start, until));
        }
        if let Some(slot) = self.slot_mut(start) {
            slot.start = true;
            slot.adui = Some(Adui {
                header,
                symbols,
                missing,
                received,
                rejected: false,
            });
            if missing == 0 {
                self.ready.push_back(start);
            }
        }
    }

    fn slot(&self, esi: u64) -> Option<&Slot> {
        let index = usize::try_from(esi.checked_sub(self.first)?).ok()?;
        self.slots.get(index)
    }

    fn slot_mut(&mut self, esi: u64) -> Option<&mut Slot> {
        let index = usize::try_from(esi.checked_sub(self.first)?).ok()?;
        self.slots.get_mut(index)
    }
}
