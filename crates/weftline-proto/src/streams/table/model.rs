//! Random calls on two tables, joined by a path that reorders symbols, against a model that knows
//! what each stream must hold.

mod calls;
mod path;

use super::*;

const ASSUMED: Limits = Limits {
    symbols: 64,
    session_data: 300,
    stream_data: 100,
    streams: 1,
    ..Limits::LEAST
};
const LIMITS: Limits = Limits {
    session_data: 600,
    stream_data: 300,
    streams: 3,
    ..ASSUMED
};
const BUFFER: usize = 120;

/// One direction of a stream: what one end writes and the other reads.
#[derive(Debug, Default)]
struct Half {
    written: u64,
    sent: u64,
    /// The writer's credit.
    max: u64,
    finished: bool,
    reset: Option<u64>,
    /// The code of the STOP that the writer heard while it still wrote.
    heard: Option<u64>,
    blocked: bool,
    /// The symbol that has the end or the reset.
    end: Option<Esi>,
    reset_sent: bool,
    /// The end is acknowledged.
    gone: bool,
    arrived: Vec<bool>,
    end_at: Option<u64>,
    reset_arrived: Option<u64>,
    read: u64,
    over: bool,
    stop: Option<u64>,
    stop_due: bool,
    announced: bool,
    /// The credit that the reader announced last, and whether it owes more.
    granted: u64,
    raise: bool,
}

impl Half {
    fn edge(&self) -> u64 {
        self.arrived.iter().take_while(|a| **a).count() as u64
    }

    fn is_complete(&self) -> bool {
        self.end_at == Some(self.edge())
    }

    fn end_known(&self) -> bool {
        self.end_at.is_some() || self.reset_arrived.is_some()
    }

    fn queued(&self) -> u64 {
        if self.reset.is_some() {
            0
        } else {
            self.written - self.sent
        }
    }

    /// Bytes that wait for the reader.
    fn unread(&self) -> u64 {
        if self.stop.is_some() || self.reset_arrived.is_some() {
            return 0;
        }
        self.arrived.iter().filter(|a| **a).count() as u64 - self.read
    }

    fn reader_left(&self) -> bool {
        self.over || self.stop.is_some() && self.end_known()
    }

    fn owes_end(&self) -> bool {
        self.reset.is_none() && self.finished && self.end.is_none()
    }
}

fn byte(writer: usize, id: u64, position: u64) -> u8 {
    (position * 31 + id * 7 + writer as u64 * 3) as u8
}

struct End {
    streams: Streams,
    credit: Credit,
    events: VecDeque<Event>,
    next: Esi,
    opened: u64,
    allowed: u64,
    blocked: bool,
    seen: u64,
    taken: u64,
    /// Session credit as the model counts it: what may be sent, was sent, and was announced.
    session_max: u64,
    sent: u64,
    received: u64,
    granted: u64,
    granted_streams: u64,
    arrived: BTreeSet<Esi>,
}

impl End {
    fn new(role: Role) -> Self {
        End {
            streams: Streams::new(role, LIMITS, ASSUMED, BUFFER),
            credit: Credit::new(ASSUMED.session_data, LIMITS.session_data),
            events: VecDeque::new(),
            next: Esi::default(),
            opened: 0,
            allowed: ASSUMED.streams.into(),
            blocked: false,
            seen: 0,
            taken: 0,
            session_max: ASSUMED.session_data,
            sent: 0,
            received: 0,
            granted: LIMITS.session_data,
            granted_streams: LIMITS.streams.into(),
            arrived: BTreeSet::new(),
        }
    }
}

struct World {
    ends: [End; 2],
    /// By writer and stream.
    halves: BTreeMap<(usize, u64), Half>,
    flying: Vec<(usize, Esi, Vec<u8>)>,
    state: u64,
}

