//! Plain UDP: for the laboratory, and for links that you own. **Nothing is encrypted or
//! authenticated.**
//!
//! A datagram is an 8-byte session id, big endian, and the engine's datagram. The client draws
//! the id at random; with the sender's address it names the connection. An attacker on the
//! path can read, change, inject and end everything, and a spoofed HELLO takes one of the
//! bounded places until its connection times out.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::net::UdpSocket;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use weftline_proto::{CloseReason, wire};

use super::socket;
use crate::{BindError, EndpointConfig, random};

/// Bytes that this carrier puts before a datagram.
pub(crate) const OVERHEAD: u16 = 8;
/// An Ethernet path's 1500 bytes less IPv6, UDP and the session id.
pub(crate) const MAX_DATAGRAM: usize = 1500 - 48 - OVERHEAD as usize;

/// Bytes that leave at once.
pub(super) const ROOM: usize = 64 << 10;

const ID_BYTES: usize = OVERHEAD as usize;
/// Datagrams held for one connection; when it is slow, further ones are lost.
const INBOX: usize = 2048;
/// New connections accepted in a second.
const NEW_PER_SECOND: u32 = 32;
/// Ended connections remembered, so that a late HELLO does not start them again.
const ENDED: usize = 256;

type Key = (SocketAddr, u64);

/// An endpoint of this carrier.
pub(crate) struct Udp {
    socket: Arc<UdpSocket>,
    table: Arc<Table>,
}

impl Udp {
    /// Also gives the connections that peers open.
    pub(crate) fn new(
        socket: std::net::UdpSocket,
        config: &EndpointConfig,
    ) -> Result<(Self, mpsc::Receiver<Link>), BindError> {
        socket.set_nonblocking(true).map_err(BindError::Given)?;
        let socket = UdpSocket::from_std(socket).map_err(BindError::Given)?;
        let socket = Arc::new(socket);
        let (opened, incoming) = mpsc::channel(config.max_sessions);
        let table = Arc::new(Table::default());
        tokio::spawn(demultiplex(socket.clone(), table.clone(), opened));
        Ok((Udp { socket, table }, incoming))
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// A connection of our own; nothing is sent yet.
    pub(crate) fn connect(&self, addr: SocketAddr) -> io::Result<Link> {
        let v6 = self.socket.local_addr()?.is_ipv6();
        if addr.is_ipv6() && !v6 {
            return Err(io::Error::other("an IPv4 socket cannot reach IPv6"));
        }
        let addr = socket::for_family(addr, v6);
        let mut id = [0; ID_BYTES];
        random::fill(&mut id)?;
        let key = (addr, u64::from_be_bytes(id));
        let (inbox, received) = mpsc::channel(INBOX);
        self.table.lock().connections.insert(key, inbox);
        Ok(Link::new(&self.socket, &self.table, key, received))
    }

    /// Answers no further peers.
    pub(crate) fn stop_listening(&self) {
        self.table.lock().listening = false;
        self.table.changed.notify_one();
    }
}

impl Drop for Udp {
    fn drop(&mut self) {
        let mut table = self.table.lock();
        table.listening = false;
        table.bound = false;
        self.table.changed.notify_one();
    }
}

/// One connection's share of the socket.
pub(crate) struct Link {
    socket: Arc<UdpSocket>,
    table: Arc<Table>,
    key: Key,
    received: tokio::sync::Mutex<mpsc::Receiver<Bytes>>,
}

impl Link {
    fn new(
        socket: &Arc<UdpSocket>,
        table: &Arc<Table>,
        key: Key,
        received: mpsc::Receiver<Bytes>,
    ) -> Self {
        Link {
            socket: socket.clone(),
            table: table.clone(),
            key,
            received: tokio::sync::Mutex::new(received),
        }
    }

    pub(crate) async fn send(&self, datagrams: &mut VecDeque<Bytes>) -> Result<(), CloseReason> {
        let (addr, id) = self.key;
        let mut bytes = Vec::new();
        while let Some(datagram) = datagrams.front() {
            bytes.clear();
            bytes.extend_from_slice(&id.to_be_bytes());
            bytes.extend_from_slice(datagram);
            // A full queue or an unreachable peer is a loss like any other: the connection's timers
            // find out whether it lasts.
            if let Err(error) = self.socket.send_to(&bytes, addr).await {
                tracing::debug!(%error, "datagram not sent");
            }
            datagrams.pop_front();
        }
        Ok(())
    }

