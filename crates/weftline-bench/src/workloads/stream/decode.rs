//! Packets in, source symbols out.

use std::hint::black_box;

use weftline_codec::{DecoderConfig, WindowDecoder, WindowEncoder};

use super::transcript::{Arrival, arrivals};
use super::{Stream, encode};
use crate::contest::{Case, Contest, Error, Kind, Published, Visitor};
use crate::data::Symbols;
use crate::workloads::repair::Code;

const SEED: u64 = 3;
const DEFINITION: &str = "bytes of the source symbols sent, whether they arrive, are recovered \
                          or stay lost (residual)";

pub(super) fn visit(
    visitor: &mut dyn Visitor,
    workload: &'static str,
    stream: Stream,
    span: usize,
    loss: usize,
    published: Option<Published>,
) -> Result<(), Error> {
    let Stream {
        size,
        window,
        repair,
    } = stream;
    let parameters = [
        ("window", window),
        ("repair", repair),
        ("loss", loss),
        ("size", size),
    ];
    let mut case = Case::new(workload, DEFINITION, &parameters, stream.run() * size);
    case.published = published;
    if !visitor.wants(&case) {
        return Ok(());
    }
    let pool = Symbols::random(stream.period(), size, SEED);
    let arrivals: Vec<_> = arrivals(stream, loss)
        .into_iter()
        .map(|arrival| Packet::new(arrival, stream, &pool))
        .collect();
    let mut contest = Contest::new(case);
    let path = Path {
        stream,
        span,
        pool: &pool,
        arrivals: &arrivals,
    };
    for (name, code, intake) in [
        (Code::Dense.name(), Code::Dense, Intake::Copy),
        ("weftline, in batches", Code::Dense, Intake::Batch),
        ("weftline, no copy", Code::Dense, Intake::Keep),
        (stream.fading().name(), stream.fading(), Intake::Copy),
        (Code::Binary.name(), Code::Binary, Intake::Copy),
        (Code::Standard.name(), Code::Standard, Intake::Copy),
    ] {
        let mut receiver = Ours::new(path, code, intake);
        receiver.warm_up();
        let known = receiver.run(|number, symbol| symbol == path.source(number));
        let known = known.ok_or_else(|| wrong(&contest, name))?;
        let residual = Some((stream.run(), residual(stream, known)));
        contest.enter_checked(name, Kind::Ours, residual, move || {
            receiver.run(|_, symbol| {
                black_box(symbol);
                true
            });
        });
    }
    #[cfg(feature = "peers")]
    peers::enter(&mut contest, path)?;
    // As many as the slots of the decoder that takes batches.
    let ring = Symbols::zeroed(span.max(window) + BATCH, size);
    encode::memcpy(&mut contest, stream, &pool, ring);
    visitor.contest(contest)
}

fn wrong(contest: &Contest<'_>, contender: &str) -> Error {
    Error::Wrong {
        case: contest.case.id(),
        contender: contender.to_owned(),
    }
}

/// The number of symbols of a run that did not become known. A few of the
/// `known` may be from the run before.
fn residual(stream: Stream, known: usize) -> usize {
    stream.run().saturating_sub(known)
}

/// The packets sent, and those that arrive.
#[derive(Clone, Copy)]
struct Path<'a> {
    stream: Stream,
    /// Symbols that the receiver keeps.
    span: usize,
    /// The source symbols of a period.
    pool: &'a Symbols,
    arrivals: &'a [Packet<'a>],
}

/// A packet whose header the receiver has read.
#[derive(Clone, Copy)]
struct Packet<'a> {
    arrival: Arrival,
    /// The place of the symbol, or of the one before a repair symbol, in its
    /// period.
    place: usize,
    /// The index among the repair symbols of a period, for a repair symbol.
    repair: usize,
    /// The symbol; empty for a repair symbol, which differs from code to code.
    payload: &'a [u8],
}

