//! Exit codes and the errors that carry them.

use std::process::ExitCode;

use weftline_apps::printable;

/// The meaning of the program's exit code. `weftline --help` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Success.
    Ok = 0,
    /// Any other failure, for example a file that could not be stored.
    General = 1,
    /// The command line is wrong.
    Usage = 2,
    /// One of the ends refused the other's identity or code, or the server refused what the client asked for: a
    /// service, a target or an address to listen on. Or a key file is missing or unusable.
    Refused = 3,
    /// The peer cannot be reached, or the connection was lost.
    Lost = 4,
    /// The data that arrived is not the data that was sent.
    Corrupt = 5,
    /// Stopped by Ctrl-C.
    Interrupted = 130,
    /// Stopped by SIGTERM.
    Terminated = 143,
}

/// The table of exit codes for `--help`.
pub const TABLE: &str = "\
Exit codes:
  0    success
  1    general failure, for example a file that could not be stored
  2    wrong command line
  3    refused: identity, pairing code, service, target or listening address; or unusable key file
  4    the peer could not be reached, or the connection was lost
  5    verification failed: the data that arrived is not the data that was sent
  130  stopped by Ctrl-C
  143  stopped by SIGTERM";

impl Exit {
    /// The code of `error`: that of the first [`Failure`] in its chain.
    pub fn of(error: &anyhow::Error) -> Exit {
        let failure = error.chain().find_map(|e| e.downcast_ref::<Failure>());
        failure.map_or(Exit::General, |f| f.exit)
    }

    /// The number.
    pub fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// An error with its exit code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The code.
    pub exit: Exit,
    /// What happened and what to do about it, for people.
    pub message: String,
}

impl Failure {
    /// An error with this code and message. The message may quote the peer.
    pub fn new(exit: Exit, message: impl Into<String>) -> Self {
        Failure {
            exit,
            message: printable(&message.into()),
        }
    }

    /// A wrong command line.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure::new(Exit::Usage, message)
    }
}

/// `error` and its causes in one line, with its exit code.
pub fn wrap(error: &anyhow::Error) -> Failure {
    Failure::new(Exit::of(error), text(error))
}

/// `error` and its causes in one line. A cause that the error above already quotes is not
/// repeated.
pub fn text(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use weftline_apps::transfer::TransferError;

    #[test]
    fn the_code_survives_context() {
        let error = anyhow::Error::new(Failure::new(Exit::Lost, "gone")).context("sending");
        assert_eq!(Exit::of(&error), Exit::Lost);
        assert_eq!(Exit::of(&anyhow::anyhow!("other")), Exit::General);
    }

    #[test]
    fn a_cause_is_reported_once() {
        let error = anyhow::Error::new(TransferError::Stream(std::io::Error::other("no more")));
        assert_eq!(
            text(&error.context("sending")),
            "sending: the connection failed: no more"
        );
    }
}
