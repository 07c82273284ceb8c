//! The client's flows: each from a local program to a target.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::net::UdpSocket;
use weftline::Connection;

use super::event::{Event, InPieces, OnEvent};
use super::rule::Rule;
use super::socket::bound;
use super::table::{Hostile, Table};
use super::wire::Head;
use crate::lock::lock;

/// Datagrams read from a socket before other sockets get their turn.
const BATCH: usize = 64;

/// The client's end of all flows.
pub(super) struct Near {
    rules: Vec<Rule>,
    sockets: Vec<UdpSocket>,
    most: usize,
    state: Mutex<State>,
    on_event: OnEvent,
}

#[derive(Debug)]
struct State {
    table: Table<Program>,
    ids: HashMap<Program, u32>,
    next: u32,
    /// Flows that have ended without the server knowing yet.
    gone: Vec<u32>,
}

/// A local program's address, and the rule that it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Program {
    rule: u8,
    addr: SocketAddr,
}

impl Near {
    /// Opens the local sockets of these rules; the caller bounds their number.
    ///
    /// # Errors
    /// The address that cannot be used, and the reason.
    pub(super) fn open(
        rules: Vec<Rule>,
        most: usize,
        on_event: OnEvent,
    ) -> Result<Self, (SocketAddr, io::Error)> {
        let open = |rule: &Rule| {
            let at = rule.listen;
            bound(at).map_err(|e| (at, e))
        };
        let sockets = rules.iter().map(open).collect::<Result<_, _>>()?;
        let state = State {
            table: Table::new(most),
            ids: HashMap::new(),
            next: 0,
            gone: Vec::new(),
        };
        Ok(Near {
            rules,
            sockets,
            most,
            state: Mutex::new(state),
            on_event,
        })
    }

    /// Sends the datagrams of local programs, for as long as it is polled.
    pub(super) async fn listen(self: Arc<Self>, rule: u8) {
        let Some(socket) = self.sockets.get(usize::from(rule)) else {
            return;
        };
        let mut buffer = vec![0; 1 << 16];
        // This fails only when the runtime ends.
        while socket.readable().await.is_ok() {
            let mut in_pieces = None;
            let mut state = lock(&self.state);
            for _ in 0..BATCH {
                // Errors other than an empty socket report earlier sends.
                let Ok((len, addr)) = socket.try_recv_from(&mut buffer) else {
                    break;
                };
                let program = Program { rule, addr };
                in_pieces = in_pieces.or(state.outward(&self.rules, program, &buffer[..len]));
            }
            drop(state);
            if let Some(in_pieces) = in_pieces {
                (self.on_event)(Event::InPieces(in_pieces));
            }
        }
    }

    /// Attaches a new session. The server keeps `most` flows; this end may allow more.
    pub(super) fn attach(&self, session: Connection, most: usize) {
        let mut state = lock(&self.state);
        let most = most.min(self.most);
        state.table.limit(most);
        state.table.attach(session);
    }

    /// Detaches the session and returns it.
    pub(super) fn detach(&self) -> Option<Connection> {
        lock(&self.state).table.detach()
    }

    /// Handles a message from the server. True: there is more for [`Near::hand_on`].
    ///
    /// # Errors
    /// No honest server would send the message.
    pub(super) fn inward(&self, message: Bytes) -> Result<bool, Hostile> {
        let table = &mut lock(&self.state).table;
        match Head::take(message) {
            Some((head, datagram)) => {
                table.receive(head, datagram, Instant::now(), |to, data| {
                    self.deliver(to, data)
                })?
            }
            None => table.stray(),
        }
        Ok(table.has_ready())
    }

    /// Delivers more of the waiting datagrams; false if there are no more.
    pub(super) fn hand_on(&self) -> bool {
        let table = &mut lock(&self.state).table;
        table.hand_on(|program, datagram| self.deliver(program, datagram))
    }

    fn deliver(&self, program: &Program, datagram: &[u8]) -> bool {
        let socket = self.sockets.get(usize::from(program.rule));
        socket.is_some_and(|s| s.try_send_to(datagram, program.addr).is_ok())
    }

    /// Ends the flows that were idle for this long; returns those that the server should drop.
    pub(super) fn expire(&self, idle: Duration) -> Vec<u32> {
        let state = &mut *lock(&self.state);
        for (id, program) in state.table.expire(Instant::now(), idle) {
            state.ids.remove(&program);
            state.gone.push(id);
        }
        std::mem::take(&mut state.gone)
    }

    /// Current counters.
    pub(super) fn snapshot(&self) -> super::counts::Snapshot {
        let target = |rule: u8| self.rules.get(usize::from(rule));
        lock(&self.state).table.snapshot(|program, rule| {
            let target = target(rule).map(|rule| rule.target.to_string());
            [program.addr.to_string(), target.unwrap_or_default()]
        })
    }

    /// The bound addresses.
    ///
    /// # Errors
    /// The system's error.
    pub(super) fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        self.sockets.iter().map(UdpSocket::local_addr).collect()
    }

    /// The current session.
    #[cfg(test)]
    pub(super) fn session(&self) -> Option<Connection> {
        lock(&self.state).table.session().cloned()
    }

    /// The rules.
    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

impl State {
    /// Sends a program's datagram; returns it if it is the first that travels in pieces.
    fn outward(&mut self, rules: &[Rule], program: Program, datagram: &[u8]) -> Option<InPieces> {
        let now = Instant::now();
        let id = match self.ids.get(&program) {
            Some(&id) => id,
            None => match self.add(rules, program, now) {
                Some(id) => id,
                None => {
                    self.table.refuse();
                    return None;
                }
            },
        };
        self.table.send(id, datagram, now)
    }

    fn add(&mut self, rules: &[Rule], program: Program, now: Instant) -> Option<u32> {
        let rule = rules.get(usize::from(program.rule))?;
        if let Some((id, evicted)) = self.table.make_room(now).ok()? {
            self.ids.remove(&evicted);
            self.gone.push(id);
        }
        let id = self.next;
        self.next = self.next.wrapping_add(1);
        self.table
            .insert(id, program.rule, rule.delivery, program, now);
        self.ids.insert(program, id);
        Some(id)
    }
}