impl World {
    fn new(seed: u64) -> Self {
        World {
            ends: [End::new(Role::Client), End::new(Role::Server)],
            halves: BTreeMap::new(),
            flying: Vec::new(),
            state: (seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        }
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % below
    }

    fn knows(&self, end: usize, id: u64) -> bool {
        let e = &self.ends[end];
        id / 2
            < if id % 2 == end as u64 {
                e.opened
            } else {
                e.seen
            }
    }

    /// The half that `end` writes, if it still does.
    fn writes(&mut self, end: usize, id: u64) -> Option<&mut Half> {
        let known = self.knows(end, id);
        self.halves.get_mut(&(end, id)).filter(|h| known && !h.gone)
    }

    /// The half that `end` reads. Its end can be read again until the other half is gone too.
    fn reads(&mut self, end: usize, id: u64) -> Option<&mut Half> {
        let left = self.knows(end, id) && !self.is_over(end, id);
        self.halves.get_mut(&(1 - end, id)).filter(|_| left)
    }

    /// Neither half is left at this end.
    fn is_over(&self, end: usize, id: u64) -> bool {
        self.knows(end, id)
            && self.halves[&(end, id)].gone
            && self.halves[&(1 - end, id)].reader_left()
    }

    fn sum(&self, end: usize, of: fn(&Half) -> u64) -> u64 {
        let ours = self.halves.iter().filter(|((e, _), _)| *e == end);
        ours.map(|(_, h)| of(h)).sum()
    }

    fn is_credit_due(&self, end: usize) -> bool {
        let e = &self.ends[end];
        let consumed = e.received - self.sum(1 - end, Half::unread);
        consumed + LIMITS.session_data - e.granted >= LIMITS.session_data / 4
    }

    /// Streams that the peer of `end` may have opened since the session began.
    fn room(&self, end: usize) -> u64 {
        let theirs = self
            .halves
            .keys()
            .filter(|(e, id)| *e == end && id % 2 != end as u64);
        let over = theirs.filter(|(_, id)| self.is_over(end, *id)).count();
        u64::from(LIMITS.streams) + over as u64
    }

    fn has_work(&self, end: usize) -> bool {
        let e = &self.ends[end];
        self.is_credit_due(end)
            || self.room(end) > e.granted_streams
            || self.halves.iter().any(|(&(writer, id), h)| {
                if writer != end {
                    return h.stop_due || h.raise && !self.is_over(end, id);
                }
                let resets = h.reset.is_some() && !h.reset_sent;
                let data = h.queued() > 0 && h.sent < h.max && e.sent < e.session_max;
                !h.gone && (resets || data || h.owes_end() && h.queued() == 0)
            })
    }

    fn check(&self) {
        for (end, e) in self.ends.iter().enumerate() {
            assert_eq!(e.streams.queued() as u64, self.sum(end, Half::queued));
            assert_eq!(e.credit.unread(), self.sum(1 - end, Half::unread));
            assert_eq!(e.credit.available(), e.session_max - e.sent);
        }
    }

    fn step(&mut self) {
        let end = self.draw(2) as usize;
        // Mostly a stream that lives, sometimes one that is over or not open yet.
        let newest = self.ends[0].opened.max(self.ends[1].opened);
        let id = 2 * newest.saturating_sub(4) + self.draw(10);
        let size = 1 + self.draw(150);
        match self.draw(32) {
            0..3 => self.open(end),
            3..9 => self.write(end, id, size),
            9..16 => self.read(end, id, size as usize),
            16 if size < 50 => self.reset(end, id, size),
            17 if size < 50 => self.stop(end, id, size),
            16..18 => self.finish(end, id),
            18 => self.accept(end),
            19 if size < 10 => self.hello(end),
            20..22 => self.acknowledge(end),
            22..27 if self.flying.len() < 8 => self.transmit(end),
            _ if !self.flying.is_empty() => self.deliver(),
            _ => {}
        }
        self.check();
    }

    /// Everyone reads and finishes what is left, until nothing is.
    fn rest(&mut self) {
        for round in 0.. {
            assert!(round < 1000, "it never ends");
            for end in 0..2 {
                self.hello(end);
                for id in 0..2 * self.ends[0].opened.max(self.ends[1].opened) {
                    self.finish(end, id);
                    self.read(end, id, 1000);
                }
                self.transmit(end);
                self.acknowledge(end);
            }
            while !self.flying.is_empty() {
                self.deliver();
            }
            self.check();
            let is_over = self.ends.iter().all(|e| e.streams.entries.is_empty());
            if is_over && !self.has_work(0) && !self.has_work(1) {
                break;
            }
        }
        for (end, e) in self.ends.iter().enumerate() {
            assert!(e.streams.is_drained() && e.streams.entries.is_empty());
            assert_eq!(
                (e.streams.gaps, e.streams.missing, e.credit.unread()),
                (0, 0, 0)
            );
            assert!(!e.streams.sendable(&e.credit));
            // As many can be opened again as at the beginning.
            assert_eq!(e.allowed, e.opened + u64::from(LIMITS.streams), "end {end}");
        }
    }
}

#[test]
fn two_tables_do_what_a_model_says() {
    for seed in 0..40 {
        let mut world = World::new(seed);
        for _ in 0..2000 {
            world.step();
        }
        world.rest();
    }
}

#[test]
fn gaps_are_refused_beyond_their_limit() {
    let mut end = End::new(Role::Server);
    let most = u64::from(GAPS_PER_SYMBOL) * u64::from(LIMITS.symbols);
    let mut fragment = |n: u64| {
        let inbound = Inbound {
            id: n / 100 * 2,
            offset: n % 100 * 2 + 1,
            fin: false,
            data: b"x",
        };
        let (streams, credit) = (&mut end.streams, &mut end.credit);
        streams.on_stream(inbound, credit, &mut end.events)
    };
    assert!((0..most).all(|n| fragment(n) == Ok(())));
    assert_eq!(fragment(most), Err(Violation::TooManyFragments));
}

#[test]
fn the_gaps_of_all_streams_share_the_credit_that_is_left() {
    let mut end = End::new(Role::Server);
    let last_byte_of = |end: &mut End, id: u64, offset: u64| {
        let inbound = Inbound {
            id,
            offset,
            fin: false,
            data: b"x",
        };
        let (streams, credit) = (&mut end.streams, &mut end.credit);
        streams.on_stream(inbound, credit, &mut end.events)
    };
    // Two bytes have arrived and 598 are missing: all 600 are spent.
    assert_eq!(last_byte_of(&mut end, 0, 299), Ok(()));
    assert_eq!(last_byte_of(&mut end, 2, 299), Ok(()));
    assert_eq!(end.streams.missing(), 598);
    let further = last_byte_of(&mut end, 4, 1);
    assert_eq!(further, Err(Violation::SessionCredit));
}

#[test]
fn an_old_number_of_streams_unblocks_nothing() {
    let mut streams = End::new(Role::Client).streams;
    assert_eq!(streams.open(), Ok(StreamId(0)));
    assert_eq!(streams.open(), Err(OpenError::Blocked));
    assert!(!streams.on_max_streams(1), "it was so before");
    assert!(streams.on_max_streams(2));
    assert!(!streams.on_max_streams(3), "nothing waits");
}
