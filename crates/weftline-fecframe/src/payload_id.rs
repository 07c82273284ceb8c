//! FEC Payload IDs: the identifiers in packets, as octets.
//!
//! The identifier of a source packet is a *trailer*, that of a repair packet a
//! *header* (RFC 8681, sections 4.1.2 and 4.1.3; RFC 6865, section 4.1). All
//! integers are big endian.

/// Octets of a [`SourceId`].
pub const SOURCE_ID_BYTES: usize = 4;
/// Octets of a [`RepairId`].
pub const REPAIR_ID_BYTES: usize = 8;
/// Octets of a [`BlockId`], in source packets and in repair packets.
pub const BLOCK_ID_BYTES: usize = 6;
/// The longest window that the 12 bits of NSS can state, in symbols.
pub const MAX_NSS: u16 = 4095;
/// DT with which every position of a window has a coefficient.
pub const MAX_DENSITY_THRESHOLD: u8 = 15;

/// Explicit Source FEC Payload ID of RFC 8681: four octets after the ADU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SourceId {
    /// ESI of the first symbol of the ADUI.
    pub esi: u32,
}

impl SourceId {
    /// The octets.
    #[must_use]
    pub fn to_bytes(self) -> [u8; SOURCE_ID_BYTES] {
        self.esi.to_be_bytes()
    }

    /// From the octets; all values are valid.
    #[must_use]
    pub fn from_bytes(octets: [u8; SOURCE_ID_BYTES]) -> Self {
        Self {
            esi: u32::from_be_bytes(octets),
        }
    }

    /// Splits a source packet into the ADU and the trailer. `None` if it is too short.
    #[must_use]
    pub fn split(packet: &[u8]) -> Option<(&[u8], Self)> {
        let (adu, octets) = packet.split_last_chunk()?;
        Some((adu, Self::from_bytes(*octets)))
    }
}

/// Repair FEC Payload ID of RFC 8681: eight octets before the repair symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RepairId {
    /// Repair_Key: the seed of the coefficients of the packet's first repair symbol;
    /// the others have the next keys, modulo 2^16.
    pub key: u16,
    /// DT, density threshold: 0 to 15.
    pub density_threshold: u8,
    /// NSS: source symbols in the encoding window, 1 to [`MAX_NSS`].
    pub nss: u16,
    /// FSS_ESI: ESI of the window's first symbol.
    pub first_esi: u32,
}

impl RepairId {
    /// The octets. The upper bits of a DT or NSS that is out of range are lost.
    #[must_use]
    pub fn to_bytes(self) -> [u8; REPAIR_ID_BYTES] {
        debug_assert!(self.density_threshold <= MAX_DENSITY_THRESHOLD && self.nss <= MAX_NSS);
        let mut octets = [0; REPAIR_ID_BYTES];
        let threshold = u16::from(self.density_threshold) << 12;
        octets[..2].copy_from_slice(&self.key.to_be_bytes());
        octets[2..4].copy_from_slice(&(threshold | self.nss & MAX_NSS).to_be_bytes());
        octets[4..].copy_from_slice(&self.first_esi.to_be_bytes());
        octets
    }

    /// From the octets. An NSS of 0 can be written but is not valid: check it.
    #[must_use]
    pub fn from_bytes(octets: [u8; REPAIR_ID_BYTES]) -> Self {
        let [k0, k1, n0, n1, esi @ ..] = octets;
        Self {
            key: u16::from_be_bytes([k0, k1]),
            density_threshold: n0 >> 4,
            nss: u16::from_be_bytes([n0, n1]) & MAX_NSS,
            first_esi: u32::from_be_bytes(esi),
        }
    }

    /// Splits a repair packet into the header and the repair symbols.
    #[must_use]
    pub fn split(packet: &[u8]) -> Option<(Self, &[u8])> {
        let (octets, symbols) = packet.split_first_chunk()?;
        Some((Self::from_bytes(*octets), symbols))
    }
}

/// FEC Payload ID of RFC 6865, the same for source packets (a trailer) and repair
/// packets (a header): block, symbol, and source symbols of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockId {
    /// SBN, source block number: 32 - m bits.
    pub block: u32,
    /// ESI: m bits; below k it names a source symbol.
    pub esi: u16,
    /// Source symbols of the block.
    pub k: u16,
}

impl BlockId {
    /// The octets for codes over GF(2^`m`), `m` from 2 to 16. The upper bits of numbers
    /// out of range are lost.
    #[must_use]
    pub fn to_bytes(self, m: u8) -> [u8; BLOCK_ID_BYTES] {
        let m = u32::from(m.clamp(2, 16));
        let mut octets = [0; BLOCK_ID_BYTES];
        let first = self.block << m | u32::from(self.esi) & ((1 << m) - 1);
        octets[..4].copy_from_slice(&first.to_be_bytes());
        octets[4..].copy_from_slice(&self.k.to_be_bytes());
        octets
    }

    /// From the octets.
    #[must_use]
    pub fn from_bytes(octets: [u8; BLOCK_ID_BYTES], m: u8) -> Self {
        let m = u32::from(m.clamp(2, 16));
        let [first @ .., k0, k1] = octets;
        let first = u32::from_be_bytes(first);
        Self {
            block: first >> m,
            esi: (first & ((1 << m) - 1)) as u16,
            k: u16::from_be_bytes([k0, k1]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repair_ids_have_the_layout_of_the_rfc() {
        let id = RepairId {
            key: 0x1234,
            density_threshold: 15,
            nss: 0xABC,
            first_esi: 0x0102_0304,
        };
        let octets = [0x12, 0x34, 0xFA, 0xBC, 1, 2, 3, 4];
        assert_eq!(id.to_bytes(), octets);
        assert_eq!(RepairId::from_bytes(octets), id);
        assert_eq!(RepairId::split(&octets), Some((id, &[][..])));
        assert_eq!(RepairId::split(&octets[1..]), None);
    }

    #[test]
    fn source_ids_are_trailers() {
        assert_eq!(SourceId { esi: 7 }.to_bytes(), [0, 0, 0, 7]);
        let split = SourceId::split(&[9, 0, 0, 1, 0]);
        assert_eq!(split, Some((&[9][..], SourceId { esi: 256 })));
        assert_eq!(SourceId::split(&[0, 0, 1]), None);
    }

    #[test]
    fn block_ids_share_32_bits_between_block_and_symbol() {
        let id = BlockId {
            block: 0x01_0203,
            esi: 0x04,
            k: 0x0506,
        };
        assert_eq!(id.to_bytes(8), [1, 2, 3, 4, 5, 6]);
        for m in 2..=16 {
            let id = BlockId {
                block: u32::MAX >> m,
                esi: ((1_u32 << m) - 2) as u16,
                k: 1,
            };
            assert_eq!(BlockId::from_bytes(id.to_bytes(m), m), id);
        }
    }
}
