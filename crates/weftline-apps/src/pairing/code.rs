//! The code that one person reads to another.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// 256 words that are hard to take for one another, in the order of the alphabet.
const WORDS: &str = include_str!("words.txt");
/// The number in front of the words is 1 to this.
const NUMBERS: u16 = 99;

/// A code: a number and two words, as in `7-amber-river`. There are 99 · 256 · 256, about 6.5 million.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Code {
    number: u8,
    words: [u8; 2],
}

/// The text is not a code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadCode {
    /// It has not three parts, of which the first is a number.
    #[error("a code is a number from 1 to 99 and two words, as in 7-amber-river")]
    Form,
    /// Codes do not have this word.
    #[error("`{0}` is not a word of codes: ask for the code again")]
    Word(String),
}

impl Code {
    /// A code that nobody can foresee.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn random() -> std::io::Result<Self> {
        let none = || std::io::Error::other("the system gives no random numbers");
        let mut bytes = [0; 3];
        loop {
            aws_lc_rs::rand::fill(&mut bytes).map_err(|_| none())?;
            if let Some(code) = Code::of(bytes) {
                return Ok(code);
            }
        }
    }

    /// The code of these random bytes, unless they would make its number likelier than others.
    fn of([number, words @ ..]: [u8; 3]) -> Option<Self> {
        // 198 is the largest multiple of 99 here.
        (u16::from(number) < 2 * NUMBERS).then_some(Code {
            number: number % NUMBERS as u8 + 1,
            words,
        })
    }
}

fn words() -> &'static [&'static str] {
    static LIST: OnceLock<Vec<&str>> = OnceLock::new();
    LIST.get_or_init(|| WORDS.split_whitespace().collect())
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.words.map(|word| words()[usize::from(word)]);
        write!(f, "{}-{first}-{second}", self.number)
    }
}

/// A code is a secret while it is open: logs do not show it.
impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code(..)")
    }
}

/// As people type it: in capitals or not, with dashes or spaces.
impl FromStr for Code {
    type Err = BadCode;

    fn from_str(text: &str) -> Result<Self, BadCode> {
        let text = text.to_ascii_lowercase();
        let parts = text.split(|c: char| c == '-' || c == '_' || c.is_whitespace());
        let mut parts = parts.filter(|part| !part.is_empty());
        let mut next = || parts.next().ok_or(BadCode::Form);
        let number: u8 = next()?.parse().map_err(|_| BadCode::Form)?;
        if !(1..=NUMBERS).contains(&u16::from(number)) {
            return Err(BadCode::Form);
        }
        let words = [word(next()?)?, word(next()?)?];
        match parts.next() {
            None => Ok(Code { number, words }),
            Some(_) => Err(BadCode::Form),
        }
    }
}

fn word(text: &str) -> Result<u8, BadCode> {
    let found = words().binary_search(&text).ok();
    let found = found.and_then(|index| u8::try_from(index).ok());
    found.ok_or_else(|| BadCode::Word(crate::printable(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_256_in_order_and_no_slip_of_one_letter_makes_another() {
        let words = words();
        assert_eq!(words.len(), 256);
        assert!(words.is_sorted());
        for (i, a) in words.iter().enumerate() {
            assert!((4..=9).contains(&a.len()) && a.bytes().all(|b| b.is_ascii_lowercase()));
            for b in &words[..i] {
                assert!(distance(a.as_bytes(), b.as_bytes()) >= 2, "{a} {b}");
            }
        }
    }

    /// How many letters must be changed, added or removed (Levenshtein).
    fn distance(a: &[u8], b: &[u8]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut corner = i;
            row[0] = i + 1;
            for (j, y) in b.iter().enumerate() {
                let changed = corner + usize::from(x != y);
                corner = row[j + 1];
                row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
            }
        }
        row[b.len()]
    }

    #[test]
    fn each_code_is_read_as_it_is_shown() {
        for number in 1..=99 {
            let code = Code {
                number,
                words: [number, 255 - number],
            };
            assert_eq!(code.to_string().parse(), Ok(code));
        }
        let code: Code = "7-amber-river".parse().unwrap();
        for text in ["7 Amber River", " 7_AMBER--river ", "07-amber-river"] {
            assert_eq!(text.parse(), Ok(code), "{text}");
        }
        assert_eq!(code.to_string(), "7-amber-river");
        assert_eq!(format!("{code:?}"), "Code(..)");
    }

    #[test]
    fn a_slip_is_told_before_it_costs_a_try() {
        for text in [
            "",
            "7",
            "7-amber",
            "amber-river",
            "0-amber-river",
            "100-amber-river",
        ] {
            assert_eq!(text.parse::<Code>(), Err(BadCode::Form), "{text}");
        }
        assert_eq!("7-amber-river-river".parse::<Code>(), Err(BadCode::Form));
        let wrong = "7-amber-rivr".parse::<Code>();
        assert_eq!(wrong, Err(BadCode::Word("rivr".to_owned())));
    }

    #[test]
    fn each_number_is_as_likely_as_the_others() {
        let mut bytes = [0; 100];
        for byte in 0..=255 {
            if let Some(code) = Code::of([byte, 7, 8]) {
                bytes[usize::from(code.number)] += 1;
                assert_eq!(code.words, [7, 8]);
            }
        }
        assert_eq!((bytes[0], &bytes[1..]), (0, &[2; 99][..]));
    }

    #[test]
    fn codes_differ_and_use_all_their_parts() {
        let codes: Vec<Code> = (0..2000).map(|_| Code::random().unwrap()).collect();
        let different = |part: fn(&Code) -> u8| {
            let parts: std::collections::BTreeSet<u8> = codes.iter().map(part).collect();
            parts.len()
        };
        assert!(different(|c| c.words[0]) > 240 && different(|c| c.words[1]) > 240);
        assert_eq!(different(|c| c.number), 99);
    }
}
