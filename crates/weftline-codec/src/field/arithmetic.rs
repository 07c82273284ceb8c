//! A field chosen at run time, and its operations on long byte strings.

use crate::arch::Onto;
use crate::kernel::{self, Terms};
use crate::tables::{self, Tables};

/// Bytes of the words of a group.
const WORD: usize = 8;

/// The operations of one field, as a value. Every code computes with one.
///
/// Methods that take long byte strings use the [kernel](crate::kernel) in use.
/// A coefficient must be an element of the field, below [`order`](Self::order);
/// anything else panics. There are two kinds of byte string: *data*, which hold
/// elements as the [module](super) describes, and coding *vectors*, with one
/// element to a byte. Where [`group`](Self::group) is 1, the operations on data
/// work on vectors too.
#[derive(Clone, Copy)]
pub struct Arithmetic {
    tables: &'static Tables,
}

impl Arithmetic {
    pub(super) fn new(tables: &'static Tables) -> Self {
        Self { tables }
    }

    /// The tables that the kernels use.
    #[inline]
    pub(crate) fn tables(self) -> &'static Tables {
        self.tables
    }

    /// The field GF(2^`bits`); `None` unless `bits` is 1 to 8.
    #[must_use]
    pub fn with_bits(bits: u32) -> Option<Self> {
        tables::with_bits(bits).map(Self::new)
    }

    /// Bits of an element, q.
    #[inline]
    #[must_use]
    pub fn bits(self) -> u32 {
        self.tables.bits
    }

    /// The number of elements, 2^q.
    #[inline]
    #[must_use]
    pub fn order(self) -> usize {
        self.tables.order()
    }

    /// The reduction polynomial, with the x^q term.
    #[must_use]
    pub fn polynomial(self) -> u16 {
        self.tables.polynomial
    }

    /// The smallest number of bytes that holds a whole number of elements, laid
    /// out as the [module](super) describes: 1 where q divides 8, otherwise 8
    /// q.
    #[inline]
    #[must_use]
    pub fn group(self) -> usize {
        let bits = self.tables.bits;
        if 8 % bits == 0 {
            1
        } else {
            WORD * bits as usize
        }
    }

    /// How many times as long as in GF(2^8) it takes to multiply data, about: fields in which no
    /// kernel multiplies a byte at a time cost more. A vector costs the same in all fields.
    pub(crate) fn weight(self) -> u64 {
        if self.group() == 1 { 1 } else { 8 }
    }

    /// `length` rounded up to whole groups.
    #[inline]
    #[must_use]
    pub fn whole_groups(self, length: usize) -> usize {
        length.next_multiple_of(self.group())
    }

    /// `a * b`.
    ///
    /// # Panics
    ///
    /// When `a` is not an element.
    #[inline]
    #[must_use]
    pub fn product(self, a: u8, b: u8) -> u8 {
        self.tables.row(a).with(b)
    }

    /// The element that times `a` is 1.
    ///
    /// # Panics
    ///
    /// When `a` is 0 or not an element.
    #[inline]
    #[must_use]
    pub fn inverse(self, a: u8) -> u8 {
        assert!(a != 0, "zero has no inverse");
        self.tables.inverses[usize::from(a)]
    }

    /// The generator to the power `n`.
    #[inline]
    #[must_use]
    pub fn power(self, n: u8) -> u8 {
        self.tables.powers[usize::from(n)]
    }

    /// `dst = c * dst` for data.
    pub fn scale(self, dst: &mut [u8], c: u8) {
        if self.group() == 1 {
            self.scale_vector(dst, c);
        } else {
            self.map_groups(dst, None, c);
        }
    }

    /// `dst += c * src` for data, where `src` may be shorter.
    ///
    /// # Panics
    ///
    /// When `src` is longer than `dst`, or `dst` is not a whole number of
    /// groups.
    pub fn mul_add(self, dst: &mut [u8], src: &[u8], c: u8) {
        if self.group() == 1 {
            self.mul_add_vector(dst, src, c);
        } else {
            self.map_groups(dst, Some(src), c);
        }
    }

    /// `dst += c * src` for the data of every `(c, src)`; any `src` may be
    /// shorter. Faster than one [`mul_add`](Self::mul_add) after another.
    ///
    /// # Panics
    ///
    /// As [`mul_add`](Self::mul_add).
    pub fn mul_add_multi(self, dst: &mut [u8], terms: &[(u8, &[u8])]) {
        if self.group() == 1 {
            kernel::active_ops().mul_add_multi_with(self.tables, dst, terms, Onto::All);
        } else {
            for &(c, src) in terms {
                self.map_groups(dst, Some(src), c);
            }
        }
    }

    /// Several destinations from the same sources: adds to `dsts[d]` the sum of
    /// `matrix[d * srcs.len() + s] * srcs[s]` over all `s`, for data. Any
    /// source may be shorter than the destinations. Faster than a
    /// [`mul_add_multi`](Self::mul_add_multi) for each destination, because
    /// each source is read and split once for several of them.
    ///
    /// # Panics
    ///
    /// When the matrix does not have `dsts.len() * srcs.len()` elements, when
    /// the destinations differ in length, and as [`mul_add`](Self::mul_add).
    pub fn mul_add_matrix(self, dsts: &mut [&mut [u8]], srcs: &[&[u8]], matrix: &[u8]) {
        self.matrix(dsts, srcs, matrix, Onto::All);
    }

    /// As [`mul_add_matrix`](Self::mul_add_matrix), but overwrites the
    /// destinations.
    ///
    /// # Panics
    ///
    /// As [`mul_add_matrix`](Self::mul_add_matrix).
    pub fn dot_matrix(self, dsts: &mut [&mut [u8]], srcs: &[&[u8]], matrix: &[u8]) {
        self.matrix(dsts, srcs, matrix, Onto::Nothing);
    }

    fn matrix(self, dsts: &mut [&mut [u8]], srcs: &[&[u8]], matrix: &[u8], onto: Onto) {
        if self.group() == 1 {
            kernel::active_ops().mul_add_matrix_with(self.tables, dsts, srcs, matrix, onto);
            return;
        }
        assert_eq!(
            matrix.len(),
            dsts.len() * srcs.len(),
            "a matrix needs a row for each destination and a column for each source"
        );
        for (d, dst) in dsts.iter_mut().enumerate() {
            let row = &matrix[d * srcs.len()..][..srcs.len()];
            onto.prepare(dst);
            self.combine(dst, row.iter().copied().zip(srcs.iter().copied()));
        }
    }

    /// As [`mul_add_multi`](Self::mul_add_multi), for terms that are not in a
    /// slice.
    pub(crate) fn combine<'a>(self, dst: &mut [u8], terms: impl Terms<'a>) {
        if self.group() == 1 {
            kernel::active_ops().combine(self.tables, dst, terms, Onto::All);
        } else {
            terms.each(|c, src| {
                if c != 0 {
                    self.map_groups(dst, Some(src), c);
                }
            });
        }
    }

    /// `dst += c * src` for the vector of every `(c, src)`; any `src` may be
    /// shorter, and none longer.
    pub(crate) fn combine_vectors<'a>(self, dst: &mut [u8], terms: impl Terms<'a>) {
        kernel::active_ops().combine(self.tables, dst, terms, Onto::All);
    }

    /// `dst = c * dst` for a vector.
    pub fn scale_vector(self, dst: &mut [u8], c: u8) {
        kernel::active_ops().mul_with(self.tables, dst, c);
    }

    /// `dst += c * src` for vectors, where `src` may be shorter.
    ///
    /// # Panics
    ///
    /// When `src` is longer than `dst`.
    pub fn mul_add_vector(self, dst: &mut [u8], src: &[u8], c: u8) {
        kernel::active_ops().mul_add_with(self.tables, dst, src, c);
    }

    /// `dst += c * src`, or `dst = c * dst` without a `src`, group by group.
    fn map_groups(self, dst: &mut [u8], src: Option<&[u8]>, c: u8) {
        assert!(
            dst.len().is_multiple_of(self.group()),
            "{} bytes are not a whole number of groups of {}",
            dst.len(),
            self.group()
        );
        if let Some(src) = src {
            kernel::assert_fits(dst, src);
        }
        match self.bits() {
            3 => map_words::<3>(self, dst, src, c),
            5 => map_words::<5>(self, dst, src, c),
            6 => map_words::<6>(self, dst, src, c),
            _ => map_words::<7>(self, dst, src, c),
        }
    }
}

