//! Delivery of known symbols, and the end of overdue ones.

use super::super::layout::Adui;
use super::super::{Adu, Order};
use super::{State, WindowReceiver};
use crate::{adui, serial};

impl WindowReceiver {
    /// Handles the symbols that became known.
    pub(super) fn settle(&mut self) {
        let Some(state) = &mut self.state else {
            return;
        };
        while let Some(esi) = state.system.next_known() {
            let system = &state.system;
            let octet = |esi, at: usize| system.symbol(esi)?.get(at).copied();
            state.layout.known(esi, &octet);
        }
        let at_once = self.config.order == Order::AsDecoded;
        while let Some(start) = state.layout.next_ready() {
            let late = start < state.cursor;
            if late && !self.config.deliver_late {
                self.stats.late += 1;
            } else if (late || at_once)
                && let Some(adu) = state.take(start, late)
            {
                self.queue.push(adu, &mut self.stats);
            }
        }
        self.advance(false);
    }

    /// Hands over the ADUs that are next in order, and gives up those that are overdue,
    /// or all.
    pub(super) fn advance(&mut self, all: bool) {
        let window = u64::from(self.decoding_window());
        let Some(state) = &mut self.state else {
            return;
        };
        let in_time = state.end.saturating_sub(window);
        while let Some(heard) = state.layout.heard(state.cursor) {
            let cursor = state.cursor;
            let adui = state.layout.adui(cursor).filter(|adui| !adui.rejected);
            if self.config.order == Order::InOrder
                && adui.is_some_and(|adui| adui.missing == 0)
                && let Some(adu) = state.take(cursor, false)
            {
                state.cursor += adui.map_or(1, |adui| u64::from(adui.symbols));
                self.queue.push(adu, &mut self.stats);
                continue;
            }
            let overdue = |latency| heard + latency <= self.now;
            if !all && cursor >= in_time && !self.config.max_latency.is_some_and(overdue) {
                break;
            }
            let symbols = match self.config.order {
                // The rest of its ADU is too late as well.
                Order::InOrder => adui.map_or(1, |adui| adui.symbols),
                Order::AsDecoded => 1,
            };
            for esi in cursor..cursor + u64::from(symbols) {
                let lost = esi >= state.joined && !state.layout.is_known(esi);
                self.stats.symbols_lost += u64::from(lost);
            }
            state.cursor += u64::from(symbols);
        }
        self.stats.implausible += state.layout.take_rejected();
    }
}

impl State {
    /// The complete ADU that begins there, if there is one.
    fn take(&mut self, start: u64, late: bool) -> Option<Adu> {
        let Adui {
            header,
            symbols,
            received,
            ..
        } = self.layout.adui(start)?;
        let length = usize::from(header.length);
        let mut data = Vec::with_capacity(length);
        let (mut skip, mut clean) = (adui::HEADER_BYTES, true);
        for esi in start..start + u64::from(symbols) {
            let symbol = self.system.symbol(esi)?;
            let begin = skip.min(symbol.len());
            skip -= begin;
            let end = symbol.len().min(begin + (length - data.len()));
            data.extend_from_slice(&symbol[begin..end]);
            clean &= symbol[end..].iter().all(|octet| *octet == 0);
        }
        if !clean {
            self.layout.reject(start);
            return None;
        }
        Some(Adu {
            flow: header.flow,
            block: None,
            esi: serial::wire(start, 32),
            recovered: !received,
            late,
            heard: self.layout.heard(start).unwrap_or_default(),
            data,
        })
    }
}
