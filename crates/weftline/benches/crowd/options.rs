//! The command line.

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::arguments::{Form, number};

pub(crate) const HELP: &str = "\
cargo bench -p weftline --bench crowd -- [OPTIONS]

  --sessions N     sessions from one endpoint to another [default: 1000]
  --rate N         messages that each sends in a second [default: 10]
  --bytes N        bytes of a message, 16 to 1100 [default: 100]
  --secs N         seconds of messages, and of each pause [default: 10]
  --at-once N      set-ups at a time [default: 8]
  --rounds N       runs of each engine; medians are shown [default: 3]
  --only NAME      weftline or quinn";

/// What sends the messages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Engine {
    /// `auto` over QUIC, with its own rate control.
    Weftline,
    /// Datagrams, not sent again; CUBIC.
    Quinn,
}

/// How many there are, and what each does.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Crowd {
    pub(crate) sessions: usize,
    /// Messages in a second.
    pub(crate) rate: u32,
    pub(crate) bytes: usize,
    pub(crate) secs: f64,
    pub(crate) at_once: usize,
}

pub(crate) struct Options {
    pub(crate) crowd: Crowd,
    pub(crate) rounds: u32,
    pub(crate) engines: Vec<Engine>,
}

impl Options {
    /// Reads the arguments; `None` is a request for help.
    pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Option<Self>> {
        let (form, args) = Form::read(args);
        let (sessions, secs, rounds) = match form {
            Form::Full => (1000, 10.0, 3),
            Form::Short => (100, 2.0, 1),
            Form::Smoke => (10, 0.2, 1),
        };
        let mut options = Options {
            crowd: Crowd {
                sessions,
                rate: 10,
                bytes: 100,
                secs,
                at_once: 8,
            },
            rounds,
            engines: vec![Engine::Weftline, Engine::Quinn],
        };
        let crowd = &mut options.crowd;
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--sessions" => crowd.sessions = number(&value()?, 1, 100_000)?,
                "--rate" => crowd.rate = number(&value()?, 1, 1_000_000)?,
                "--bytes" => crowd.bytes = number(&value()?, 16, 1100)?,
                "--secs" => crowd.secs = f64::from(number::<u32>(&value()?, 1, 3600)?),
                "--at-once" => crowd.at_once = number(&value()?, 1, 1000)?,
                "--rounds" => options.rounds = number(&value()?, 1, 1000)?,
                "--only" => {
                    let name = value()?;
                    let engines = &mut options.engines;
                    engines.retain(|engine| format!("{engine:?}").to_lowercase() == name);
                    ensure!(!engines.is_empty(), "--only takes weftline or quinn");
                }
                "--help" => return Ok(None),
                other => bail!("`{other}` is not an option; the options are\n\n{HELP}"),
            }
        }
        Ok(Some(options))
    }
}
