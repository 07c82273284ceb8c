//! Plain UDP: for the laboratory, and for links that you own. **Nothing is encrypted or
//! authenticated.**
//!
//! A datagram is an 8-byte session id, big endian, and the engine's datagram. The client draws
//! the id at random; with the sender's address it names the connection. An attacker on the
//! path can read, change, inject and end everything, and a spoofed HELLO takes one of the
//! bounded places until its connection times out.

use std::collections::{HashMap, VecDeque};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use quinn_udp::{RecvMeta, Transmit, UdpSocketState};
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use weftline_proto::{CloseReason, wire};

use super::socket;
use crate::lock::lock;
use crate::{BindError, EndpointConfig, Packets, random};

/// Bytes that this carrier puts before a datagram.
pub(crate) const OVERHEAD: u16 = 8;
/// IPv6, UDP and the session id.
const HEADERS: usize = 48 + OVERHEAD as usize;
/// Every path takes the least MTU of IPv6, and none takes more than UDP.
pub(crate) const DATAGRAMS: RangeInclusive<usize> = 1280 - HEADERS..=65_535 - HEADERS;
/// What an Ethernet path takes, where the system may cut datagrams into fragments: then no probe tells
/// more.
pub(crate) const MAX_DATAGRAM: usize = 1500 - HEADERS;

/// Bytes that leave at once.
pub(super) const ROOM: usize = 64 << 10;

const ID_BYTES: usize = OVERHEAD as usize;
/// Buffers filled at a time, and bytes of each: one takes as many datagrams of a peer as arrived
/// together.
const BUFFERS: usize = 8;
const BUFFER: usize = 1 << 16;
/// Bytes that the system cuts into datagrams at most.
const CUT: usize = 65_000;
/// Datagrams held for one connection; when it is slow, further ones are lost.
const INBOX: usize = 2048;
/// New connections accepted in a second.
const NEW_PER_SECOND: u32 = 32;
/// Ended connections remembered, so that a late HELLO does not start them again.
const ENDED: usize = 256;

type Key = (SocketAddr, u64);

/// An endpoint of this carrier.
pub(crate) struct Udp {
    socket: Arc<Socket>,
    table: Arc<Table>,
}

impl Udp {
    /// Also gives the connections that peers open.
    pub(crate) fn new(
        socket: std::net::UdpSocket,
        config: &EndpointConfig,
    ) -> Result<(Self, mpsc::Receiver<Link>), BindError> {
        let socket = Socket::new(socket, config.segmentation_offload);
        let socket = Arc::new(socket.map_err(BindError::Given)?);
        let (opened, incoming) = mpsc::channel(config.max_sessions);
        let table = Arc::new(Table::default());
        tokio::spawn(demultiplex(socket.clone(), table.clone(), opened));
        Ok((Udp { socket, table }, incoming))
    }

    pub(crate) fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.io.local_addr()
    }

    /// A connection of our own; nothing is sent yet.
    pub(crate) fn connect(&self, addr: SocketAddr) -> io::Result<Link> {
        let v6 = self.socket.io.local_addr()?.is_ipv6();
        if addr.is_ipv6() && !v6 {
            return Err(io::Error::other("an IPv4 socket cannot reach IPv6"));
        }
        let addr = socket::for_family(addr, v6);
        let mut id = [0; ID_BYTES];
        random::fill(&mut id)?;
        let key = (addr, u64::from_be_bytes(id));
        let (inbox, received) = mpsc::channel(INBOX);
        lock(&self.table.rows).connections.insert(key, inbox);
        Ok(Link::new(&self.socket, &self.table, key, received))
    }

    /// Answers no further peers.
    pub(crate) fn stop_listening(&self) {
        lock(&self.table.rows).listening = false;
        self.table.changed.notify_one();
    }
}

impl Drop for Udp {
    fn drop(&mut self) {
        let mut table = lock(&self.table.rows);
        table.listening = false;
        table.bound = false;
        self.table.changed.notify_one();
    }
}

/// A UDP socket that sends and receives several datagrams at a time.
struct Socket {
    io: UdpSocket,
    state: UdpSocketState,
    segmentation: bool,
}

impl Socket {
    fn new(socket: std::net::UdpSocket, segmentation: bool) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let io = UdpSocket::from_std(socket)?;
        Ok(Socket {
            state: UdpSocketState::new((&io).into())?,
            io,
            segmentation,
        })
    }

    /// Datagrams that leave together at most.
    fn segments(&self) -> usize {
        match self.segmentation {
            true => self.state.max_gso_segments(),
            false => 1,
        }
    }

    /// Sends datagrams of `segment` bytes; the last may be shorter.
    async fn send(&self, destination: SocketAddr, contents: &[u8], segment: usize) {
        let transmit = Transmit {
            destination,
            ecn: None,
            contents,
            segment_size: (contents.len() > segment).then_some(segment),
            src_ip: None,
        };
        let send = || self.state.try_send((&self.io).into(), &transmit);
        // A full queue or an unreachable peer is a loss like any other: the connection's timers
        // find out whether it lasts.
        if let Err(error) = self.io.async_io(Interest::WRITABLE, send).await {
            tracing::debug!(%error, "datagram not sent");
        }
    }

    /// Waits for datagrams; how many buffers are filled.
    async fn recv(&self, buffers: &mut [u8], meta: &mut [RecvMeta]) -> io::Result<usize> {
        let mut slices: [_; BUFFERS] = {
            let mut chunks = buffers.chunks_exact_mut(BUFFER).map(IoSliceMut::new);
            std::array::from_fn(|_| chunks.next().unwrap_or_else(|| IoSliceMut::new(&mut [])))
        };
        let mut recv = || self.state.recv((&self.io).into(), &mut slices, meta);
        self.io.async_io(Interest::READABLE, &mut recv).await
    }
}

