//! The server's flows for one client: a separate socket for each, as a NAT would have.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use socket2::SockRef;
use tokio::net::UdpSocket;
use tokio::task::AbortHandle;
use weftline::Connection;

use super::counts::Snapshot;
use super::delivery::Delivery;
use super::event::{Event, OnEvent};
use super::room::{Room, SLACK};
use super::socket::connected;
use super::table::{Hostile, Table};
use super::wire::Head;
use crate::lock::lock;
use crate::quota::Share;

/// Datagrams read from a socket before other sockets get their turn.
const BATCH: usize = 64;
/// No datagram is longer.
const LONGEST: usize = 1 << 16;
/// The client reports when a flow ends; if it never does, the flow ends this much later.
const GRACE: Duration = Duration::from_secs(30);

/// The server's end of one client's flows. It outlives sessions.
pub(super) struct Far {
    room: Room,
    idle: Duration,
    state: Mutex<State>,
    on_event: OnEvent,
}

#[derive(Debug)]
struct State {
    table: Table<Outlet>,
    rules: Vec<Granted>,
    /// Numbers the sessions, so that the end of an old one does not end the next.
    generation: u64,
    used: Instant,
    /// For a datagram of any target.
    buffer: Vec<u8>,
}

/// A rule of the client, as granted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Granted {
    /// The addresses of its target; empty if it was refused.
    pub(super) target: Vec<SocketAddr>,
    /// How its flows are delivered.
    pub(super) delivery: Delivery,
}

/// A flow's socket. Dropping it stops the task that reads from it.
#[derive(Debug)]
struct Outlet {
    socket: Arc<UdpSocket>,
    reader: AbortHandle,
    _share: Share,
}

impl Drop for Outlet {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

impl Far {
    /// The flows of a client that may have `most` of them at once.
    pub(super) fn new(room: Room, most: usize, idle: Duration, on_event: OnEvent) -> Arc<Self> {
        let state = State {
            table: Table::new(most + SLACK),
            rules: Vec::new(),
            generation: 0,
            used: Instant::now(),
            buffer: Vec::new(),
        };
        Arc::new(Far {
            room,
            idle,
            state: Mutex::new(state),
            on_event,
        })
    }

    /// Attaches the client's new session, which replaces the old one. Returns the old session and
    /// the number of the new one.
    pub(super) fn attach(
        &self,
        session: Connection,
        rules: Vec<Granted>,
    ) -> (Option<Connection>, u64) {
        let mut state = lock(&self.state);
        if state.rules != rules {
            state.table.clear();
            state.rules = rules;
        }
        let old = state.table.detach();
        state.table.attach(session);
        state.generation += 1;
        (old, state.generation)
    }

    /// Detaches the session of this number, which has ended.
    pub(super) fn detach(&self, generation: u64) {
        let mut state = lock(&self.state);
        if state.generation == generation {
            state.table.detach();
            state.used = Instant::now();
        }
    }

    /// Stops reading from targets; returns the session.
    pub(super) fn stop(&self) -> Option<Connection> {
        let mut state = lock(&self.state);
        state.table.clear();
        state.table.detach()
    }

    /// Handles a message from the client. True: there is more for [`Far::hand_on`].
    ///
    /// # Errors
    /// No honest client would send the message.
    pub(super) fn inward(self: &Arc<Self>, message: Bytes) -> Result<bool, Hostile> {
        let state = &mut *lock(&self.state);
        match Head::take(message) {
            Some((head, datagram)) => self.take(state, head, datagram)?,
            None => state.table.stray(),
        }
        Ok(state.table.has_ready())
    }

    /// Delivers more of the waiting datagrams; false if there are no more.
    pub(super) fn hand_on(&self) -> bool {
        lock(&self.state).table.hand_on(deliver)
    }

