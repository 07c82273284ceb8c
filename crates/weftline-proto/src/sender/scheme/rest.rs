//! Scheme `rest`: as many repairs as the measured losses require, over a mobile window, with
//! periodic reports (Brulatout et al., REST).

use std::ops::Range;

use core::time::Duration;
use weftline_codec::Esi;

use super::rule::{Redundancy, Report, Rule};
use super::spacing::{MAX_SHARE, Spacing, read_share};
use crate::check::{ConfigError, within};
use crate::sender::action::Action;
use crate::sender::situation::{Situation, is_short};
use crate::sender::window::EncodingWindow;
use crate::settings::{Settings, TextError};
use crate::time::Time;
use crate::wire::Measuring;

/// On a path that looks dead, ever more repairs would not help.
const MOST_LOSS: f64 = 0.8;

/// Options of scheme `rest`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Rest {
    /// Repair symbols for each source symbol.
    pub share: RestShare,
    /// The encoding window: mobile, at most 1024 symbols, unless set.
    pub window: EncodingWindow,
    /// Whether repairs follow the last source symbol until all symbols are acknowledged, with no more
    /// in flight than could be of use: yes unless switched off.
    pub at_end: bool,
    /// Whether further repairs answer the deficits that the receiver reports: yes unless switched
    /// off. The paper has none before the end. R is only just enough, so that without them what was
    /// lost while the estimate was too low waits for many times the report interval.
    pub top_up: bool,
}

/// How many repairs [`Rest`] sends.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RestShare {
    /// As many as the measured loss rate requires.
    Measured(Measured),
    /// This many for each source symbol, 0 to 4, at any loss rate.
    Fixed(f64),
}

/// How [`Rest`] measures: with a packet error rate of p, the share is R = 1/(1-p) - 1, which is one
/// repair symbol after each k = floor(1/R) source symbols.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Measured {
    /// The receiver measures the error rate over a window of this length, which slides with each of
    /// its reports (the paper's W_EWMA), 10 ms to an hour. Before the window is full, it uses what
    /// there is.
    pub interval: Duration,
    /// Weight of the newest value in the receiver's moving average, 0.0 to 1.0, to a thousandth (the
    /// paper's alpha).
    pub weight: f64,
    /// Most source symbols between two repairs, even if little is lost, at least 1.
    pub most_apart: u16,
}

impl Default for Measured {
    fn default() -> Self {
        Measured {
            interval: Duration::from_secs(3),
            weight: 0.8,
            most_apart: 100,
        }
    }
}

impl Default for Rest {
    fn default() -> Self {
        Rest {
            share: RestShare::Measured(Measured::default()),
            window: EncodingWindow::Mobile { size: 1024 },
            at_end: true,
            top_up: true,
        }
    }
}

impl Rest {
    /// The scheme with the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a share of repairs, 0 to 4, in place of the measured one.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Rest {
            share: RestShare::Fixed(share),
            ..self
        }
    }

    /// Sets how the losses are measured.
    #[must_use]
    pub fn measured(self, measured: Measured) -> Self {
        Rest {
            share: RestShare::Measured(measured),
            ..self
        }
    }

    /// Sets the encoding window.
    #[must_use]
    pub fn window(self, window: EncodingWindow) -> Self {
        Rest { window, ..self }
    }

    pub(super) fn read(&mut self, settings: &mut Settings) -> Result<(), TextError> {
        let share = read_share(settings)?;
        let interval = settings.number("ewma", "seconds of the window", 0.01..=3600.0)?;
        let weight = settings.number("weight", "of the newest value", 0.0..=1.0)?;
        let apart = settings.number("apart", "source symbols between repairs", 1..=1000u16)?;
        let measures = interval.is_some() || weight.is_some() || apart.is_some();
        match (share, &mut self.share) {
            (Some(_), _) if measures => {
                return Err(TextError::Contradiction(
                    "share= fixes the share of repairs; ewma=, weight= and apart= make it follow the losses: give one or the other",
                ));
            }
            (Some(share), mine) => *mine = RestShare::Fixed(share),
            (None, RestShare::Measured(measured)) => {
                let interval = interval.map(Duration::from_secs_f64);
                measured.interval = interval.unwrap_or(measured.interval);
                measured.weight = weight.unwrap_or(measured.weight);
                measured.most_apart = apart.unwrap_or(measured.most_apart);
            }
            (None, RestShare::Fixed(_)) => {}
        }
        self.window = self.window.read(settings)?;
        let kinds = [
            ("none", (false, false)),
            ("atend", (true, false)),
            ("deficit", (true, true)),
        ];
        let given = settings.choice("topup", &kinds)?;
        (self.at_end, self.top_up) = given.unwrap_or((self.at_end, self.top_up));
        Ok(())
    }

    /// What the receiver must measure for the share.
    pub(super) fn measuring(&self) -> Option<Measuring> {
        let RestShare::Measured(measured) = self.share else {
            return None;
        };
        let weight = measured.weight * f64::from(Measuring::WEIGHT_UNITS);
        Some(Measuring {
            window: measured.interval,
            weight: weight.round() as u16,
        })
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self.share {
            RestShare::Fixed(share) => within("rest.share", share, 0.0..=MAX_SHARE)?,
            RestShare::Measured(measured) => {
                let hour = Duration::from_secs(3600);
                let interval = Duration::from_millis(10)..=hour;
                within("rest.interval", measured.interval, interval)?;
                within("rest.weight", measured.weight, 0.0..=1.0)?;
                within("rest.most_apart", measured.most_apart, 1..=u16::MAX)?;
            }
        }
        self.window.check("rest.window")
    }
}

