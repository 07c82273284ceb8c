//! Delivery of known ADUs, and the end of overdue ones.

use super::super::{Adu, Order};
use super::BlockReceiver;
use crate::{adui, serial};

impl BlockReceiver {
    /// Handles an ADU that became known: hands it over if it is late or order does not
    /// matter.
    pub(super) fn hand_over(&mut self, number: u64, esi: u16) {
        let late = match self.config.order {
            Order::InOrder => (number, esi) < self.cursor,
            Order::AsDecoded => self.is_overdue(number),
        };
        if late && !self.config.deliver_late {
            self.stats.late += 1;
        } else if late || self.config.order == Order::AsDecoded {
            self.push(number, esi, late);
        }
    }

    fn is_overdue(&self, number: u64) -> bool {
        let index = (number - self.first) as usize;
        match self.config.max_latency {
            Some(latency) => {
                let block = self.blocks.get(index);
                block.is_some_and(|block| block.heard + latency <= self.now)
            }
            None => index + 2 < self.blocks.len(),
        }
    }

    /// Hands over the ADUs that are next in order, and gives up those that are overdue
    /// or in a block before `limit`.
    pub(super) fn advance(&mut self, limit: u64) {
        loop {
            let (number, esi) = self.cursor;
            let index = number.saturating_sub(self.first) as usize;
            let Some(block) = self.blocks.get(index) else {
                break;
            };
            if block.k > 0 && esi >= block.k {
                self.cursor = (number + 1, 0);
                continue;
            }
            let source = block.sources.get(usize::from(esi));
            let known = source.is_some_and(|source| source.adui.is_some());
            let over = number < limit || self.is_overdue(number);
            match self.config.order {
                Order::InOrder if known => self.push(number, esi, false),
                _ if !over => break,
                _ => self.stats.symbols_lost += u64::from(block.k > 0 && !known),
            }
            self.cursor = if self.blocks[index].k == 0 {
                (number + 1, 0)
            } else {
                (number, esi + 1)
            };
        }
    }

    fn push(&mut self, number: u64, esi: u16, late: bool) {
        let block = &self.blocks[(number - self.first) as usize];
        let source = &block.sources[usize::from(esi)];
        let Some((flow, data)) = source.adui.as_deref().and_then(adui::read) else {
            return;
        };
        let adu = Adu {
            flow,
            block: Some(serial::wire(number, 32 - u32::from(self.m))),
            esi: esi.into(),
            recovered: source.recovered,
            late,
            heard: block.heard,
            data: data.to_vec(),
        };
        self.queue.push(adu, &mut self.stats);
    }
}
