//! Arithmetic in GF(2^8), the field every code of this crate works in.
//!
//! Elements are bytes, addition is XOR, and multiplication is that of
//! polynomials over GF(2) modulo x^8 + x^4 + x^3 + x^2 + 1 (0x11D), in which
//! the element 2 generates all 255 non-zero elements. It is the field RFC 8681
//! (section 3.7.1, m = 8) and RFC 5510 use, so their coefficients can be
//! spoken later without another field.

/// The reduction polynomial, with the x^8 term.
pub const POLYNOMIAL: u16 = 0x11D;

/// The element whose powers are all non-zero elements.
pub const GENERATOR: u8 = 2;

/// `a + b`, which is also `a - b`.
#[inline]
#[must_use]
pub const fn add(a: u8, b: u8) -> u8 {
    a ^ b
}

/// `a * b`.
#[inline]
#[must_use]
pub const fn mul(a: u8, b: u8) -> u8 {
    PRODUCTS[a as usize][b as usize]
}

/// `a / b`.
///
/// # Panics
///
/// When `b` is 0, as integer division does.
#[inline]
#[must_use]
pub const fn div(a: u8, b: u8) -> u8 {
    mul(a, inv(b))
}

/// The element that times `a` is 1.
///
/// # Panics
///
/// When `a` is 0, as integer division does.
#[inline]
#[must_use]
pub const fn inv(a: u8) -> u8 {
    assert!(a != 0, "zero has no inverse");
    EXP[255 - LOG[a as usize] as usize]
}

/// [`GENERATOR`] to the power `n`.
#[inline]
#[must_use]
pub const fn exp(n: u8) -> u8 {
    EXP[n as usize]
}

/// The power of [`GENERATOR`] that is `a`, below 255; `None` for 0, which is
/// no power.
#[inline]
#[must_use]
pub const fn log(a: u8) -> Option<u8> {
    if a == 0 { None } else { Some(LOG[a as usize]) }
}

/// All products of `c`: entry `x` is `c * x`.
#[inline]
#[must_use]
pub const fn products(c: u8) -> &'static [u8; 256] {
    &PRODUCTS[c as usize]
}

/// Products of one coefficient, split for byte-shuffle instructions:
/// `c * x == low[x & 15] ^ high[x >> 4]`.
#[repr(C, align(32))]
pub(crate) struct Nibbles {
    pub(crate) low: [u8; 16],
    pub(crate) high: [u8; 16],
}

/// The split products of `c`.
#[inline]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    expect(dead_code, reason = "only the SIMD kernels shuffle")
)]
pub(crate) const fn nibbles(c: u8) -> &'static Nibbles {
    &NIBBLES[c as usize]
}

/// `EXP[n]` is 2^n; 256 entries so that every byte is an index.
static EXP: [u8; 256] = exp_table();
static LOG: [u8; 256] = log_table();
static PRODUCTS: [[u8; 256]; 256] = product_table();
static NIBBLES: [Nibbles; 256] = nibble_table();

const fn exp_table() -> [u8; 256] {
    let mut table = [0; 256];
    let mut power = 1u16;
    let mut n = 0;
    while n < 256 {
        table[n] = power as u8;
        power <<= 1;
        if power > 255 {
            power ^= POLYNOMIAL;
        }
        n += 1;
    }
    table
}

const fn log_table() -> [u8; 256] {
    let exp = exp_table();
    let mut table = [0; 256];
    let mut n = 0;
    while n < 255 {
        table[exp[n] as usize] = n as u8;
        n += 1;
    }
    table
}

const fn product_table() -> [[u8; 256]; 256] {
    let exp = exp_table();
    let log = log_table();
    let mut table = [[0; 256]; 256];
    let mut a = 1;
    while a < 256 {
        let mut b = 1;
        while b < 256 {
            table[a][b] = exp[(log[a] as usize + log[b] as usize) % 255];
            b += 1;
        }
        a += 1;
    }
    table
}

const fn nibble_table() -> [Nibbles; 256] {
    let products = product_table();
    let mut table = [const {
        Nibbles {
            low: [0; 16],
            high: [0; 16],
        }
    }; 256];
    let mut c = 0;
    while c < 256 {
        let mut x = 0;
        while x < 16 {
            table[c].low[x] = products[c][x];
            table[c].high[x] = products[c][x << 4];
            x += 1;
        }
        c += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplication as the definition has it: shift, add, reduce, bit by bit.
    fn reference_mul(a: u8, b: u8) -> u8 {
        let mut product = 0u16;
        for bit in 0..8 {
            if b & (1 << bit) != 0 {
                product ^= u16::from(a) << bit;
            }
        }
        for bit in (8..16).rev() {
            if product & (1 << bit) != 0 {
                product ^= POLYNOMIAL << (bit - 8);
            }
        }
        u8::try_from(product).unwrap()
    }

    #[test]
    fn every_product_is_that_of_the_polynomials() {
        for a in 0..=255 {
            for b in 0..=255 {
                let expected = reference_mul(a, b);
                assert_eq!(mul(a, b), expected, "{a} * {b}");
                assert_eq!(products(a)[usize::from(b)], expected);
                let split = nibbles(a);
                let (low, high) = (usize::from(b & 15), usize::from(b >> 4));
                assert_eq!(split.low[low] ^ split.high[high], expected);
            }
        }
    }

    #[test]
    fn field_axioms_hold_for_all_elements() {
        for a in 0..=255u8 {
            assert_eq!(add(a, a), 0);
            assert_eq!(mul(a, 1), a);
            assert_eq!(mul(a, 0), 0);
            for b in 0..=255u8 {
                assert_eq!(mul(a, b), mul(b, a));
                for c in 0..=255u8 {
                    assert_eq!(mul(mul(a, b), c), mul(a, mul(b, c)));
                    assert_eq!(mul(a, add(b, c)), add(mul(a, b), mul(a, c)));
                }
            }
        }
    }

    #[test]
    fn division_undoes_multiplication() {
        for b in 1..=255u8 {
            assert_eq!(mul(b, inv(b)), 1);
            for a in 0..=255u8 {
                assert_eq!(div(mul(a, b), b), a);
                assert_eq!(mul(div(a, b), b), a);
            }
        }
    }

    #[test]
    fn generator_reaches_every_non_zero_element_once() {
        let mut seen = [false; 256];
        let mut power = 1;
        for n in 0..255u8 {
            assert_eq!(exp(n), power);
            assert_eq!(log(power), Some(n));
            assert!(!core::mem::replace(&mut seen[usize::from(power)], true));
            power = reference_mul(power, GENERATOR);
        }
        assert_eq!(power, 1);
        assert_eq!(log(0), None);
    }

    #[test]
    #[should_panic(expected = "zero has no inverse")]
    fn zero_has_no_inverse() {
        let _ = inv(0);
    }
}
