//! Names of peers.

use std::fmt;
use std::str::FromStr;

use weftline::Fingerprint;

/// Longest name, in bytes.
pub(super) const LONGEST: usize = 32;

/// What a person calls a peer: 1 to 32 ASCII letters, digits, dots, dashes and underscores, of which the
/// first is a letter or a digit. It is never the text of a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Name(String);

/// The text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a name: give 1 to 32 letters, digits, dots, dashes and underscores, the first of them a letter or digit"
)]
pub struct BadName(String);

impl Name {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A name made of `text`, such as a host name or an address: what a name cannot have is left out.
    pub fn like(text: &str) -> Option<Self> {
        let plain: String = text
            .chars()
            .map(|c| if c == ':' { '-' } else { c })
            .filter(|c| c.is_ascii_alphanumeric() || ".-_".contains(*c))
            .skip_while(|c| !c.is_ascii_alphanumeric())
            .take(LONGEST)
            .collect();
        plain.parse().ok()
    }

    /// This name with a number, for one that is taken.
    pub fn numbered(&self, number: u32) -> Self {
        let number = format!("-{number}");
        let kept = self.0.len().min(LONGEST - number.len());
        Name(format!("{}{number}", &self.0[..kept]))
    }
}

impl FromStr for Name {
    type Err = BadName;

    fn from_str(text: &str) -> Result<Self, BadName> {
        let is_plain = |c: u8| c.is_ascii_alphanumeric() || b".-_".contains(&c);
        let sound = (1..=LONGEST).contains(&text.len())
            && text.as_bytes()[0].is_ascii_alphanumeric()
            && text.bytes().all(is_plain)
            && text.parse::<Fingerprint>().is_err();
        match sound {
            true => Ok(Name(text.to_owned())),
            false => Err(BadName(crate::printable(text))),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_words_and_no_fingerprints() {
        for good in ["studio", "a", "Anna-s.laptop_2", "192.0.2.7"] {
            let name: Name = good.parse().unwrap();
            assert_eq!(name.as_str(), good);
            assert_eq!(format!("{name:<20}|"), format!("{good:<20}|"));
        }
        let fingerprint = Fingerprint::from([7; 20]).to_string();
        let bare = fingerprint.replace('-', "");
        let long = "x8".repeat(17);
        for bad in [
            "",
            "-x",
            "#x",
            "a b",
            "é",
            "\u{1b}[2J",
            &long,
            &fingerprint,
            &bare,
        ] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_made_of_what_a_host_is_called() {
        for (text, name) in [
            ("host.example:9338", "host.example-9338"),
            ("[2001:db8::1]", "2001-db8--1"),
            ("anna\u{1b}[31m", "anna31m"),
        ] {
            assert_eq!(Name::like(text).unwrap().as_str(), name);
        }
        assert_eq!(Name::like("***"), None);
        let long = Name::like(&"x8".repeat(50)).unwrap();
        assert_eq!(long.as_str().len(), LONGEST);
        assert_eq!(long.numbered(12).as_str().len(), LONGEST);
        assert_eq!("a".parse::<Name>().unwrap().numbered(2).as_str(), "a-2");
    }
}
