//! One end's packets to and from one peer, and the session that carries them now.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};
use weftline::{CloseReason, Connection, SendError};

use super::counts::{Counts, Snapshot, late};
use super::device::Device;
use super::flows::{Flows, Key};
use super::packet::{Header, clamp_mss};
use super::queue::{Leaving, Queue};
use super::reorder::Reorder;
use super::wire::{self, HEAD, Place};
use crate::lock::lock;

/// How long a TCP segment waits for those before it: after that time its sender sends again, which is
/// a second at first (RFC 6298). Round trips come on top.
const FOR_ORDER: Duration = Duration::from_secs(1);
/// How long a packet that is no TCP segment is worth sending: calls, games and names have no use for
/// a later one. Round trips come on top.
const WORTH: Duration = Duration::from_millis(250);
/// How long a TCP segment of a flow that sends less than its share is worth sending, such as a keystroke:
/// longer than any session needs. A message with a deadline leaves before the segments of a download.
const WORTH_OF_SPARSE: Duration = Duration::from_secs(3600);
/// Round trips on top: one to learn of a loss, and one that is about as long.
const ROUND_TRIPS: u32 = 2;
/// The longest round trip that this counts with.
const LONGEST_RTT: Duration = Duration::from_secs(2);

/// Time of sending that waits in the session: there the order is fixed, but messages with a deadline leave first.
const AHEAD: Duration = Duration::from_millis(4);
/// Bounds of that in bytes: at least two packets, and not more than any path needs.
const LEAST_AHEAD: usize = 2 * 1600;
const MOST_AHEAD: usize = 256 << 10;
/// Until the rate is known.
const FIRST_AHEAD: usize = 32 << 10;
/// Time between two looks at the session's rate and round trip.
const LOOK: Duration = Duration::from_millis(100);
/// Time between two looks at the packets that wait for earlier ones. They wait for a second or more.
const LOOK_AT_ORDER: Duration = Duration::from_millis(50);
/// Packets given to the session before other tasks have their turn.
const BATCH: usize = 64;

/// One end's packets to and from one peer.
#[derive(Debug)]
pub(super) struct Link {
    mtu: u16,
    outward: Mutex<Outward>,
    inward: Mutex<Inward>,
    /// Locked after one of these, if both are.
    flows: Mutex<Flows>,
    /// The queue has a packet.
    filled: Notify,
}

#[derive(Debug)]
struct Outward {
    queue: Queue,
    session: Option<Connection>,
    /// Numbers the sessions, so that the end of an old one does not end the next.
    generation: u64,
    /// When the last session ended.
    idle_since: Instant,
    /// The message for which the session had no room.
    next: Option<Ready>,
    patience: Patience,
    counts: Counts,
}

/// A message that is ready to be sent.
#[derive(Debug)]
struct Ready {
    message: Bytes,
    /// Bytes of the packet in it, and its flow.
    bytes: usize,
    key: Key,
    /// A TCP segment of a flow that takes its share has none. So it waits behind the others in the
    /// session, and none is given up: the later ones of its flow need it.
    deadline: Option<Instant>,
}

#[derive(Debug, Default)]
struct Inward {
    counts: Counts,
    /// Bytes that wait for packets before them.
    held: usize,
}

/// How long packets are worth something over a session.
#[derive(Clone, Copy, Debug, Default)]
struct Patience {
    round_trip: Duration,
}

impl Patience {
    fn of(connection: &Connection) -> Self {
        Patience {
            round_trip: connection.rtt().min(LONGEST_RTT),
        }
    }

    fn on_top_of(self, time: Duration) -> Duration {
        time + self.round_trip * ROUND_TRIPS
    }
}

impl Link {
    /// A link without a session, for packets of up to `mtu` bytes.
    pub(super) fn new(mtu: u16) -> Self {
        let outward = Outward {
            queue: Queue::new(mtu),
            session: None,
            generation: 0,
            idle_since: Instant::now(),
            next: None,
            patience: Patience::default(),
            counts: Counts::default(),
        };
        Link {
            mtu,
            outward: Mutex::new(outward),
            inward: Mutex::default(),
            flows: Mutex::default(),
            filled: Notify::new(),
        }
    }

    /// Attaches a new session, which replaces the old one. Returns the old session and the number of
    /// the new one.
    pub(super) fn attach(&self, session: Connection) -> (Option<Connection>, u64) {
        let mut outward = self.outward();
        let old = outward.end();
        session.set_message_buffer(FIRST_AHEAD);
        outward.set_patience(Patience::of(&session));
        outward.session = Some(session);
        outward.generation += 1;
        outward.counts.sessions += 1;
        (old, outward.generation)
    }

