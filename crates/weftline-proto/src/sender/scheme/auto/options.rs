//! The options of scheme `auto`.

use core::time::Duration;

use crate::check::{ConfigError, within};
use crate::sender::scheme::spacing::{MAX_SHARE, read_share};
use crate::settings::{Settings, TextError};

/// Options of scheme `auto`.
///
/// The sender estimates how many equations the receiver lacks, from its reports and the losses of
/// the path. It sends a repair symbol when its expected worth exceeds a price. The default is the
/// shortest delay within a limit that suits most paths.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Auto {
    /// The target in-order delay beyond the path's own, at most 60 s; `None` is as short as possible.
    pub delay: Option<Duration>,
    /// The time in which stream data should be read at the far end after it was written, 1 ms to
    /// 60 s. The sender spends its repairs to meet this deadline, and drops nothing. If reports and
    /// their answers come in time, this costs hardly more than the losses.
    pub deadline: Option<Duration>,
    /// Most repairs for each source symbol in the long run, 0 to 4. A repair in the datagram of a source
    /// symbol counts as its share of the bytes of one in a datagram of its own. Beyond this limit, the
    /// sender only repairs symbols that the receiver is known to lack. `None` is 0.28, or 2.4 times the
    /// loss rate if that is more, at most 1; below 1 % loss it falls with the loss rate.
    pub overhead: Option<f64>,
    /// The parts of the rule that are on.
    pub(crate) ingredients: Ingredients,
}

/// Parts of the rule of [`Auto`]; all are on unless `without=` switches them off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Ingredients {
    /// Deficits that the receiver reports raise the worth of a repair.
    pub reports: bool,
    /// Repairs after the last symbol before a pause are nearly free.
    pub tail: bool,
    /// The rule distinguishes runs of losses from single losses.
    pub bursts: bool,
    /// While more data waits than the path takes, or its queue is full, only missing symbols are
    /// repaired.
    pub backlog: bool,
    /// Symbols older than the newest encoding window are sent again, not coded.
    pub retransmit: bool,
    /// Short symbols in a long transfer have copies.
    pub copies: bool,
}

impl Default for Ingredients {
    fn default() -> Self {
        Ingredients {
            reports: true,
            tail: true,
            bursts: true,
            backlog: true,
            retransmit: true,
            copies: true,
        }
    }
}

const MINUTE: Duration = Duration::from_secs(60);

impl Auto {
    /// The scheme with the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the target in-order delay beyond the path's own, at most 60 s.
    #[must_use]
    pub fn delay(self, delay: Duration) -> Self {
        Auto {
            delay: Some(delay),
            ..self
        }
    }

    /// Sets the time in which stream data should be read after it was written, 1 ms to 60 s.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        Auto {
            deadline: Some(deadline),
            ..self
        }
    }

    /// Sets the most repairs for each source symbol in the long run, 0 to 4.
    #[must_use]
    pub fn overhead(self, overhead: f64) -> Self {
        Auto {
            overhead: Some(overhead),
            ..self
        }
    }

    pub(in crate::sender::scheme) fn read(
        &mut self,
        settings: &mut Settings,
    ) -> Result<(), TextError> {
        let millis = |millis: f64| Duration::from_secs_f64(millis / 1000.0);
        self.overhead = read_share(settings)?.or(self.overhead);
        let delay = settings.number("delay", "milliseconds to aim at", 0.1..=60_000.0)?;
        self.delay = delay.map(millis).or(self.delay);
        let expected = "milliseconds until it is read";
        let deadline = settings.number("deadline", expected, 1.0..=60_000.0)?;
        self.deadline = deadline.map(millis).or(self.deadline);
        if self.delay.is_some() && self.deadline.is_some() {
            return Err(TextError::Contradiction(
                "delay= and deadline= are two aims: give one of them",
            ));
        }
        let without = settings.take("without", "parts of the rule, joined by +", |value| {
            let mut ingredients = Ingredients::default();
            for part in value.split('+') {
                let switch = match part {
                    "reports" => &mut ingredients.reports,
                    "tail" => &mut ingredients.tail,
                    "bursts" => &mut ingredients.bursts,
                    "backlog" => &mut ingredients.backlog,
                    "retransmit" => &mut ingredients.retransmit,
                    "copies" => &mut ingredients.copies,
                    _ => return None,
                };
                *switch = false;
            }
            Some(ingredients)
        })?;
        self.ingredients = without.unwrap_or(self.ingredients);
        Ok(())
    }

    pub(in crate::sender::scheme) fn check(&self) -> Result<(), ConfigError> {
        if let Some(delay) = self.delay {
            within("auto.delay", delay, Duration::ZERO..=MINUTE)?;
        }
        if let Some(deadline) = self.deadline {
            let least = Duration::from_millis(1);
            within("auto.deadline", deadline, least..=MINUTE)?;
        }
        if self.delay.is_some() && self.deadline.is_some() {
            return Err(ConfigError::Contradiction(
                "auto.delay and auto.deadline are two aims: set one of them",
            ));
        }
        if let Some(overhead) = self.overhead {
            within("auto.overhead", overhead, 0.0..=MAX_SHARE)?;
        }
        Ok(())
    }
}
