//! The inner loops, kernel by kernel.

use weftline_codec::kernel::{Kernel, Ops};

use super::ceilings::{self, combinations};
use crate::contest::{Case, Contest, Error, Kind, Visitor};
use crate::data::{Symbols, coefficients};
use crate::plan::Plan;

const SEED: u64 = 1;
const SOURCES: &str = "bytes of the sources";
const TIMES: &str = "bytes of the sources, times the destinations";

pub(super) fn visit(plan: &Plan, visitor: &mut dyn Visitor) -> Result<(), Error> {
    for size in plan.scope.sizes() {
        multiply_add(plan, visitor, size)?;
        for k in plan
            .scope
            .pick(&[64], &[16, 64, 256], &[16, 32, 64, 128, 256])
        {
            dot_product(plan, visitor, size, k)?;
            xor(plan, visitor, size, k)?;
        }
        for d in plan
            .scope
            .pick(&[4], &[1, 2, 4, 6, 8], &[1, 2, 3, 4, 5, 6, 7, 8])
        {
            several(plan, visitor, size, 64, d)?;
        }
    }
    Ok(())
}

fn ours(kernel: Kernel) -> String {
    format!("weftline {kernel}")
}

/// Enters every kernel of the plan with a destination of its own.
fn enter_kernels<'a>(
    contest: &mut Contest<'a>,
    plan: &Plan,
    size: usize,
    expected: &[u8],
    run: impl Fn(Ops, &mut Symbols) + Copy + 'a,
) -> Result<(), Error> {
    for kernel in &plan.kernels {
        let Some(ops) = kernel.ops() else { continue };
        contest.enter(
            ours(*kernel),
            Kind::Ours,
            Symbols::zeroed(1, size),
            move |out: &mut Symbols| run(ops, out),
            |out| out.concat(),
            expected,
        )?;
    }
    Ok(())
}

/// One source after the other into one destination.
fn multiply_add(plan: &Plan, visitor: &mut dyn Visitor, size: usize) -> Result<(), Error> {
    let k = 16;
    let parameters = [("k", k), ("size", size)];
    let case = Case::new("kernel/mul-add", SOURCES, &parameters, k * size);
    if !visitor.wants(&case) {
        return Ok(());
    }
    let sources = Symbols::random(k, size, SEED);
    let sources = sources.slices();
    let matrix = coefficients(k, SEED);
    let expected = combinations(&matrix, &sources);
    let mut contest = Contest::new(case);
    let (coefficients, slices) = (&matrix[..], &sources[..]);
    enter_kernels(&mut contest, plan, size, &expected, move |ops, out| {
        for (c, source) in coefficients.iter().zip(slices) {
            ops.mul_add(out.get_mut(0), source, *c);
        }
    })?;
    #[cfg(feature = "peers")]
    {
        use crate::peers::isal::{self, Tables};
        for (name, isal) in isal::variants(size) {
            match isal {
                Ok(isal) => {
                    let mut tables = Tables::default();
                    isal.tables(&matrix, k, &mut tables);
                    let sources = &sources;
                    let run = move |out: &mut Symbols| {
                        for (index, source) in sources.iter().enumerate() {
                            isal.multiply_add(&tables, index, source, out.get_mut(0));
                        }
                    };
                    let out = Symbols::zeroed(1, size);
                    contest.enter(name, Kind::Peer, out, run, |out| out.concat(), &expected)?;
                }
                Err(reason) => contest.skip(name, reason),
            }
        }
    }
    ceilings::memcpy(&mut contest, &sources, 1)?;
    let ops = ceilings::fastest();
    let out = Symbols::zeroed(1, size);
    let mut expected = vec![0; size];
    sources
        .iter()
        .for_each(|source| ops.xor(&mut expected, source));
    let sources = &sources;
    let run = move |out: &mut Symbols| {
        sources
            .iter()
            .for_each(|source| ops.xor(out.get_mut(0), source))
    };
    contest.enter(
        "xor one by one",
        Kind::Ceiling,
        out,
        run,
        |out| out.concat(),
        &expected,
    )?;
    visitor.contest(contest)
}