    fn take(
        self: &Arc<Self>,
        state: &mut State,
        head: Head,
        datagram: Bytes,
    ) -> Result<(), Hostile> {
        let now = Instant::now();
        if !state.table.contains(head.flow) {
            let rule = state.rules.get(usize::from(head.rule));
            let Some(rule) = rule.filter(|r| !r.target.is_empty()) else {
                state.table.stray();
                return Ok(());
            };
            let room = state.table.make_room(now);
            let outlet = self.outlet(head.flow, &rule.target);
            let (Ok(_), Ok(outlet)) = (room, outlet) else {
                state.table.refuse();
                return Ok(());
            };
            let delivery = rule.delivery;
            state
                .table
                .insert(head.flow, head.rule, delivery, outlet, now);
        }
        state.table.receive(head, datagram, now, deliver)
    }

    /// Ends the flows that the client has ended.
    pub(super) fn end(&self, flows: &[u32]) {
        let mut state = lock(&self.state);
        for id in flows {
            state.table.remove(*id);
        }
    }

    /// Ends flows that were idle for too long. True: the client has no flows left.
    pub(super) fn sweep(&self) -> bool {
        let mut state = lock(&self.state);
        let now = Instant::now();
        // Without a session the client cannot report the end of its flows; they need no longer
        // life.
        let grace = match state.table.is_attached() {
            true => self.idle + GRACE,
            false => self.idle,
        };
        state.table.expire(now, grace);
        !state.table.is_attached()
            && state.table.is_empty()
            && now.saturating_duration_since(state.used) >= self.idle.min(GRACE)
    }

    /// Bytes held back to restore the order.
    pub(super) fn held(&self) -> u64 {
        lock(&self.state).table.held() as u64
    }

    /// Current counters.
    pub(super) fn snapshot(&self) -> Snapshot {
        let table = &lock(&self.state).table;
        let client = table.session().map(|session| session.remote_addr());
        table.snapshot(|outlet, _| {
            let target = outlet.socket.peer_addr().ok();
            [client, target].map(|addr| addr.map(|addr| addr.to_string()).unwrap_or_default())
        })
    }

    /// A socket connected to the first of these addresses that can be used.
    fn outlet(self: &Arc<Self>, flow: u32, targets: &[SocketAddr]) -> io::Result<Outlet> {
        let share = self.room.flow().map_err(io::Error::other)?;
        let mut result = Err(io::Error::from(io::ErrorKind::AddrNotAvailable));
        for &target in targets {
            result = connected(target);
            if result.is_ok() {
                break;
            }
        }
        let socket = Arc::new(result?);
        let reading = listen(Arc::downgrade(self), flow, socket.clone());
        let reader = tokio::spawn(reading).abort_handle();
        Ok(Outlet {
            socket,
            reader,
            _share: share,
        })
    }
}

fn deliver(outlet: &Outlet, datagram: &[u8]) -> bool {
    // Not the runtime's own call, which fails until the runtime has registered a new socket.
    let socket = SockRef::from(&*outlet.socket);
    match socket.send(datagram) {
        // The first call after an ICMP error reports that error, and sends nothing.
        Err(error) if is_refusal(&error) => socket.send(datagram).is_ok(),
        sent => sent.is_ok(),
    }
}

/// Whether the error reports that nothing listened at the target some time ago.
fn is_refusal(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::ConnectionRefused
}

/// Reads the target's answers until the flow ends.
async fn listen(far: Weak<Far>, flow: u32, socket: Arc<UdpSocket>) {
    while socket.readable().await.is_ok() {
        let Some(far) = far.upgrade() else { return };
        let mut in_pieces = None;
        let mut state = lock(&far.state);
        let State { table, buffer, .. } = &mut *state;
        buffer.resize(LONGEST, 0);
        for _ in 0..BATCH {
            match socket.try_recv(buffer) {
                Ok(len) => {
                    let sent = table.send(flow, &buffer[..len], Instant::now());
                    in_pieces = in_pieces.or(sent);
                }
                // Nothing listens there now; something may later.
                Err(error) if is_refusal(&error) => {}
                Err(_) => break,
            }
        }
        drop(state);
        if let Some(in_pieces) = in_pieces {
            (far.on_event)(Event::InPieces(in_pieces));
        }
    }
}
