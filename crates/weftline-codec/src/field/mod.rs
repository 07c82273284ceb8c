//! The fields GF(2^q), q = 1 to 8, that the codes compute in.
//!
//! An element is a byte below 2^q, addition is XOR, multiplication is that of
//! polynomials over GF(2) modulo the field's [`POLYNOMIAL`](Field::POLYNOMIAL).
//! The polynomials are those that RFC 5510 (section 8.1) lists; that of GF(2^8)
//! is also the one of RFC 8681 (section 3.7.1). In all of them the element 2
//! generates every non-zero element (in GF(2) there is only 1).
//!
//! [`Field`] is the trait of the eight types, for code whose field is known at
//! compile time. [`Arithmetic`] is a field as a value, for code that chooses
//! its field at run time; it also has the operations on long byte strings.
//!
//! # How bytes hold elements
//!
//! Data are bytes in every field. Where q divides 8, a byte holds 8/q elements
//! side by side. Otherwise a *group* of q words of 8 bytes holds 64: bit `i` of
//! byte `j` of the words, lowest word first, is element `8 j + i`. In both
//! cases a combination of byte strings is as long as the longest of them,
//! rounded up to whole groups of [`Arithmetic::group`] bytes.

mod arithmetic;

pub use arithmetic::Arithmetic;

use crate::tables;

/// One of the fields GF(2^q); see the [module](self).
pub trait Field: Copy + core::fmt::Debug + Send + Sync + 'static {
    /// Bits of an element, q.
    const BITS: u32;

    /// The reduction polynomial, with the x^q term; x^0 is the lowest bit.
    const POLYNOMIAL: u16;

    /// The element whose powers are all non-zero elements.
    const GENERATOR: u8;

    /// The number of elements, 2^q.
    const ORDER: usize = 1 << Self::BITS;

    /// The field as a value.
    fn arithmetic() -> Arithmetic;

    /// `a + b`, which is also `a - b`.
    #[inline]
    #[must_use]
    fn add(a: u8, b: u8) -> u8 {
        a ^ b
    }

    /// `a * b`.
    ///
    /// # Panics
    ///
    /// When `a` is not an element, that is, not below [`ORDER`](Self::ORDER).
    /// If `b` is not an element, the result is unspecified.
    #[inline]
    #[must_use]
    fn mul(a: u8, b: u8) -> u8 {
        Self::arithmetic().product(a, b)
    }

    /// The element that times `a` is 1.
    ///
    /// # Panics
    ///
    /// When `a` is 0 or not an element.
    #[inline]
    #[must_use]
    fn inv(a: u8) -> u8 {
        Self::arithmetic().inverse(a)
    }

    /// `a / b`.
    ///
    /// # Panics
    ///
    /// When `b` is 0 or not an element.
    #[inline]
    #[must_use]
    fn div(a: u8, b: u8) -> u8 {
        Self::mul(Self::inv(b), a)
    }

    /// [`GENERATOR`](Self::GENERATOR) to the power `n`.
    #[inline]
    #[must_use]
    fn exp(n: u8) -> u8 {
        Self::arithmetic().power(n)
    }
}

macro_rules! fields {
    ($($(#[$doc:meta])* $name:ident: $tables:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name;

        impl Field for $name {
            const BITS: u32 = tables::$tables.bits;
            const POLYNOMIAL: u16 = tables::$tables.polynomial;
            const GENERATOR: u8 = tables::$tables.generator();

            #[inline]
            fn arithmetic() -> Arithmetic {
                Arithmetic::new(&tables::$tables)
            }
        }
    )*};
}

fields! {
    /// GF(2): addition is XOR.
    Gf2: GF2;
    /// GF(2^2), four elements to a byte.
    Gf4: GF4;
    /// GF(2^3), 64 elements in three words of 8 bytes.
    Gf8: GF8;
    /// GF(2^4), two elements to a byte.
    Gf16: GF16;
    /// GF(2^5), 64 elements in five words of 8 bytes.
    Gf32: GF32;
    /// GF(2^6), 64 elements in six words of 8 bytes.
    Gf64: GF64;
    /// GF(2^7), 64 elements in seven words of 8 bytes.
    Gf128: GF128;
    /// GF(2^8), one element to a byte: the default of every code.
    Gf256: GF256;
}
