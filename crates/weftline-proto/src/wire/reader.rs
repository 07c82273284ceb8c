//! Bounds-checked reading, and variable-length integers.

/// The check that failed when a datagram or symbol was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The data ends inside a field.
    #[error("ends inside a field")]
    Truncated,
    /// The first byte names no kind of datagram.
    #[error("unknown kind of datagram {0:#04x}")]
    Kind(u8),
    /// A frame's type is unknown.
    #[error("unknown frame type {0:#04x}")]
    FrameType(u8),
    /// A field has a value that it cannot have.
    #[error("field out of range: {0}")]
    Range(&'static str),
    /// HELLO has a version that this end does not support.
    #[error("wire version {0} is not supported")]
    Version(u8),
}

/// Reads fields from the front of a byte slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn bytes(&mut self, n: usize) -> Result<&'a [u8], Malformed> {
        let (head, tail) = self.0.split_at_checked(n).ok_or(Malformed::Truncated)?;
        self.0 = tail;
        Ok(head)
    }

    pub(crate) fn rest(&mut self) -> &'a [u8] {
        core::mem::take(&mut self.0)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (head, tail) = self.0.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.0 = tail;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Malformed> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Malformed> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// A variable-length integer of RFC 9000, section 16.
    pub(crate) fn varint(&mut self) -> Result<u64, Malformed> {
        let first = *self.0.first().ok_or(Malformed::Truncated)?;
        Ok(match first >> 6 {
            0 => u64::from(self.u8()?),
            1 => u64::from(self.u16()? & 0x3fff),
            2 => u64::from(self.u32()? & 0x3fff_ffff),
            _ => u64::from_be_bytes(self.array()?) & VARINT_MAX,
        })
    }
}

/// The largest variable-length integer.
pub(crate) const VARINT_MAX: u64 = (1 << 62) - 1;

/// Bytes that `value` takes as a variable-length integer.
pub fn varint_len(value: u64) -> usize {
    match value {
        0..=0x3f => 1,
        0x40..=0x3fff => 2,
        0x4000..=0x3fff_ffff => 4,
        _ => 8,
    }
}

/// Appends `value`, which must not exceed 2^62 - 1, as a variable-length integer.
pub(crate) fn put_varint(out: &mut Vec<u8>, value: u64) {
    debug_assert!(value <= VARINT_MAX);
    match varint_len(value) {
        1 => out.push(value as u8),
        2 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        4 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value.min(VARINT_MAX) | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_round_trip_at_every_length_boundary() {
        for value in [
            0,
            63,
            64,
            16_383,
            16_384,
            (1 << 30) - 1,
            1 << 30,
            VARINT_MAX,
        ] {
            let mut out = Vec::new();
            put_varint(&mut out, value);
            assert_eq!(out.len(), varint_len(value));
            let mut reader = Reader(&out);
            assert_eq!(reader.varint(), Ok(value));
            assert!(reader.is_empty());
            assert_eq!(
                Reader(&out[..out.len() - 1]).varint(),
                Err(Malformed::Truncated)
            );
        }
    }

    #[test]
    fn the_examples_of_rfc_9000_appendix_a_decode() {
        let cases: [(&[u8], u64); 4] = [
            (
                &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c],
                151_288_809_941_952_652,
            ),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ];
        for (bytes, value) in cases {
            assert_eq!(Reader(bytes).varint(), Ok(value));
        }
    }
}
