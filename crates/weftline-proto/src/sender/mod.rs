//! The sending side of a flow. It tracks symbols and transmission numbers, what the peer has and what
//! is lost. Its scheme decides what to send next.

mod action;
mod ahead;
mod discovery;
mod flight;
mod flow;
mod lost;
mod path;
mod reordering;
mod reports;
mod riding;
pub(crate) mod scheme;
mod situation;
mod timers;
mod window;
mod write;

use std::collections::VecDeque;

use core::cmp::Ordering;
use core::time::Duration;
use weftline_codec::{Esi, WindowEncoder};

use crate::abandoned::Abandoned;
use crate::limits::Limits;
use crate::loss::LossEstimator;
use crate::path::PathId;
use crate::rtt::RttEstimator;
use crate::time::Time;
use crate::wire::field;

pub use action::Action;
use ahead::Ahead;
pub(crate) use ahead::MOST_BYTES as BYTES_AHEAD;
pub(crate) use discovery::Discovery;
pub use flight::Transmission;
use flow::{Flow, Record};
use lost::Lost;
pub(crate) use path::Path;
pub use riding::Room;
use scheme::{Redundancy, Rule, Scheme};
pub use situation::Situation;
pub(crate) use timers::Fired;
pub use window::EncodingWindow;

/// The sending side of a flow.
#[derive(Debug)]
pub(crate) struct Sender {
    flow: Flow,
    rule: Box<dyn Rule>,
    newest_report: Option<u64>,
    initial_rtt: Duration,
    /// The longest time between two reports, as this end asked the peer.
    report_interval: Duration,
    next_key: u16,
    /// `None` before the first repair; most sessions are idle, and small.
    ahead: Option<Box<Ahead>>,
    /// The peer accepts repair symbols in the datagram of a source symbol.
    can_ride: bool,
    /// Bytes that the carrier, UDP and IP add to a datagram.
    datagram_overhead: u16,
    /// The carrier dropped every lost symbol below this.
    dropped_below: Esi,
    /// Time that timestamps count from.
    zero: Time,
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
                paths: vec![Path::new(PathId::FIRST, 0, setup.initial_rtt, now)],
                main: 0,
                lost: Lost::default(),
                abandoned: Abandoned::default(),
                rank: 0,
                top_ups_arrived: 0,
                credit: u64::from(peer.symbols),
                few: u64::from(setup.capacity) * u64::from(setup.usual_size)
                    / u64::from(setup.symbol_size.max(setup.usual_size)),
                long_below: None,
                last_source: now,
                end_noticed: false,
                last_symbol: now,
                woken: now,
                busy_since: now,
                at_boundary: false,
                stalled_below: 0,
            },
            rule: scheme.rule(setup.seed, now),
            newest_report: None,
            initial_rtt: setup.initial_rtt,
            report_interval: setup.report_interval,
            next_key: setup.seed as u16,
            ahead: None,
            can_ride: false,
            datagram_overhead: setup.datagram_overhead,
            dropped_below: 0,
            zero: now,
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
        let ahead = self.ahead.as_ref().map_or(0, |ahead| ahead.memory());
        (self.flow.encoder.memory_bound() + records + ahead) as u64
    }

    /// Frees the memory kept for further symbols, if all are acknowledged.
    pub(crate) fn release(&mut self) {
        if self.is_idle() {
            self.flow.encoder.release();
            self.flow.records = VecDeque::new();
            self.flow.lost = Lost::default();
            self.ahead = None;
            for path in &mut self.flow.paths {
                path.flight.release();
            }
        }
    }

    /// The new symbol may be longer than usual.
    pub(crate) fn has_long_room(&self) -> bool {
        self.flow.has_long_room()
    }

    pub(crate) fn unacknowledged(&self) -> u64 {
        self.next_esi() - self.edge()
    }

    /// Bytes in flight on all paths.
    pub(crate) fn in_flight(&self) -> u64 {
        self.flow.paths.iter().map(Path::in_flight).sum()
    }

    /// Of the main path.
    pub(crate) fn rtt(&self) -> &RttEstimator {
        &self.flow.main().rtt
    }

    /// Of the main path.
    pub(crate) fn loss(&self) -> &LossEstimator {
        &self.flow.main().loss
    }

    /// For how long fates are waited for: the answer of any path with something in flight.
    pub(crate) fn patience(&self, delay: Duration) -> Duration {
        let busy = self.flow.paths.iter().filter(|path| path.in_flight() > 0);
        let timeouts = busy.map(|path| path.rtt.probe_timeout(delay));
        let main = self.rtt().probe_timeout(delay);
        timeouts.fold(main, Duration::max)
    }

    pub(crate) fn paths(&self) -> &[Path] {
        &self.flow.paths
    }

    pub(crate) fn path_mut(&mut self, path: usize) -> &mut Path {
        &mut self.flow.paths[path]
    }

    /// The path on which urgent data arrives first.
    pub(crate) fn main(&self) -> usize {
        self.flow.main
    }

    /// Another path begins. A probe finds out about it.
    pub(crate) fn add_path(&mut self, id: PathId, cost: u8, now: Time) {
        self.flow
            .paths
            .push(Path::new(id, cost, self.initial_rtt, now));
        // An end that has only reported so far has measured none.
        let unknown = self
            .flow
            .paths
            .iter_mut()
            .filter(|path| !path.rtt.is_measured());
        unknown.for_each(|path| path.probes_due = 1);
    }

    /// The carrier of this path is gone.
    pub(crate) fn on_path_gone(&mut self, path: usize, now: Time) {
        self.give_up_flight(path, now);
        self.flow.paths[path].gone = true;
        self.flow.restart_timers(now);
        self.flow.choose_main(now);
        self.tell_edge();
    }

    /// Forgets a path whose carrier is gone. Others move up.
    pub(crate) fn remove_path(&mut self, path: usize, now: Time) {
        let removed = self.flow.paths.remove(path);
        self.rule.on_path_removed(removed.id);
        self.flow.main = match path.cmp(&self.flow.main) {
            Ordering::Less => self.flow.main - 1,
            Ordering::Equal => 0,
            Ordering::Greater => self.flow.main,
        };
        self.flow.restart_timers(now);
        self.flow.choose_main(now);
    }

    /// Symbols that may be missing at the peer.
    pub(crate) fn most_missing(&self) -> u64 {
        self.flow.peer.unknowns.into()
    }

    /// A new symbol may be sent.
    pub(crate) fn has_room(&self) -> bool {
        self.flow.has_room()
    }

    /// Symbols that are lost.
    pub(crate) fn missing(&self) -> u64 {
        self.flow.lost.len() as u64
    }

    /// The repairs that the scheme plans.
    pub(crate) fn redundancy(&self) -> Option<Redundancy> {
        self.rule.redundancy()
    }

    /// The repair symbols for each source symbol that the scheme may send unasked.
    pub(crate) fn budget(&self) -> Option<f64> {
        self.rule.budget(self.rtt().smoothed())
    }

    /// The next transmission on this path, if any is worth sending; `pending`: the application has
    /// data.
    pub(crate) fn next_action(&mut self, now: Time, path: usize, pending: bool) -> Option<Action> {
        let at = Situation::on(path, now, pending, &self.flow);
        if self.flow.paths[path].probes_due > 0 {
            return Some(match at.is_idle() || !self.flow.leads(path) {
                true => Action::Probe,
                false => self.rule.probe(&at),
            });
        }
        if self.flow.has_choice() && self.flow.paths[path].is_silent() {
            return None;
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
}
