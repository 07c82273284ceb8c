//! The kernels by name, and the operations of each with their arguments checked.

use core::fmt;

#[cfg(target_arch = "aarch64")]
use crate::arch::aarch64::neon::Neon;
use crate::arch::scalar::Scalar;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use crate::arch::wasm32::simd128::Simd128;
#[cfg(target_arch = "x86_64")]
use crate::arch::x86_64::{
    avx2::Avx2, avx512::Avx512, gfni256::Gfni256, gfni512::Gfni512, ssse3::Ssse3,
};
use crate::arch::{Onto, Term};
use crate::tables::{self, Tables};

/// Terms of a sum read in one pass over the destination, so that they stay in
/// the cache from one strip of it to the next.
const BATCH: usize = 64;

/// An implementation of the inner loops, named after the instructions it uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kernel {
    /// Table look-ups, on any CPU.
    Scalar,
    /// x86-64 with SSSE3: 16 bytes at a time.
    Ssse3,
    /// x86-64 with AVX2: 32 bytes at a time.
    Avx2,
    /// x86-64 with AVX-512 F and BW: 64 bytes at a time.
    Avx512,
    /// x86-64 with GFNI and AVX2: 32 bytes at a time, without look-ups.
    Gfni256,
    /// x86-64 with GFNI and AVX-512 F and BW: 64 bytes at a time, without
    /// look-ups.
    Gfni512,
    /// 64-bit ARM with NEON: 16 bytes at a time.
    Neon,
    /// WebAssembly with SIMD128: 16 bytes at a time.
    Simd128,
}

impl Kernel {
    /// Every kernel, slowest first.
    pub const ALL: &[Self] = &[
        Self::Scalar,
        Self::Ssse3,
        Self::Neon,
        Self::Simd128,
        Self::Avx2,
        Self::Avx512,
        Self::Gfni256,
        Self::Gfni512,
    ];

    /// The kernels that this CPU and this build can run, slowest first.
    pub fn available() -> impl DoubleEndedIterator<Item = Self> {
        Self::ALL
            .iter()
            .copied()
            .filter(|kernel| kernel.ops().is_some())
    }

