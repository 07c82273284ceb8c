//! Exit codes and the errors that carry them.

use std::process::ExitCode;

use weftline::{CloseReason, ConnectError};

use crate::transfer::path::printable;
use crate::transfer::{Summary, TransferError};

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
    /// An identity was refused by one of the ends, or a key file is unusable.
    Refused = 3,
    /// The peer cannot be reached, or the connection was lost.
    Lost = 4,
    /// What arrived is not what was sent.
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
  3    identity refused by the peer or by this host, or unusable key file
  4    the peer could not be reached, or the connection was lost
  5    verification failed: what arrived is not what was sent
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
}

/// Application error codes in the session's close.
pub mod close {
    /// The session is complete.
    pub const DONE: u64 = 0;
    /// A person stopped it.
    pub const INTERRUPTED: u64 = 1;
    /// The session failed; the reason says why.
    pub const FAILED: u64 = 2;
    /// The receiver accepts one sender only, and is serving another one.
    pub const BUSY: u64 = 3;
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

/// The failure to report when connecting failed. `allow` is the command that, followed by this
/// host's fingerprint, makes the peer accept this host.
pub fn connecting(error: &ConnectError, allow: &str) -> Failure {
    if let ConnectError::Closed { reason, .. } = error
        && let Some(failure) = said(reason)
    {
        return failure;
    }
    let (exit, remedy) = match error {
        ConnectError::PeerMismatch { .. } => (Exit::Refused, String::new()),
        ConnectError::Refused { ours, .. } => (
            Exit::Refused,
            format!("; on the peer's host, run: {allow} {ours}"),
        ),
        ConnectError::TimedOut { .. } => (
            Exit::Lost,
            ", and that either both ends or neither use --insecure-udp".to_owned(),
        ),
        ConnectError::Busy { .. }
        | ConnectError::NotWeftline { .. }
        | ConnectError::Address { .. }
        | ConnectError::Closed { .. } => (Exit::Lost, String::new()),
        _ => (Exit::General, String::new()),
    };
    Failure::new(exit, format!("{error}{remedy}"))
}

/// The failure to report when a transfer ended early. `closed` is the reason why the session
/// ended, if it did.
pub fn transferring(error: &TransferError, closed: Option<&CloseReason>) -> Failure {
    match (error, closed) {
        (TransferError::Stream(_) | TransferError::Ended, Some(reason)) => said(reason)
            .unwrap_or_else(|| {
                let what = match reason {
                    CloseReason::Peer {
                        code: close::DONE, ..
                    } => "the peer closed the session early".to_owned(),
                    reason => format!("connection lost: {reason}"),
                };
                Failure::new(Exit::Lost, format!("{what}; {AGAIN}"))
            }),
        (TransferError::Stream(_) | TransferError::Ended, None) => {
            Failure::new(Exit::Lost, format!("{error}; {AGAIN}"))
        }
        _ => Failure::new(Exit::General, error.to_string()),
    }
}

/// The failure to report when the session ended before a stream was open.
pub fn closed(reason: &CloseReason) -> Failure {
    said(reason).unwrap_or_else(|| Failure::new(Exit::Lost, format!("connection lost: {reason}")))
}

const AGAIN: &str = "run the same command again to resume the transfer";

/// The failure that the peer reported when it closed the session, if any.
fn said(reason: &CloseReason) -> Option<Failure> {
    match reason {
        CloseReason::Peer {
            code: close::BUSY, ..
        } => Some(busy()),
        CloseReason::Peer {
            code: close::INTERRUPTED,
            ..
        } => Some(Failure::new(
            Exit::Lost,
            format!("the peer was stopped; {AGAIN}"),
        )),
        _ => None,
    }
}

fn busy() -> Failure {
    let message = "the receiver is busy with another sender; try later, or run it with --keep";
    Failure::new(Exit::Lost, message)
}

/// The failure that the summary of a finished transfer reports, if any.
pub fn judging(summary: &Summary) -> Option<Failure> {
    let (failed, first) = (summary.failed.len(), summary.failed.first()?);
    let exit = if summary.is_corrupt() {
        Exit::Corrupt
    } else {
        Exit::General
    };
    let more = if failed > 1 {
        format!(" (and {} more)", failed - 1)
    } else {
        String::new()
    };
    Some(Failure::new(
        exit,
        format!("not transferred: {}: {}{more}", first.path, first.reason),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::Outcome;

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

    #[test]
    fn damage_takes_precedence_over_other_failures() {
        let outcome = |corrupt| Outcome {
            path: "f".into(),
            reason: "why".into(),
            corrupt,
        };
        let mut summary = Summary::default();
        assert_eq!(judging(&summary), None);
        summary.failed.push(outcome(false));
        assert_eq!(judging(&summary).map(|f| f.exit), Some(Exit::General));
        summary.failed.push(outcome(true));
        let failure = judging(&summary).unwrap();
        assert_eq!(failure.exit, Exit::Corrupt);
        assert!(failure.message.ends_with("(and 1 more)"));
    }

    #[test]
    fn a_stopped_peer_is_distinguished_from_a_lost_one() {
        let stopped = CloseReason::Peer {
            code: close::INTERRUPTED,
            reason: String::new(),
        };
        let failure = transferring(&TransferError::Ended, Some(&stopped));
        assert!(failure.message.starts_with("the peer was stopped"));
        // The peer may also close before the session is ready.
        let at_once = ConnectError::Closed {
            addr: "192.0.2.1:4433".parse().unwrap(),
            reason: stopped.clone(),
        };
        assert_eq!(connecting(&at_once, "").message, failure.message);
        assert_eq!(closed(&stopped).message, failure.message);
        let vanished = CloseReason::TimedOut { seconds: 30 };
        let failure = transferring(&TransferError::Ended, Some(&vanished));
        assert!(failure.message.contains("vanished"), "{failure}");
        assert_eq!(failure.exit, Exit::Lost);
    }
}
