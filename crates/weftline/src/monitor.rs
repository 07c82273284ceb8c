//! What the connections of endpoints do, for monitoring.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use weftline_proto::{Role, Stats};

use crate::lock::lock;
use crate::shared::Shared;
use crate::{Fingerprint, PathInfo, Refusal};

/// Looks at the connections of all endpoints that have this monitor in their
/// [`EndpointConfig`](crate::EndpointConfig). Clones share it, and so do clones of an
/// `EndpointConfig`. It costs nothing until it is asked, and keeps no connection open.
#[derive(Clone, Default)]
pub struct Monitor(Arc<Mutex<Table>>);

#[derive(Default)]
struct Table {
    open: BTreeMap<u64, (Role, Weak<Shared>)>,
    /// Connections so far.
    connections: u64,
    /// Counters of those that are over.
    over: Totals,
    refused: Refused,
    /// Handshakes under way.
    handshakes: u64,
}

/// A connection as a [`Monitor`] sees it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConnectionInfo {
    /// Its number among all of this monitor, from 0.
    pub number: u64,
    /// The peer has opened it.
    pub is_accepted: bool,
    /// The peer's fingerprint; `None` on plain UDP.
    pub peer: Option<Fingerprint>,
    /// The peer's address.
    pub remote: SocketAddr,
    /// See [`Connection::application_protocol`](crate::Connection::application_protocol).
    pub application_protocol: Option<String>,
    /// How long ago it began.
    pub age: Duration,
    /// Counters and estimates of the session.
    pub stats: Stats,
    /// Its paths.
    pub paths: Vec<PathInfo>,
    /// UDP packets of its carriers.
    pub packets: Packets,
    /// See [`Connection::held`](crate::Connection::held).
    pub held: u64,
}

/// UDP packets of connections, with everything that the carrier adds: over QUIC the handshake, its
/// acknowledgements and probes. Packets outside of a connection are not counted: QUIC's Retry, and what
/// strangers send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Packets {
    /// Packets sent.
    pub sent: u64,
    /// Bytes sent, UDP's payload.
    pub sent_bytes: u64,
    /// Packets received.
    pub received: u64,
    /// Bytes received, UDP's payload.
    pub received_bytes: u64,
}

impl Packets {
    pub(crate) fn add(&mut self, other: Packets) {
        let Packets {
            sent,
            sent_bytes,
            received,
            received_bytes,
        } = other;
        self.sent += sent;
        self.sent_bytes += sent_bytes;
        self.received += received;
        self.received_bytes += received_bytes;
    }
}

/// Counters of connections together.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Totals {
    /// Their counters. The estimates in it have no meaning.
    pub stats: Stats,
    /// Their UDP packets.
    pub packets: Packets,
}

impl Totals {
    fn add(&mut self, stats: &Stats, packets: Packets) {
        self.stats.add_counters(stats);
        self.packets.add(packets);
    }
}

/// How many peers servers turned away, those included that [`Port::refused`](crate::Port::refused) does not
/// tell one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// [`Refusal::UnknownPeer`].
    pub unknown_peers: u64,
    /// [`Refusal::Full`].
    pub full: u64,
    /// [`Refusal::Crowded`].
    pub crowded: u64,
    /// [`Refusal::Handshake`]: those that failed.
    pub failed: u64,
    /// Handshakes that the peer did not finish in time.
    pub unfinished: u64,
    /// All others.
    pub others: u64,
}

/// What a [`Monitor`] sees at one moment.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Overview {
    /// Connections so far, those that are over included.
    pub connections: u64,
    /// Those that are open, the oldest first.
    pub open: Vec<ConnectionInfo>,
    /// All connections so far together, those that are over included: these counters only rise.
    pub totals: Totals,
    /// Peers that were turned away so far.
    pub refused: Refused,
    /// Clients' handshakes with QUIC that are not finished yet.
    pub handshakes: u64,
}

impl Monitor {
    /// A monitor without connections.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything at this moment.
    pub fn overview(&self) -> Overview {
        // A connection that ends meanwhile is counted once: its counters have stopped, and it leaves
        // `open` in the moment in which they are added to `over`.
        let table = lock(&self.0);
        let open = table.open.iter().filter_map(|(number, (role, shared))| {
            let shared = shared.upgrade()?;
            Some(shared.info(*number, *role))
        });
        let open: Vec<ConnectionInfo> = open.collect();
        let mut totals = table.over;
        for one in &open {
            totals.add(&one.stats, one.packets);
        }
        Overview {
            connections: table.connections,
            open,
            totals,
            refused: table.refused,
            handshakes: table.handshakes,
        }
    }

    /// A client's handshake begins.
    #[cfg(feature = "quic")]
    pub(crate) fn handshake_begins(&self) {
        lock(&self.0).handshakes += 1;
    }

