//! What the clients of a server may take, and what a relay has.

use std::sync::Arc;

use super::options::ServerOptions;
use crate::quota::{Limit, OverLimit, Place, Quota, Share, Unit, Who};

/// Most flows of all clients together.
const MOST_FLOWS: u64 = 60_000;
/// Flows of a relay whose end the client has not reported yet.
pub(super) const SLACK: usize = 64;

/// Memory that a relay takes for its flows, which outlive its session.
const FLOWS: u64 = 1_000_000;

/// The flows that the clients may have.
pub(super) fn flows(options: &ServerOptions) -> Arc<Quota> {
    let each = Limit {
        limit: (options.flows + SLACK) as u64,
        option: Some("--flows"),
    };
    let all = Limit {
        limit: MOST_FLOWS,
        option: None,
    };
    Quota::new(Unit::Flows, each, all)
}

/// What a relay has; it is given back when this is dropped.
pub(super) struct Room {
    _memory: Share,
    flows: Arc<Quota>,
    who: Who,
}

impl Room {
    /// Room for a further relay of the client that has this place.
    ///
    /// # Errors
    /// They would take too much memory.
    pub(super) fn new(flows: &Arc<Quota>, place: &Place) -> Result<Self, OverLimit> {
        Ok(Room {
            _memory: place.take(FLOWS)?,
            flows: flows.clone(),
            who: place.who(),
        })
    }

    /// Takes a flow, which counts with those of the client's other relays.
    ///
    /// # Errors
    /// There are too many flows.
    pub(super) fn flow(&self) -> Result<Share, OverLimit> {
        self.flows.take(self.who, 1)
    }
}
