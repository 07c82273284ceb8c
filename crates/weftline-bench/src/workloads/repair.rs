//! One repair symbol over a window, including its coefficients.

use weftline_codec::WindowEncoder;
use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::{Arithmetic, Field, Gf2, Gf256};

use super::ceilings::{self, combinations};
use crate::contest::{Case, Contest, Error, Kind, Visitor};
use crate::data::Symbols;
use crate::plan::Plan;

const SEED: u64 = 2;
const DEFINITION: &str = "bytes of the window's symbols; includes making the coefficients";
/// A density at which half of the coefficients are not 0.
pub(super) const HALF: u8 = 7;

/// Our codes, by their coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Dense,
    /// All of this many newest symbols, and fewer of the older ones.
    Fading(u16),
    Sparse,
    Binary,
    Standard,
    StandardSparse,
    StandardBinary,
}

impl Code {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dense => "weftline",
            Self::Fading(_) => "weftline fading",
            Self::Sparse => "weftline sparse",
            Self::Binary => "weftline gf2",
            Self::Standard => "weftline rfc8681",
            Self::StandardSparse => "weftline rfc8681 sparse",
            Self::StandardBinary => "weftline rfc8681 gf2",
        }
    }

    pub(super) fn field(self) -> Arithmetic {
        match self {
            Self::Dense
            | Self::Fading(_)
            | Self::Sparse
            | Self::Standard
            | Self::StandardSparse => Gf256::arithmetic(),
            Self::Binary | Self::StandardBinary => Gf2::arithmetic(),
        }
    }

    pub(super) fn coefficients(self, key: u16) -> Coefficients<'static> {
        let standard = |density_threshold| Coefficients::Rfc8681 {
            repair_key: key,
            density_threshold,
        };
        let key = u32::from(key);
        match self {
            Self::Dense => Coefficients::NonZero { key },
            Self::Fading(dense) => Coefficients::Fading { key, dense },
            Self::Sparse => Coefficients::Sparse {
                key,
                density_threshold: HALF,
            },
            Self::Binary => Coefficients::Uniform { key },
            Self::Standard => standard(15),
            Self::StandardSparse | Self::StandardBinary => standard(HALF),
        }
    }

    /// The coefficients for a window of this many symbols.
    fn vector(self, key: u16, symbols: usize) -> Vec<u8> {
        let mut vector = vec![0; symbols];
        let filled = self.coefficients(key).fill(self.field(), &mut vector);
        filled.expect("every kind fits its field");
        vector
    }
}

/// Codes that are compared with each other: our own coefficients and those of
/// the standard.
const FAMILIES: [(&str, [Code; 2]); 3] = [
    ("window/repair", [Code::Dense, Code::Standard]),
    ("window/repair-sparse", [Code::Sparse, Code::StandardSparse]),
    ("window/repair-gf2", [Code::Binary, Code::StandardBinary]),
];

pub(super) fn visit(plan: &Plan, visitor: &mut dyn Visitor) -> Result<(), Error> {
    let all = [32, 64, 128, 256, 1024];
    for size in plan.scope.sizes() {
        for window in plan.scope.pick(&[128], &all, &all) {
            for (workload, codes) in FAMILIES {
                repair(visitor, workload, codes, size, window)?;
            }
        }
    }
    Ok(())
}

fn repair(
    visitor: &mut dyn Visitor,
    workload: &'static str,
    codes: [Code; 2],
    size: usize,
    window: usize,
) -> Result<(), Error> {
    let parameters = [("window", window), ("size", size)];
    let case = Case::new(workload, DEFINITION, &parameters, window * size);
    if !visitor.wants(&case) {
        return Ok(());
    }
    let sources = Symbols::random(window, size, SEED);
    let sources = sources.slices();
    let mut contest = Contest::new(case);
    for code in codes {
        let mut encoder = WindowEncoder::with_field(window, size, code.field());
        for source in &sources {
            encoder.push(source).expect("the window has room");
        }
        let run = move |(key, out): &mut (u16, Vec<u8>)| {
            *key = key.wrapping_add(1);
            out.clear();
            let made = encoder.repair(0..window as u64, code.coefficients(*key), out);
            made.expect("the window is held");
        };
        // Our first two bytes combine lengths; those of peers do not.
        let output = |(_, out): &(u16, Vec<u8>)| out[2..].to_vec();
        let expected = combinations(&code.vector(1, window), &sources);
        contest.enter(
            code.name(),
            Kind::Ours,
            (0, Vec::new()),
            run,
            output,
            &expected,
        )?;
    }
    #[cfg(feature = "peers")]
    {
        peers::cu_fec(&mut contest, &sources, codes[1])?;
        if codes[0] == Code::Dense {
            peers::isal(&mut contest, &sources)?;
        }
    }
    ceilings::xor(&mut contest, &sources, 1)?;
    ceilings::memcpy(&mut contest, &sources, 1)?;
    visitor.contest(contest)
}

#[cfg(feature = "peers")]
mod peers {
    use super::Code;
    use crate::contest::{Contest, Error, Kind};
    use crate::data::Symbols;
    use crate::peers::{cu_fec, isal};
    use crate::workloads::ceilings::combinations;

    /// cu-fec, which follows RFC 8681, so it must make the same bytes as ours.
    pub(super) fn cu_fec<'a>(
        contest: &mut Contest<'a>,
        sources: &[&'a [u8]],
        ours: Code,
    ) -> Result<(), Error> {
        let (window, size) = (sources.len(), sources[0].len());
        let theirs = match ours {
            Code::StandardBinary => cu_fec::Code::Gf2,
            Code::StandardSparse => cu_fec::Code::Sparse,
            _ => cu_fec::Code::Dense,
        };
        let Some(mut encoder) = cu_fec::encoder(size, window, theirs) else {
            contest.skip(cu_fec::NAME, cu_fec::NO_TYPE);
            return Ok(());
        };
        sources.iter().for_each(|source| encoder.push(source));
        let run = move |(key, out): &mut (u16, Symbols)| {
            *key = key.wrapping_add(1);
            encoder.repair(*key, out.get_mut(0));
        };
        let state = (0, Symbols::zeroed(1, size));
        let output = |(_, out): &(u16, Symbols)| out.concat();
        let expected = combinations(&ours.vector(1, window), sources);
        contest.enter(cu_fec::NAME, Kind::Peer, state, run, output, &expected)
    }

    /// ISA-L has no coefficients of its own: it gets ours and expands them.
    pub(super) fn isal<'a>(contest: &mut Contest<'a>, sources: &[&'a [u8]]) -> Result<(), Error> {
        let (window, size) = (sources.len(), sources[0].len());
        let isal = match isal::for_size(size) {
            Ok(isal) => isal,
            Err(reason) => {
                contest.skip(isal::NAME, reason);
                return Ok(());
            }
        };
        let places = isal::Sources::new(sources.iter().copied());
        let mut vector = vec![0; window];
        let mut tables = isal::Tables::default();
        let run = move |(key, out): &mut (u16, Symbols)| {
            *key = key.wrapping_add(1);
            let filled = Code::Dense
                .coefficients(*key)
                .fill(Code::Dense.field(), &mut vector);
            filled.expect("dense vectors fit GF(2^8)");
            isal.tables(&vector, window, &mut tables);
            isal.dot_product(&tables, &places, out.get_mut(0));
        };
        let state = (0, Symbols::zeroed(1, size));
        let output = |(_, out): &(u16, Symbols)| out.concat();
        let expected = combinations(&Code::Dense.vector(1, window), sources);
        contest.enter(isal::NAME, Kind::Peer, state, run, output, &expected)
    }
}
