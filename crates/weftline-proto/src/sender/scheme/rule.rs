//! The interface between a sender and its scheme.

use core::fmt::Debug;
use core::time::Duration;
use std::ops::Range;

use weftline_codec::Esi;
use weftline_codec::coefficients::Coefficients;

use crate::path::PathId;
use crate::sender::action::Action;
use crate::sender::flight::Transmission;
use crate::sender::riding::Room;
use crate::sender::situation::Situation;
use crate::time::Time;
use crate::wire::{FeedbackView, FieldCode};

/// How a scheme decides what leaves next.
///
/// The sender calls `on_*` when something has happened, `next_timeout` for the time at which
/// [`on_timeout`](Self::on_timeout) is due, and [`choose`](Self::choose) whenever a datagram may
/// leave. Each call gets a [`Situation`]: what the sender knows at that time. Every method but
/// `choose` and `probe` may be left out.
///
/// Before it calls `choose`, the sender answers its retransmission timer, with
/// [`probe`](Self::probe), and sends again what the carrier dropped.
pub trait Rule: Debug + Send {
    /// The next transmission, if any is worth sending.
    fn choose(&mut self, at: &Situation<'_>) -> Option<Action>;

    /// The answer to the retransmission timer: a transmission that helps the oldest unacknowledged
    /// symbol. The sender asks only if such a symbol exists.
    fn probe(&mut self, at: &Situation<'_>) -> Action;

    /// A new source symbol was taken from the application.
    fn on_source(&mut self, _at: &Situation<'_>, _esi: Esi) {}

    /// A repair symbol over `window` leaves now. Returns the number of its block, if the code has
    /// blocks; [`on_fate`](Self::on_fate) gets this number.
    fn on_repair(
        &mut self,
        _at: &Situation<'_>,
        _window: &Range<Esi>,
        _top_up: bool,
    ) -> Option<u64> {
        None
    }

    /// A new source symbol leaves now. Returns how many repair symbols ride in its datagram, at most
    /// `room.most`: they cover the newest symbols before it, and share its fate.
    fn riders(&mut self, _at: &Situation<'_>, _room: &Room) -> u8 {
        0
    }

    /// A transmission left.
    fn on_sent(&mut self, _at: &Situation<'_>, _transmission: Transmission) {}

    /// A report arrived. The situation does not include it yet.
    fn on_report(&mut self, _at: &Situation<'_>, _report: &Report<'_>) {}

    /// The fates of more transmissions may be known now.
    fn on_news(&mut self) {}

    /// The fate of a repair symbol of the block `block` is known.
    fn on_fate(&mut self, _block: u64, _lost: bool) {}

    /// The fate of the next transmission of this path, in order of sending, is known. Estimates of the
    /// path need it.
    fn on_fate_in_order(&mut self, _path: PathId, _lost: bool) {}

    /// This path is gone.
    fn on_path_removed(&mut self, _path: PathId) {}

    /// The peer may have more symbols, or symbols were given up.
    fn on_progress(&mut self, _at: &Situation<'_>) {}

    /// A timer fired, the rule's own or another.
    fn on_timeout(&mut self, _at: &Situation<'_>) {}

    /// The retransmission timer fired: nothing has been acknowledged for long.
    fn on_silence(&mut self, _at: &Situation<'_>) {}

    /// When the answer of [`choose`](Self::choose) may change without an event.
    fn next_timeout(&self, _at: &Situation<'_>) -> Option<Time> {
        None
    }

    /// Whether repairs follow the rule's own pace. If they do, the retransmission timer does not need
    /// equal intervals against long runs of losses.
    fn has_own_pace(&self) -> bool {
        false
    }

    /// Whether source symbols are sent as they are. If not, the peer knows none before it decodes a
    /// block.
    fn is_systematic(&self) -> bool {
        true
    }

    /// Whether a block that is sent only as repair symbols has room for one more source symbol.
    fn has_room_in_block(&self, _at: &Situation<'_>) -> bool {
        false
    }

    /// The application has no more symbols for the block that was filled.
    fn on_block_filled(&mut self, _at: &Situation<'_>) {}

    /// How many repairs the scheme plans now, for the event log; `None` if it plans no share.
    fn redundancy(&self) -> Option<Redundancy> {
        None
    }

    /// The repair symbols for each source symbol that the scheme may send before anything is known to be
    /// lost, now that the round trip is `srtt`; `None` if it has no such limit.
    fn budget(&self, _srtt: Duration) -> Option<f64> {
        self.redundancy().map(|plan| plan.share)
    }

    /// The coding vector of the next repair symbol over `nss` source symbols; `None` means a repair
    /// key, over GF(2^8).
    #[doc(hidden)]
    fn draw(&mut self, _nss: u16) -> Option<Drawn<'_>> {
        None
    }
}

/// The repairs that a scheme plans.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Redundancy {
    /// The loss rate that it plans with, if it measures one.
    pub loss: Option<f64>,
    /// Repair symbols for each source symbol.
    pub share: f64,
}

/// A coding vector, and its form in a repair symbol.
pub(crate) type Drawn<'a> = (FieldCode<'a>, Coefficients<'a>);

/// What a report says about the receiver.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    pub(crate) view: FeedbackView<'a>,
    /// The lowest ESI that the receiver does not know.
    pub(crate) next: Esi,
    /// One past the highest ESI that the receiver has heard of.
    pub heard: Esi,
    /// The largest transmission number of the report's path that had arrived.
    pub largest: u64,
    /// Equations that the receiver holds for symbols that it lacks.
    pub rank: u64,
    /// The packet error rate that the receiver has measured, 0 to 1, if the scheme asked for it.
    pub loss: Option<f64>,
}

impl Report<'_> {
    /// How many symbols from `edge` on the receiver knows of and lacks. The sender gave up all
    /// symbols below its own edge.
    pub fn missing_from(&self, edge: Esi) -> u64 {
        let mut esi = self.next;
        let mut missing = 0;
        for run in self.view.symbols() {
            let end = esi + run.first;
            missing += end.saturating_sub(esi.max(edge));
            esi = end + run.second;
        }
        missing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Datagram, FeedbackWriter, Run};

    #[test]
    fn symbols_given_up_are_not_missing() {
        // From 70 on: two missing, ten known, three missing, five known.
        let writer = FeedbackWriter {
            number: 1,
            largest: 90,
            next: 70,
            delay: 0,
            queue_delay: 0,
            extent: 20,
            rank: 0,
            credit: 1000,
            loss: None,
        };
        let runs = [(2, 10), (3, 5)].map(|(first, second)| Run { first, second });
        let mut out = Vec::new();
        writer.write(runs.into_iter(), [].into_iter(), 1200, &mut out);
        let Ok(Datagram::Feedback(view)) = Datagram::parse(&out) else {
            panic!("not a report")
        };
        let report = Report {
            view,
            next: 70,
            heard: 90,
            largest: 90,
            rank: 0,
            loss: None,
        };
        for (edge, missing) in [(70, 5), (71, 4), (75, 3), (83, 2), (90, 0)] {
            assert_eq!(report.missing_from(edge), missing, "from {edge}");
        }
    }
}
