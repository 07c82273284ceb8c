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
    /// The error rate is measured anew in each interval of this length (the paper's W_EWMA), 10 ms
    /// to an hour.
    pub interval: Duration,
    /// Weight of the newest measurement in the moving average, 0.0 to 1.0 (the paper's alpha).
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
        let interval = settings.number("ewma", "seconds of an interval", 0.01..=3600.0)?;
        let weight = settings.number("weight", "of the newest interval", 0.0..=1.0)?;
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
        let kinds = [("none", false), ("atend", true)];
        self.at_end = settings.choice("topup", &kinds)?.unwrap_or(self.at_end);
        Ok(())
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
    share: Share,
    spacing: Spacing,
    /// No top-up was needed at the last check, and nothing has happened since.
    is_sated: bool,
}

#[derive(Debug)]
enum Share {
    Measured(Measure),
    Fixed(f64),
}

impl RestRule {
    pub(super) fn new(options: Rest, now: Time) -> Self {
        RestRule {
            options,
            share: match options.share {
                RestShare::Measured(measured) => Share::Measured(Measure::new(measured, now)),
                RestShare::Fixed(share) => Share::Fixed(share),
            },
            spacing: Spacing::default(),
            is_sated: true,
        }
    }

    /// The application has paused, and more repairs could be of use than are in flight.
    fn should_repair_end(&self, at: &Situation<'_>) -> bool {
        let window = at.window_size(self.options.window);
        self.options.at_end
            && !at.is_idle()
            && at.is_paused()
            && is_short(
                at.unacknowledged().min(window) as f64,
                at.repairs_in_flight(),
                at.expected_loss(),
            )
    }
}

impl Rule for RestRule {
    fn choose(&mut self, at: &Situation<'_>) -> Option<Action> {
        let window = self.options.window;
        if !self.is_sated {
            // The redundancy was too small; the timer alone would repair one symbol at a time.
            if at.is_stalled()
                && let Some(action) = at.answer_deficit(window)
            {
                return Some(action);
            }
            self.is_sated = true;
        }
        if self.spacing.is_due() && !at.is_idle() {
            return Some(Action::repair(at.newest_window(window)));
        }
        if at.can_send_new() {
            return Some(Action::New);
        }
        (!at.is_pending() && self.should_repair_end(at)).then(|| self.probe(at))
    }

    fn probe(&mut self, at: &Situation<'_>) -> Action {
        Action::top_up(at.oldest_window(self.options.window))
    }

    fn on_source(&mut self, _at: &Situation<'_>, _esi: Esi) {
        self.spacing.on_source(match &self.share {
            Share::Measured(measure) => measure.share(),
            Share::Fixed(share) => *share,
        });
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

    fn on_report(&mut self, at: &Situation<'_>, _report: &Report<'_>) {
        if let Share::Measured(measure) = &mut self.share {
            measure.on_report(at.now());
        }
    }

    fn on_fate_in_order(&mut self, lost: bool) {
        if let Share::Measured(measure) = &mut self.share {
            measure.on_fate(lost);
        }
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
        let (loss, share) = match &self.share {
            Share::Measured(measure) => (Some(measure.rate()), measure.share()),
            Share::Fixed(share) => (None, *share),
        };
        Some(Redundancy { loss, share })
    }
}

/// A moving average of the packet error rate, and the spacing that follows from it.
///
/// In the paper the receiver measures and reports the rate. This sender learns the fate of each
/// transmission from its reports, and needs no field for the rate.
#[derive(Clone, Copy, Debug)]
struct Measure {
    options: Measured,
    began: Time,
    total: u32,
    lost: u32,
    rate: Option<f64>,
}

impl Measure {
    fn new(options: Measured, now: Time) -> Self {
        Measure {
            options,
            began: now,
            total: 0,
            lost: 0,
            rate: None,
        }
    }

    /// The next transmission in order arrived or was lost.
    fn on_fate(&mut self, lost: bool) {
        self.total += 1;
        self.lost += u32::from(lost);
    }

    /// Ends the interval if its time has passed.
    fn on_report(&mut self, now: Time) {
        if now.since(self.began) < self.options.interval || self.total == 0 {
            return;
        }
        let newest = f64::from(self.lost) / f64::from(self.total);
        let weight = self.options.weight;
        let rate = self
            .rate
            .map_or(newest, |rate| weight * newest + (1.0 - weight) * rate);
        *self = Measure {
            rate: Some(rate),
            ..Measure::new(self.options, now)
        };
    }

    /// The estimate; during the first interval, the loss rate so far.
    fn rate(&self) -> f64 {
        let so_far = f64::from(self.lost) / f64::from(self.total.max(1));
        self.rate.unwrap_or(so_far).clamp(0.0, 0.8)
    }

    /// Repairs for each source symbol: one after `floor(1/R)`, or R itself if it exceeds one.
    fn share(&self) -> f64 {
        let rate = self.rate();
        let needed = 1.0 / (1.0 - rate) - 1.0;
        let apart = (1.0 / needed.max(1e-9) + 1e-9).floor();
        let most = f64::from(self.options.most_apart);
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

    fn measured(rates: &[(u32, u32)]) -> Measure {
        let mut measure = Measure::new(Measured::default(), Time::ZERO);
        for (second, (lost, total)) in (3u64..).step_by(3).zip(rates) {
            for number in 0..*total {
                measure.on_fate(number < *lost);
            }
            measure.on_report(Time::from_micros(second * 1_000_000));
        }
        measure
    }

    #[test]
    fn the_papers_table_iii_has_these_spacings() {
        // An R of 15, 20 or 30 % is a packet error rate of R / (1 + R).
        for (share, apart) in [(0.15, 6.0), (0.2, 5.0), (0.3, 3.0)] {
            let mut measure = measured(&[]);
            measure.rate = Some(share / (1.0 + share));
            assert_eq!(measure.share(), 1.0 / apart, "R {share}");
        }
    }

    #[test]
    fn a_path_that_loses_nothing_has_a_repair_after_each_hundred() {
        assert_eq!(measured(&[(0, 500)]).share(), 0.01);
    }

    #[test]
    fn the_newest_interval_has_four_fifths_of_the_weight() {
        let rate = measured(&[(10, 100), (20, 100)]).rate();
        assert!((rate - 0.18).abs() < 1e-12, "{rate}");
    }

    #[test]
    fn a_loss_rate_above_half_needs_more_than_one_repair_for_each_symbol() {
        let share = measured(&[(60, 100)]).share();
        assert!((share - 1.5).abs() < 1e-12, "{share}");
    }
}
