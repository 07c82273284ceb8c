//! The view of a flow on which a scheme bases its decisions.

use std::ops::Range;

use core::time::Duration;
use weftline_codec::Esi;

use super::action::Action;
use super::flight::Flight;
use super::flow::Flow;
use super::lost::Lost;
use super::path::Path;
use super::window::EncodingWindow;
use crate::path::PathId;
use crate::time::Time;

/// Reports are hardly less frequent than this while something is in flight.
const REPORT_INTERVAL: Duration = Duration::from_millis(10);

/// What the sender knows at the time `now`: a read-only view for a [`Rule`](super::scheme::Rule).
#[derive(Clone, Copy, Debug)]
pub struct Situation<'a> {
    now: Time,
    pending: bool,
    flow: &'a Flow,
    path: &'a Path,
}

impl<'a> Situation<'a> {
    /// As the main path sees it.
    pub(super) fn new(now: Time, pending: bool, flow: &'a Flow) -> Self {
        Self::on(flow.main, now, pending, flow)
    }

    /// As this path sees it.
    pub(super) fn on(path: usize, now: Time, pending: bool, flow: &'a Flow) -> Self {
        Situation {
            now,
            pending,
            flow,
            path: &flow.paths[path],
        }
    }

    /// The path on which a datagram may leave, or about which there is news. Estimates of the path and
    /// its delay are this one's, unless they are said to be others'.
    pub fn path(&self) -> PathId {
        self.path.id
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The smoothed round-trip time of the path on which data arrives first.
    pub fn srtt(&self) -> Duration {
        self.flow.main().rtt.smoothed()
    }

    /// Whether the application has data for a source symbol.
    pub fn is_pending(&self) -> bool {
        self.pending
    }

    /// Whether the peer's credit and the memory of this end allow one more source symbol.
    pub fn has_room(&self) -> bool {
        self.flow.has_room()
    }

    /// Whether there is a source symbol to send, and it may be sent.
    pub fn can_send_new(&self) -> bool {
        self.pending && self.flow.has_room()
    }

    /// Whether every source symbol is acknowledged or given up.
    pub fn is_idle(&self) -> bool {
        self.flow.is_idle()
    }

    /// The lowest ESI that is neither acknowledged nor given up.
    pub fn first(&self) -> Esi {
        self.flow.encoder.first()
    }

    /// The ESI of the next new source symbol.
    pub fn next(&self) -> Esi {
        self.flow.encoder.next()
    }

    /// Source symbols that are not acknowledged.
    pub fn unacknowledged(&self) -> u64 {
        self.next() - self.first()
    }

    /// Source symbols whose latest transmission was lost and that the receiver has not recovered.
    pub fn missing(&self) -> u64 {
        self.flow.lost.len() as u64
    }

    /// Independent equations that the receiver holds for missing symbols, by its newest report.
    pub fn rank(&self) -> u64 {
        self.flow.rank
    }

    /// Transmissions of source symbols whose fate is unknown, on all paths that are heard.
    pub fn sources_in_flight(&self) -> u64 {
        self.paths().map(|p| p.flight.sources()).sum()
    }

    /// Repair symbols whose fate is unknown, on all paths that are heard.
    pub fn repairs_in_flight(&self) -> u64 {
        self.paths().map(|p| p.flight.repairs()).sum()
    }

    /// Share of recent transmissions that were lost.
    pub fn loss(&self) -> f64 {
        self.path.loss.rate()
    }

    /// Loss rate to plan with: the first loss of a session does not make it one.
    pub fn expected_loss(&self) -> f64 {
        self.path.loss.expected()
    }

    /// Mean length of a run of lost transmissions; 0 before the first.
    pub fn mean_burst(&self) -> f64 {
        self.path.loss.mean_burst()
    }

    /// Whether a message or a stream ended in the newest source symbol.
    pub fn is_at_boundary(&self) -> bool {
        self.flow.at_boundary
    }

    /// Whether no new source symbol was sent for an eighth of a round trip.
    pub fn is_paused(&self) -> bool {
        self.now >= self.flow.last_source + self.flow.pause()
    }

    /// Whether a timer has noticed that [`is_paused`](Self::is_paused) became true.
    pub fn is_pause_noticed(&self) -> bool {
        self.flow.end_noticed
    }

    /// When the pause after the newest source symbol begins; `None` once a timer has noticed it.
    pub fn next_pause(&self) -> Option<Time> {
        (!self.flow.end_noticed).then(|| self.flow.last_source + self.flow.pause())
    }

    /// Whether the retransmission timer has fired for symbols that are still unacknowledged.
    pub fn is_stalled(&self) -> bool {
        self.first() < self.flow.stalled_below
    }

    /// The first lost symbol from `esi` on that is still worth something.
    pub fn lost_from(&self, esi: Esi) -> Option<Esi> {
        self.flow.lost_from(esi, self.now)
    }

    /// Whether the newest window no longer covers the oldest lost symbol.
    pub fn is_out_of_reach(&self, window: EncodingWindow) -> bool {
        let oldest = self.flow.lost.first();
        oldest.is_some_and(|esi| esi < self.newest_window(window).start)
    }

    /// The number of symbols that one repair may cover, by the options and by the peer's limits.
    pub fn window_size(&self, window: EncodingWindow) -> u64 {
        let most = self.flow.peer.window.min(self.flow.peer.unknowns);
        u64::from(window.size().min(most)).max(1)
    }

    /// The window of repairs that nothing asked for: they protect the newest symbols.
    pub fn newest_window(&self, window: EncodingWindow) -> Range<Esi> {
        let (first, next) = (self.first(), self.next());
        match window {
            EncodingWindow::Mobile { .. } => self.oldest_window(window),
            _ => next.saturating_sub(self.window_size(window)).max(first)..next,
        }
    }

    /// The window of repairs for a symbol known to be missing: it starts at the oldest one.
    pub fn oldest_window(&self, window: EncodingWindow) -> Range<Esi> {
        let (first, next) = (self.first(), self.next());
        first..next.min(first + self.window_size(window))
    }

    /// A repair for symbols that reports show to be missing, unless enough repairs are in flight.
    ///
    /// The count includes what is in flight. The path will lose its share of the repairs, and the
    /// same share of the source symbols will need repairs of their own.
    pub fn answer_deficit(&self, window: EncodingWindow) -> Option<Action> {
        let flow = self.flow;
        let oldest = self.oldest_window(window);
        let lost = flow.lost.within(oldest.clone()).len() as u64;
        let newest = self.newest_window(window);
        let reached = flow.lost.first().is_some_and(|esi| esi >= newest.start);
        let deficit = match reached {
            true => lost.saturating_sub(flow.rank),
            // Repairs over newer windows do not cover this symbol, and the rank may be theirs.
            // Only repairs sent for it count, and they are too few while it is missing.
            false => {
                let held = flow.rank.min(flow.top_ups_arrived.into());
                lost.saturating_sub(held).max(lost.min(1))
            }
        };
        if deficit > 0 {
            // Some of the source symbols in flight will be lost too, and will use up repairs in flight.
            let to_come = |path: &Path| path.loss.expected() * path.flight.sources() as f64;
            let (to_come, in_flight): (f64, fn(&Flight) -> u64) = match reached {
                true => (self.sum(to_come), Flight::repairs),
                false => (0.0, Flight::top_ups),
            };
            let arriving = |path: &Path| arriving(in_flight(&path.flight), path.loss.expected());
            if deficit as f64 + to_come >= self.sum(arriving) + 0.5 {
                return Some(Action::top_up(oldest));
            }
        }
        // After an outage more is lost than one window covers. Coding gains nothing beyond the
        // window, and each move of the window costs a round trip.
        self.lost_from(oldest.end).map(Action::Again)
    }

    /// All symbols that are lost.
    pub(super) fn lost(&self) -> &'a Lost {
        &self.flow.lost
    }

