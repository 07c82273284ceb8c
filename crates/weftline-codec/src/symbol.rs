//! The coded form of symbols: length, payload, and zeros up to any length.
//!
//! Source symbols may differ in length, but the terms of a linear combination
//! must not. So a symbol of `n` payload bytes is coded as `n` in two bytes (big
//! endian), the payload, and zeros up to the length of the longest symbol of
//! the combination. The zeros are never stored: the *coded form* is the length
//! and the payload.

/// Bytes that coding adds to the longest payload of a window.
pub const LENGTH_BYTES: usize = 2;

/// The longest payload, in bytes, whose length can be coded.
pub const MAX_SYMBOL_SIZE: usize = 65_535;

/// The length of the coded form in a solved equation, or `None` if no symbol of
/// at most `max_symbol_size` bytes has this form.
pub(crate) fn coded_length(solved: &[u8], max_symbol_size: usize) -> Option<usize> {
    let length = solved.first_chunk::<LENGTH_BYTES>()?;
    let length = usize::from(u16::from_be_bytes(*length));
    if length > max_symbol_size {
        return None;
    }
    let padding = solved.get(LENGTH_BYTES + length..)?;
    is_zero(padding).then_some(LENGTH_BYTES + length)
}

/// Whether all bytes are 0.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    // Whole chunks, because a loop that may stop at any byte is not vectorised.
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
    use alloc::vec::Vec;

    fn coded(payload: &[u8]) -> Vec<u8> {
        let length = u16::try_from(payload.len()).unwrap();
        [&length.to_be_bytes(), payload].concat()
    }

    #[test]
    fn coded_length_leaves_out_the_padding() {
        for length in [0, 1, 255, 256, 1200, MAX_SYMBOL_SIZE] {
            let symbol = coded(&vec![7; length]);
            let padded = [&symbol[..], &[0; 77]].concat();
            assert_eq!(coded_length(&symbol, length), Some(symbol.len()));
            assert_eq!(coded_length(&padded, length), Some(symbol.len()));
        }
    }

    #[test]
    fn bytes_that_no_symbol_can_have_have_no_coded_length() {
        assert_eq!(coded_length(&[], 100), None);
        assert_eq!(coded_length(&[0], 100), None);
        // A length beyond the data, a length beyond the limit, dirty padding.
        assert_eq!(coded_length(&[0, 3, 1, 2], 100), None);
        assert_eq!(coded_length(&coded(&[1; 101]), 100), None);
        assert_eq!(coded_length(&[0, 1, 9, 0, 0, 4], 100), None);
    }

    #[test]
    fn is_zero_sees_every_byte() {
        for length in 0..if cfg!(miri) { 40 } else { 100 } {
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
