//! The sending side of a flow. It tracks symbols and transmission numbers, what the peer has and what
//! is lost. Its scheme decides what to send next.

mod action;
mod discovery;
mod flight;
mod flow;
mod reordering;
mod reports;
mod riding;
pub(crate) mod scheme;
mod situation;
mod window;
mod write;

use std::collections::{BTreeSet, VecDeque};

use core::time::Duration;
use weftline_codec::{Esi, WindowEncoder};

use crate::abandoned::Abandoned;
use crate::limits::Limits;
use crate::loss::LossEstimator;
use crate::rtt::RttEstimator;
use crate::time::Time;
use crate::wire::field;

pub use action::Action;
pub(crate) use discovery::Discovery;
use flight::Flight;
pub use flight::Transmission;
use flow::{Flow, Record};
pub use riding::Room;
use scheme::{Redundancy, Rule, Scheme};
pub use situation::Situation;
pub use window::EncodingWindow;

/// The sending side of a flow.
#[derive(Debug)]
pub(crate) struct Sender {
    flow: Flow,
    rule: Box<dyn Rule>,
    /// Looks for the longest datagram, if the carrier does not.
    pub(crate) discovery: Option<Box<Discovery>>,
    newest_report: Option<u64>,
    /// The longest time between two reports, as this end asked the peer.
    report_interval: Duration,
    next_key: u16,
    /// The peer accepts repair symbols in the datagram of a source symbol.
    can_ride: bool,
    /// Bytes that the carrier, UDP and IP add to a datagram.
    datagram_overhead: u16,
    /// Transmissions that the retransmission timer asked for.
    probes_due: u8,
    backoff: u32,
    /// The window was full, and nothing was acknowledged since then.
    window_shut: bool,
    /// The carrier dropped every lost symbol below this.
    dropped_below: Esi,
    /// Time that timestamps count from.
    zero: Time,
    /// The time of the last progress or the last transmission.
    last_activity: Time,
}

/// A report that cannot be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inconsistent;

/// How a flow is sent.
#[derive(Clone, Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) scheme: &'a Scheme,
    /// Most payload bytes of a symbol.
    pub(crate) symbol_size: u16,
    /// And of those of which this end keeps as many as `capacity`.
    pub(crate) usual_size: u16,
    /// Symbols that are kept until they are acknowledged.
    pub(crate) capacity: u32,
    pub(crate) initial_rtt: Duration,
    /// The longest time between two reports, as this end asks the peer.
    pub(crate) report_interval: Duration,
    /// Bytes that the carrier, UDP and IP add to a datagram.
    pub(crate) datagram_overhead: u16,
    /// Decorrelates repair keys.
    pub(crate) seed: u64,
}

/// The retransmission timer does not back off beyond this: after an outage a session must not
/// stay silent for long.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(2);
/// Nor does it exceed this when the round trip seems longer: an outage may have spoiled the estimate.
const LONGEST_TIMEOUT_EVER: Duration = Duration::from_secs(5);

/// This many timeouts in a row come at equal intervals; then each interval is twice the last. A run
/// of losses that spans a number of packets, not a time, lasts longer when less is sent.
const EQUAL_TIMEOUTS: u32 = 6;
/// Probes at the first timeout (RFC 9002, section 6.2.4), and at each later one.
const PROBES: u8 = 2;
const LATER_PROBES: u8 = 4;

/// The peer's timers may delay a report by this much beyond the agreed interval.
const REPORT_SLACK: Duration = Duration::from_millis(5);

impl Sender {
    /// A flow that begins at `now`, to a peer that accepts `peer`.
    pub(crate) fn new(setup: &Setup<'_>, peer: Limits, now: Time) -> Self {
        let scheme = setup.scheme;
        let size = usize::from(setup.symbol_size);
        let field = field(scheme.field_bits());
        Sender {
            flow: Flow {
                peer,
                encoder: WindowEncoder::with_field(setup.capacity as usize, size, field),
                records: VecDeque::new(),
                flight: Flight::default(),
                rtt: RttEstimator::new(setup.initial_rtt),
                loss: LossEstimator::default(),
                lost: BTreeSet::new(),
                abandoned: Abandoned::default(),
                rank: 0,
                queue: (now, Duration::ZERO),
                top_ups_arrived: 0,
                credit: u64::from(peer.symbols),
                few: u64::from(setup.capacity) * u64::from(setup.usual_size)
                    / u64::from(setup.symbol_size.max(setup.usual_size)),
                long_below: None,
                last_source: now,
                end_noticed: false,
                at_boundary: false,
                stalled_below: 0,
            },
            rule: scheme.rule(setup.seed, now),
            discovery: None,
            newest_report: None,
            report_interval: setup.report_interval,
            next_key: setup.seed as u16,
            can_ride: false,
            datagram_overhead: setup.datagram_overhead,
            probes_due: 0,
            backoff: 0,
            window_shut: false,
            dropped_below: 0,
            zero: now,
            last_activity: now,
        }
    }

    pub(crate) fn set_peer_limits(&mut self, peer: Limits, can_ride: bool) {
        self.can_ride = can_ride;
        let flow = &mut self.flow;
        flow.peer = peer;
        let credit = flow.encoder.first() + u64::from(peer.symbols);
        flow.credit = flow.credit.max(credit);
    }

    /// The ESI of the next new symbol.
    pub(crate) fn next_esi(&self) -> Esi {
        self.flow.encoder.next()
    }

    /// A source symbol that is neither acknowledged nor given up.
    pub(crate) fn symbol(&self, esi: Esi) -> Option<&[u8]> {
        self.flow.encoder.symbol(esi)
    }

    /// The lowest ESI that the peer is not known to have.
    pub(crate) fn edge(&self) -> Esi {
        self.flow.encoder.first()
    }