#[derive(Debug)]
pub(super) struct RestRule {
    options: Rest,
    /// The packet error rate in the newest report.
    loss: f64,
    spacing: Spacing,
    /// No top-up was needed at the last check, and nothing has happened since.
    is_sated: bool,
}

impl RestRule {
    pub(super) fn new(options: Rest) -> Self {
        RestRule {
            options,
            loss: 0.0,
            spacing: Spacing::default(),
            is_sated: true,
        }
    }

    /// Nothing new can be sent, and a repair could be of use.
    fn should_repair_end(&self, at: &Situation<'_>) -> bool {
        self.options.at_end && !at.is_idle() && at.is_paused() && self.is_window_short(at)
    }

    /// New symbols lie beyond the window, and it has all the repairs that it can use: one more would
    /// repair nothing. The paper sends it.
    fn is_useless(&self, at: &Situation<'_>) -> bool {
        let is_beyond = at.oldest_window(self.options.window).end < at.next();
        self.options.top_up && is_beyond && !self.is_window_short(at)
    }

    /// More repairs could be of use than are in flight: for what the receiver lacks of the window,
    /// and for the share of the source symbols in flight that the path will lose. A repair is in
    /// flight until a report could have told its fate.
    fn is_window_short(&self, at: &Situation<'_>) -> bool {
        let window = at.oldest_window(self.options.window);
        let covered = window.end - window.start;
        let loss = at.expected_loss();
        let missing = at.lost().within(window).len() as u64;
        let lacking = missing.saturating_sub(at.rank()) as f64;
        // Less than a whole one is left to reports: a pause may not be the end.
        let to_come = (loss * at.sources_in_flight().min(covered) as f64).floor();
        is_short(lacking + to_come, at.repairs_in_flight(), loss)
    }

    fn share(&self) -> f64 {
        match self.options.share {
            RestShare::Measured(measured) => measured.share(self.loss),
            RestShare::Fixed(share) => share,
        }
    }
}

impl Rule for RestRule {
    fn choose(&mut self, at: &Situation<'_>) -> Option<Action> {
        let window = self.options.window;
        if !self.is_sated {
            // The redundancy was too small; the timer alone would repair one symbol at a time.
            if (self.options.top_up || at.is_stalled())
                && let Some(action) = at.answer_deficit(window)
            {
                return Some(action);
            }
            self.is_sated = true;
        }
        while self.spacing.is_due() && self.is_useless(at) {
            self.spacing.on_repair();
        }
        if self.spacing.is_due() && !at.is_idle() {
            return Some(Action::repair(at.newest_window(window)));
        }
        if at.can_send_new() {
            return Some(Action::New);
        }
        self.should_repair_end(at).then(|| self.probe(at))
    }

    fn probe(&mut self, at: &Situation<'_>) -> Action {
        Action::top_up(at.oldest_window(self.options.window))
    }

    fn on_source(&mut self, _at: &Situation<'_>, _esi: Esi) {
        self.spacing.on_source(self.share());
    }

    fn on_repair(
        &mut self,
        _at: &Situation<'_>,
        _window: &Range<Esi>,
        top_up: bool,
    ) -> Option<u64> {
        if !top_up {
            self.spacing.on_repair();
        }
        None
    }

    fn on_report(&mut self, _at: &Situation<'_>, report: &Report<'_>) {
        self.loss = report.loss.unwrap_or(self.loss);
    }

    fn on_news(&mut self) {
        self.is_sated = false;
    }

    fn on_silence(&mut self, _at: &Situation<'_>) {
        self.is_sated = false;
    }

    fn next_timeout(&self, at: &Situation<'_>) -> Option<Time> {
        let waits = self.options.at_end && !at.is_idle();
        at.next_pause().filter(|_| waits)
    }

    fn redundancy(&self) -> Option<Redundancy> {
        let loss = match self.options.share {
            RestShare::Measured(_) => Some(self.loss),
            RestShare::Fixed(_) => None,
        };
        let share = self.share();
        Some(Redundancy { loss, share })
    }
}

impl Measured {
    /// Repairs for each source symbol at a packet error rate of `loss`: one after `floor(1/R)`, or R
    /// itself if it exceeds one.
    fn share(&self, loss: f64) -> f64 {
        let needed = 1.0 / (1.0 - loss.clamp(0.0, MOST_LOSS)) - 1.0;
        let apart = (1.0 / needed.max(1e-9) + 1e-9).floor();
        let most = f64::from(self.most_apart);
        if apart < 1.0 {
            needed
        } else {
            1.0 / apart.min(most)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_table_iii_has_these_spacings() {
        // An R of 15, 20 or 30 % is a packet error rate of R / (1 + R).
        for (share, apart) in [(0.15, 6.0), (0.2, 5.0), (0.3, 3.0)] {
            let found = Measured::default().share(share / (1.0 + share));
            assert_eq!(found, 1.0 / apart, "R {share}");
        }
    }

    #[test]
    fn a_path_that_loses_nothing_has_a_repair_after_each_hundred() {
        assert_eq!(Measured::default().share(0.0), 0.01);
    }

    #[test]
    fn a_loss_rate_above_half_needs_more_than_one_repair_for_each_symbol() {
        let share = Measured::default().share(0.6);
        assert!((share - 1.5).abs() < 1e-12, "{share}");
    }
}