/// A group has a word for each bit of an element, so adding words multiplies 64
/// elements at once.
fn map_words<const BITS: usize>(field: Arithmetic, dst: &mut [u8], src: Option<&[u8]>, c: u8) {
    // All ones where the bit matrix of `c`, whose columns are its products with
    // powers of two, has a one.
    let matrix: [[u64; BITS]; BITS] = core::array::from_fn(|to| {
        core::array::from_fn(|from| u64::from(field.product(c, 1 << from) >> to & 1).wrapping_neg())
    });
    let group = BITS * WORD;
    let mut sources = src.map(|src| src.chunks(group));
    for bytes in dst.chunks_exact_mut(group) {
        let mut words = [0; BITS];
        match &mut sources {
            None => read(&mut words, bytes),
            Some(sources) => match sources.next() {
                Some(source) => read(&mut words, source),
                None => return,
            },
        }
        for (to, row) in bytes.as_chunks_mut::<WORD>().0.iter_mut().zip(&matrix) {
            let mut sum = 0;
            for (word, mask) in words.iter().zip(row) {
                sum ^= word & mask;
            }
            if src.is_some() {
                sum ^= u64::from_le_bytes(*to);
            }
            *to = sum.to_le_bytes();
        }
    }
}

/// Reads the words of a group. If `bytes` ends early, the rest is 0.
fn read(words: &mut [u64], bytes: &[u8]) {
    let (whole, rest) = bytes.as_chunks::<WORD>();
    for (word, bytes) in words.iter_mut().zip(whole) {
        *word = u64::from_le_bytes(*bytes);
    }
    if let Some(word) = words.get_mut(whole.len()) {
        let mut last = [0; WORD];
        last[..rest.len()].copy_from_slice(rest);
        *word = u64::from_le_bytes(last);
    }
}

impl PartialEq for Arithmetic {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for Arithmetic {}

impl Default for Arithmetic {
    /// GF(2^8).
    fn default() -> Self {
        Self::new(&tables::GF256)
    }
}

impl core::fmt::Debug for Arithmetic {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "GF(2^{})", self.bits())
    }
}
