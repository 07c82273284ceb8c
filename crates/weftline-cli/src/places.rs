//! What is sent, and where to: `FILE... ADDR` or `FILE... CODE`, with options anywhere among them.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{Error, ErrorKind};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use weftline_apps::Address;
use weftline_apps::pairing::Code;

const HELP: &str = "\
Files and directories to send; `-` is standard input. The last one is ADDR, the address of \
`weftline recv`: HOST or HOST:PORT (UDP, default port 9338), or the name of a known peer. In one network with it, its code will do";

/// Where `weftline recv` is.
#[derive(Clone, Debug)]
pub(crate) enum To {
    /// At this address.
    Address(Address),
    /// Nearby, where it shows this code.
    Code(Code),
}

/// The positional arguments of `weftline send`. For clap they are one list: of two, it would take the
/// first one before an option as the last file.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) to: To,
}

impl FromArgMatches for Places {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let bad = |kind, message: &str| Err(Error::raw(kind, format!("{message}\n")));
        let all = matches.get_many::<OsString>("places").unwrap_or_default();
        let mut all: Vec<&OsString> = all.collect();
        let to = all.pop().map(|last| last.to_string_lossy());
        let (Some(to), false) = (to, all.is_empty()) else {
            let message =
                "give the files, and after them the address of `weftline recv`, or its code";
            return bad(ErrorKind::MissingRequiredArgument, message);
        };
        // No host is called as a code is; one that is can be given with its port.
        let read = match to.parse() {
            Ok(code) => Ok(To::Code(code)),
            Err(_) => to.parse().map(To::Address),
        };
        match read {
            Ok(to) => Ok(Places {
                files: all.into_iter().map(PathBuf::from).collect(),
                to,
            }),
            Err(error) => bad(
                ErrorKind::ValueValidation,
                &format!("{error}; it follows the files"),
            ),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Places {
    fn augment_args(command: Command) -> Command {
        let places = Arg::new("places").value_name("FILE").num_args(1..);
        let places = places.value_parser(value_parser!(OsString)).required(true);
        let usage = "weftline send [OPTIONS] <FILE>... <ADDR|CODE>";
        command.override_usage(usage).arg(places.help(HELP))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
