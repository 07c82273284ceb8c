//! What a flow does beside competing traffic that fills the queue.

use super::follow::SHRINK;
use super::pace::TRAIN_GAIN;
use super::{Adaptive, Found, MIN_PACKETS, Phase, Train};
use crate::rate::competition::{Competition, Share};
use crate::rate::round::Round;
use crate::rate::train::Among;
use crate::rate::watch::{Sight, Watch};
use crate::time::Time;

/// The first rate beside competing traffic, as a part of the path's: a half, and a little for what was yielded until the
/// traffic was recognised.
const FAIR_GUESS: f64 = 0.55;

impl Adaptive {
    pub(super) fn look_for_competition(&mut self, now: Time, round: &Round, found: &Found) {
        let window = self.window_outside_drains();
        let own = self.few(window);
        // With the queue of this length, growth and shrinking balance.
        let made = |window: f64| {
            let balance = self.growth(window) / (SHRINK * window.max(1.0));
            let target = found.least.mul_f64(self.few(window) / own);
            target.mul_f64(balance.max(1.0))
        };
        let sight = Sight {
            now,
            age: now.since(self.began),
            rtt: self.span(),
            queue: found.queue,
            target: found.least,
            shown: self.shown,
            usual: made(window),
            most: made(MIN_PACKETS * self.packet),
            loss: round.loss(),
            share: self.rates.share() / f64::from(self.own_part),
            window,
        };
        if let Some(competition) = &self.competition {
            if !competition.empties_queue(now) && self.watch.on_competing_round(&sight) {
                self.competition = None;
            }
        } else {
            self.watch.on_lone_round(&sight);
            let looks = !sight.shown || self.push.is_some();
            if looks && !found.moves && self.phase != Phase::Push {
                self.push.get_or_insert_default().on_round(&sight);
            }
        }
    }

    /// Takes back in one step what the flow has yielded to competing traffic so far.
    pub(super) fn start_competing(&mut self, now: Time) {
        self.watch = Watch::default();
        self.push = None;
        self.refuse_demand();
        self.set_window(self.window.max(self.fair_window()));
        self.competition = Some(Box::new(Competition::new(self.window, now)));
        if self.late.is_zero() {
            self.train = Train::Leaving;
            self.awaits_first_train = true;
        }
    }

    pub(super) fn fair_window(&self) -> f64 {
        FAIR_GUESS * f64::from(self.own_part) * self.rates.path() * self.span().as_secs_f64()
    }

    /// Sets the window after a round beside flows that fill the queue.
    pub(super) fn compete(&mut self, now: Time, round: &Round, found: &Found) {
        let share = Share {
            window: self.window,
            packet: self.packet,
            holds: self.rates.best() * (found.base + self.interval).as_secs_f64(),
            share: self.rates.share() / f64::from(self.own_part),
            rate: self.rates.path_of_late(),
            share_of_late: self.rates.share_of_late() / f64::from(self.own_part),
            part: self.own_part.into(),
            queue: found.queue,
            rtt: self.span(),
            excess: round.loss() - self.losses.random(),
        };
        let congested = self.losses.is_excessive(round, self.packet);
        let Some(competition) = &mut self.competition else {
            return;
        };
        let window = competition.window(now, congested, &share);
        // A train that no report follows at once would only fill the queue.
        if competition.is_refilling() && self.late.is_zero() {
            self.train = Train::Leaving;
        }
        self.set_window(window);
    }

    /// The train that left in the last round is reported in the round that begins.
    pub(super) fn advance_train(&mut self, now: Time, round: &Round) {
        self.train = match self.train {
            Train::Leaving => {
                self.note_train(round.idle);
                Train::Arriving
            }
            Train::Arriving if self.phase != Phase::Start => {
                self.end_check(now);
                let among = self.competition.as_ref().map(|_| Among {
                    left: TRAIN_GAIN * self.rates.path(),
                    own: self.rates.recent(),
                });
                self.rates.trains.end(among);
                if core::mem::take(&mut self.awaits_first_train) {
                    self.set_window(self.window.max(self.fair_window()));
                }
                Train::None
            }
            train => train,
        };
    }
}
