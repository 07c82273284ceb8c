//! The sending side of a flow: what to send next, and what the peer has.

mod auto;
mod belief;
mod blocks;
mod choice;
mod compared;
mod flight;
mod measure;
mod rateless;
mod redundancy;
mod reports;
mod write;

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use core::time::Duration;
use weftline_codec::{Esi, WindowEncoder};

use crate::abandoned::Abandoned;
use crate::config::{Config, Limits};
use crate::loss::LossEstimator;
use crate::policy::{self, Code, Policies, Redundancy, TopUp};
use crate::rtt::RttEstimator;
use crate::time::Time;
use crate::wire::field;

use auto::Rule;
use blocks::Blocks;
use compared::Comparison;
use flight::Flight;
use measure::Measure;
use rateless::Rateless;
use redundancy::Spacing;

/// The sending side of a flow.
#[derive(Debug)]
pub(crate) struct Sender {
    policies: Policies,
    peer: Limits,
    encoder: WindowEncoder,
    /// One for each symbol that the encoder holds.
    records: VecDeque<Record>,
    flight: Flight,
    rtt: RttEstimator,
    loss: LossEstimator,
    /// Symbols whose latest transmission was lost and that the peer is not known to have. With
    /// retransmission those on their way again are left out.
    lost: BTreeSet<Esi>,
    abandoned: Abandoned,
    /// Equations that the peer holds, by its newest report.
    rank: u64,
    /// Repairs over the oldest window that arrived since its edge last moved.
    top_ups_arrived: u64,
    newest_report: Option<u64>,
    /// ESIs below this may be sent.
    credit: Esi,
    spacing: Spacing,
    /// Of [`Redundancy::Measured`].
    measure: Option<Measure>,
    /// Of [`Redundancy::Auto`].
    rule: Option<Box<Rule>>,
    /// Of [`Redundancy::Compared`].
    comparison: Option<Comparison>,
    blocks: Blocks,
    /// Of [`Code::Random`].
    rateless: Option<Box<Rateless>>,
    next_key: u16,
    /// When the newest source symbol was sent first, and whether the pause after it was noticed.
    last_source: Time,
    end_noticed: bool,
    /// A message or a stream ended in it.
    at_boundary: bool,
    /// Nothing has happened since a look found that no top-up is needed.
    sated: bool,
    /// Transmissions that the retransmission timer asked for.
    probes_due: u8,
    backoff: u32,
    /// Nothing was acknowledged since the window was found shut.
    window_shut: bool,
    /// The timer fired when this was the next ESI: what was sent before it is made up for.
    stalled_below: Esi,
    /// What is lost below this was dropped by the carrier, all of it.
    dropped_below: Esi,
    /// Time that timestamps count from.
    zero: Time,
    /// When progress was last made or something was last sent.
    last_activity: Time,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    /// Latest transmission.
    transmission: u64,
    known: bool,
    /// Worthless from then on.
    expires: Option<Time>,
}

/// What to send next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// A new source symbol.
    New,
    /// New source symbols for a block of which only repair symbols are sent.
    Take,
    /// A source symbol once more.
    Again(Esi),
    /// A repair symbol over this encoding window.
    Repair {
        window: Range<Esi>,
        /// Asked for by a report or the retransmission timer.
        top_up: bool,
    },
    /// Nothing but a question.
    Probe,
}

/// A report that cannot be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inconsistent;

/// The retransmission timer does not back off beyond this: after an outage a session must not
/// stay silent for long.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Nor beyond this when the round trip seems longer: an outage may have spoiled the estimate.
const LONGEST_TIMEOUT_EVER: Duration = Duration::from_secs(5);

/// So many timeouts in a row come at equal intervals, then each twice as long after the last. Losses
/// that come in runs of packets, whatever the time between them, last the longer the less is sent.
const EQUAL_TIMEOUTS: u32 = 6;
/// Probes at the first timeout (RFC 9002, section 6.2.4), and at each later one.
const PROBES: u8 = 2;
const LATER_PROBES: u8 = 4;

/// Reports wait for the peer's timers at most this long besides the agreed interval.
const REPORT_SLACK: Duration = Duration::from_millis(5);

impl Sender {
    /// A flow to a peer that accepts `peer`; `own` limits bound what is kept for it.
    pub(crate) fn new(config: &Config, own: Limits, peer: Limits, seed: u64, now: Time) -> Self {
        let capacity = own.symbols as usize;
        let bits = match config.policies.code {
            Code::Random(code) => code.bits,
            _ => 8,
        };
        let size = usize::from(config.symbol_size);
        Sender {
            policies: config.policies,
            peer,
            encoder: WindowEncoder::with_field(capacity, size, field(bits)),
            records: VecDeque::new(),
            flight: Flight::default(),
            rtt: RttEstimator::new(config.initial_rtt),
            loss: LossEstimator::default(),
            lost: BTreeSet::new(),
            abandoned: Abandoned::default(),
            rank: 0,
            top_ups_arrived: 0,
            newest_report: None,
            credit: u64::from(peer.symbols),
            spacing: Spacing::default(),
            measure: match (config.policies.code, config.policies.redundancy) {
                (Code::SlidingWindow, Redundancy::Measured(policy)) => {
                    Some(Measure::new(policy, now))
                }
                _ => None,
            },
            last_source: now,
            rule: match (config.policies.code, config.policies.redundancy) {
                (Code::SlidingWindow, Redundancy::Auto(policy)) => {
                    Some(Box::new(Rule::new(policy, now)))
                }
                _ => None,
            },
            comparison: match (config.policies.code, config.policies.redundancy) {
                (Code::SlidingWindow, Redundancy::Compared(rule)) => {
                    Some(Comparison::new(rule, now))
                }
                _ => None,
            },
            blocks: Blocks::default(),
            rateless: match (config.policies.code, config.policies.redundancy) {
                (Code::Random(code), Redundancy::Rateless(policy)) => {
                    Some(Box::new(Rateless::new(code, policy, seed)))
                }
                (Code::Random(code), _) => {
                    let policy = policy::Rateless::default();
                    Some(Box::new(Rateless::new(code, policy, seed)))
                }
                _ => None,
            },
            next_key: seed as u16,
            end_noticed: false,
            at_boundary: false,
            sated: true,
            probes_due: 0,
            backoff: 0,
            window_shut: false,
            stalled_below: 0,
            dropped_below: 0,
            zero: now,
            last_activity: now,
        }
    }