impl<'a> Packet<'a> {
    fn new(arrival: Arrival, stream: Stream, pool: &'a Symbols) -> Self {
        let place = arrival.position() % stream.period();
        let payload = match arrival {
            Arrival::Source(_) => pool.get(place),
            Arrival::Repair(_) => &[],
        };
        Self {
            arrival,
            place,
            repair: place / stream.interval(),
            payload,
        }
    }
}

impl<'a> Path<'a> {
    /// The number of symbols, lost ones included, by which a batch can move the
    /// window.
    fn ahead(self) -> usize {
        let position = |packet: &Packet<'_>| packet.arrival.position();
        // A run follows an equal one.
        let last = self.arrivals.last().map_or(0, position);
        let mut lost = self.stream.run() - 1 - last;
        let mut next = 0;
        let mut most = BATCH;
        for batch in self.arrivals.chunks(BATCH) {
            let end = batch.last().map_or(next, position) + 1;
            most = most.max(end + lost - next);
            (next, lost) = (end, 0);
        }
        most
    }

    /// The source symbol with this number.
    fn source(self, number: u64) -> &'a [u8] {
        self.pool
            .get((number % self.stream.period() as u64) as usize)
    }
}

/// How our decoder takes source symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intake {
    /// One by one, copied.
    Copy,
    /// Copied; one call takes all symbols between two repair symbols of a
    /// [`BATCH`].
    Batch,
    /// One by one in their packets, which the decoder keeps.
    Keep,
}

/// The packets of one read from a socket.
const BATCH: usize = 16;

/// Our decoder, driven as in a receiver.
struct Ours<'a> {
    path: Path<'a>,
    code: Code,
    decoder: WindowDecoder,
    /// The repair symbols of a period.
    repairs: Vec<Vec<u8>>,
    /// The number of the first symbol of the next run.
    start: u64,
    intake: Intake,
    /// The packets, if the decoder keeps them instead of copying.
    packets: Option<Packets>,
}

impl<'a> Ours<'a> {
    fn new(path: Path<'a>, code: Code, intake: Intake) -> Self {
        let Stream { size, window, .. } = path.stream;
        // Symbols that are forgotten only after a batch need room until then.
        let ahead = if intake == Intake::Batch {
            path.ahead()
        } else {
            1
        };
        let most = path.span.max(window) + ahead;
        let config = DecoderConfig::new(most, size, most, window);
        Self {
            path,
            code,
            decoder: WindowDecoder::with_field(config, code.field()),
            repairs: repairs(path, code),
            start: 0,
            intake,
            packets: (intake == Intake::Keep).then(|| Packets::new(path.pool)),
        }
    }

    /// Takes a source symbol.
    #[inline(always)]
    fn source(&mut self, number: u64, packet: &Packet<'_>) {
        self.forget(number);
        let taken = match &mut self.packets {
            None => self.decoder.source(number, packet.payload),
            Some(packets) => {
                let packet = packets.take(packet.place);
                let payload = HEADER..packet.len();
                self.decoder.source_owned(number, packet, payload)
            }
        };
        taken.expect("the floor follows");
    }

    /// Forgets the symbols that later windows do not cover, before this symbol
    /// comes.
    #[inline(always)]
    fn forget(&mut self, number: u64) {
        let floor = (number + 1).saturating_sub(self.path.span as u64);
        self.decoder.forget_before(floor);
        if let Some(packets) = &mut self.packets {
            while let Some(packet) = self.decoder.reclaim() {
                packets.put_back(packet);
            }
        }
    }

    /// A period without losses, after which windows have their full length.
    fn warm_up(&mut self) {
        let period = self.path.stream.period() as u64;
        for number in 0..period {
            let arrival = Arrival::Source(number as usize);
            self.source(
                number,
                &Packet::new(arrival, self.path.stream, self.path.pool),
            );
            while self.decoder.next_known().is_some() {}
        }
        self.start = period;
    }

