//! A driver of several sessions over one UDP socket, without threads and without an async runtime: a
//! server that holds sessions with several clients by address, and clients, in one program over
//! loopback. Each client sends a stream, the server checks every byte and answers with its length.
//! `cargo run -p weftline-proto --example udp -- 20` loses every 20th datagram that is sent.
//!
//! Nothing is encrypted and nobody is authenticated here; the crate's documentation says how to add it.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use weftline_proto::{
    CloseReason, Config, Event, Output, ReadError, Role, Session, StreamId, Time, WriteError,
};

const CLIENTS: u64 = 6;
const BYTES: u64 = 500_000;
/// Sessions that the server holds at once. The clients beyond it greet again until there is room.
const MOST_SESSIONS: usize = 4;
/// Datagrams taken from the socket before timers get their turn.
const BATCH: usize = 64;
/// The first byte of a HELLO (docs/protocol.md, section 2): the only datagram that opens a session.
const HELLO: u8 = 5;

/// What a program does with its sessions, as told by their events.
trait Application {
    fn on_event(&mut self, now: Time, session: &mut Session, event: Event);
}

/// A session and its application.
struct Peer<A> {
    session: Session,
    application: A,
    /// When to call `handle_timeout`; `None`: the session is over.
    timer: Option<Time>,
}

/// One socket and the sessions that share it.
struct Endpoint<A> {
    socket: UdpSocket,
    peers: BTreeMap<SocketAddr, Peer<A>>,
    /// A datagram that the socket had no room for. Nothing else is sent before it.
    waiting: Option<(SocketAddr, Vec<u8>)>,
    seed: u64,
    sent: u64,
    lose: u64,
}

impl<A: Application> Endpoint<A> {
    fn bind(lose: u64) -> io::Result<Self> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        Ok(Endpoint {
            socket,
            peers: BTreeMap::new(),
            waiting: None,
            seed: 0,
            sent: 0,
            lose,
        })
    }

    /// Adds a session with the end at `address`.
    fn open(&mut self, role: Role, address: SocketAddr, application: A, now: Time) {
        let mut config = Config::default();
        // IP and UDP put this many bytes before each datagram.
        config.datagram_overhead = 28;
        self.seed += 1;
        let session = Session::new(role, config, self.seed, now);
        let mut session = session.expect("the configuration is possible");
        let fits = session.set_largest_datagram(1452);
        fits.expect("UDP takes as much");
        let peer = Peer {
            session,
            application,
            timer: Some(now),
        };
        self.peers.insert(address, peer);
    }

    /// Takes the datagrams that are there. `accept` makes the application of a new peer, or turns it
    /// away; a client accepts nobody.
    fn receive(&mut self, now: Time, accept: impl Fn(usize) -> Option<A>) -> io::Result<()> {
        let mut buf = [0; 2048];
        for _ in 0..BATCH {
            let (len, from) = match self.socket.recv_from(&mut buf) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                // An earlier datagram was not delivered: the session notices that by itself.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            };
            let datagram = &buf[..len];
            if !self.peers.contains_key(&from)
                && datagram.first() == Some(&HELLO)
                && let Some(application) = accept(self.peers.len())
            {
                self.open(Role::Server, from, application, now);
            }
            if let Some(peer) = self.peers.get_mut(&from) {
                peer.session.handle_datagram(now, datagram);
            }
        }
        Ok(())
    }

    /// Calls the timers that are due, does what the sessions ask for, and forgets those that are over.
    /// Returns the next timer. All peers are looked at: for thousands of them keep the timers in a
    /// heap, and a list of the sessions that something has changed.
    fn drive(&mut self, now: Time) -> Option<Time> {
        let waiting = self.waiting.take();
        if let Some((address, datagram)) = waiting {
            self.send(address, datagram);
        }
        let addresses: Vec<SocketAddr> = self.peers.keys().copied().collect();
        for address in addresses {
            self.drain(address, now);
        }
        self.peers.retain(|_, peer| peer.timer.is_some());
        self.peers.values().filter_map(|peer| peer.timer).min()
    }

    /// Does what one session asks for until it names its next timer.
    fn drain(&mut self, address: SocketAddr, now: Time) {
        let mut datagram = Vec::new();
        if let Some(peer) = self.peers.get_mut(&address)
            && peer.timer.is_some_and(|due| due <= now)
        {
            peer.session.handle_timeout(now);
        }
        // The session decides late what to send: it is not asked while the socket has no room.
        while self.waiting.is_none() {
            let Some(peer) = self.peers.get_mut(&address) else {
                return;
            };
            match peer.session.poll_output(now, &mut datagram) {
                Output::Transmit => self.send(address, std::mem::take(&mut datagram)),
                Output::Event(event) => peer.application.on_event(now, &mut peer.session, event),
                Output::Timeout(timer) => {
                    peer.timer = timer;
                    return;
                }
            }
        }
    }

    fn send(&mut self, address: SocketAddr, datagram: Vec<u8>) {
        self.sent += 1;
        if self.lose != 0 && self.sent.is_multiple_of(self.lose) {
            return;
        }
        match self.socket.send_to(&datagram, address) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.waiting = Some((address, datagram));
            }
            // What cannot be sent is a lost datagram, which the session repairs.
            _ => {}
        }
    }
}

