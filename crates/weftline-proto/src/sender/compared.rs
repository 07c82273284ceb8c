//! Other senders' rules: [`Redundancy::Compared`](crate::Redundancy::Compared).
//!
//! Where a paper counts slots of a link that is always busy, a slot here is a source symbol: an
//! application that sends less than the link takes leaves room for repairs between its symbols.

use core::time::Duration;

use crate::policy::Compared;
use crate::time::Time;

/// FlEC allows so much for what its estimates of the way miss.
const FLEC_MARGIN: Duration = Duration::from_millis(25);
/// Silence for this part of a round trip is the end of the data (FlEC for bulk transfers).
const SILENCE: u32 = 8;
/// Weight of the newest interval between two source symbols.
const NEWEST: f64 = 1.0 / 16.0;

/// What the sender knows when it decides.
#[derive(Clone, Copy, Debug)]
pub(super) struct Situation {
    pub(super) now: Time,
    pub(super) srtt: Duration,
    /// A source symbol waits, and may be sent.
    pub(super) pending: bool,
    /// Source symbols known to be lost and not recovered, and equations that the receiver holds.
    pub(super) missing: u64,
    pub(super) rank: u64,
    /// New source symbols and repairs of unknown fate.
    pub(super) sources: u64,
    pub(super) repairs: u64,
    /// Source symbols not acknowledged.
    pub(super) unacknowledged: u64,
    /// Measured share of lost datagrams, and mean length of a run of them.
    pub(super) loss: f64,
    pub(super) run: f64,
}

impl Situation {
    /// AC-RLNC's answer to reports: missing equations, expected ones too, against those added.
    fn lacks(&self, threshold: f64) -> bool {
        let missing = self.missing as f64 + self.loss * self.sources as f64;
        let added = self.rank as f64 + (1.0 - self.loss) * self.repairs as f64;
        self.missing > 0 && missing > (1.0 + threshold) * added
    }

    /// FlEC's number of repairs for `symbols`: a run of losses, or as many as are expected.
    fn repairs_for(&self, symbols: f64) -> u64 {
        // Of a path that looks dead no number is enough.
        self.run
            .max(self.loss * symbols)
            .max(1.0)
            .ceil()
            .min(1024.0) as u64
    }
}

/// The state of a rule.
#[derive(Clone, Debug)]
pub(super) struct Comparison {
    rule: Compared,
    /// Source symbols in this round trip and in the last one.
    round: u64,
    per_round: u64,
    round_end: Time,
    /// Source symbols since repairs for them were last due, and when the first of them left.
    unprotected: u64,
    first: Time,
    /// Repairs due.
    owed: u64,
    last_source: Time,
    /// Seconds between source symbols, on average.
    interval: f64,
    /// When the rule was last asked.
    asked: Time,
}

impl Comparison {
    pub(super) fn new(rule: Compared, now: Time) -> Self {
        Comparison {
            rule,
            round: 0,
            per_round: 0,
            round_end: now,
            unprotected: 0,
            first: now,
            owed: 0,
            last_source: now,
            interval: 0.0,
            asked: now,
        }
    }

    /// A new source symbol left.
    pub(super) fn pushed(&mut self, at: &Situation) {
        if at.now >= self.round_end {
            self.per_round = self.round;
            self.round = 0;
            self.round_end = at.now + at.srtt;
        }
        self.round += 1;
        let interval = at.now.since(self.last_source).min(at.srtt).as_secs_f64();
        self.interval += NEWEST * (interval - self.interval);
        self.last_source = at.now;
        if self.unprotected == 0 {
            self.first = at.now;
        }
        self.unprotected += 1;
        if let Compared::AcRlnc { .. } = self.rule {
            let round_trip = self.per_round.max(self.round).max(2) - 1;
            if self.unprotected >= round_trip {
                self.owed += (at.loss * self.unprotected as f64).ceil() as u64;
                self.unprotected = 0;
            }
            // More undecoded than two round trips bring: repairs in every slot.
            self.owed += u64::from(at.unacknowledged > 2 * round_trip + 1 && at.missing > 0);
        }
    }

    /// Whether a repair symbol is due.
    pub(super) fn wants_repair(&mut self, at: &Situation) -> bool {
        self.asked = at.now;
        if self.owed > 0 {
            return true;
        }
        match self.rule {
            Compared::AcRlnc { threshold } => at.lacks(threshold),
            Compared::FlecBulk => {
                let silent = !at.pending && at.now >= self.silence(at.srtt);
                let most = 1 + at.repairs_for(2.0 * at.unacknowledged as f64);
                at.lacks(-at.loss) || silent && at.unacknowledged > 0 && at.repairs < most
            }
            Compared::FlecMessage { deadline } => {
                let critical = self.critical(deadline, at.srtt);
                if !at.pending && critical.is_some_and(|t| at.now >= t) {
                    self.owed = at.repairs_for(self.unprotected as f64);
                    self.unprotected = 0;
                }
                self.owed > 0 || at.lacks(-at.loss)
            }
        }
    }

    /// A repair symbol left.
    pub(super) fn repaired(&mut self) {
        self.owed = self.owed.saturating_sub(1);
    }

    /// A timer has come.
    pub(super) fn on_timeout(&mut self, now: Time) {
        self.asked = now;
    }

    /// When [`Self::wants_repair`] may become true although nothing happens.
    pub(super) fn next_timeout(&self, srtt: Duration) -> Option<Time> {
        let time = match self.rule {
            Compared::AcRlnc { .. } => None,
            Compared::FlecBulk => Some(self.silence(srtt)),
            Compared::FlecMessage { deadline } => self.critical(deadline, srtt),
        };
        time.filter(|t| *t > self.asked)
    }

    fn silence(&self, srtt: Duration) -> Time {
        self.last_source + srtt / SILENCE
    }

    /// When waiting for the next message would miss the deadline of the first unprotected one.
    fn critical(&self, deadline: Duration, srtt: Duration) -> Option<Time> {
        let wait = Duration::from_secs_f64(self.interval);
        let late = wait + srtt / 2 + FLEC_MARGIN;
        (self.unprotected > 0).then(|| self.first + deadline.saturating_sub(late))
    }
}
