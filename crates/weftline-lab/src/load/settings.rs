//! The `NAME=VALUE` settings of a transport and a workload.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

use super::LoadError;

/// The given settings. Each consumer removes its own by name; the rest is refused, and the error
/// lists the valid names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    given: BTreeMap<String, String>,
    known: Vec<&'static str>,
}

impl Settings {
    /// Parses the arguments.
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, LoadError> {
        let mut given = BTreeMap::new();
        for argument in arguments {
            match argument.split_once('=') {
                Some((name, value)) if !name.is_empty() => {
                    if given.insert(name.to_owned(), value.to_owned()).is_some() {
                        return Err(LoadError::GivenTwice(name.to_owned()));
                    }
                }
                _ => return Err(LoadError::NotASetting(argument.clone())),
            }
        }
        Ok(Settings {
            given,
            known: Vec::new(),
        })
    }

    /// The value of a setting, parsed by `read`; `None` if it was not given.
    pub(crate) fn take<T>(
        &mut self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, LoadError> {
        debug_assert!(!self.known.contains(&name), "{name} has two meanings");
        self.known.push(name);
        let Some(value) = self.given.remove(name) else {
            return Ok(None);
        };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(LoadError::BadValue {
                name,
                value,
                expected: expected.to_owned(),
            }),
        }
    }

    /// A number within bounds.
    pub(crate) fn number<T>(
        &mut self,
        name: &'static str,
        what: &str,
        bounds: RangeInclusive<T>,
    ) -> Result<Option<T>, LoadError>
    where
        T: FromStr + PartialOrd + std::fmt::Display,
    {
        let expected = format!("{what}, {} to {}", bounds.start(), bounds.end());
        self.take(name, &expected, |value| {
            value.parse().ok().filter(|n| bounds.contains(n))
        })
    }

    /// 0 or 1.
    pub(crate) fn switch(&mut self, name: &'static str) -> Result<Option<bool>, LoadError> {
        self.take(name, "0 or 1", |value| match value {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        })
    }

    /// One of several names.
    pub(crate) fn choice<T: Copy>(
        &mut self,
        name: &'static str,
        choices: &[(&str, T)],
    ) -> Result<Option<T>, LoadError> {
        let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
        let expected = format!("one of {}", names.join(", "));
        self.take(name, &expected, |value| {
            let chosen = choices.iter().find(|(name, _)| *name == value);
            chosen.map(|(_, choice)| *choice)
        })
    }

    /// Refuses settings that no consumer removed; `what` is the transport and the workload.
    pub(crate) fn finish(mut self, what: &str) -> Result<(), LoadError> {
        match self.given.pop_first() {
            None => Ok(()),
            Some((name, _)) => Err(LoadError::UnknownSetting {
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
    fn the_error_for_a_wrong_name_lists_the_valid_ones() {
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
    fn the_error_for_a_wrong_value_says_what_is_valid() {
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
    fn arguments_that_are_not_settings_are_refused() {
        let parse = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
            Settings::parse(&arguments).unwrap_err()
        };
        assert!(matches!(parse(&["secs"]), LoadError::NotASetting(_)));
        assert!(matches!(parse(&["=1"]), LoadError::NotASetting(_)));
        assert!(matches!(parse(&["n=1", "n=1"]), LoadError::GivenTwice(_)));
    }
}