    pub(crate) async fn recv(
        &self,
        batch: &mut Vec<Bytes>,
        limit: usize,
    ) -> Result<(), CloseReason> {
        match self.received.lock().await.recv_many(batch, limit).await {
            0 => Err(CloseReason::Local),
            _ => Ok(()),
        }
    }

    pub(crate) fn close(&self) {
        let mut table = self.table.lock();
        if table.connections.remove(&self.key).is_some() {
            if table.ended.len() == ENDED {
                table.ended.pop_front();
            }
            table.ended.push_back(self.key);
            self.table.changed.notify_one();
        }
    }

    pub(crate) fn remote_addr(&self) -> SocketAddr {
        self.key.0
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
    }
}

/// The connections that share a socket.
struct Table {
    rows: Mutex<Rows>,
    changed: Notify,
}

struct Rows {
    connections: HashMap<Key, mpsc::Sender<Bytes>>,
    ended: VecDeque<Key>,
    /// New connections are accepted.
    listening: bool,
    /// The endpoint exists, and may open connections.
    bound: bool,
    allowance: Allowance,
}

impl Default for Table {
    fn default() -> Self {
        Table {
            rows: Mutex::new(Rows {
                connections: HashMap::new(),
                ended: VecDeque::new(),
                listening: true,
                bound: true,
                allowance: Allowance::new(),
            }),
            changed: Notify::new(),
        }
    }
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a datagram to its connection; a HELLO of an unknown one makes a new one.
    fn deliver(
        self: &Arc<Self>,
        socket: &Arc<UdpSocket>,
        addr: SocketAddr,
        bytes: &[u8],
    ) -> Option<Link> {
        let (id, datagram) = bytes.split_first_chunk::<ID_BYTES>()?;
        let key = (addr, u64::from_be_bytes(*id));
        let mut rows = self.lock();
        if let Some(inbox) = rows.connections.get(&key) {
            inbox.try_send(Bytes::copy_from_slice(datagram)).ok();
            return None;
        }
        if !rows.listening
            || !wire::is_hello(datagram)
            || rows.ended.contains(&key)
            || !rows.allowance.take(Instant::now())
        {
            return None;
        }
        let (inbox, received) = mpsc::channel(INBOX);
        inbox.try_send(Bytes::copy_from_slice(datagram)).ok();
        rows.connections.insert(key, inbox);
        drop(rows);
        Some(Link::new(socket, self, key, received))
    }
}

/// A token bucket for new connections.
struct Allowance {
    tokens: f64,
    filled: Instant,
}

impl Allowance {
    fn new() -> Self {
        Allowance {
            tokens: f64::from(NEW_PER_SECOND),
            filled: Instant::now(),
        }
    }

    fn take(&mut self, now: Instant) -> bool {
        let elapsed: Duration = now.saturating_duration_since(self.filled);
        let most = f64::from(NEW_PER_SECOND);
        self.tokens = (self.tokens + elapsed.as_secs_f64() * most).min(most);
        self.filled = now;
        if self.tokens < 1.0 {
            return false;
        }
        self.tokens -= 1.0;
        true
    }
}

/// Reads the socket until the endpoint and all its connections have gone.
async fn demultiplex(socket: Arc<UdpSocket>, table: Arc<Table>, opened: mpsc::Sender<Link>) {
    let mut opened = Some(opened);
    let mut buffer = vec![0; 1 << 16];
    loop {
        {
            let rows = table.lock();
            if !rows.listening {
                opened = None;
            }
            if !rows.bound && rows.connections.is_empty() {
                return;
            }
        }
        let received = tokio::select! {
            received = socket.recv_from(&mut buffer) => received,
            () = table.changed.notified() => continue,
        };
        match received {
            Ok((len, addr)) => {
                if let Some(link) = table.deliver(&socket, addr, &buffer[..len])
                    && let Some(opened) = &opened
                {
                    // A full queue drops the link, which takes it out of the table.
                    opened.try_send(link).ok();
                }
            }
            Err(error) => {
                tracing::debug!(%error, "socket");
                // Most errors here are late news of a datagram sent; one that stays must not spin.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_connections_are_limited_but_not_for_ever() {
        let mut allowance = Allowance::new();
        let start = allowance.filled;
        let taken = (0..1000).filter(|_| allowance.take(start)).count();
        assert_eq!(taken, NEW_PER_SECOND as usize);
        assert!(allowance.take(start + Duration::from_millis(100)));
        let later = start + Duration::from_secs(3600);
        let taken = (0..1000).filter(|_| allowance.take(later)).count();
        assert_eq!(taken, NEW_PER_SECOND as usize);
    }
}
