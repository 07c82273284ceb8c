//! Scheme `streaming`: evenly spaced repairs over all unacknowledged symbols, and more on a deficit
//! (Karzand, Leith, Cloud, Médard: Design of FEC for Low Delay in 5G).

use std::ops::Range;

use weftline_codec::Esi;

use super::rule::{Redundancy, Rule};
use super::spacing::{MAX_SHARE, Spacing, read_share};
use crate::check::{ConfigError, within};
use crate::sender::action::Action;
use crate::sender::situation::Situation;
use crate::sender::window::EncodingWindow;
use crate::settings::{Settings, TextError};

/// Options of scheme `streaming`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Streaming {
    /// Repair symbols for each source symbol, 0 to 4, evenly spaced: 1/6 unless set, about what the
    /// paper's figures use at 10 % loss.
    pub share: f64,
    /// The encoding window: elastic, at most 256 symbols, unless set.
    pub window: EncodingWindow,
    /// Whether further repairs answer the deficits that the receiver reports: yes unless switched
    /// off. If not, only the retransmission timer repairs losses that the share does not cover.
    pub top_up: bool,
}

impl Default for Streaming {
    fn default() -> Self {
        Streaming {
            share: 1.0 / 6.0,
            window: EncodingWindow::Elastic { max: 256 },
            top_up: true,
        }
    }
}

impl Streaming {
    /// The scheme with the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the repair share, 0 to 4.
    #[must_use]
    pub fn share(self, share: f64) -> Self {
        Streaming { share, ..self }
    }

    /// Sets the spacing l of Karzand et al.: one packet in `spacing` is a repair, at least 2.
    #[must_use]
    pub fn spacing(self, spacing: u16) -> Self {
        self.share(1.0 / (f64::from(spacing) - 1.0))
    }

    /// Sets the encoding window.
    #[must_use]
    pub fn window(self, window: EncodingWindow) -> Self {
        Streaming { window, ..self }
    }

    pub(super) fn read(&mut self, settings: &mut Settings) -> Result<(), TextError> {
        let share = read_share(settings)?;
        let spacing = settings.number("l", "packets for each repair", 2..=1000u16)?;
        if share.is_some() && spacing.is_some() {
            return Err(TextError::Contradiction(
                "l= is a spacing, one repair after l-1 source symbols, and so is share=: give one",
            ));
        }
        *self = self.share(share.unwrap_or(self.share));
        *self = spacing.map_or(*self, |spacing| self.spacing(spacing));
        self.window = self.window.read(settings)?;
        let kinds = [("none", false), ("deficit", true)];
        self.top_up = settings.choice("topup", &kinds)?.unwrap_or(self.top_up);
        Ok(())
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        within("streaming.share", self.share, 0.0..=MAX_SHARE)?;
        self.window.check("streaming.window")
    }
}

#[derive(Debug)]
pub(super) struct StreamingRule {
    options: Streaming,
    spacing: Spacing,
    /// No top-up was needed at the last check, and nothing has happened since.
    is_sated: bool,
}

impl StreamingRule {
    pub(super) fn new(options: Streaming) -> Self {
        StreamingRule {
            options,
            spacing: Spacing::default(),
            is_sated: true,
        }
    }
}

impl Rule for StreamingRule {
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
        if self.spacing.is_due() && !at.is_idle() {
            return Some(Action::repair(at.newest_window(window)));
        }
        at.can_send_new().then_some(Action::New)
    }

    fn probe(&mut self, at: &Situation<'_>) -> Action {
        Action::top_up(at.oldest_window(self.options.window))
    }

    fn on_source(&mut self, _at: &Situation<'_>, _esi: Esi) {
        self.spacing.on_source(self.options.share);
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

    fn on_news(&mut self) {
        self.is_sated = false;
    }

    fn redundancy(&self) -> Option<Redundancy> {
        Some(Redundancy {
            loss: None,
            share: self.options.share,
        })
    }

    fn on_silence(&mut self, _at: &Situation<'_>) {
        self.is_sated = false;
    }
}
