//! ADUs that wait for the caller.

use std::collections::VecDeque;

use super::{Adu, ReceiverStats};

/// A bounded queue of ADUs; a full one drops its oldest.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    adus: VecDeque<Adu>,
    most: usize,
    octets: usize,
}

impl Queue {
    pub(super) fn new(most: usize) -> Self {
        Self {
            adus: VecDeque::new(),
            most: most.max(1),
            octets: 0,
        }
    }

    pub(super) fn push(&mut self, adu: Adu, stats: &mut ReceiverStats) {
        let counter = match (adu.late, adu.recovered) {
            (true, _) => &mut stats.late,
            (false, true) => &mut stats.recovered,
            (false, false) => &mut stats.received,
        };
        *counter += 1;
        if self.adus.len() >= self.most && self.pop().is_some() {
            stats.overrun += 1;
        }
        self.octets += adu.data.capacity();
        self.adus.push_back(adu);
    }

    pub(super) fn pop(&mut self) -> Option<Adu> {
        let adu = self.adus.pop_front()?;
        self.octets -= adu.data.capacity();
        Some(adu)
    }

    pub(super) fn memory(&self) -> usize {
        self.adus.capacity() * size_of::<Adu>() + self.octets
    }
}
