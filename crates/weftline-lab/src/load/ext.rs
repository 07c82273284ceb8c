//! External programs that measure their own transport and keep the same interface.

use std::path::PathBuf;
use std::str::FromStr;

/// A transport that a program measures: `NAME=PROGRAM` on the command line.
///
/// The program is called as `PROGRAM recv|send MODE HOST PORT [NAME=VALUE...]` and prints the same
/// output as `weftline-lab load`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The transport's name.
    pub name: String,
    /// The program: a path, or a name that is looked up as in a shell.
    pub program: PathBuf,
}

/// The text does not name a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no program: write NAME=PROGRAM, for example srt=target/ext/weftline-load-srt")]
pub struct NotExternal(String);

impl FromStr for External {
    type Err = NotExternal;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, program)) if !name.is_empty() && !program.is_empty() => Ok(External {
                name: name.to_owned(),
                program: program.into(),
            }),
            _ => Err(NotExternal(text.to_owned())),
        }
    }
}

impl External {
    /// The program's arguments.
    pub fn arguments(
        &self,
        side: super::Side,
        mode: super::Mode,
        host: &str,
        port: u16,
        settings: &[String],
    ) -> Vec<String> {
        let fixed = [side.name(), mode.name(), host].map(str::to_owned);
        let fixed = fixed.into_iter().chain([port.to_string()]);
        fixed.chain(settings.iter().cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Mode, Side};

    #[test]
    fn a_name_and_a_program_are_needed() {
        let srt: External = "srt=/opt/a=b/srt".parse().unwrap();
        assert_eq!(
            (srt.name.as_str(), srt.program),
            ("srt", "/opt/a=b/srt".into())
        );
        for bad in ["srt", "=x", "srt="] {
            assert!(bad.parse::<External>().is_err(), "{bad}");
        }
    }

    #[test]
    fn the_program_gets_what_the_transport_would() {
        let settings = ["secs=1".to_owned()];
        let program: External = "x=y".parse().unwrap();
        let arguments = program.arguments(Side::Recv, Mode::Xfer, "b", 7, &settings);
        assert_eq!(arguments, ["recv", "xfer", "b", "7", "secs=1"]);
    }
}
