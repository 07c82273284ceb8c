//! Scheme `auto`: a repair symbol when it is worth its price, for a target delay.

mod belief;
mod channel;
mod copies;
mod options;
mod price;

use core::time::Duration;

use super::rule::{Report, Rule};
use crate::path::PathId;
use crate::sender::action::Action;
use crate::sender::flight::Transmission;
use crate::sender::riding::Room;
use crate::sender::situation::Situation;
use crate::sender::window::EncodingWindow;
use crate::time::Time;

use copies::Copies;
pub use options::Auto;
use price::Price;

/// The newest 1024 symbols: the belief assumes that repairs cover all lost symbols.
const WINDOW: EncodingWindow = EncodingWindow::Elastic { max: 1024 };

#[derive(Debug)]
pub(super) struct AutoRule {
    price: Price,
    copies: Copies,
}

impl AutoRule {
    pub(super) fn new(options: Auto, now: Time) -> Self {
        AutoRule {
            price: Price::new(options, now),
            copies: Copies::default(),
        }
    }
}

impl Rule for AutoRule {
    fn choose(&mut self, at: &Situation<'_>) -> Option<Action> {
        let new = at.can_send_new();
        let srtt = at.srtt();
        let price = &mut self.price;
        let is_held_back = price.is_held_back(at);
        if price.notice_near(at) {
            let lost = at.lost_from(0).map(Action::Again);
            if let Some(next) = lost.or(new.then_some(Action::New)) {
                return Some(next);
            }
            if !price.is_paused(at.now(), srtt) {
                return None;
            }
        }
        if let Some(esi) = self.copies.next(at) {
            return Some(Action::Copy(esi));
        }
        if is_held_back {
            if at.missing() > 0
                && price.should_answer_each(at)
                && let Some(esi) = at.lost_from(0)
            {
                return Some(Action::Again(esi));
            }
            return at.answer_deficit(WINDOW).or(new.then_some(Action::New));
        }
        let wants = price.is_repair_worthwhile(at, new);
        // It rides with the new symbol.
        let wants = wants && !(new && price.is_room());
        let old = at.is_out_of_reach(WINDOW);
        let again =
            at.missing() > 0 && (old && price.should_retransmit() || price.should_resend(srtt));
        if again && let Some(esi) = at.lost_from(0) {
            return Some(Action::Again(esi));
        }
        if wants && !at.is_idle() {
            let window = match old {
                true => at.oldest_window(WINDOW),
                false => at.newest_window(WINDOW),
            };
            return Some(Action::repair(window));
        }
        if !new && self.price.should_ask(at) {
            return Some(Action::Probe);
        }
        new.then_some(Action::New)
    }

    fn probe(&mut self, at: &Situation<'_>) -> Action {
        Action::top_up(at.oldest_window(WINDOW))
    }

    fn riders(&mut self, at: &Situation<'_>, room: &Room) -> u8 {
        self.price.riders(at, room)
    }

    fn on_sent(&mut self, at: &Situation<'_>, transmission: Transmission) {
        match transmission {
            Transmission::Copy(esi) => self.copies.on_copy(esi),
            Transmission::Source {
                esi, again: false, ..
            } => {
                let wanted = self.price.wants_copies();
                self.copies.on_source(at, esi, wanted);
            }
            _ => {}
        }
        self.price.on_sent(at, transmission);
    }

    fn on_report(&mut self, at: &Situation<'_>, report: &Report<'_>) {
        let missing = report.missing_from(at.first());
        self.price.on_report(missing, report.rank, report.heard);
    }

    fn on_news(&mut self) {
        self.price.on_news();
    }

    fn on_fate_in_order(&mut self, path: PathId, lost: bool) {
        self.price.on_fate(path, lost);
    }

    fn budget(&self, srtt: Duration) -> Option<f64> {
        Some(self.price.limit(srtt))
    }

    fn on_path_removed(&mut self, path: PathId) {
        self.price.on_path_removed(path);
    }

    fn on_timeout(&mut self, at: &Situation<'_>) {
        self.price.notice_pause(at.now());
    }

    fn next_timeout(&self, at: &Situation<'_>) -> Option<Time> {
        let waits = !at.is_idle();
        waits.then(|| self.price.next_timeout(at.srtt())).flatten()
    }
}
