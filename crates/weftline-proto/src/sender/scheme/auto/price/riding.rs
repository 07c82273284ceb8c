//! Repairs that ride in the datagram of the next source symbol: they cost fewer bytes, and come later.

use core::time::Duration;

use super::Price;
use crate::sender::riding::Room;
use crate::sender::situation::{Situation, is_short};

impl Price {
    /// Whether there was room for repairs in the datagram of the newest source symbol.
    pub(in super::super) fn is_room(&self) -> bool {
        self.room.is_some_and(|room| room.most > 0)
    }

    /// Repairs that ride with a new source symbol: as many as are worth their price there.
    pub(in super::super) fn riders(&mut self, at: &Situation<'_>, room: &Room) -> u8 {
        let srtt = at.srtt();
        self.room = Some(*room);
        if !self.is_room() || self.is_near || self.is_held_back(at) {
            return 0;
        }
        self.update_belief(at);
        let losses = self.losses_on(at.path());
        // A repair that is wanted now leaves now, so it loses no time.
        let price = self.price(srtt) * (room.cost / self.in_time(srtt)).min(1.0);
        let wanted = |&n: &u8| {
            let under_way = self.under_way + u64::from(n);
            let lacking = is_short(self.deficit as f64, under_way, self.losses.rate);
            let left = self.allowance - room.cost * f64::from(n);
            let worth = self.belief.worth(&losses, n.into());
            worth > price && left >= 1.0 || self.deficit > 0 && lacking
        };
        (0..room.most).take_while(wanted).count() as u8
    }

    /// By how much more a repair must be worth to leave now, in a datagram of its own, if it can ride
    /// with the next source symbol: the time that it gains must be worth the bytes that it costs.
    pub(super) fn patience(&self, srtt: Duration) -> f64 {
        let room = self.room.filter(|room| room.most > 0);
        room.map_or(1.0, |room| {
            let lost = 1.0 - self.in_time(srtt);
            ((1.0 - room.cost) / lost.max(1e-3)).max(1.0)
        })
    }

    /// What a repair is still worth if it waits for the next source symbol: it takes a part of the time
    /// in which losses are to be repaired.
    fn in_time(&self, srtt: Duration) -> f64 {
        // If that repair is lost as well, the next one must not miss the deadline.
        let time = match self.slack(srtt) {
            Some(slack) => slack / 2,
            None => self.aim(srtt),
        };
        let wait = srtt.as_secs_f64() / self.per_round().max(1.0);
        (1.0 - wait / time.as_secs_f64().max(1e-6)).max(0.0)
    }
}
