//! Symbols as the code sees them: length, payload, and zeros to any length.
//!
//! Source symbols may differ in length, linear combinations cannot. So a
//! symbol of `n` payload bytes is coded as `n` in two bytes (big endian), the
//! payload, and as many zeros as the longest symbol of the combination asks
//! for. The zeros are never stored: all that is kept is the *coded form*, the
//! length and the payload.

use alloc::vec::Vec;

/// Bytes that coding adds to the longest payload of a window.
pub const LENGTH_BYTES: usize = 2;

/// The longest payload, in bytes, whose length can be coded.
pub const MAX_SYMBOL_SIZE: usize = 65_535;

/// Writes the coded form of `payload` into an empty buffer.
///
/// The caller has checked that the payload is not longer than
/// [`MAX_SYMBOL_SIZE`].
pub(crate) fn write(buffer: &mut Vec<u8>, payload: &[u8]) {
    debug_assert!(buffer.is_empty() && payload.len() <= MAX_SYMBOL_SIZE);
    buffer.reserve_exact(LENGTH_BYTES + payload.len());
    buffer.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    buffer.extend_from_slice(payload);
}

/// The payload of a coded form.
pub(crate) fn payload(coded: &[u8]) -> &[u8] {
    coded.get(LENGTH_BYTES..).unwrap_or_default()
}

/// Cuts a solved equation down to the coded form, or returns false if no
/// symbol of at most `max_symbol_size` bytes looks like it.
pub(crate) fn trim(solved: &mut Vec<u8>, max_symbol_size: usize) -> bool {
    let Some(length) = solved.first_chunk::<LENGTH_BYTES>() else {
        return false;
    };
    let length = usize::from(u16::from_be_bytes(*length));
    if length > max_symbol_size {
        return false;
    }
    match solved.get(LENGTH_BYTES + length..) {
        Some(padding) if is_zero(padding) => {
            solved.truncate(LENGTH_BYTES + length);
            true
        }
        _ => false,
    }
}

/// Whether all bytes are 0.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    // Whole chunks at a time, because a loop that may stop at any byte is not
    // vectorised.
    let (chunks, rest) = bytes.as_chunks::<32>();
    chunks
        .iter()
        .all(|chunk| chunk.iter().fold(0, |any, byte| any | byte) == 0)
        && rest.iter().all(|byte| *byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn coded(payload: &[u8]) -> Vec<u8> {
        let mut buffer = Vec::new();
        write(&mut buffer, payload);
        buffer
    }

    #[test]
    fn trim_undoes_coding_and_padding() {
        for length in [0, 1, 255, 256, 1200, MAX_SYMBOL_SIZE] {
            let bytes = vec![7; length];
            let mut padded = coded(&bytes);
            padded.extend([0; 77]);
            assert!(trim(&mut padded, length));
            assert_eq!(payload(&padded), bytes);
        }
    }

    #[test]
    fn trim_refuses_what_no_symbol_looks_like() {
        assert!(!trim(&mut vec![], 100));
        assert!(!trim(&mut vec![0], 100));
        // A length beyond the data, a length beyond the limit, dirty padding.
        assert!(!trim(&mut vec![0, 3, 1, 2], 100));
        assert!(!trim(&mut coded(&[1; 101]), 100));
        assert!(!trim(&mut vec![0, 1, 9, 0, 0, 4], 100));
    }

    #[test]
    fn is_zero_sees_every_byte() {
        for length in 0..100 {
            let mut bytes = vec![0; length];
            assert!(is_zero(&bytes));
            for at in 0..length {
                bytes[at] = 1;
                assert!(!is_zero(&bytes), "byte {at} of {length}");
                bytes[at] = 0;
            }
        }
    }
}
