//! Settings as text: `NAME=VALUE`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Settings that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// There is no preset of this name.
    #[error("unknown preset `{name}`: use one of {known}")]
    UnknownPreset {
        /// The name given.
        name: String,
        /// The names of the presets there are.
        known: String,
    },
    /// A word is not a setting.
    #[error("`{0}` is not a setting: write NAME=VALUE, for example secs=10")]
    NotASetting(String),
    /// A setting is given twice.
    #[error("the setting `{0}` is given twice: leave one")]
    GivenTwice(String),
    /// No such setting.
    #[error("unknown setting `{name}`: {what} takes {known}")]
    Unknown {
        /// The setting given.
        name: String,
        /// What the settings are for.
        what: String,
        /// The names of the settings there are.
        known: String,
    },
    /// A setting has a value that it cannot have.
    #[error("{name}={value} is not possible: {name} takes {expected}")]
    BadValue {
        /// The setting's name.
        name: &'static str,
        /// The value given.
        value: String,
        /// The values that it takes.
        expected: String,
    },
    /// Settings contradict each other.
    #[error("{0}")]
    Contradiction(&'static str),
}

/// Settings as given. Each reader takes its own by name. [`finish`](Self::finish) refuses the rest,
/// and lists the names that readers asked for.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    given: BTreeMap<String, String>,
    known: Vec<&'static str>,
}

impl Settings {
    /// Splits words of the form `NAME=VALUE`.
    ///
    /// # Errors
    /// A word has no `=`, or a name occurs twice.
    pub fn parse<S: AsRef<str>>(arguments: &[S]) -> Result<Self, TextError> {
        let mut given = BTreeMap::new();
        for argument in arguments {
            let argument = argument.as_ref();
            match argument.split_once('=') {
                Some((name, value)) if !name.is_empty() => {
                    if given.insert(name.to_owned(), value.to_owned()).is_some() {
                        return Err(TextError::GivenTwice(name.to_owned()));
                    }
                }
                _ => return Err(TextError::NotASetting(argument.to_owned())),
            }
        }
        Ok(Settings {
            given,
            known: Vec::new(),
        })
    }

    /// The value of a setting, parsed by `read`; `None` if it was not given.
    ///
    /// # Errors
    /// `read` does not understand the value; `expected` names the values that it does.
    pub fn take<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, TextError> {
        debug_assert!(!self.known.contains(&name), "{name} has two meanings");
        self.known.push(name);
        let Some(value) = self.given.remove(name) else {
            return Ok(None);
        };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(TextError::BadValue {
                name,
                value,
                expected: expected.to_owned(),
            }),
        }
    }

    /// A number within bounds; `None` if it was not given.
    ///
    /// # Errors
    /// The value is not a number or is out of bounds.
    pub fn number<T>(
        &mut self,
        name: &'static str,
        what: &str,
        bounds: RangeInclusive<T>,
    ) -> Result<Option<T>, TextError>
    where
        T: FromStr + PartialOrd + std::fmt::Display,
    {
        let expected = format!("{what}, {} to {}", bounds.start(), bounds.end());
        self.take(name, &expected, |value| {
            value.parse().ok().filter(|n| bounds.contains(n))
        })
    }

    /// 0 or 1; `None` if it was not given.
    ///
    /// # Errors
    /// The value is neither.
    pub fn switch(&mut self, name: &'static str) -> Result<Option<bool>, TextError> {
        self.take(name, "0 or 1", |value| match value {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    /// One of several names; `None` if it was not given.
    ///
    /// # Errors
    /// The value is none of the names.
    pub fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, TextError> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let expected = format!("one of {}", names.join(", "));
        self.take(name, &expected, |value| {
            let chosen = choices.iter().find(|(name, _)| *name == value);
            chosen.map(|(_, choice)| *choice)
        })
    }

    /// Refuses settings that no reader took; `what` names what the settings are for.
    ///
    /// # Errors
    /// No reader took one of the settings.
    pub fn finish(mut self, what: &str) -> Result<(), TextError> {
        match self.given.pop_first() {
            None => Ok(()),
            Some((name, _)) => Err(TextError::Unknown {
                name,
                what: what.to_owned(),
                known: self.known.join(", "),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(arguments: &[&str]) -> Settings {
        Settings::parse(arguments).unwrap()
    }

    #[test]
    fn the_error_for_a_wrong_name_lists_the_right_ones() {
        let mut settings = settings(&["sise=3"]);
        assert_eq!(settings.number("size", "bytes", 16..=100u32).unwrap(), None);
        assert_eq!(settings.switch("cdf").unwrap(), None);
        let error = settings.finish("stream over tcp").unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown setting `sise`: stream over tcp takes size, cdf"
        );
    }

    #[test]
    fn the_error_for_a_wrong_value_says_what_is_allowed() {
        for value in ["15", "101", "x", "", "-1"] {
            let error = settings(&[&format!("size={value}")])
                .number("size", "bytes", 16..=100u32)
                .unwrap_err();
            assert!(error.to_string().contains("bytes, 16 to 100"), "{error}");
        }
        let nan = settings(&["secs=NaN"]).number("secs", "seconds", 0.0..=1.0);
        assert!(nan.is_err(), "NaN is within no bounds");
        let error = settings(&["cc=fast"])
            .choice("cc", &[("bbr", 1), ("cubic", 2)])
            .unwrap_err();
        assert!(error.to_string().contains("one of bbr, cubic"), "{error}");
    }

    #[test]
    fn a_word_without_a_value_is_refused() {
        let parse = |arguments: &[&str]| Settings::parse(arguments).unwrap_err();
        assert!(matches!(parse(&["secs"]), TextError::NotASetting(_)));
        assert!(matches!(parse(&["=1"]), TextError::NotASetting(_)));
        assert!(matches!(parse(&["n=1", "n=1"]), TextError::GivenTwice(_)));
    }
}
