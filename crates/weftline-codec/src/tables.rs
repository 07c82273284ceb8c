//! The tables of the eight fields, computed at compile time: what both the
//! kernels and the arithmetic look up.

/// The tables of one field. Multiplying by a constant is a linear map of the
/// bits of a byte that holds elements. Where q does not divide 8, a byte holds
/// one element in its low bits, and the higher bits are ignored.
#[derive(Debug)]
pub(crate) struct Tables {
    pub(crate) bits: u32,
    pub(crate) polynomial: u16,
    /// `rows[c][x]` is `c` times every element of the byte `x`. Not in a module for browsers, which is
    /// loaded over the network: all fields have 127 KiB of them.
    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
    rows: &'static [[u8; 256]],
    /// The rows, split for byte-shuffle instructions.
    #[cfg_attr(
        not(any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            all(target_arch = "wasm32", target_feature = "simd128")
        )),
        expect(dead_code, reason = "only the vector kernels shuffle")
    )]
    pub(crate) nibbles: &'static [Nibbles],
    /// The rows as bit matrices, as the affine instruction of x86 takes them.
    #[cfg(target_arch = "x86_64")]
    pub(crate) matrices: &'static [u64],
    /// `powers[n]` is the generator to the power `n`.
    pub(crate) powers: &'static [u8; 256],
    /// `inverses[a]` times `a` is 1; 0 for 0.
    pub(crate) inverses: &'static [u8],
}

/// Products of one coefficient, split in two:
/// `c * x == low[x & 15] ^ high[x >> 4]`.
#[derive(Debug)]
#[repr(C, align(32))]
pub(crate) struct Nibbles {
    pub(crate) low: [u8; 16],
    pub(crate) high: [u8; 16],
}

macro_rules! tables {
    ($($name:ident: $bits:literal, $polynomial:literal, $generator:literal;)*) => {
        $(
            pub(crate) static $name: Tables = {
                const ORDER: usize = 1 << $bits;
                const IMAGES: [[u8; 8]; ORDER] = images($bits, $polynomial);
                #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
                static ROWS: [[u8; 256]; ORDER] = rows(&IMAGES);
                static NIBBLES: [Nibbles; ORDER] = nibbles(&IMAGES);
                #[cfg(target_arch = "x86_64")]
                static MATRICES: [u64; ORDER] = matrices(&IMAGES);
                static POWERS: [u8; 256] = powers($bits, $polynomial, $generator);
                static INVERSES: [u8; ORDER] = inverses($bits, &powers($bits, $polynomial, $generator));
                Tables {
                    bits: $bits,
                    polynomial: $polynomial,
                    #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
                    rows: &ROWS,
                    nibbles: &NIBBLES,
                    #[cfg(target_arch = "x86_64")]
                    matrices: &MATRICES,
                    powers: &POWERS,
                    inverses: &INVERSES,
                }
            };
        )*

        /// The tables of GF(2^`bits`); `None` unless `bits` is 1 to 8.
        pub(crate) fn with_bits(bits: u32) -> Option<&'static Tables> {
            match bits {
                $($bits => Some(&$name),)*
                _ => None,
            }
        }
    };
}

// Bits of an element, reduction polynomial (RFC 5510, section 8.1), generator.
tables! {
    GF2: 1, 0b11, 1;
    GF4: 2, 0x7, 2;
    GF8: 3, 0xB, 2;
    GF16: 4, 0x13, 2;
    GF32: 5, 0x25, 2;
    GF64: 6, 0x43, 2;
    GF128: 7, 0x89, 2;
    GF256: 8, 0x11D, 2;
}

