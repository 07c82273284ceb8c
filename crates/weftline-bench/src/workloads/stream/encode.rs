//! Source symbols in, repair symbols out.

use std::hint::black_box;

use weftline_codec::WindowEncoder;

use super::Stream;
use crate::contest::{Case, Contest, Error, Kind, Visitor};
use crate::data::Symbols;
use crate::workloads::ceilings::{MEMCPY, combinations};
use crate::workloads::repair::Code;

const SEED: u64 = 3;
const DEFINITION: &str = "bytes of the source symbols pushed; every one is copied in, and after \
                          each run of them one repair symbol is made over the latest window";

/// The key of the repair symbol after this source symbol of a period.
pub(super) fn key(position: usize) -> u16 {
    (position % usize::from(u16::MAX)) as u16 + 1
}

pub(super) fn visit(visitor: &mut dyn Visitor, stream: Stream) -> Result<(), Error> {
    let Stream {
        size,
        window,
        repair,
    } = stream;
    let parameters = [("window", window), ("repair", repair), ("size", size)];
    let bytes = stream.run() * size;
    let case = Case::new("stream/encode", DEFINITION, &parameters, bytes);
    if !visitor.wants(&case) {
        return Ok(());
    }
    let pool = Symbols::random(stream.period(), size, SEED);
    let mut contest = Contest::new(case);
    let last_of_run = last_window(stream, &pool);
    for code in [Code::Dense, stream.fading(), Code::Binary, Code::Standard] {
        let state = (
            WindowEncoder::with_field(window + 1, size, code.field()),
            Vec::new(),
        );
        let pool = &pool;
        let run = move |(encoder, out): &mut (WindowEncoder, Vec<u8>)| {
            for position in (0..stream.run()).map(|number| number % stream.period()) {
                encoder.push(pool.get(position)).expect("the window slides");
                let end = encoder.next();
                let start = end.saturating_sub(window as u64);
                encoder.discard_before(start);
                if (position + 1).is_multiple_of(stream.interval()) {
                    out.clear();
                    let made = encoder.repair(start..end, code.coefficients(key(position)), out);
                    made.expect("the window is held");
                    black_box(&out);
                }
            }
        };
        let output = |(_, out): &(WindowEncoder, Vec<u8>)| out[2..].to_vec();
        let expected = expected(stream, code, &last_of_run);
        contest.enter(code.name(), Kind::Ours, state, run, output, &expected)?;
    }
    #[cfg(feature = "peers")]
    {
        use crate::peers::cu_fec;
        match cu_fec::encoder(size, window, cu_fec::Code::Dense) {
            None => contest.skip(cu_fec::NAME, cu_fec::NO_TYPE),
            Some(mut encoder) => {
                let pool = &pool;
                let run = move |out: &mut Symbols| {
                    for position in (0..stream.run()).map(|number| number % stream.period()) {
                        encoder.push(pool.get(position));
                        if (position + 1).is_multiple_of(stream.interval()) {
                            encoder.repair(key(position), black_box(out.get_mut(0)));
                        }
                    }
                };
                let out = Symbols::zeroed(1, size);
                let expected = expected(stream, Code::Standard, &last_of_run);
                let output = |out: &Symbols| out.concat();
                contest.enter(cu_fec::NAME, Kind::Peer, out, run, output, &expected)?;
            }
        }
    }
    let ring = Symbols::zeroed(window, size);
    memcpy(&mut contest, stream, &pool, ring);
    visitor.contest(contest)
}

/// The symbols under the last repair symbol of a run.
fn last_window(stream: Stream, pool: &Symbols) -> Vec<&[u8]> {
    let end = stream.run();
    let numbers = end - stream.window..end;
    numbers
        .map(|number| pool.get(number % stream.period()))
        .collect()
}

/// The last repair symbol of a run.
fn expected(stream: Stream, code: Code, window: &[&[u8]]) -> Vec<u8> {
    let mut vector = vec![0; stream.window];
    let coefficients = code.coefficients(key(stream.period() - 1));
    let filled = coefficients.fill(code.field(), &mut vector);
    filled.expect("every kind fits its field");
    combinations(&vector, window)
}

/// Copies each source symbol once, into as many buffers as a window has.
pub(super) fn memcpy<'a>(
    contest: &mut Contest<'a>,
    stream: Stream,
    pool: &'a Symbols,
    mut ring: Symbols,
) {
    contest.enter_checked(MEMCPY, Kind::Ceiling, None, move || {
        let (mut from, mut to) = (0, 0);
        for _ in 0..stream.run() {
            black_box(ring.get_mut(to)).copy_from_slice(pool.get(from));
            from = if from + 1 == pool.len() { 0 } else { from + 1 };
            to = if to + 1 == ring.len() { 0 } else { to + 1 };
        }
    });
}