    /// Takes all packets that arrive in a run. Returns how many symbols became
    /// known, or `None` if `look` rejects one of them.
    fn run(&mut self, look: impl Fn(u64, &[u8]) -> bool) -> Option<usize> {
        if self.intake == Intake::Batch {
            return self.run_batches(look);
        }
        let mut known = 0;
        let mut right = true;
        for packet in self.path.arrivals {
            let number = self.start + packet.arrival.position() as u64;
            match packet.arrival {
                Arrival::Source(_) => self.source(number, packet),
                Arrival::Repair(_) => self.repair(number, packet),
            }
            while let Some(number) = self.decoder.next_known() {
                known += 1;
                let symbol = self.decoder.symbol(number);
                right &= symbol.is_some_and(|symbol| look(number, symbol));
            }
        }
        self.start += self.path.stream.run() as u64;
        right.then_some(known)
    }

    /// As [`run`](Self::run), with source symbols in batches.
    fn run_batches(&mut self, look: impl Fn(u64, &[u8]) -> bool) -> Option<usize> {
        let mut known = 0;
        let mut right = true;
        let mut look = |number, symbol: &[u8]| {
            known += 1;
            right &= look(number, symbol);
        };
        let start = self.start;
        for batch in self.path.arrivals.chunks(BATCH) {
            let mut packets = batch.iter();
            while let Some(packet) = packets.as_slice().first() {
                if let Arrival::Repair(position) = packet.arrival {
                    packets.next();
                    self.repair(start + position as u64, packet);
                    self.decoder.each_known(&mut look);
                    continue;
                }
                let symbols = core::iter::from_fn(|| {
                    let packet = packets.as_slice().first()?;
                    let Arrival::Source(position) = packet.arrival else {
                        return None;
                    };
                    packets.next();
                    Some((start + position as u64, packet.payload))
                });
                let taken = self.decoder.sources(symbols, &mut look);
                taken.expect("the floor follows");
                self.forget(self.decoder.end() - 1);
            }
        }
        self.start += self.path.stream.run() as u64;
        right.then_some(known)
    }

    /// Takes the repair symbol after this source symbol.
    #[inline(always)]
    fn repair(&mut self, number: u64, packet: &Packet<'_>) {
        self.forget(number);
        let end = number + 1;
        let taken = self.decoder.repair(
            end - self.path.stream.window as u64..end,
            self.code.coefficients(encode::key(packet.place)),
            &self.repairs[packet.repair],
        );
        taken.expect("an honest repair symbol within the span is taken");
    }
}

/// The bytes before a payload in a packet's buffer.
const HEADER: usize = 18;
/// The bytes of it that number the packet.
const TAG: usize = 8;

/// The packets of a period, each in its own buffer, as a network card fills
/// them repeatedly.
struct Packets(Vec<Option<Vec<u8>>>);

impl Packets {
    fn new(pool: &Symbols) -> Self {
        let packets = pool
            .slices()
            .into_iter()
            .enumerate()
            .map(|(place, symbol)| {
                let mut packet = Vec::with_capacity(HEADER + symbol.len());
                packet.extend_from_slice(&(place as u64).to_le_bytes());
                packet.resize(HEADER, 0);
                packet.extend_from_slice(symbol);
                Some(packet)
            });
        Self(packets.collect())
    }

    fn take(&mut self, place: usize) -> Vec<u8> {
        let packet = self.0[place].take();
        packet.expect("the decoder returns forgotten packets at once")
    }

    fn put_back(&mut self, packet: Vec<u8>) {
        let tag = packet.first_chunk::<TAG>().copied().unwrap_or_default();
        self.0[u64::from_le_bytes(tag) as usize] = Some(packet);
    }
}

