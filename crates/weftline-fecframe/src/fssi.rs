//! FEC Scheme-Specific Information: three octets, or text in SDP.

use core::fmt;

use crate::EncodingId;

/// The parameters of a scheme that both ends must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fssi {
    /// RFC 8681, section 4.1.1.
    Rlc {
        /// E: octets of a symbol, not 0.
        symbol_size: u16,
        /// WSR: the encoding window is about WSR / 255 of the decoding window; 0 means
        /// that the ratio is unknown.
        window_size_ratio: u8,
    },
    /// RFC 6865, section 4.1.1.
    ReedSolomon {
        /// E: octets of a symbol, not 0.
        symbol_size: u16,
        /// S: whether all symbols have E octets. Otherwise E is the maximum, and the
        /// symbols of a block have 3 octets more than its longest ADU.
        strict: bool,
        /// The code is over GF(2^m), 2 to 16.
        m: u8,
    },
}

impl Fssi {
    /// E: octets of a symbol, or their maximum.
    #[must_use]
    pub fn symbol_size(self) -> u16 {
        match self {
            Self::Rlc { symbol_size, .. } | Self::ReedSolomon { symbol_size, .. } => symbol_size,
        }
    }

    /// The octet form.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 3] {
        let [e0, e1] = self.symbol_size().to_be_bytes();
        let last = match self {
            Self::Rlc {
                window_size_ratio, ..
            } => window_size_ratio,
            Self::ReedSolomon { strict, m, .. } => u8::from(strict) << 7 | m & 0x7F,
        };
        [e0, e1, last]
    }

    /// From the octet form.
    ///
    /// # Errors
    ///
    /// When E is 0 or m out of range.
    pub fn from_bytes(id: EncodingId, octets: [u8; 3]) -> Result<Self, FssiError> {
        let symbol_size = u16::from_be_bytes([octets[0], octets[1]]);
        let fssi = match id {
            EncodingId::RlcGf2 | EncodingId::RlcGf256 => Self::Rlc {
                symbol_size,
                window_size_ratio: octets[2],
            },
            EncodingId::ReedSolomon => Self::ReedSolomon {
                symbol_size,
                strict: octets[2] >> 7 == 1,
                m: octets[2] & 0x7F,
            },
        };
        fssi.checked()
    }

    /// From the text form, such as `E:1400,WSR:191` or `E:1400,S:0,m:8`.
    ///
    /// # Errors
    ///
    /// When an element is missing, unknown, given twice or out of range.
    pub fn parse(id: EncodingId, text: &str) -> Result<Self, FssiError> {
        let mut given: [Option<u16>; 4] = [None; 4];
        const NAMES: [&str; 4] = ["E", "WSR", "S", "m"];
        for element in text.split(',') {
            let syntax = || FssiError::Syntax {
                got: element.chars().take(40).collect(),
            };
            let (name, value) = element.trim().split_once(':').ok_or_else(syntax)?;
            let place = NAMES.iter().position(|n| *n == name).ok_or_else(syntax)?;
            let digits = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
            let value = value.parse().ok().filter(|_| digits).ok_or_else(syntax)?;
            if given[place].replace(value).is_some() {
                return Err(syntax());
            }
        }
        let small = |value: u16, most: u16, name| {
            let small = u8::try_from(value).ok().filter(|v| u16::from(*v) <= most);
            small.ok_or(FssiError::Range { name, got: value })
        };
        let missing = |name| FssiError::Missing { name };
        let symbol_size = given[0].ok_or(missing("E"))?;
        let fssi = match (id, given) {
            (EncodingId::RlcGf2 | EncodingId::RlcGf256, [_, ratio, None, None]) => Self::Rlc {
                symbol_size,
                window_size_ratio: small(ratio.ok_or(missing("WSR"))?, 255, "WSR")?,
            },
            (EncodingId::ReedSolomon, [_, None, strict, m]) => Self::ReedSolomon {
                symbol_size,
                strict: small(strict.ok_or(missing("S"))?, 1, "S")? == 1,
                // RFC 6865 defines a default.
                m: small(m.unwrap_or(8), 16, "m")?,
            },
            _ => {
                return Err(FssiError::Syntax {
                    got: text.chars().take(40).collect(),
                });
            }
        };
        fssi.checked()
    }

    fn checked(self) -> Result<Self, FssiError> {
        if self.symbol_size() == 0 {
            return Err(FssiError::Range { name: "E", got: 0 });
        }
        match self {
            Self::ReedSolomon { m, .. } if !(2..=16).contains(&m) => Err(FssiError::Range {
                name: "m",
                got: u16::from(m),
            }),
            _ => Ok(self),
        }
    }
}

impl fmt::Display for Fssi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rlc {
                symbol_size,
                window_size_ratio,
            } => write!(f, "E:{symbol_size},WSR:{window_size_ratio}"),
            Self::ReedSolomon {
                symbol_size,
                strict,
                m,
            } => write!(f, "E:{symbol_size},S:{},m:{m}", u8::from(*strict)),
        }
    }
}

/// Why scheme-specific information is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FssiError {
    /// An element is out of range.
    #[error("{name} cannot be {got}")]
    Range {
        /// Its name.
        name: &'static str,
        /// Its value.
        got: u16,
    },
    /// An element is missing.
    #[error("the scheme-specific information lacks {name}")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    /// An element is unknown to the scheme, or not of the form `name:number`.
    #[error("{got:?} is not an element of this scheme; write E:1400,WSR:191 or E:1400,S:0,m:8")]
    Syntax {
        /// The element, cut if long.
        got: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_written() {
        use EncodingId::{ReedSolomon, RlcGf2};
        let cases = [
            (RlcGf2, "E:1400,WSR:191", [5, 0x78, 191]),
            (RlcGf2, "E:1,WSR:0", [0, 1, 0]),
            (ReedSolomon, "E:1400,S:0,m:8", [5, 0x78, 8]),
            (ReedSolomon, "E:65535,S:1,m:16", [255, 255, 0x90]),
        ];
        for (id, text, octets) in cases {
            let fssi = Fssi::parse(id, text).unwrap();
            assert_eq!(fssi.to_string(), text);
            assert_eq!(fssi.to_bytes(), octets);
            assert_eq!(Fssi::from_bytes(id, octets), Ok(fssi));
        }
    }

    #[test]
    fn errors_name_the_wrong_part() {
        let parse = |text| Fssi::parse(EncodingId::RlcGf256, text);
        let range = |name, got| Err(FssiError::Range { name, got });
        assert_eq!(parse("E:0,WSR:1"), range("E", 0));
        assert_eq!(parse("E:9,WSR:256"), range("WSR", 256));
        assert_eq!(parse("WSR:1"), Err(FssiError::Missing { name: "E" }));
        assert_eq!(parse("E:1"), Err(FssiError::Missing { name: "WSR" }));
        for text in [
            "",
            "E:1,E:2,WSR:3",
            "E:65536,WSR:1",
            "E:+1,WSR:1",
            "E:1,S:0,m:8",
            "E",
        ] {
            let got = parse(text);
            assert!(
                matches!(got, Err(FssiError::Syntax { .. })),
                "{text}: {got:?}"
            );
        }
        let of_blocks = Fssi::from_bytes(EncodingId::ReedSolomon, [1, 0, 1]);
        assert_eq!(of_blocks, range("m", 1));
    }
}