    /// Detaches the session of this number, which has ended.
    pub(super) fn detach(&self, generation: u64) {
        let mut outward = self.outward();
        if outward.generation == generation {
            outward.end();
        }
    }

    /// Detaches the session, if there is one; returns it.
    pub(super) fn end(&self) -> Option<Connection> {
        self.outward().end()
    }

    /// The session.
    pub(super) fn session(&self) -> Option<Connection> {
        self.outward().session.clone()
    }

    /// How long there has been no session; `None` while there is one.
    pub(super) fn idle(&self) -> Option<Duration> {
        let outward = self.outward();
        let idle = outward.session.is_none();
        idle.then(|| outward.idle_since.elapsed())
    }

    /// Adds a packet of this host with this header; `frame` has room for a head before it.
    pub(super) fn push(&self, mut frame: Vec<u8>, header: &Header) {
        clamp_mss(&mut frame[HEAD..], header, self.mtu);
        let mut outward = self.outward();
        if outward.session.is_none() {
            outward.counts.dropped.no_session += 1;
            return;
        }
        let now = Instant::now();
        outward.queue.push(frame, header, now);
        let dropped = outward.queue.take_dropped();
        drop(outward);
        if !dropped.is_empty() {
            self.flows().drop_all(dropped, now);
        }
        self.filled.notify_one();
    }

    /// Counts a packet of this host that may not be sent: it is not valid, or from another's address.
    pub(super) fn refuse(&self, header: Option<&Header>) {
        let dropped = &mut self.outward().counts.dropped;
        match header {
            Some(_) => dropped.forbidden += 1,
            None => dropped.malformed += 1,
        }
    }

    /// Carries packets both ways until the session ends; returns the reason. Packets of the peer that
    /// `is_allowed` refuses are dropped.
    pub(super) async fn carry(
        &self,
        connection: &Connection,
        device: &impl Device,
        is_allowed: impl Fn(&Header) -> bool,
    ) -> CloseReason {
        tokio::select! {
            reason = self.take_out(connection) => reason,
            reason = self.bring_in(connection, device, is_allowed) => reason,
        }
    }

    /// Waits until everything is sent, or the session has ended.
    pub(super) async fn flush(&self) {
        let Some(session) = self.session() else {
            return;
        };
        while !self.outward().is_empty() && session.message_writable(0).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // An ended session has nothing to wait for.
        let _ = session.flushed().await;
    }

    /// Gives the session what it can send soon, for as long as it lasts.
    async fn take_out(&self, connection: &Connection) -> CloseReason {
        let mut looked = Instant::now();
        loop {
            while self.outward().is_empty() {
                self.filled.notified().await;
            }
            if looked.elapsed() >= LOOK {
                looked = Instant::now();
                connection.set_message_buffer(ahead(connection));
                self.outward().set_patience(Patience::of(connection));
            }
            let longest = HEAD + usize::from(self.mtu);
            if let Err(reason) = connection.message_writable(longest).await {
                return reason;
            }
            let mut outward = self.outward();
            outward.send(connection, &mut self.flows(), Instant::now());
        }
    }

    /// Delivers the peer's packets for as long as the session lasts.
    async fn bring_in(
        &self,
        connection: &Connection,
        device: &impl Device,
        is_allowed: impl Fn(&Header) -> bool,
    ) -> CloseReason {
        let mut order = Reorder::default();
        let mut patience = Patience::of(connection).on_top_of(FOR_ORDER);
        let mut looked = Instant::now();
        let mut expiry = interval(LOOK_AT_ORDER);
        expiry.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let message = tokio::select! {
                message = connection.recv_message() => match message {
                    Ok(message) => Some(message.data),
                    Err(reason) => return reason,
                },
                _ = expiry.tick(), if order.held() > 0 => None,
            };
            let now = Instant::now();
            if now.saturating_duration_since(looked) >= LOOK {
                looked = now;
                patience = Patience::of(connection).on_top_of(FOR_ORDER);
            }
            let mut inward = self.inward();
            let counts = &mut inward.counts;
            let mut deliver = |packet: Bytes| {
                let is_taken = device.try_send(&packet).is_ok();
                counts.deliver(is_taken, packet.len());
                if let Some(header) = Header::read(&packet) {
                    let (mut flows, key) = (self.flows(), Key::of_delivered(&header));
                    match is_taken {
                        true => flows.deliver(key, packet.len(), now),
                        false => flows.drop_all([key], now),
                    }
                }
            };
            match message.map(|message| admit(message, &is_allowed)) {
                Some(Ok((Some(place), packet))) => {
                    order.insert(place, packet, now, &mut deliver);
                }
                Some(Ok((None, packet))) => deliver(packet),
                Some(Err(Refused::Malformed)) => counts.dropped.malformed += 1,
                Some(Err(Refused::Forbidden)) => counts.dropped.forbidden += 1,
                None => order.expire(now, patience, &mut deliver),
            }
            inward.counts.add_order(order.take_tally());
            inward.held = order.held();
        }
    }

    /// Bytes that wait, either way.
    pub(super) fn held(&self) -> u64 {
        (self.outward().queue.bytes() + self.inward().held) as u64
    }

    /// Current counters, without the paths of the session.
    pub(super) fn snapshot(&self) -> Snapshot {
        let (mut counts, session, waiting) = {
            let outward = self.outward();
            let mut counts = outward.counts;
            counts.add_queue(outward.queue.tally());
            (counts, outward.session.clone(), outward.queue.bytes())
        };
        counts.merge(&self.inward().counts);
        let stats = session.as_ref().map(Connection::stats);
        counts.dropped.late += stats.as_ref().map_or(0, late);
        Snapshot {
            counts,
            clients: usize::from(session.is_some()),
            waiting,
            session: stats,
            paths: Vec::new(),
            busiest: self.flows().busiest(Instant::now()),
            ..Snapshot::default()
        }
    }

    fn outward(&self) -> MutexGuard<'_, Outward> {
        lock(&self.outward)
    }

    fn flows(&self) -> MutexGuard<'_, Flows> {
        lock(&self.flows)
    }

    fn inward(&self) -> MutexGuard<'_, Inward> {
        lock(&self.inward)
    }
}