/// The products of one coefficient.
#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
#[derive(Clone, Copy)]
pub(crate) struct Row(&'static [u8; 256]);

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
impl Row {
    /// The product with every element of the byte `x`.
    #[inline(always)]
    pub(crate) fn with(self, x: u8) -> u8 {
        self.0[usize::from(x)]
    }
}

/// The products of one coefficient.
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
#[derive(Clone, Copy)]
pub(crate) struct Row(&'static Nibbles);

#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
impl Row {
    /// The product with every element of the byte `x`.
    #[inline(always)]
    pub(crate) fn with(self, x: u8) -> u8 {
        self.0.low[usize::from(x & 15)] ^ self.0.high[usize::from(x >> 4)]
    }
}

impl Tables {
    /// The products of `c`.
    #[inline(always)]
    pub(crate) fn row(&self, c: u8) -> Row {
        #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
        return Row(&self.rows[usize::from(c)]);
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        return Row(&self.nibbles[usize::from(c)]);
    }

    /// How many elements the field has.
    pub(crate) const fn order(&self) -> usize {
        self.inverses.len()
    }

    /// The element whose powers are all non-zero elements.
    pub(crate) const fn generator(&self) -> u8 {
        self.powers[1]
    }
}

const fn multiply(a: usize, b: usize, bits: u32, polynomial: u16) -> u8 {
    let mut product = 0;
    let mut bit = bits;
    while bit > 0 {
        bit -= 1;
        product <<= 1;
        if product >> bits & 1 == 1 {
            product ^= polynomial as usize;
        }
        if b >> bit & 1 == 1 {
            product ^= a;
        }
    }
    product as u8
}

/// What each coefficient makes of each bit of a byte. The map is linear, so this says all of it, and is
/// quickly computed: compilers interpret these functions.
const fn images<const ORDER: usize>(bits: u32, polynomial: u16) -> [[u8; 8]; ORDER] {
    let mut images = [[0; 8]; ORDER];
    let mut c = 0;
    while c < ORDER {
        let mut bit = 0;
        // Where q does not divide 8, a byte holds one element.
        while bit < if 8 % bits == 0 { 8 } else { bits } {
            let product = multiply(c, 1 << (bit % bits), bits, polynomial);
            images[c][bit as usize] = product << (bit / bits * bits);
            bit += 1;
        }
        c += 1;
    }
    images
}

/// The images of all values of the bits from `first` on, as many as `LEN` has.
const fn sums<const LEN: usize>(images: &[u8; 8], first: usize) -> [u8; LEN] {
    let mut sums = [0; LEN];
    let mut x = 1;
    while x < LEN {
        let bit = x.trailing_zeros() as usize;
        sums[x] = sums[x & (x - 1)] ^ images[first + bit];
        x += 1;
    }
    sums
}

#[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
const fn rows<const ORDER: usize>(images: &[[u8; 8]; ORDER]) -> [[u8; 256]; ORDER] {
    let mut rows = [[0; 256]; ORDER];
    let mut c = 0;
    while c < ORDER {
        rows[c] = sums(&images[c], 0);
        c += 1;
    }
    rows
}

const fn nibbles<const ORDER: usize>(images: &[[u8; 8]; ORDER]) -> [Nibbles; ORDER] {
    let mut table = [const {
        Nibbles {
            low: [0; 16],
            high: [0; 16],
        }
    }; ORDER];
    let mut c = 0;
    while c < ORDER {
        table[c].low = sums(&images[c], 0);
        table[c].high = sums(&images[c], 4);
        c += 1;
    }
    table
}

/// Byte `7 - i` of a matrix is its row `i`: it marks the bits of the argument
/// whose sum is bit `i` of the product.
#[cfg(target_arch = "x86_64")]
const fn matrices<const ORDER: usize>(images: &[[u8; 8]; ORDER]) -> [u64; ORDER] {
    let mut table = [0; ORDER];
    let mut c = 0;
    while c < ORDER {
        let mut from = 0;
        while from < 8 {
            let image = images[c][from];
            let mut to = 0;
            while to < 8 {
                if image >> to & 1 == 1 {
                    table[c] |= 1 << (8 * (7 - to) + from);
                }
                to += 1;
            }
            from += 1;
        }
        c += 1;
    }
    table
}

const fn powers(bits: u32, polynomial: u16, generator: u8) -> [u8; 256] {
    let mut table = [1; 256];
    let mut n = 1;
    while n < 256 {
        table[n] = multiply(table[n - 1] as usize, generator as usize, bits, polynomial);
        n += 1;
    }
    table
}

const fn inverses<const ORDER: usize>(bits: u32, powers: &[u8; 256]) -> [u8; ORDER] {
    let cycle = (1 << bits) - 1;
    let mut table = [0; ORDER];
    let mut n = 0;
    while n < cycle {
        table[powers[n] as usize] = powers[(cycle - n) % cycle];
        n += 1;
    }
    table
}