    /// The kernel with this [`name`](Self::name), whether available or not.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|kernel| kernel.name() == name)
    }

    /// The name [`ENVIRONMENT`](super::ENVIRONMENT) takes, such as `avx2`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Ssse3 => "ssse3",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Gfni256 => "gfni256",
            Self::Gfni512 => "gfni512",
            Self::Neon => "neon",
            Self::Simd128 => "simd128",
        }
    }

    /// The operations of this kernel; `None` where it is not available.
    #[must_use]
    pub fn ops(self) -> Option<Ops> {
        match self {
            Self::Scalar => Some(Ops(Implementation::Scalar(Scalar))),
            #[cfg(target_arch = "x86_64")]
            Self::Ssse3 => Ssse3::new().map(|kernel| Ops(Implementation::Ssse3(kernel))),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Avx2::new().map(|kernel| Ops(Implementation::Avx2(kernel))),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Avx512::new().map(|kernel| Ops(Implementation::Avx512(kernel))),
            #[cfg(target_arch = "x86_64")]
            Self::Gfni256 => Gfni256::new().map(|kernel| Ops(Implementation::Gfni256(kernel))),
            #[cfg(target_arch = "x86_64")]
            Self::Gfni512 => Gfni512::new().map(|kernel| Ops(Implementation::Gfni512(kernel))),
            #[cfg(target_arch = "aarch64")]
            Self::Neon => Neon::new().map(|kernel| Ops(Implementation::Neon(kernel))),
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Self::Simd128 => Simd128::new().map(|kernel| Ops(Implementation::Simd128(kernel))),
            #[allow(unreachable_patterns)]
            _ => None,
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The operations of one kernel that this CPU can run.
#[derive(Clone, Copy, Debug)]
pub struct Ops(Implementation);

#[derive(Clone, Copy, Debug)]
enum Implementation {
    Scalar(Scalar),
    #[cfg(target_arch = "x86_64")]
    Ssse3(Ssse3),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Gfni256(Gfni256),
    #[cfg(target_arch = "x86_64")]
    Gfni512(Gfni512),
    #[cfg(target_arch = "aarch64")]
    Neon(Neon),
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128(Simd128),
}

macro_rules! dispatch {
    ($ops:expr, $kernel:ident => $call:expr) => {
        match $ops.0 {
            Implementation::Scalar($kernel) => $call,
            #[cfg(target_arch = "x86_64")]
            Implementation::Ssse3($kernel) => $call,
            #[cfg(target_arch = "x86_64")]
            Implementation::Avx2($kernel) => $call,
            #[cfg(target_arch = "x86_64")]
            Implementation::Avx512($kernel) => $call,
            #[cfg(target_arch = "x86_64")]
            Implementation::Gfni256($kernel) => $call,
            #[cfg(target_arch = "x86_64")]
            Implementation::Gfni512($kernel) => $call,
            #[cfg(target_arch = "aarch64")]
            Implementation::Neon($kernel) => $call,
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Implementation::Simd128($kernel) => $call,
        }
    };
}

impl Ops {
    /// The operations of the fastest kernel available.
    pub(super) fn best() -> Self {
        let scalar = Self(Implementation::Scalar(Scalar));
        let mut fastest_first = Kernel::ALL.iter().rev();
        fastest_first
            .find_map(|kernel| kernel.ops())
            .unwrap_or(scalar)
    }

    /// The kernel these operations belong to.
    #[must_use]
    pub fn kernel(self) -> Kernel {
        match self.0 {
            Implementation::Scalar(_) => Kernel::Scalar,
            #[cfg(target_arch = "x86_64")]
            Implementation::Ssse3(_) => Kernel::Ssse3,
            #[cfg(target_arch = "x86_64")]
            Implementation::Avx2(_) => Kernel::Avx2,
            #[cfg(target_arch = "x86_64")]
            Implementation::Avx512(_) => Kernel::Avx512,
            #[cfg(target_arch = "x86_64")]
            Implementation::Gfni256(_) => Kernel::Gfni256,
            #[cfg(target_arch = "x86_64")]
            Implementation::Gfni512(_) => Kernel::Gfni512,
            #[cfg(target_arch = "aarch64")]
            Implementation::Neon(_) => Kernel::Neon,
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Implementation::Simd128(_) => Kernel::Simd128,
        }
    }

    /// As [`xor`](super::xor).
    ///
    /// # Panics
    ///
    /// When `src` is longer than `dst`.
    #[inline]
    pub fn xor(self, dst: &mut [u8], src: &[u8]) {
        assert_fits(dst, src);
        dispatch!(self, kernel => kernel.xor(dst, src));
    }

    /// As [`mul`](super::mul).
    #[inline]
    pub fn mul(self, dst: &mut [u8], c: u8) {
        self.mul_with(&tables::GF256, dst, c);
    }

    /// As [`mul_add`](super::mul_add).
    ///
    /// # Panics
    ///
    /// When `src` is longer than `dst`.
    #[inline]
    pub fn mul_add(self, dst: &mut [u8], src: &[u8], c: u8) {
        self.mul_add_with(&tables::GF256, dst, src, c);
    }

    /// As [`mul_add_multi`](super::mul_add_multi).
    ///
    /// # Panics
    ///
    /// When a `src` is longer than `dst`.
    #[inline]
    pub fn mul_add_multi(self, dst: &mut [u8], terms: &[(u8, &[u8])]) {
        self.mul_add_multi_with(&tables::GF256, dst, terms, Onto::All);
    }

    /// As [`dot`](super::dot).
    ///
    /// # Panics
    ///
    /// When a `src` is longer than `dst`.
    #[inline]
    pub fn dot(self, dst: &mut [u8], terms: &[(u8, &[u8])]) {
        self.mul_add_multi_with(&tables::GF256, dst, terms, Onto::Nothing);
    }

    /// As [`xor_multi`](super::xor_multi).
    ///
    /// # Panics
    ///
    /// When a `src` is longer than `dst`.
    pub fn xor_multi(self, dst: &mut [u8], srcs: &[&[u8]]) {
        self.sum_in_batches(dst, srcs, Onto::All);
    }

    /// As [`sum`](super::sum).
    ///
    /// # Panics
    ///
    /// When a `src` is longer than `dst`.
    pub fn sum(self, dst: &mut [u8], srcs: &[&[u8]]) {
        self.sum_in_batches(dst, srcs, Onto::Nothing);
    }

    fn sum_in_batches(self, dst: &mut [u8], srcs: &[&[u8]], mut onto: Onto) {
        if srcs.is_empty() {
            onto.prepare(dst);
        }
        for batch in srcs.chunks(BATCH) {
            self.sum_of(&tables::GF2, dst, batch, onto);
            onto = Onto::All;
        }
    }

    /// As [`mul_add_matrix`](super::mul_add_matrix).
    ///
    /// # Panics
    ///
    /// As [`mul_add_matrix`](super::mul_add_matrix).
    pub fn mul_add_matrix(self, dsts: &mut [&mut [u8]], srcs: &[&[u8]], matrix: &[u8]) {
        self.mul_add_matrix_with(&tables::GF256, dsts, srcs, matrix, Onto::All);
    }

    /// As [`dot_matrix`](super::dot_matrix).
    ///
    /// # Panics
    ///
    /// As [`mul_add_matrix`](super::mul_add_matrix).
    pub fn dot_matrix(self, dsts: &mut [&mut [u8]], srcs: &[&[u8]], matrix: &[u8]) {
        self.mul_add_matrix_with(&tables::GF256, dsts, srcs, matrix, Onto::Nothing);
    }

    /// `dst = c * dst` in the field of these tables.
    #[inline]
    pub(crate) fn mul_with(self, tables: &'static Tables, dst: &mut [u8], c: u8) {
        if c != 1 {
            dispatch!(self, kernel => kernel.mul(tables, dst, c));
        }
    }

    /// `dst ^= c * src` in the field of these tables.
    #[inline]
    pub(crate) fn mul_add_with(self, tables: &'static Tables, dst: &mut [u8], src: &[u8], c: u8) {
        assert_fits(dst, src);
        match c {
            0 => {}
            1 => dispatch!(self, kernel => kernel.xor(dst, src)),
            _ => dispatch!(self, kernel => kernel.mul_add(tables, dst, src, c)),
        }
    }

    /// The sum of every `c * src` in the field of these tables, added to `dst`
    /// or overwriting it.
    #[inline]
    pub(crate) fn mul_add_multi_with(
        self,
        tables: &'static Tables,
        dst: &mut [u8],
        terms: &[(u8, &[u8])],
        onto: Onto,
    ) {
        if tables.bits > 1 {
            return self.sum_of(tables, dst, terms, onto);
        }
        for (_, src) in terms {
            assert_fits(dst, src);
        }
        self.combine(tables, dst, terms.iter().copied(), onto);
    }

    /// The sum of all terms, added to `dst` or overwriting it.
    #[inline]
    fn sum_of<'a, T: Term<'a>>(
        self,
        tables: &'static Tables,
        dst: &mut [u8],
        terms: &[T],
        onto: Onto,
    ) {
        for term in terms {
            assert_fits(dst, term.source());
        }
        dispatch!(self, kernel => kernel.combine(tables, dst, terms, onto));
    }

    /// As [`mul_add_matrix`] or [`dot_matrix`], in the field of these tables.
    pub(crate) fn mul_add_matrix_with(
        self,
        tables: &'static Tables,
        dsts: &mut [&mut [u8]],
        srcs: &[&[u8]],
        matrix: &[u8],
        onto: Onto,
    ) {
        assert_eq!(
            matrix.len(),
            dsts.len() * srcs.len(),
            "a matrix needs a row for each destination and a column for each source"
        );
        let [first, others @ ..] = &*dsts else { return };
        for src in srcs {
            assert_fits(first, src);
        }
        for other in others {
            assert_eq!(
                other.len(),
                first.len(),
                "all destinations need the same length"
            );
        }
        match (&mut *dsts, srcs) {
            (_, []) => dsts.iter_mut().for_each(|dst| onto.prepare(dst)),
            // A sum of one product needs no registers to collect it.
            (_, [src]) => {
                for (dst, &c) in dsts.iter_mut().zip(matrix) {
                    onto.prepare(dst);
                    self.mul_add_with(tables, dst, src, c);
                }
            }
            ([dst], _) => {
                let terms = matrix.iter().copied().zip(srcs.iter().copied());
                self.combine(tables, dst, terms, onto);
            }
            _ if tables.bits == 1 => {
                for (dst, row) in dsts.iter_mut().zip(matrix.chunks_exact(srcs.len())) {
                    let terms = row.iter().copied().zip(srcs.iter().copied());
                    self.combine(tables, dst, terms, onto);
                }
            }
            _ => dispatch!(self, kernel => kernel.mul_add_matrix(tables, dsts, srcs, matrix, onto)),
        }
    }

    /// As [`mul_add_multi_with`](Self::mul_add_multi_with), for terms that are
    /// not in a slice. Terms with a coefficient of 0 cost almost nothing.
    pub(crate) fn combine<'a>(
        self,
        tables: &'static Tables,
        dst: &mut [u8],
        terms: impl Terms<'a>,
        onto: Onto,
    ) {
        if tables.bits == 1 {
            self.combine_by::<&[u8]>(tables, dst, terms, onto);
        } else {
            self.combine_by::<(u8, &[u8])>(tables, dst, terms, onto);
        }
    }

    #[inline]
    fn combine_by<'a, T: Term<'a>>(
        self,
        tables: &'static Tables,
        dst: &mut [u8],
        terms: impl Terms<'a>,
        onto: Onto,
    ) {
        // Preparing a long list costs more than a few terms.
        if terms.at_most() <= 8 {
            self.in_batches::<T, 8>(tables, dst, terms, onto);
        } else {
            self.in_batches::<T, BATCH>(tables, dst, terms, onto);
        }
    }

    #[inline]
    fn in_batches<'a, T: Term<'a>, const LIST: usize>(
        self,
        tables: &'static Tables,
        dst: &mut [u8],
        terms: impl Terms<'a>,
        mut onto: Onto,
    ) {
        let mut batch = [T::new(0, &[]); LIST];
        let mut held = 0;
        terms.each(|c, src| {
            batch[held] = T::new(c, src);
            // No branch: it could not be predicted whether a coefficient is 0.
            held += usize::from(c != 0);
            if held == LIST {
                self.sum_of(tables, dst, &batch, onto);
                (held, onto) = (0, Onto::All);
            }
        });
        if held > 0 {
            self.sum_of(tables, dst, &batch[..held], onto);
        } else {
            onto.prepare(dst);
        }
    }
}

/// Terms of a sum: coefficients and sources. Every iterator over them
/// implements this.
pub(crate) trait Terms<'a> {
    /// An upper bound on their number.
    fn at_most(&self) -> usize;

    /// Calls `term` for each of them.
    fn each(self, term: impl FnMut(u8, &'a [u8]));
}

impl<'a, I: Iterator<Item = (u8, &'a [u8])>> Terms<'a> for I {
    fn at_most(&self) -> usize {
        self.size_hint().1.unwrap_or(usize::MAX)
    }

    #[inline]
    fn each(self, mut term: impl FnMut(u8, &'a [u8])) {
        self.for_each(|(c, src)| term(c, src));
    }
}

#[inline]
#[track_caller]
pub(crate) fn assert_fits(dst: &[u8], src: &[u8]) {
    assert!(
        src.len() <= dst.len(),
        "a source of {} bytes is longer than its destination of {}",
        src.len(),
        dst.len()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "longer than its destination")]
    fn a_source_longer_than_its_destination_is_refused() {
        Ops::best().mul_add(&mut [0; 3], &[0; 4], 7);
    }
}