    /// Whether the peer has this symbol, or it was given up.
    pub(super) fn is_known(&self, esi: Esi) -> bool {
        match esi.checked_sub(self.first()) {
            Some(index) => {
                let record = self.flow.records.get(index as usize);
                record.is_some_and(|r| r.known)
            }
            None => true,
        }
    }

    /// How long datagrams waited in the path's queue at least, by the reports of the last round trip.
    pub(super) fn queue(&self) -> Duration {
        self.path.queue.1
    }

    /// The length of a symbol that the sender still holds, in bytes.
    pub(super) fn symbol_bytes(&self, esi: Esi) -> usize {
        self.flow.encoder.symbol(esi).map_or(0, <[u8]>::len)
    }

    /// For how long the path usually holds datagrams back, if it moves their delay; otherwise zero.
    pub(super) fn hold(&self) -> Duration {
        self.path.hold()
    }

    /// For how long a report has been overdue.
    pub(super) fn overdue(&self) -> Duration {
        let Path { rtt, flight, .. } = self.path;
        let since = flight.unheard().next().filter(|_| rtt.is_measured());
        let age = since.map_or(Duration::ZERO, |at| self.now.since(at));
        age.saturating_sub(rtt.smoothed() + REPORT_INTERVAL)
    }

    /// The shortest round trip so far, or since the flow has moved to this path.
    pub(super) fn shortest_rtt(&self) -> Duration {
        self.path.shortest_rtt()
    }

    pub(super) fn has_several_paths(&self) -> bool {
        self.flow.paths.len() > 1
    }

    /// The paths whose datagrams may still arrive: all that are heard, or all if none is.
    pub(super) fn paths(&self) -> impl Iterator<Item = &'a Path> + Clone + use<'a> {
        let choice = self.flow.has_choice();
        let paths = self.flow.paths.iter();
        paths.filter(move |path| !choice || path.is_heard())
    }

    fn sum(&self, of: impl Fn(&Path) -> f64) -> f64 {
        self.paths().map(of).sum()
    }

    /// Source symbols in a block, at most `k` and within the peer's limits.
    pub(super) fn block_size(&self, k: u16) -> u16 {
        let peer = &self.flow.peer;
        k.min(peer.window).min(peer.unknowns)
    }

    /// Symbols that may be missing at once, by the peer's limits.
    pub(super) fn most_missing(&self) -> u64 {
        u64::from(self.flow.peer.unknowns)
    }
}

/// Whether the receiver needs more repairs than will arrive of `in_flight`, of which the path loses
/// the share `loss`. Half a repair either way is left to later reports.
pub(super) fn is_short(needed: f64, in_flight: u64, loss: f64) -> bool {
    needed >= arriving(in_flight, loss) + 0.5
}

/// How many repairs arrive of `in_flight`.
fn arriving(in_flight: u64, loss: f64) -> f64 {
    // On a path that looks dead, ever more repairs at once would not help.
    in_flight as f64 * (1.0 - loss.min(0.75))
}