    pub(crate) fn set_peer_limits(&mut self, peer: Limits) {
        self.peer = peer;
        self.credit = self
            .credit
            .max(self.encoder.first() + u64::from(peer.symbols));
    }

    /// A new symbol can be sent: the peer's credit and this end's memory allow it, and the peer
    /// has no more holes than it can hold.
    pub(crate) fn has_room(&self) -> bool {
        self.encoder.next() < self.credit
            && !self.encoder.is_full()
            && self.lost.len() < usize::from(self.peer.unknowns)
    }

    /// The ESI that the next new symbol gets.
    pub(crate) fn next_esi(&self) -> Esi {
        self.encoder.next()
    }

    /// Lowest ESI not known to be with the peer.
    pub(crate) fn edge(&self) -> Esi {
        self.encoder.first()
    }

    /// What became of symbols that were given up.
    pub(crate) fn abandoned(&mut self) -> &mut Abandoned {
        &mut self.abandoned
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.encoder.first() == self.encoder.next()
    }

    pub(crate) fn unacknowledged(&self) -> u64 {
        self.encoder.next() - self.encoder.first()
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.flight.bytes()
    }

    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub(crate) fn loss(&self) -> &LossEstimator {
        &self.loss
    }

    /// Whether the retransmission timer asked for something: it may exceed the window.
    pub(crate) fn probe_due(&self) -> bool {
        self.probes_due > 0
    }

    /// The rate control keeps what is worth sending from leaving, for all that is in flight.
    pub(crate) fn window_is_shut(&mut self) {
        self.window_shut = true;
    }

    fn record_mut(&mut self, esi: Esi) -> Option<&mut Record> {
        let index = esi.checked_sub(self.encoder.first())?;
        self.records.get_mut(usize::try_from(index).ok()?)
    }

    /// When [`Self::on_timeout`] wants to be called.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let loss = self.flight.loss_time();
        let probe = self.probe_time();
        // A worthless symbol at the edge is given up at once, not when something arrives.
        let expiry = self.records.front().and_then(|r| r.expires);
        let expiry = expiry.map(|t| t + Duration::from_micros(1));
        let tail = self.rule.as_ref().filter(|_| !self.is_idle());
        let tail = tail.and_then(|rule| rule.next_timeout(self.rtt.smoothed()));
        let end = self.last_source + self.pause();
        let open = self.rateless.as_ref().is_some_and(|r| r.is_open());
        let waits = self.policies.top_up == TopUp::AtEnd && !self.is_idle() || open;
        let waits = waits && !self.end_noticed;
        let paced = self.rateless.as_ref().and_then(|r| r.next_timeout());
        let end = waits.then_some(end);
        let compared = self.comparison.as_ref().filter(|_| !self.is_idle());
        let compared = compared.and_then(|c| c.next_timeout(self.rtt.smoothed()));
        let all = [loss, probe, expiry, tail, end, paced, compared];
        all.into_iter().flatten().min()
    }

    fn probe_time(&self) -> Option<Time> {
        // With nothing unacknowledged a lost probe does no harm, unless the peer must learn from it
        // where its credit starts, or this end what became of what fills the window.
        let stuck = self.window_shut || !self.has_room();
        let waiting = !self.is_idle() || stuck && !self.flight.is_empty();
        if self.probes_due > 0 || !waiting {
            return None;
        }
        let report = self.policies.feedback.longest() + REPORT_SLACK;
        let timeout = self.rtt.probe_timeout(report);
        // Blocks that are repaired until acknowledged have a pace of their own.
        let equal = if self.rateless.is_some() {
            0
        } else {
            EQUAL_TIMEOUTS
        };
        let doublings = self.backoff.saturating_sub(equal);
        let backed_off = timeout.saturating_mul(1 << doublings.min(16));
        let longest = (self.rtt.smoothed() * 2).clamp(LONGEST_TIMEOUT, LONGEST_TIMEOUT_EVER);
        Some(self.last_activity + backed_off.min(longest))
    }

    /// True: the retransmission timer fired.
    pub(crate) fn on_timeout(&mut self, now: Time) -> bool {
        if self.flight.loss_time().is_some_and(|t| t <= now) {
            self.flight.detect_losses(now, &self.rtt);
            self.settle();
        }
        self.advance(now);
        self.end_noticed |= now >= self.last_source + self.pause();
        if let Some(rateless) = &mut self.rateless {
            rateless.on_timeout(now);
        }
        if let Some(comparison) = &mut self.comparison {
            comparison.on_timeout(now);
        }
        if self.probe_time().is_none_or(|t| now < t) {
            return false;
        }
        self.probes_due = match self.backoff {
            0 => PROBES,
            _ if self.rateless.is_some() => PROBES,
            _ => LATER_PROBES,
        };
        self.stalled_below = self.encoder.next();
        self.blocks.close(self.policies.redundancy);
        if let Some(rateless) = &mut self.rateless {
            rateless.close(now, self.rtt.smoothed());
        }
        self.sated = false;
        self.backoff += 1;
        self.last_activity = now;
        true
    }
}
