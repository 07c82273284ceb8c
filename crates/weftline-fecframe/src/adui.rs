//! The coded form of ADUs (RFC 8681, section 3.2; RFC 6865, section 4.3).
//!
//! An ADU is one application payload, normally of one datagram. The code works on its
//! *ADUI*: the flow identifier in one octet, the ADU's length in two (big endian), the
//! ADU, and zeros up to a whole number of symbols. Flow, length and zeros are coded and
//! never sent.

/// Octets before the ADU in an ADUI.
pub const HEADER_BYTES: usize = 3;

/// The longest ADU in octets that an ADUI can hold.
pub const MAX_ADU: usize = 65_535;

/// The number of symbols of `symbol_size` octets in the ADUI of an ADU of `length`
/// octets: at least one. A `symbol_size` of 0 counts as 1.
#[must_use]
pub fn symbols(length: usize, symbol_size: u16) -> usize {
    (HEADER_BYTES + length).div_ceil(usize::from(symbol_size.max(1)))
}

/// Writes the ADUI of an ADU to `out`, replacing its content. The result is a whole
/// number of symbols long. An ADU longer than [`MAX_ADU`] is cut there, so check the
/// length first.
pub fn write(flow: u8, adu: &[u8], symbol_size: u16, out: &mut Vec<u8>) {
    let adu = &adu[..adu.len().min(MAX_ADU)];
    let length = adu.len() as u16;
    out.clear();
    out.push(flow);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(adu);
    out.resize(
        symbols(adu.len(), symbol_size) * usize::from(symbol_size.max(1)),
        0,
    );
}

/// The beginning of an ADUI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Flow identifier, F.
    pub flow: u8,
    /// Octets of the ADU, L.
    pub length: u16,
}

impl Header {
    /// Reads the first octets of an ADUI.
    #[must_use]
    pub fn parse(octets: [u8; HEADER_BYTES]) -> Self {
        Self {
            flow: octets[0],
            length: u16::from_be_bytes([octets[1], octets[2]]),
        }
    }
}

/// Splits an ADUI into the flow and the ADU. `None` if it is too short for the length
/// it states, or if the padding is not all zeros: the only sign of a wrong equation
/// that the format gives.
#[must_use]
pub fn read(adui: &[u8]) -> Option<(u8, &[u8])> {
    let (header, rest) = adui.split_first_chunk()?;
    let header = Header::parse(*header);
    let (adu, padding) = rest.split_at_checked(usize::from(header.length))?;
    let clean = padding.iter().all(|octet| *octet == 0);
    clean.then_some((header.flow, adu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_adui_is_whole_symbols_long_and_gives_the_adu_back() {
        let mut adui = Vec::new();
        for symbol_size in [1, 2, 3, 7, 16, 1400, u16::MAX] {
            for length in [0, 1, 13, 14, 1397, 1398, MAX_ADU] {
                let adu: Vec<u8> = (0..length).map(|i| i as u8 | 1).collect();
                write(9, &adu, symbol_size, &mut adui);
                let expected = symbols(length, symbol_size) * usize::from(symbol_size);
                assert_eq!(adui.len(), expected);
                assert!(adui.len() - length - HEADER_BYTES < usize::from(symbol_size));
                assert_eq!(read(&adui), Some((9, &adu[..])));
            }
        }
        assert_eq!(symbols(0, 1400), 1);
    }

    #[test]
    fn invalid_aduis_are_recognised() {
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[1, 0]), None);
        assert_eq!(read(&[1, 0, 2, 7]), None);
        assert_eq!(read(&[1, 0, 1, 7, 0, 1]), None);
        assert_eq!(read(&[1, 0, 0]), Some((1, &[][..])));
    }
}