    /// A client's handshake has ended, one way or the other.
    #[cfg(feature = "quic")]
    pub(crate) fn handshake_ends(&self) {
        lock(&self.0).handshakes -= 1;
    }

    /// A peer was turned away.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        let refused = &mut lock(&self.0).refused;
        let count = match refusal {
            Refusal::UnknownPeer { .. } => &mut refused.unknown_peers,
            Refusal::Full { .. } => &mut refused.full,
            Refusal::Crowded { .. } => &mut refused.crowded,
            Refusal::Handshake { .. } => &mut refused.failed,
            _ => &mut refused.others,
        };
        *count += 1;
    }

    /// A peer did not finish its handshake in time.
    pub(crate) fn unfinished(&self) {
        lock(&self.0).refused.unfinished += 1;
    }

    /// A connection begins; its number.
    pub(crate) fn enter(&self, role: Role, shared: &Arc<Shared>) -> u64 {
        let mut table = lock(&self.0);
        let number = table.connections;
        table.connections += 1;
        table.open.insert(number, (role, Arc::downgrade(shared)));
        number
    }

    /// The connection of this number is over.
    pub(crate) fn leave(&self, number: u64, shared: &Shared) {
        let (stats, packets) = (shared.stats(), shared.packets());
        let mut table = lock(&self.0);
        if table.open.remove(&number).is_some() {
            table.over.add(&stats, packets);
        }
    }
}

impl fmt::Debug for Monitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Monitor")
            .field("open", &lock(&self.0).open.len())
            .finish_non_exhaustive()
    }
}

impl Shared {
    fn info(&self, number: u64, role: Role) -> ConnectionInfo {
        let (stats, held, paths) = self.look(|state| {
            let session = &state.session;
            (session.stats(), session.held(), state.path_infos())
        });
        let carrier = &self.first.carrier;
        ConnectionInfo {
            number,
            is_accepted: role == Role::Server,
            peer: carrier.peer(),
            remote: self.remote_addr(),
            application_protocol: carrier.application_protocol(),
            age: self.age(),
            stats,
            paths,
            packets: self.packets(),
            held,
        }
    }

    fn stats(&self) -> Stats {
        self.look(|state| state.session.stats())
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::{EndpointConfig, InsecureEndpoint};

    #[tokio::test]
    async fn what_one_end_sends_the_other_receives_and_nothing_is_forgotten() {
        let monitors = [(); 2].map(|()| Monitor::new());
        let [client, server] = [0, 1].map(|which| {
            let config = EndpointConfig {
                monitor: monitors[which].clone(),
                ..EndpointConfig::default()
            };
            let local = (Ipv4Addr::LOCALHOST, 0).into();
            InsecureEndpoint::bind(local, config).expect("a port")
        });
        let addr = server.local_addr().expect("an address");
        for round in 1..=2_u64 {
            let connection = client.connect(addr).await.expect("a connection");
            let accepted = server.accept().await.expect("a connection");
            let receipt = connection.send_message(vec![7; 5000], None).await;
            receipt.expect("room").await.expect("delivered");
            accepted.recv_message().await.expect("a message");
            let [ours, theirs] = quiet(&monitors).await;
            assert_eq!((ours.open.len(), theirs.open.len()), (1, 1));
            assert!(!ours.open[0].is_accepted && theirs.open[0].is_accepted);
            assert_eq!(ours.open[0].remote, addr);
            assert_eq!(theirs.totals.stats.received.data, 5000 * round);
            connection.close(0, "");
            accepted.closed().await;
            drop((connection, accepted));
            client.wait_idle().await;
            server.wait_idle().await;
        }
        let [ours, theirs] = monitors.each_ref().map(Monitor::overview);
        assert!(ours.open.is_empty() && theirs.open.is_empty());
        assert_eq!((ours.connections, theirs.connections), (2, 2));
        assert_eq!(ours.totals.stats.sent.data, 10_000);
    }

    /// What both see once all that was sent has arrived: the counters of packets and datagrams agree.
    async fn quiet(monitors: &[Monitor; 2]) -> [Overview; 2] {
        for _ in 0..1000 {
            let both = monitors.each_ref().map(Monitor::overview);
            let [ours, theirs] = both.each_ref().map(|one| &one.open[0]);
            let sent = (ours.packets.sent, ours.packets.sent_bytes);
            if sent == (theirs.packets.received, theirs.packets.received_bytes)
                && theirs.packets.sent == ours.packets.received
                && ours.packets.sent == ours.stats.sent.datagrams
                && theirs.packets.received == theirs.stats.received.datagrams
            {
                return both;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("the counters do not agree: {monitors:?}");
    }
}
