//! The points and weights of a code's shards, and coefficients from them.

use alloc::vec::Vec;

use super::construction::Construction;
use crate::field::Arithmetic;

/// The most points of any field.
pub(super) const MOST: usize = 256;

/// The points and weights of all shards; weights are kept as logarithms to the
/// base of the field's generator.
#[derive(Clone, Debug)]
pub(super) struct Points {
    field: Arithmetic,
    sources: usize,
    /// Shard by shard, source shards first.
    points: Vec<u8>,
    weights: Vec<u32>,
    logs: Logs,
}

impl Points {
    /// The points and weights of a construction that has this many.
    pub(super) fn new(
        construction: Construction,
        field: Arithmetic,
        sources: usize,
        repairs: usize,
    ) -> Self {
        let logs = Logs::new(field);
        let all = 0..sources + repairs;
        let last = field.order() - 1;
        let points: Vec<u8> = match construction {
            Construction::Rfc5510 => all.map(|i| field.power(i as u8)).collect(),
            Construction::Cauchy => all
                .map(|i| if i < sources { i } else { last - (i - sources) } as u8)
                .collect(),
        };
        let weights = match construction {
            // Lagrange's formula from the sources' points; shards and values
            // are not scaled.
            Construction::Rfc5510 => points
                .iter()
                .map(|&point| {
                    logs.cycle - logs.reduced(logs.of_distances(point, &points[..sources]))
                })
                .collect(),
            // These weights make all coefficients of the first repair shard 1.
            Construction::Cauchy => points
                .iter()
                .enumerate()
                .map(|(i, &point)| {
                    let to_first_repair = if i < sources {
                        &points[sources..][..1]
                    } else {
                        &[]
                    };
                    logs.of_distances(point, to_first_repair)
                })
                .collect(),
        };
        Self {
            field,
            sources,
            points,
            weights,
            logs,
        }
    }

    pub(super) fn field(&self) -> Arithmetic {
        self.field
    }

    pub(super) fn sources(&self) -> usize {
        self.sources
    }

    /// The number of shards.
    pub(super) fn len(&self) -> usize {
        self.points.len()
    }

    /// The interpolation that makes repair shards from all source shards.
    pub(super) fn nothing_missing(&self) -> Interpolation<'_> {
        let all: [u8; MOST] = core::array::from_fn(|i| i as u8);
        self.interpolation(&all[..self.sources])
    }

    /// The interpolation that makes other shards from k given ones: `given[i]`
    /// is i, or the repair shard that takes the place of source shard i. All
    /// differ.
    pub(super) fn interpolation(&self, given: &[u8]) -> Interpolation<'_> {
        let mut interpolation = Interpolation {
            points: self,
            replaced: 0,
            missing: [0; MOST],
            repairs: [0; MOST],
            count: given.len(),
            given: [0; MOST],
            scales: [0; MOST],
        };
        let mut scales = [0; MOST];
        for (i, &shard) in given.iter().enumerate() {
            let point = self.points[usize::from(shard)];
            interpolation.given[i] = point;
            scales[i] = self.weights[usize::from(shard)];
            if usize::from(shard) != i {
                interpolation.missing[interpolation.replaced] = self.points[i];
                interpolation.repairs[interpolation.replaced] = point;
                interpolation.replaced += 1;
            }
        }
        interpolation.scale(&interpolation.given[..given.len()], &mut scales);
        interpolation.scales = scales;
        interpolation
    }
}

/// The coefficients that make other shards from k given ones.
pub(super) struct Interpolation<'a> {
    points: &'a Points,
    /// The number of source shards replaced by a repair shard.
    replaced: usize,
    /// Points of these source shards.
    missing: [u8; MOST],
    /// Points of these repair shards.
    repairs: [u8; MOST],
    count: usize,
    /// Points and scales (s in the formula of the [module](super)) of the given
    /// shards.
    given: [u8; MOST],
    scales: [u32; MOST],
}

impl Interpolation<'_> {
    /// Writes the coefficients of shards that are not given; each row is in the
    /// order of the given shards.
    pub(super) fn rows<'a>(&self, shards: impl Iterator<Item = (usize, &'a mut [u8])>) {
        let logs = &self.points.logs;
        let (given, scales) = (&self.given[..self.count], &self.scales[..self.count]);
        for (shard, row) in shards {
            let point = self.points.points[shard];
            let mut scale = [self.points.weights[shard]];
            self.scale(&[point], &mut scale);
            let divisor = logs.cycle - scale[0];
            for ((coefficient, &from), &scale) in row.iter_mut().zip(given).zip(scales) {
                *coefficient = logs.power(scale + divisor + logs.of_inverse(from ^ point));
            }
        }
    }

    /// Turns the weights of shards with these points into their scales.
    #[inline]
    fn scale(&self, points: &[u8], scales: &mut [u32]) {
        let logs = &self.points.logs;
        let scales = &mut scales[..points.len()];
        for (&x, &y) in self.missing.iter().zip(&self.repairs).take(self.replaced) {
            for (scale, &point) in scales.iter_mut().zip(points) {
                *scale += logs.of(point ^ x) + logs.cycle - logs.of(point ^ y);
            }
        }
        for scale in scales {
            *scale = logs.reduced(*scale);
        }
    }
}

/// Logarithms of the field's elements. Logarithms that differ by a cycle, the
/// number of non-zero elements, stand for the same element.
#[derive(Clone, Debug)]
struct Logs {
    bits: u32,
    cycle: u32,
    /// 0 for 0, so that a point has no distance from itself.
    logs: [u8; 256],
    /// The logarithms of the inverses.
    of_inverses: [u8; 256],
    /// The generator's powers, for four cycles.
    powers: [u8; 1024],
}

impl Logs {
    fn new(field: Arithmetic) -> Self {
        let cycle = field.order() - 1;
        let mut logs = [0; 256];
        for n in (0..cycle as u8).rev() {
            logs[usize::from(field.power(n))] = n;
        }
        Self {
            bits: field.bits(),
            cycle: cycle as u32,
            logs,
            of_inverses: logs.map(|log| cycle as u8 - log),
            powers: core::array::from_fn(|n| field.power((n % cycle) as u8)),
        }
    }

    #[inline]
    fn of(&self, element: u8) -> u32 {
        u32::from(self.logs[usize::from(element)])
    }

    #[inline]
    fn of_inverse(&self, element: u8) -> u32 {
        u32::from(self.of_inverses[usize::from(element)])
    }

    /// The logarithm of the product of all `point + other` that are not 0.
    fn of_distances(&self, point: u8, others: &[u8]) -> u32 {
        others.iter().map(|other| self.of(point ^ other)).sum()
    }

    /// Reduces a sum of up to two cycles for each element of the field to at
    /// most one cycle.
    #[inline]
    fn reduced(&self, mut log: u32) -> u32 {
        // 2^q is 1 more than a cycle. The sum starts below 2^(2 q + 2), and
        // each round removes q bits until at most a cycle is left.
        for _ in 0..3 {
            log = (log & self.cycle) + (log >> self.bits);
        }
        log
    }

    /// The element with this logarithm, which may be up to four cycles.
    #[inline]
    fn power(&self, log: u32) -> u8 {
        self.powers[log as usize & 1023]
    }
}
