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
    // As many as the decoder that takes batches has slots.
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

/// Of the symbols of a run, those that were not among the `known`. A decoder
/// may learn of a few from the run before.
fn residual(stream: Stream, known: usize) -> usize {
    stream.run().saturating_sub(known)
}

/// What is sent and what arrives of it.
#[derive(Clone, Copy)]
struct Path<'a> {
    stream: Stream,
    /// Symbols that the receiver keeps.
    span: usize,
    /// The source symbols of a period.
    pool: &'a Symbols,
    arrivals: &'a [Packet<'a>],
}

/// A packet as a receiver has it once it has read the header.
#[derive(Clone, Copy)]
struct Packet<'a> {
    arrival: Arrival,
    /// The place of the symbol, or of the one before a repair symbol, in its
    /// period.
    place: usize,
    /// Which of the repair symbols of a period it is, if it is one.
    repair: usize,
    /// The symbol; of a repair symbol, which differs from code to code, nothing.
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
    /// By how many symbols a batch can move the window on, those lost included.
    fn ahead(self) -> usize {
        let position = |packet: &Packet<'_>| packet.arrival.position();
        // A run follows another one like it.
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

/// How source symbols get into our decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intake {
    /// One by one, copied.
    Copy,
    /// Copied, with all that come between two repair symbols and in the same
    /// [`BATCH`] in one call.
    Batch,
    /// One by one in their packets, which the decoder keeps.
    Keep,
}

/// Packets that a receiver gets from its socket at once.
const BATCH: usize = 16;

/// Our decoder, driven as a receiver does.
struct Ours<'a> {
    path: Path<'a>,
    code: Code,
    decoder: WindowDecoder,
    /// The repair symbols of a period.
    repairs: Vec<Vec<u8>>,
    /// The number of the first symbol of the next run.
    start: u64,
    intake: Intake,
    /// Packets that the decoder keeps, if it is to make no copies.
    packets: Option<Packets>,
}

impl<'a> Ours<'a> {
    fn new(path: Path<'a>, code: Code, intake: Intake) -> Self {
        let Stream { size, window, .. } = path.stream;
        // What is forgotten only after a batch needs room until then.
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

    /// Takes a source symbol in.
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

    /// Before what comes with or after this symbol: later windows begin no lower.
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

    /// A period without losses: from then on windows reach back as far as they
    /// will.
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

    /// Takes everything that arrives in a run. How many symbols became known,
    /// or `None` when one of them was not what `look` expects.
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

    /// Takes in the repair symbol after this source symbol.
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

/// What precedes a payload in a packet's buffer.
const HEADER: usize = 18;
/// Bytes of it that say which packet it is.
const TAG: usize = 8;

/// The packets of a period in buffers of their own, as a network card would
/// fill them again and again.
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
        packet.expect("the decoder gives back what it forgets, when asked at once")
    }

    fn put_back(&mut self, packet: Vec<u8>) {
        let tag = packet.first_chunk::<TAG>().copied().unwrap_or_default();
        self.0[u64::from_le_bytes(tag) as usize] = Some(packet);
    }
}

/// Our repair symbols of a period, when the periods before were the same.
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

    /// cu-fec's decoder in two ways: spanning what it must, when it moves all it
    /// holds with each packet that arrives; and with twice as much room, when
    /// its user lets it move that only now and then.
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
            // What is still held must be right.
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
        /// Symbols that it can span.
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

        /// Before `number` comes, lets go of what is beyond the span, if there is
        /// twice the room and it is full.
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
                        // Without the length that ours begin with.
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
