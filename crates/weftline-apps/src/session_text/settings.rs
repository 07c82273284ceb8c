//! Settings as `NAME=VALUE`.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// A setting cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SettingError {
    /// An argument is no setting.
    #[error("`{0}` is no setting: write NAME=VALUE, for example secs=10")]
    NotASetting(String),
    /// The same setting is there twice.
    #[error("the setting `{0}` is given twice: leave one")]
    GivenTwice(String),
    /// There is no such setting.
    #[error("unknown setting `{name}`: {what} takes {known}")]
    UnknownSetting {
        /// The setting given.
        name: String,
        /// What it was given to.
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
        /// What it takes.
        expected: String,
    },
    /// Settings that do not go together.
    #[error("{0}")]
    Contradiction(String),
}

/// Settings as given. Whoever has settings takes its own by name; what is left at the end is
/// refused with the names that were asked for.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    given: BTreeMap<String, String>,
    known: Vec<&'static str>,
}

impl Settings {
    /// Takes the arguments apart.
    ///
    /// # Errors
    /// An argument is no setting, or one is there twice.
    pub fn parse(arguments: &[String]) -> Result<Self, SettingError> {
        let mut given = BTreeMap::new();
        for argument in arguments {
            match argument.split_once('=') {
                Some((name, value)) if !name.is_empty() => {
                    if given.insert(name.to_owned(), value.to_owned()).is_some() {
                        return Err(SettingError::GivenTwice(name.to_owned()));
                    }
                }
                _ => return Err(SettingError::NotASetting(argument.clone())),
            }
        }
        Ok(Settings {
            given,
            known: Vec::new(),
        })
    }

    /// The value of a setting, as `read` understands it; `None` if it was not given.
    ///
    /// # Errors
    /// It has a value that it cannot have.
    pub fn take<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, SettingError> {
        debug_assert!(!self.known.contains(&name), "{name} has two meanings");
        self.known.push(name);
        let Some(value) = self.given.remove(name) else {
            return Ok(None);
        };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(SettingError::BadValue {
                name,
                value,
                expected: expected.to_owned(),
            }),
        }
    }

    /// A number within bounds.
    ///
    /// # Errors
    /// It is no number, or out of bounds.
    pub fn number<T>(
        &mut self,
        name: &'static str,
        what: &str,
        bounds: RangeInclusive<T>,
    ) -> Result<Option<T>, SettingError>
    where
        T: FromStr + PartialOrd + std::fmt::Display,
    {
        let expected = format!("{what}, {} to {}", bounds.start(), bounds.end());
        self.take(name, &expected, |value| {
            value.parse().ok().filter(|n| bounds.contains(n))
        })
    }

    /// 0 or 1.
    ///
    /// # Errors
    /// It is neither.
    pub fn switch(&mut self, name: &'static str) -> Result<Option<bool>, SettingError> {
        self.take(name, "0 or 1", |value| match value {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    /// One of several names.
    ///
    /// # Errors
    /// It is another name.
    pub fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, SettingError> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let expected = format!("one of {}", names.join(", "));
        self.take(name, &expected, |value| {
            let chosen = choices.iter().find(|(name, _)| *name == value);
            chosen.map(|(_, choice)| *choice)
        })
    }

    /// Refuses what nobody took; `what` is the transport and the workload.
    ///
    /// # Errors
    /// A setting is left.
    pub fn finish(mut self, what: &str) -> Result<(), SettingError> {
        match self.given.pop_first() {
            None => Ok(()),
            Some((name, _)) => Err(SettingError::UnknownSetting {
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
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        Settings::parse(&arguments).unwrap()
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_right_ones() {
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
    fn a_wrong_value_is_answered_with_what_is_possible() {
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
    fn what_is_no_setting_is_refused() {
        let parse = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
            Settings::parse(&arguments).unwrap_err()
        };
        assert!(matches!(parse(&["secs"]), SettingError::NotASetting(_)));
        assert!(matches!(parse(&["=1"]), SettingError::NotASetting(_)));
        assert!(matches!(
            parse(&["n=1", "n=1"]),
            SettingError::GivenTwice(_)
        ));
    }
}