    /// What became of symbols that were given up.
    pub(crate) fn abandoned(&mut self) -> &mut Abandoned {
        &mut self.flow.abandoned
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.flow.is_idle()
    }

    /// Bytes of the symbols that are not acknowledged, and of memory kept for further ones.
    pub(crate) fn held(&self) -> u64 {
        let records = self.flow.records.capacity() * size_of::<Record>();
        (self.flow.encoder.memory_bound() + records) as u64
    }

    /// Frees the memory kept for further symbols, if all are acknowledged.
    pub(crate) fn release(&mut self) {
        if self.is_idle() {
            self.flow.encoder.release();
            self.flow.records = VecDeque::new();
            self.flow.flight.release();
        }
    }

    /// The new symbol may be longer than usual.
    pub(crate) fn has_long_room(&self) -> bool {
        self.flow.has_long_room()
    }

    pub(crate) fn unacknowledged(&self) -> u64 {
        self.next_esi() - self.edge()
    }

    pub(crate) fn in_flight(&self) -> u64 {
        self.flow.flight.bytes()
    }

    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.flow.rtt
    }

    pub(crate) fn loss(&self) -> &LossEstimator {
        &self.flow.loss
    }

    /// The repairs that the scheme plans.
    pub(crate) fn redundancy(&self) -> Option<Redundancy> {
        self.rule.redundancy()
    }

    /// Whether the retransmission timer asked for a transmission, which may exceed the window.
    pub(crate) fn is_probe_due(&self) -> bool {
        self.probes_due > 0
    }

    /// The rate control holds a transmission back, because its window is full.
    pub(crate) fn on_window_shut(&mut self) {
        self.window_shut = true;
    }

    /// The next transmission, if any is worth sending; `pending`: the application has data.
    pub(crate) fn next_action(&mut self, now: Time, pending: bool) -> Option<Action> {
        let at = Situation::new(now, pending, &self.flow);
        if self.probes_due > 0 {
            return Some(match at.is_idle() {
                true => Action::Probe,
                false => self.rule.probe(&at),
            });
        }
        let dropped = at.lost_from(0).filter(|&esi| esi < self.dropped_below);
        match dropped {
            Some(esi) => Some(Action::Again(esi)),
            None => self.rule.choose(&at),
        }
    }

    /// [`Action::FillBlock`] can take one more symbol.
    pub(crate) fn has_room_in_block(&self, now: Time) -> bool {
        let at = Situation::new(now, true, &self.flow);
        self.rule.has_room_in_block(&at)
    }

    /// The application has nothing more for the block that was filled last.
    pub(crate) fn on_block_filled(&mut self, now: Time) {
        let at = Situation::new(now, false, &self.flow);
        self.rule.on_block_filled(&at);
    }

    /// When [`Self::on_timeout`] is due.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let at = Situation::new(self.last_activity, false, &self.flow);
        // A worthless symbol at the edge is given up at once, not at the next arrival.
        let expiry = self.flow.records.front().and_then(|r| r.expires);
        let expiry = expiry.map(|t| t + Duration::from_micros(1));
        let all = [
            self.flow.flight.loss_time(),
            self.probe_time(),
            expiry,
            self.rule.next_timeout(&at),
            (self.discovery.as_ref()).and_then(|d| d.next_timeout(self.timeout())),
        ];
        all.into_iter().flatten().min()
    }

    /// An answer takes no longer than this.
    fn timeout(&self) -> Duration {
        self.rtt()
            .probe_timeout(self.report_interval + REPORT_SLACK)
    }

    fn probe_time(&self) -> Option<Time> {
        // If everything is acknowledged, a lost probe does no harm, with two exceptions: the peer
        // must learn from it where its credit starts, or this end must learn the fate of what fills
        // the window.
        let stuck = self.window_shut || !self.flow.has_room();
        let waiting = !self.is_idle() || stuck && !self.flow.flight.is_empty();
        if self.probes_due > 0 || !waiting {
            return None;
        }
        let timeout = self.timeout();
        let equal = match self.rule.has_own_pace() {
            true => 0,
            false => EQUAL_TIMEOUTS,
        };
        let doublings = self.backoff.saturating_sub(equal);
        let backed_off = timeout.saturating_mul(1 << doublings.min(16));
        let longest = (self.rtt().smoothed() * 2).clamp(LONGEST_TIMEOUT, LONGEST_TIMEOUT_EVER);
        Some(self.last_activity + backed_off.min(longest))
    }

    /// Serves the timers that are due. Returns true if the retransmission timer fired.
    pub(crate) fn on_timeout(&mut self, now: Time) -> bool {
        let flow = &mut self.flow;
        if flow.flight.loss_time().is_some_and(|t| t <= now) {
            flow.flight.detect_losses(now, &flow.rtt);
            self.settle();
        }
        let timeout = self.timeout();
        if let Some(discovery) = &mut self.discovery {
            discovery.on_timeout(now, timeout);
        }
        self.advance(now);
        let flow = &mut self.flow;
        flow.end_noticed |= now >= flow.last_source + flow.pause();
        self.rule
            .on_timeout(&Situation::new(now, false, &self.flow));
        if self.probe_time().is_none_or(|t| now < t) {
            return false;
        }
        self.probes_due = match self.backoff {
            0 => PROBES,
            _ if self.rule.has_own_pace() => PROBES,
            _ => LATER_PROBES,
        };
        self.flow.stalled_below = self.flow.encoder.next();
        self.rule
            .on_silence(&Situation::new(now, false, &self.flow));
        self.backoff += 1;
        if let Some(discovery) = &mut self.discovery {
            discovery.on_silence(self.backoff);
        }
        self.last_activity = now;
        true
    }
}