/// All sources into one destination, which is overwritten.
fn dot_product(plan: &Plan, visitor: &mut dyn Visitor, size: usize, k: usize) -> Result<(), Error> {
    let parameters = [("k", k), ("size", size)];
    let case = Case::new("kernel/dot", SOURCES, &parameters, k * size);
    if !visitor.wants(&case) {
        return Ok(());
    }
    let sources = Symbols::random(k, size, SEED);
    let sources = sources.slices();
    let matrix = coefficients(k, SEED);
    let expected = combinations(&matrix, &sources);
    let terms: Vec<(u8, &[u8])> = matrix
        .iter()
        .copied()
        .zip(sources.iter().copied())
        .collect();
    let mut contest = Contest::new(case);
    let all = &terms[..];
    enter_kernels(&mut contest, plan, size, &expected, move |ops, out| {
        ops.dot(out.get_mut(0), all);
    })?;
    #[cfg(feature = "peers")]
    {
        use crate::peers::isal::{self, Sources, Tables};
        for (name, isal) in isal::variants(size) {
            match isal {
                Ok(isal) => {
                    let mut tables = Tables::default();
                    isal.tables(&matrix, k, &mut tables);
                    let sources = Sources::new(sources.iter().copied());
                    let run = move |out: &mut Symbols| {
                        isal.dot_product(&tables, &sources, out.get_mut(0));
                    };
                    let out = Symbols::zeroed(1, size);
                    contest.enter(name, Kind::Peer, out, run, |out| out.concat(), &expected)?;
                }
                Err(reason) => contest.skip(name, reason),
            }
        }
    }
    ceilings::xor(&mut contest, &sources, 1)?;
    ceilings::memcpy(&mut contest, &sources, 1)?;
    visitor.contest(contest)
}

/// All sources into each of `d` destinations, which are overwritten.
fn several(
    plan: &Plan,
    visitor: &mut dyn Visitor,
    size: usize,
    k: usize,
    d: usize,
) -> Result<(), Error> {
    let parameters = [("k", k), ("d", d), ("size", size)];
    let case = Case::new("kernel/multi", TIMES, &parameters, k * size * d);
    if !visitor.wants(&case) {
        return Ok(());
    }
    let sources = Symbols::random(k, size, SEED);
    let sources = sources.slices();
    let matrix = coefficients(k * d, SEED);
    let expected = combinations(&matrix, &sources);
    let mut places: Vec<Symbols> = plan
        .kernels
        .iter()
        .map(|_| Symbols::zeroed(d, size))
        .collect();
    let mut contest = Contest::new(case);
    for (kernel, out) in plan.kernels.iter().zip(&mut places) {
        let Some(ops) = kernel.ops() else { continue };
        let (matrix, sources) = (&matrix, &sources);
        let run = move |out: &mut Vec<&mut [u8]>| {
            ops.dot_matrix(out, sources, matrix);
        };
        let out = out.slices_mut();
        let output = |out: &Vec<&mut [u8]>| out.concat();
        contest.enter(ours(*kernel), Kind::Ours, out, run, output, &expected)?;
    }
    #[cfg(feature = "peers")]
    {
        use crate::peers::isal::{self, Sources, Tables};
        for (name, isal) in isal::variants(size) {
            match isal {
                Ok(isal) => {
                    let mut tables = Tables::default();
                    isal.tables(&matrix, k, &mut tables);
                    let sources = Sources::new(sources.iter().copied());
                    let run = move |out: &mut Symbols| isal.encode(&mut tables, &sources, out);
                    let out = Symbols::zeroed(d, size);
                    contest.enter(name, Kind::Peer, out, run, |out| out.concat(), &expected)?;
                }
                Err(reason) => contest.skip(name, reason),
            }
        }
    }
    ceilings::xor(&mut contest, &sources, d)?;
    ceilings::memcpy(&mut contest, &sources, d)?;
    visitor.contest(contest)
}

/// The XOR of all sources: GF(2), or coefficients of 1.
fn xor(plan: &Plan, visitor: &mut dyn Visitor, size: usize, k: usize) -> Result<(), Error> {
    let parameters = [("k", k), ("size", size)];
    let case = Case::new("kernel/xor", SOURCES, &parameters, k * size);
    if !visitor.wants(&case) {
        return Ok(());
    }
    let sources = Symbols::random(k, size, SEED);
    let sources = sources.slices();
    let expected = combinations(&vec![1; k], &sources);
    let mut contest = Contest::new(case);
    let all = &sources[..];
    enter_kernels(&mut contest, plan, size, &expected, move |ops, out| {
        ops.sum(out.get_mut(0), all);
    })?;
    #[cfg(feature = "peers")]
    {
        use crate::peers::isal::{self, Sources, Xor};
        match isal::for_size(size) {
            Ok(isal) => {
                let sources = Sources::new(sources.iter().copied());
                let run = move |(out, room): &mut (Symbols, Xor)| {
                    isal.xor(&sources, out.get_mut(0), room);
                };
                let state = (Symbols::zeroed(1, size), Xor::default());
                let output = |(out, _): &(Symbols, Xor)| out.concat();
                contest.enter(isal::NAME, Kind::Peer, state, run, output, &expected)?;
            }
            Err(reason) => contest.skip(isal::NAME, reason),
        }
    }
    ceilings::memcpy(&mut contest, &sources, 1)?;
    visitor.contest(contest)
}