/// One connection's share of the socket.
pub(crate) struct Link {
    socket: Arc<Socket>,
    table: Arc<Table>,
    key: Key,
    received: tokio::sync::Mutex<mpsc::Receiver<Bytes>>,
    packets: Mutex<Packets>,
}

impl Link {
    fn new(
        socket: &Arc<Socket>,
        table: &Arc<Table>,
        key: Key,
        received: mpsc::Receiver<Bytes>,
    ) -> Self {
        Link {
            socket: socket.clone(),
            table: table.clone(),
            key,
            received: tokio::sync::Mutex::new(received),
            packets: Mutex::default(),
        }
    }

    pub(crate) async fn send(&self, datagrams: &mut VecDeque<Bytes>) -> Result<(), CloseReason> {
        let (addr, id) = self.key;
        let mut bytes = Vec::new();
        while let Some(first) = datagrams.front() {
            let segment = ID_BYTES + first.len();
            let most = (CUT / segment).clamp(1, self.socket.segments());
            let like_first = datagrams.iter().take(most);
            let mut count = 0;
            bytes.clear();
            // All are as long as the first; a shorter one may be the last.
            for datagram in like_first.take_while(|datagram| datagram.len() <= first.len()) {
                bytes.extend_from_slice(&id.to_be_bytes());
                bytes.extend_from_slice(datagram);
                count += 1;
                if datagram.len() < first.len() {
                    break;
                }
            }
            self.socket.send(addr, &bytes, segment).await;
            let mut packets = self.counted();
            packets.sent += count as u64;
            packets.sent_bytes += bytes.len() as u64;
            drop(packets);
            datagrams.drain(..count);
        }
        Ok(())
    }

    pub(crate) async fn recv(
        &self,
        batch: &mut Vec<Bytes>,
        limit: usize,
    ) -> Result<(), CloseReason> {
        let before = batch.len();
        match self.received.lock().await.recv_many(batch, limit).await {
            0 => Err(CloseReason::Local),
            count => {
                let new = batch[before..].iter().map(|d| ID_BYTES + d.len());
                let mut packets = self.counted();
                packets.received += count as u64;
                packets.received_bytes += new.sum::<usize>() as u64;
                Ok(())
            }
        }
    }

    pub(crate) fn packets(&self) -> Packets {
        *self.counted()
    }

    fn counted(&self) -> MutexGuard<'_, Packets> {
        lock(&self.packets)
    }

    pub(crate) fn close(&self) {
        let mut table = lock(&self.table.rows);
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

    pub(crate) fn may_fragment(&self) -> bool {
        self.socket.state.may_fragment()
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
    /// Gives datagrams of `stride` bytes to their connections; a HELLO of an unknown one makes a new
    /// one, which `open` takes.
    fn deliver(
        self: &Arc<Self>,
        socket: &Arc<Socket>,
        addr: SocketAddr,
        bytes: &[u8],
        stride: usize,
        mut open: impl FnMut(Link),
    ) {
        for bytes in bytes.chunks(stride.max(1)) {
            let Some((id, datagram)) = bytes.split_first_chunk::<ID_BYTES>() else {
                continue;
            };
            let key = (addr, u64::from_be_bytes(*id));
            let mut rows = lock(&self.rows);
            if let Some(inbox) = rows.connections.get(&key) {
                inbox.try_send(Bytes::copy_from_slice(datagram)).ok();
                continue;
            }
            if !rows.listening
                || !wire::is_hello(datagram)
                || rows.ended.contains(&key)
                || !rows.allowance.take(Instant::now())
            {
                continue;
            }
            let (inbox, received) = mpsc::channel(INBOX);
            inbox.try_send(Bytes::copy_from_slice(datagram)).ok();
            rows.connections.insert(key, inbox);
            drop(rows);
            open(Link::new(socket, self, key, received));
        }
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
async fn demultiplex(socket: Arc<Socket>, table: Arc<Table>, opened: mpsc::Sender<Link>) {
    let mut opened = Some(opened);
    let mut buffers = vec![0; BUFFERS * BUFFER];
    let mut meta = [RecvMeta::default(); BUFFERS];
    loop {
        {
            let rows = lock(&table.rows);
            if !rows.listening {
                opened = None;
            }
            if !rows.bound && rows.connections.is_empty() {
                return;
            }
        }
        let received = tokio::select! {
            received = socket.recv(&mut buffers, &mut meta) => received,
            () = table.changed.notified() => continue,
        };
        match received {
            Ok(filled) => {
                let filled = meta[..filled].iter().zip(buffers.chunks_exact(BUFFER));
                for (meta, buffer) in filled {
                    let bytes = &buffer[..meta.len.min(BUFFER)];
                    table.deliver(&socket, meta.addr, bytes, meta.stride, |link| {
                        // A full queue drops the link, which takes it out of the table.
                        if let Some(opened) = &opened {
                            opened.try_send(link).ok();
                        }
                    });
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
