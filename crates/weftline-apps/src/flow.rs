//! What single flows of a service have carried, for monitoring.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicU64, Ordering};

/// The most flows that a service names at a time. It names those that carried the most bytes.
pub const BUSIEST: usize = 64;

/// An open flow, and what it has carried so far: the datagrams between a program and a target of `relay`, a
/// TCP connection of `forward`, or the packets of `tun` between two ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlowInfo {
    /// Its number among the flows of this process. None is used twice.
    pub number: u64,
    /// The address of the one who began it: a program, or the peer; empty if it is not known. Of `tun` this
    /// host's side, and before it the protocol.
    pub from: String,
    /// Its target, of `tun` the peer's side; for a connection that a server accepts for its client, that client.
    pub to: String,
    /// Datagrams from local programs to the peer; 0 for a connection.
    pub sent_datagrams: u64,
    /// Bytes from local programs to the peer.
    pub sent_bytes: u64,
    /// Datagrams from the peer to local programs; 0 for a connection.
    pub delivered_datagrams: u64,
    /// Bytes from the peer to local programs.
    pub delivered_bytes: u64,
    /// Datagrams that this end dropped, but for those that were late: the session drops those, and does
    /// not know of which flow they are.
    pub dropped_datagrams: u64,
}

impl FlowInfo {
    /// Bytes that it has carried.
    pub(crate) fn bytes(&self) -> u64 {
        self.sent_bytes + self.delivered_bytes
    }
}

/// The number of a new flow.
pub(crate) fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Those of `flows` that carried the most, in any order; `bytes` says how much one has carried.
pub(crate) fn busiest<T>(flows: impl IntoIterator<Item = T>, bytes: impl Fn(&T) -> u64) -> Vec<T> {
    let mut all: Vec<T> = flows.into_iter().collect();
    if all.len() > BUSIEST {
        all.select_nth_unstable_by_key(BUSIEST, |flow| Reverse(bytes(flow)));
        all.truncate(BUSIEST);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_carried_the_most_are_named() {
        let mut few = busiest([3, 1, 2], |bytes| *bytes);
        few.sort_unstable();
        assert_eq!(few, [1, 2, 3]);
        let mut many = busiest((0..200).rev(), |bytes| *bytes);
        many.sort_unstable();
        assert!(many.into_iter().eq(200 - BUSIEST as u64..200));
    }
}
