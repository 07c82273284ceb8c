//! Field and coding vector of a repair symbol that names them itself.

use weftline_codec::coefficients::Coefficients;
use weftline_codec::field::Arithmetic;

use super::reader::{Malformed, Reader};
use super::{FIELD_REPAIR_HEADER, NUMBERED_HEADER, SEED_BYTES};

/// How a repair symbol carries its coding vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodingVector<'a> {
    /// An arbitrary element for each symbol, drawn from this seed as
    /// [`Coefficients::Uniform`] does.
    Seed(u32),
    /// The elements, one after the other from the highest bit of the first byte on. Unused bits of
    /// the last byte are 0.
    Explicit(&'a [u8]),
}

/// The code of a repair symbol in a field that its sender chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldCode<'a> {
    /// Bits of an element, 1 to 8.
    pub bits: u8,
    /// The coding vector.
    pub vector: CodingVector<'a>,
}

const BITS: u8 = 7;
const EXPLICIT: u8 = 8;

impl<'a> FieldCode<'a> {
    pub(super) fn parse(r: &mut Reader<'a>, nss: u16) -> Result<Self, Malformed> {
        let byte = r.u8()?;
        if byte & !(BITS | EXPLICIT) != 0 {
            return Err(Malformed::Range("code of a repair symbol"));
        }
        let bits = (byte & BITS) + 1;
        let vector = match byte & EXPLICIT {
            0 => CodingVector::Seed(r.u32()?),
            _ => {
                let packed = r.bytes(packed_len(nss, bits))?;
                let spare = packed.len() * 8 - usize::from(nss) * usize::from(bits);
                if packed.last().is_some_and(|b| b & ((1 << spare) - 1) != 0) {
                    return Err(Malformed::Range("bits after the coding vector"));
                }
                CodingVector::Explicit(packed)
            }
        };
        Ok(FieldCode { bits, vector })
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let bits = (self.bits.clamp(1, 8) - 1) & BITS;
        match self.vector {
            CodingVector::Seed(seed) => {
                out.push(bits);
                out.extend_from_slice(&seed.to_be_bytes());
            }
            CodingVector::Explicit(packed) => {
                out.push(bits | EXPLICIT);
                out.extend_from_slice(packed);
            }
        }
    }

    /// Replaces `elements` by the coding vector for `nss` symbols, one element in each byte.
    pub(crate) fn fill(&self, nss: u16, elements: &mut Vec<u8>) {
        elements.clear();
        elements.resize(usize::from(nss), 0);
        match self.vector {
            CodingVector::Seed(key) => {
                let field = field(self.bits);
                let filled = Coefficients::Uniform { key }.fill(field, elements);
                debug_assert!(filled.is_ok(), "every key has a vector in every field");
            }
            CodingVector::Explicit(packed) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    *element = unpack(packed, self.bits, index);
                }
            }
        }
    }
}

/// The field whose elements have `bits` bits.
pub(crate) fn field(bits: u8) -> Arithmetic {
    Arithmetic::with_bits(bits.clamp(1, 8).into()).unwrap_or_default()
}

/// Bytes of an explicit coding vector.
pub(crate) fn packed_len(nss: u16, bits: u8) -> usize {
    (usize::from(nss) * usize::from(bits)).div_ceil(8)
}

/// Replaces `packed` by the elements, of `bits` bits each.
pub(crate) fn pack(elements: &[u8], bits: u8, packed: &mut Vec<u8>) {
    packed.clear();
    let (mut held, mut count) = (0u32, 0u8);
    for &element in elements {
        held = held << bits | u32::from(element);
        count += bits;
        if count >= 8 {
            count -= 8;
            packed.push((held >> count) as u8);
        }
    }
    if count > 0 {
        packed.push((held << (8 - count)) as u8);
    }
}

fn unpack(packed: &[u8], bits: u8, index: usize) -> u8 {
    let at = index * usize::from(bits);
    let byte = |place: usize| u16::from(packed.get(place).copied().unwrap_or(0));
    let two = byte(at / 8) << 8 | byte(at / 8 + 1);
    let shift = 16 - usize::from(bits) - at % 8;
    ((two >> shift) & ((1 << bits) - 1)) as u8
}

/// Bytes of the longest source symbol whose repair, in this field and with a coding vector of
/// `vector` bytes (a seed if `None`), fits a datagram of `longest` bytes.
pub(crate) fn symbol_room(longest: usize, bits: u8, vector: Option<usize>) -> usize {
    let header = match vector {
        None => FIELD_REPAIR_HEADER,
        Some(bytes) => NUMBERED_HEADER + 2 + 1 + bytes,
    };
    debug_assert_eq!(FIELD_REPAIR_HEADER, NUMBERED_HEADER + 2 + 1 + SEED_BYTES);
    let group = field(bits).group();
    let coded = longest.saturating_sub(header) / group * group;
    coded.saturating_sub(weftline_codec::LENGTH_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_of_every_field_are_packed_and_read_again() {
        for bits in 1..=8u8 {
            for nss in [1u16, 2, 7, 8, 9, 63, 64, 256] {
                let seed = CodingVector::Seed(u32::from(nss) * 77);
                let mut elements = Vec::new();
                FieldCode { bits, vector: seed }.fill(nss, &mut elements);
                let mut packed = Vec::new();
                pack(&elements, bits, &mut packed);
                assert_eq!(packed.len(), packed_len(nss, bits));
                let vector = CodingVector::Explicit(&packed);
                let mut again = Vec::new();
                FieldCode { bits, vector }.fill(nss, &mut again);
                assert_eq!(again, elements, "q {bits}, {nss} symbols");
            }
        }
    }

    #[test]
    fn the_short_header_is_shorter_from_33_bits_of_coefficients_on() {
        let long = |k, bits| symbol_room(1400, bits, Some(packed_len(k, bits)));
        let short = |bits| symbol_room(1400, bits, None);
        assert!(long(32, 1) == short(1) && long(33, 1) < short(1));
        assert!(long(4, 8) == short(8) && long(5, 8) < short(8));
    }

    #[test]
    fn a_symbol_has_the_room_that_whole_groups_leave() {
        for bits in 1..=8 {
            let room = symbol_room(1421, bits, None);
            let coded = field(bits).whole_groups(room + 2);
            assert!(FIELD_REPAIR_HEADER + coded <= 1421, "q {bits}");
            let more = field(bits).whole_groups(room + 3);
            assert!(FIELD_REPAIR_HEADER + more > 1421, "q {bits}");
        }
    }
}
