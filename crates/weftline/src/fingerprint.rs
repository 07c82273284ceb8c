//! The short name of a peer's public key.

use std::fmt;
use std::str::FromStr;

#[cfg(feature = "quic")]
use aws_lc_rs::digest;
use data_encoding::BASE32_NOPAD;

/// Bytes of SHA-256 kept: 160 bits resist a second preimage and still fit a line.
const BYTES: usize = 20;
/// Base32 letters that those bytes take.
const LETTERS: usize = 32;
/// Letters between two dashes.
const GROUP: usize = 4;

/// Names a peer: the first 20 bytes of SHA-256 over its public key (a DER
/// SubjectPublicKeyInfo, RFC 5280 section 4.1.2.7).
///
/// Shown as base32 (RFC 4648) in lower case, eight groups of four letters. Parsing takes
/// either case, with or without dashes.
///
/// ```
/// let text = "mfrg-gzdf-mztw-q2lk-nnwg-23tp-obyx-e43u";
/// let name: weftline::Fingerprint = text.parse()?;
/// assert_eq!(name.to_string(), text);
/// assert_eq!(text.replace('-', "").to_uppercase().parse(), Ok(name));
/// # Ok::<(), weftline::ParseFingerprintError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; BYTES]);

impl Fingerprint {
    /// The fingerprint of a public key given as a DER SubjectPublicKeyInfo.
    #[cfg(feature = "quic")]
    pub fn of_public_key(spki: &[u8]) -> Self {
        let hash = digest::digest(&digest::SHA256, spki);
        let mut bytes = [0; BYTES];
        bytes.copy_from_slice(&hash.as_ref()[..BYTES]);
        Fingerprint(bytes)
    }

    /// Its 20 bytes.
    pub fn as_bytes(&self) -> &[u8; BYTES] {
        &self.0
    }
}

impl From<[u8; BYTES]> for Fingerprint {
    fn from(bytes: [u8; BYTES]) -> Self {
        Fingerprint(bytes)
    }
}

/// As text, as [`Display`](fmt::Display) writes it.
#[cfg(feature = "serde")]
impl serde::Serialize for Fingerprint {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From text, as [`FromStr`] reads it.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Fingerprint {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// The text given is not a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseFingerprintError {
    /// Too short or too long.
    #[error(
        "a fingerprint has {LETTERS} letters (dashes not counted), this has {got}: copy all of it"
    )]
    Length {
        /// Letters found, dashes not counted.
        got: usize,
    },
    /// Not a letter of base32.
    #[error(
        "`{letter}` at position {position} cannot be in a fingerprint: it uses only the letters a-z and the digits 2-7"
    )]
    Letter {
        /// The character found.
        letter: char,
        /// Where, counted in characters from 1, dashes included.
        position: usize,
    },
}

impl FromStr for Fingerprint {
    type Err = ParseFingerprintError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut letters = Vec::with_capacity(LETTERS);
        let mut got = 0;
        for (index, letter) in text.chars().enumerate() {
            match letter.to_ascii_uppercase() {
                '-' => continue,
                upper @ ('A'..='Z' | '2'..='7') if got < LETTERS => letters.push(upper as u8),
                'A'..='Z' | '2'..='7' => {}
                _ => {
                    return Err(ParseFingerprintError::Letter {
                        letter,
                        position: index + 1,
                    });
                }
            }
            got += 1;
        }
        let decoded = BASE32_NOPAD.decode(&letters).ok();
        match decoded.and_then(|bytes| bytes.try_into().ok()) {
            Some(bytes) if got == LETTERS => Ok(Fingerprint(bytes)),
            _ => Err(ParseFingerprintError::Length { got }),
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = BASE32_NOPAD.encode(&self.0).to_ascii_lowercase();
        for group in (1..LETTERS / GROUP).rev() {
            text.insert(group * GROUP, '-');
        }
        f.pad(&text)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "mfrg-gzdf-mztw-q2lk-nnwg-23tp-obyx-e43u";

    #[test]
    fn base32_agrees_with_rfc_4648() {
        // The RFC's own alphabet applied to the ASCII letters a to t.
        let name = Fingerprint(*b"abcdefghijklmnopqrst");
        assert_eq!(name.to_string(), TEXT);
        assert_eq!(TEXT.parse(), Ok(name));
    }

    #[test]
    fn every_bit_survives_text() {
        for bit in 0..BYTES * 8 {
            let mut bytes = [0; BYTES];
            bytes[bit / 8] = 0x80 >> (bit % 8);
            let name = Fingerprint(bytes);
            assert_eq!(name.to_string().parse(), Ok(name), "bit {bit}");
        }
    }

    #[test]
    fn case_and_dashes_do_not_matter() {
        let name: Fingerprint = TEXT.parse().unwrap();
        assert_eq!(TEXT.to_uppercase().parse(), Ok(name));
        assert_eq!(TEXT.replace('-', "").parse(), Ok(name));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn serde_sees_text() {
        let name: Fingerprint = TEXT.parse().unwrap();
        let json = serde_json::to_string(&name).unwrap();
        assert_eq!(json, format!("\"{TEXT}\""));
        assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), name);
        assert!(serde_json::from_str::<Fingerprint>("\"abc\"").is_err());
    }

    #[test]
    fn a_wrong_length_is_told() {
        let short = &TEXT[..TEXT.len() - 1];
        let error = short.parse::<Fingerprint>().unwrap_err();
        assert_eq!(error, ParseFingerprintError::Length { got: 31 });
        let long = format!("{TEXT}a");
        let error = long.parse::<Fingerprint>().unwrap_err();
        assert_eq!(error, ParseFingerprintError::Length { got: 33 });
        assert!(error.to_string().contains("has 32 letters"));
        let error = "".parse::<Fingerprint>().unwrap_err();
        assert_eq!(error, ParseFingerprintError::Length { got: 0 });
    }

    #[test]
    fn a_wrong_letter_is_shown_with_its_position() {
        let text = TEXT.replacen("mztw", "mz1w", 1);
        let error = text.parse::<Fingerprint>().unwrap_err();
        assert_eq!(
            error,
            ParseFingerprintError::Letter {
                letter: '1',
                position: 13
            }
        );
        assert!("é".parse::<Fingerprint>().is_err());
    }
}
