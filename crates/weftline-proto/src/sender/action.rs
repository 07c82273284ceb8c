//! What a sender may send next.

use std::ops::Range;

use weftline_codec::Esi;

/// What to send next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// A new source symbol.
    New,
    /// New source symbols, for a block that is sent only as repair symbols.
    FillBlock,
    /// A source symbol that was sent before.
    Again(Esi),
    /// A repair symbol over this encoding window.
    Repair {
        /// The source symbols that it covers. The sender still holds all of them.
        window: Range<Esi>,
        /// A report or the retransmission timer asked for it.
        top_up: bool,
    },
    /// A repair symbol over this source symbol alone: who has it has the symbol.
    Copy(Esi),
    /// A datagram without a symbol, which asks for a report.
    Probe,
}

impl Action {
    /// A repair symbol that nothing asked for.
    pub fn repair(window: Range<Esi>) -> Self {
        Action::Repair {
            window,
            top_up: false,
        }
    }

    /// A repair symbol that a report or the retransmission timer asked for.
    pub fn top_up(window: Range<Esi>) -> Self {
        Action::Repair {
            window,
            top_up: true,
        }
    }
}