/// Bytes of messages that a session should have waiting.
fn ahead(connection: &Connection) -> usize {
    let paths = connection.paths();
    let rates = paths.iter().filter_map(|path| path.report?.rate);
    match rates.sum::<u64>() {
        0 => FIRST_AHEAD,
        rate => {
            let bytes = rate as f64 * AHEAD.as_secs_f64();
            (bytes as usize).clamp(LEAST_AHEAD, MOST_AHEAD)
        }
    }
}

impl Outward {
    fn set_patience(&mut self, patience: Patience) {
        self.patience = patience;
        self.queue.set_round_trip(patience.round_trip);
    }

    fn is_empty(&self) -> bool {
        self.next.is_none() && self.queue.is_empty()
    }

    /// Drops what waits, and the session, which is returned. The next one numbers packets anew.
    fn end(&mut self) -> Option<Connection> {
        let next = usize::from(self.next.take().is_some());
        self.counts.dropped.no_session += (self.queue.clear() + next) as u64;
        self.idle_since = Instant::now();
        let session = self.session.take()?;
        self.counts.dropped.late += late(&session.stats());
        Some(session)
    }

    /// Sends what the session takes.
    fn send(&mut self, connection: &Connection, flows: &mut Flows, now: Instant) {
        for _ in 0..BATCH {
            let next = self.next.take();
            let next = next.or_else(|| self.queue.pop(now).map(|p| self.ready(p)));
            flows.drop_all(self.queue.take_dropped(), now);
            let Some(ready) = next else { return };
            let left = ready.deadline.map(|d| d.saturating_duration_since(now));
            let mut sent = connection.try_send_message_alone(ready.message.clone(), left);
            if let Err(SendError::TooLong { .. }) = sent {
                // The path carries less than the MTU supposes, or it is not known yet.
                sent = connection.try_send_message(ready.message.clone(), left);
            }
            match sent {
                Ok(_) => {
                    self.counts.sent.add(ready.bytes);
                    flows.send(ready.key, ready.bytes, now);
                }
                Err(SendError::Full) => {
                    self.next = Some(ready);
                    return;
                }
                Err(SendError::TooLong { .. }) => self.counts.dropped.malformed += 1,
                Err(_) => self.counts.dropped.no_session += 1,
            }
        }
    }

    fn ready(&self, packet: Leaving) -> Ready {
        let deadline = match packet.place {
            Some(_) if packet.is_sparse => Some(packet.since + WORTH_OF_SPARSE),
            Some(_) => None,
            None => Some(packet.since + self.patience.on_top_of(WORTH)),
        };
        Ready {
            bytes: packet.frame.len() - HEAD,
            key: packet.key,
            deadline,
            message: wire::message(packet.frame, packet.place),
        }
    }
}

/// Why a message of the peer is dropped.
enum Refused {
    Malformed,
    Forbidden,
}

/// The packet in a message of the peer, and its place.
fn admit(
    message: Bytes,
    is_allowed: impl Fn(&Header) -> bool,
) -> Result<(Option<Place>, Bytes), Refused> {
    let (place, packet) = wire::take(message).ok_or(Refused::Malformed)?;
    let header = Header::read(&packet).ok_or(Refused::Malformed)?;
    match is_allowed(&header) {
        true => Ok((place, packet)),
        false => Err(Refused::Forbidden),
    }
}