/// Our repair symbols of a period that follows equal periods.
fn repairs(path: Path<'_>, code: Code) -> Vec<Vec<u8>> {
    let Stream { size, window, .. } = path.stream;
    let period = path.stream.period();
    let mut encoder = WindowEncoder::with_field(2 * period, size, code.field());
    for number in 0..2 * period as u64 {
        encoder
            .push(path.source(number))
            .expect("there is room for two periods");
    }
    let last = (0..period).filter(|place| (place + 1).is_multiple_of(path.stream.interval()));
    last.map(|place| {
        let end = (period + place + 1) as u64;
        let mut out = Vec::new();
        let coefficients = code.coefficients(encode::key(place));
        let made = encoder.repair(end - window as u64..end, coefficients, &mut out);
        made.expect("the window is held");
        out
    })
    .collect()
}

#[cfg(feature = "peers")]
mod peers {
    use std::hint::black_box;

    use ::cu_fec::{DensityThreshold, EncodingSymbolId, RepairPayloadId};

    use super::{Arrival, Contest, Error, Kind, Packet, Path, encode, repairs, residual, wrong};
    use crate::peers::cu_fec::{self, Decode};
    use crate::workloads::repair::Code;

    /// cu-fec's decoder in two ways: with the least span, where it moves all
    /// that it holds for each packet; and with twice the room, where its user
    /// makes it move only now and then.
    pub(super) fn enter<'a>(contest: &mut Contest<'a>, path: Path<'a>) -> Result<(), Error> {
        for (name, room) in [(cu_fec::NAME, 1), ("cu-fec, twice the room", 2)] {
            let size = path.stream.size;
            let Some(decoder) = cu_fec::decoder(size, room * path.span, cu_fec::Code::Dense) else {
                contest.skip(name, cu_fec::NO_TYPE);
                continue;
            };
            let mut receiver = Receiver {
                path,
                decoder,
                room: room * path.span,
                repairs: repairs(path, Code::Standard),
                start: 0,
            };
            receiver.warm_up();
            let before = receiver.start;
            let known = receiver.run();
            // The symbols still held must be right.
            for number in before..receiver.start {
                let symbol = receiver.decoder.symbol(number as u32);
                if symbol.is_some_and(|symbol| symbol != path.source(number)) {
                    return Err(wrong(contest, name));
                }
            }
            let residual = Some((path.stream.run(), residual(path.stream, known)));
            contest.enter_checked(name, Kind::Peer, residual, move || {
                black_box(receiver.run());
            });
        }
        Ok(())
    }

    struct Receiver<'a> {
        path: Path<'a>,
        decoder: Box<dyn Decode>,
        /// The symbols that it can span.
        room: usize,
        repairs: Vec<Vec<u8>>,
        start: u64,
    }

    impl Receiver<'_> {
        fn warm_up(&mut self) {
            let period = self.path.stream.period() as u64;
            for number in 0..period {
                self.make_room(number);
                self.decoder.source(number as u32, self.path.source(number));
            }
            self.start = period;
        }

        /// Before `number` comes, drops the symbols beyond the span, if there
        /// is twice the room and it is full.
        fn make_room(&mut self, number: u64) {
            if self.room > self.path.span && self.decoder.span() + 16 > self.room {
                let floor = number.saturating_sub(self.path.span as u64);
                self.decoder.discard_before(floor as u32);
            }
        }

        fn run(&mut self) -> usize {
            let stream = self.path.stream;
            let mut known = 0;
            for &Packet {
                arrival,
                place,
                repair,
                payload,
            } in self.path.arrivals
            {
                match arrival {
                    Arrival::Source(position) => {
                        let number = self.start + position as u64;
                        self.make_room(number);
                        known += self.decoder.source(number as u32, payload);
                    }
                    Arrival::Repair(position) => {
                        let first = self.start + position as u64 + 1 - stream.window as u64;
                        let id = RepairPayloadId::new(
                            encode::key(place),
                            DensityThreshold::FULL,
                            stream.window as u16,
                            EncodingSymbolId::new(first as u32),
                        );
                        let id = id.expect("windows are those of RFC 8681");
                        // Without the length at the beginning of ours.
                        let data = &self.repairs[repair][2..];
                        known += self.decoder.repair(id, data);
                    }
                }
            }
            self.start += stream.run() as u64;
            known
        }
    }
}
