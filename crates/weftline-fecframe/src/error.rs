//! The errors of configurations, ADUs and packets.

use crate::EncodingId;

/// Why a configuration is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The scheme-specific information belongs to another scheme.
    #[error("the scheme-specific information {fssi} belongs to another scheme than FEC Encoding ID {}", id.number())]
    Fssi {
        /// The scheme.
        id: EncodingId,
        /// The information.
        fssi: crate::Fssi,
    },
    /// E is 0.
    #[error("the symbol size is 0; symbols need at least 1 octet")]
    NoSymbolSize,
    /// No flow is named.
    #[error("no source flow is named; name at least one flow identifier")]
    NoFlow,
    /// A number is out of range.
    #[error("{what} is {got}; it must be from {min} to {max}")]
    Range {
        /// Its name.
        what: &'static str,
        /// Its value.
        got: u64,
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// Repair would exceed the source data.
    #[error(
        "a code rate of {got} is below 1/2, so repair would exceed the data it protects \
         (RFC 6363, section 8.2); raise it, or lift the bandwidth cap on a network you own"
    )]
    CodeRate {
        /// The code rate.
        got: crate::CodeRate,
    },
    /// The field of a Reed-Solomon code is not supported here.
    #[error("Reed-Solomon codes over GF(2^{m}) are not supported; use m = 2, 4 or 8")]
    Field {
        /// The field is GF(2^m).
        m: u8,
    },
    /// GF(2) with every position kept has one repair symbol per window.
    #[error(
        "over GF(2) with a density threshold of 15, a window has only one repair symbol; \
         send one in each packet, or lower the threshold"
    )]
    OneSymbolOnly,
}

/// Why a sender refused an ADU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// The flow does not belong to the instance.
    #[error("flow {flow} does not belong to this instance")]
    UnknownFlow {
        /// Its identifier.
        flow: u8,
    },
    /// The ADU cannot be protected.
    #[error(
        "an ADU of {got} octets exceeds the {limit} that can be protected; use larger symbols or a longer window"
    )]
    AduTooLong {
        /// Its octets.
        got: usize,
        /// Octets allowed.
        limit: usize,
    },
}

/// Why a receiver refused a packet. Only counters have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PacketError {
    /// The flow does not belong to the instance.
    #[error("flow {flow} does not belong to this instance")]
    UnknownFlow {
        /// Its identifier.
        flow: u8,
    },
    /// The packet ends within its FEC Payload ID, or within a symbol.
    #[error("a packet of {got} octets cannot hold a payload ID and whole symbols")]
    Length {
        /// Its octets.
        got: usize,
    },
    /// The ADU is longer than the configuration allows.
    #[error("an ADU of {got} octets exceeds the limit of {limit}")]
    AduTooLong {
        /// Its octets.
        got: usize,
        /// Octets allowed.
        limit: usize,
    },
    /// A repair packet's window is empty or too long.
    #[error("a repair packet covers {got} symbols; it must cover 1 to {limit}")]
    Window {
        /// NSS or k.
        got: u16,
        /// Symbols allowed.
        limit: u16,
    },
    /// A repair packet has more symbols than allowed.
    #[error("a repair packet with {got} symbols exceeds the limit of {limit}")]
    Symbols {
        /// Symbols in it.
        got: usize,
        /// Symbols allowed.
        limit: usize,
    },
    /// An identifier is impossible in its block.
    #[error("symbol {esi} is not possible in this kind of packet of a block of {k} source symbols")]
    Esi {
        /// The symbol.
        esi: u16,
        /// Source symbols of the block.
        k: u16,
    },
    /// The packet is too far ahead of the newest one to be accepted at once.
    #[error("a packet of symbol or block {number} is too far ahead of the newest one")]
    Jump {
        /// The first ESI, or the block.
        number: u32,
    },
    /// The packet contradicts an earlier one, which stays.
    #[error("a packet of symbol or block {number} contradicts an earlier one")]
    Conflict {
        /// The first ESI, or the block.
        number: u32,
    },
}