/// Byte `at` of the stream of client `number`.
fn byte(number: u64, at: u64) -> u8 {
    (number * 101 + at * 31 + at / 997) as u8
}

/// Writes a stream, and closes the session when the answer is right.
struct Client {
    number: u64,
    written: u64,
    answer: Vec<u8>,
}

impl Client {
    fn write(&mut self, session: &mut Session, stream: StreamId) {
        while self.written < BYTES {
            let chunk = self.written..BYTES.min(self.written + 10_000);
            let chunk: Vec<u8> = chunk.map(|at| byte(self.number, at)).collect();
            match session.write(stream, &chunk) {
                Ok(accepted) => self.written += accepted as u64,
                Err(WriteError::Blocked) => return,
                Err(error) => panic!("client {}: {error}", self.number),
            }
        }
        session.finish(stream).expect("it is finished once");
    }
}

impl Application for Client {
    fn on_event(&mut self, now: Time, session: &mut Session, event: Event) {
        match event {
            Event::Connected => {
                let stream = session.open_stream().expect("a first stream is allowed");
                self.write(session, stream);
            }
            Event::StreamWritable(stream) if self.written < BYTES => self.write(session, stream),
            Event::StreamReadable(stream) => {
                let end = read(session, stream, |bytes| self.answer.extend(bytes));
                if end {
                    assert_eq!(self.answer, BYTES.to_be_bytes(), "client {}", self.number);
                    session.close(now, 0, "");
                }
            }
            // It ends in no other way than this.
            Event::Closed(reason) => assert_eq!(reason, CloseReason::Local),
            _ => {}
        }
    }
}

/// Checks a stream, and answers with its length.
struct Server {
    number: Option<u64>,
    checked: u64,
}

impl Application for Server {
    fn on_event(&mut self, _: Time, session: &mut Session, event: Event) {
        if event == Event::StreamOpened {
            while session.accept_stream().is_some() {}
        }
        let Event::StreamReadable(stream) = event else {
            return;
        };
        let end = read(session, stream, |bytes| {
            let first = bytes.first().copied();
            // The first byte tells which client it is.
            let number = *self.number.get_or_insert_with(|| {
                let found = (0..CLIENTS).find(|number| Some(byte(*number, 0)) == first);
                found.expect("a client begins with its number")
            });
            for got in bytes {
                assert_eq!(*got, byte(number, self.checked), "client {number}");
                self.checked += 1;
            }
        });
        if end {
            let answer = self.checked.to_be_bytes();
            let accepted = session.write(stream, &answer).expect("there is room");
            assert_eq!(accepted, answer.len());
            session.finish(stream).expect("it is finished once");
        }
    }
}

/// Reads what is there; true at the end of the stream.
fn read(session: &mut Session, stream: StreamId, mut on_bytes: impl FnMut(&[u8])) -> bool {
    let mut buf = [0; 4096];
    loop {
        match session.read(stream, &mut buf) {
            Ok(0) => return true,
            Ok(len) => on_bytes(&buf[..len]),
            Err(ReadError::Blocked) => return false,
            Err(error) => panic!("{error}"),
        }
    }
}

fn main() -> io::Result<()> {
    let lose = std::env::args().nth(1);
    let lose = lose.map_or(20, |every| every.parse().expect("a number, 0 for no loss"));
    let most = run(lose)?;
    println!("{CLIENTS} clients, {BYTES} bytes each, at most {most} sessions at once");
    Ok(())
}

/// Serves all clients; returns how many sessions the server held at once.
#[allow(clippy::disallowed_methods, reason = "a driver has a clock, and waits")]
fn run(lose: u64) -> io::Result<usize> {
    let started = Instant::now();
    let clock = || Time::from_micros(started.elapsed().as_micros() as u64);

    let mut server = Endpoint::bind(lose)?;
    let address = server.socket.local_addr()?;
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let client = Client {
            number,
            written: 0,
            answer: Vec::new(),
        };
        let mut endpoint = Endpoint::bind(lose)?;
        endpoint.open(Role::Client, address, client, clock());
        clients.push(endpoint);
    }

    let mut most = 0;
    while !clients.is_empty() || !server.peers.is_empty() {
        let now = clock();
        assert!(now < Time::from_micros(60_000_000), "it takes too long");
        server.receive(now, |sessions| {
            let application = Server {
                number: None,
                checked: 0,
            };
            (sessions < MOST_SESSIONS).then_some(application)
        })?;
        let mut next = server.drive(now);
        most = most.max(server.peers.len());
        for client in &mut clients {
            client.receive(now, |_| None)?;
            next = next.into_iter().chain(client.drive(now)).min();
        }
        clients.retain(|client| !client.peers.is_empty());
        // The standard library cannot wait for sockets: a program with an event loop (poll, epoll,
        // kqueue) waits here for a datagram or the timer, whichever is first.
        let wait = next.map_or(Duration::ZERO, |at| at.since(clock()));
        std::thread::sleep(wait.min(Duration::from_micros(200)));
    }
    Ok(most)
}

#[test]
fn every_client_is_served_and_the_server_stays_within_its_bound() {
    assert_eq!(run(20).expect("loopback is there"), MOST_SESSIONS);
}
