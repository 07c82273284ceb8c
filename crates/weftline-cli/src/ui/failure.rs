//! The messages and exit codes for failures of the applications.

use weftline::{CloseReason, ConnectError};
use weftline_apps::transfer::{Summary, TransferError};
use weftline_apps::{Protocol, SessionError, close};

use super::exit::{Exit, Failure};
use crate::home;

/// The peer's commands that messages name.
#[derive(Clone, Copy, Debug)]
pub struct There {
    /// The command that must run on the peer.
    pub serve: &'static str,
    /// The service, whose list of allowed hosts the peer reads; none if it has no list of its own.
    pub service: Option<Protocol>,
    /// The command that, followed by this host's fingerprint, makes the peer accept this host.
    pub allow: &'static str,
}

/// The failure to report when a session was not established, or ended.
pub fn session(error: &SessionError, there: There) -> Failure {
    let serve = there.serve;
    let (exit, remedy) = match error {
        SessionError::Connect(error) => return connecting(error, there),
        SessionError::Closed(reason) => return closed(reason),
        SessionError::UnknownHost(_) | SessionError::Leaving(_) | SessionError::AskedNothing => {
            (Exit::Lost, String::new())
        }
        SessionError::Silent => (Exit::Lost, format!(": is it `{serve}`?")),
        SessionError::TargetRefused { target, .. } => (
            Exit::Refused,
            format!("; on its host, run: {serve} --allow {target}"),
        ),
        SessionError::ListenRefused { address, .. } => (
            Exit::Refused,
            format!("; on its host, run: {serve} --allow-listen {address}"),
        ),
        _ => (Exit::General, String::new()),
    };
    Failure::new(exit, format!("{error}{remedy}"))
}

fn connecting(error: &ConnectError, there: There) -> Failure {
    let There { service, allow, .. } = there;
    if let ConnectError::Closed { reason, .. } = error
        && let Some(failure) = said(reason)
    {
        return failure;
    }
    let (exit, remedy) = match error {
        ConnectError::PeerMismatch { .. } => (Exit::Refused, String::new()),
        ConnectError::Refused { ours, .. } => {
            let list = service.map_or_else(String::new, |service| {
                let list = home::list(service);
                format!("add that to ~/.config/weftline/{list}, which counts at once, or ")
            });
            let remedy = format!("; on its host, {list}run: {allow} {ours}");
            (Exit::Refused, remedy)
        }
        ConnectError::TimedOut { .. } => (
            Exit::Lost,
            "; --insecure-udp must be used at both ends or at neither".to_owned(),
        ),
        ConnectError::ApplicationProtocol { addr } => {
            let message = format!(
                "{addr} runs another version of Weftline, or another program that uses it: update both ends"
            );
            return Failure::new(Exit::General, message);
        }
        ConnectError::Busy { .. }
        | ConnectError::NotWeftline { .. }
        | ConnectError::Address { .. }
        | ConnectError::Closed { .. } => (Exit::Lost, String::new()),
        _ => (Exit::General, String::new()),
    };
    Failure::new(exit, format!("{error}{remedy}"))
}

/// The failure to report when a transfer ended early. `ended` is the reason why the session
/// ended, if it did.
pub fn transferring(error: &TransferError, ended: Option<&CloseReason>) -> Failure {
    match (error, ended) {
        (TransferError::Stream(_) | TransferError::Ended, Some(reason)) => match reason {
            CloseReason::Peer {
                code: close::DONE, ..
            } => Failure::new(
                Exit::Lost,
                format!("the peer closed the session early; {AGAIN}"),
            ),
            CloseReason::Peer {
                code: close::BUSY | close::OTHER_PROTOCOL | close::NOT_ALLOWED,
                ..
            } => closed(reason),
            reason => Failure::new(Exit::Lost, format!("{}; {AGAIN}", closed(reason))),
        },
        (TransferError::Stream(_) | TransferError::Ended, None)
        | (TransferError::Stalled { .. }, _) => {
            Failure::new(Exit::Lost, format!("{error}; {AGAIN}"))
        }
        _ => Failure::new(Exit::General, error.to_string()),
    }
}

/// The failure to report when the session ended before a stream was open.
pub fn closed(reason: &CloseReason) -> Failure {
    said(reason).unwrap_or_else(|| {
        let message = match reason {
            CloseReason::Local => "the session was closed by this end".to_owned(),
            reason => format!("connection lost: {reason}"),
        };
        Failure::new(Exit::Lost, message)
    })
}

const AGAIN: &str = "run the same command again to resume the transfer";

/// The failure of a transfer, without the advice to resume it.
pub fn alone(failure: &Failure) -> Failure {
    let message = failure.message.strip_suffix(AGAIN);
    let message = message.map_or(&*failure.message, |rest| rest.trim_end_matches("; "));
    Failure::new(failure.exit, message)
}

/// The failure that the peer reported when it closed the session, if any.
fn said(reason: &CloseReason) -> Option<Failure> {
    match reason {
        CloseReason::Peer {
            code: close::BUSY, ..
        } => Some(busy()),
        CloseReason::Peer {
            code: close::OTHER_PROTOCOL,
            ..
        } => Some(other_protocol(Protocol::of_server(reason))),
        CloseReason::Peer {
            code: close::NOT_ALLOWED,
            ..
        } => Some(Failure::new(
            Exit::Refused,
            "the server knows this host, but does not let it use this service: on its host, add this host's fingerprint (see `weftline key`) to the service's list, as ~/.config/weftline/allowed-relay, or to its `peer`",
        )),
        CloseReason::Peer {
            code: close::INTERRUPTED,
            ..
        } => Some(Failure::new(Exit::Lost, "the peer was stopped")),
        CloseReason::Peer {
            code: close::FAILED,
            reason,
        } => {
            let message = match reason.is_empty() {
                true => "the peer has given up".to_owned(),
                false => format!("the peer has given up: {reason}"),
            };
            Some(Failure::new(Exit::Lost, message))
        }
        _ => None,
    }
}

/// The failure of a client that has reached another service than its own.
fn other_protocol(reached: Option<Protocol>) -> Failure {
    let (server, client) = match reached {
        Some(Protocol::Files) => ("weftline recv", "weftline send"),
        Some(Protocol::Relay) => ("weftline relay serve", "weftline relay connect"),
        Some(Protocol::Forward) => ("weftline forward serve", "weftline forward"),
        Some(Protocol::Tun) => ("weftline tun serve", "weftline tun"),
        None => {
            let message = "the server does not offer this service: check its address and port, and on its host whether the file of `weftline serve` has a table for this service";
            return Failure::new(Exit::Refused, message);
        }
    };
    let message = format!("that is `{server}`: use `{client}`, or give the port of another server");
    Failure::new(Exit::Refused, message)
}

fn busy() -> Failure {
    let message = "the receiver is busy with another sender; try later, or run it with --keep";
    Failure::new(Exit::Lost, message)
}

/// The failure that the summary of a finished transfer reports, if any.
pub fn judging(summary: &Summary) -> Option<Failure> {
    let (failed, first) = (summary.not_complete, summary.failed.first()?);
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
    use weftline_apps::transfer::Outcome;

    const THERE: There = There {
        serve: "weftline relay serve",
        service: Some(Protocol::Relay),
        allow: "weftline relay serve --allow TARGET --peer",
    };

    #[test]
    fn what_is_refused_comes_with_the_remedy() {
        let refused = SessionError::TargetRefused {
            target: "127.0.0.1:5".into(),
            reason: "127.0.0.1:5 is not allowed here".into(),
        };
        let failure = session(&refused, THERE);
        assert_eq!(failure.exit, Exit::Refused);
        let remedy = "127.0.0.1:5 is not allowed here; on its host, run: weftline relay serve --allow 127.0.0.1:5";
        assert!(failure.message.ends_with(remedy), "{failure}");
        let refused = SessionError::ListenRefused {
            address: ([127, 0, 0, 1], 1).into(),
            reason: "no".into(),
        };
        let failure = session(&refused, THERE);
        assert_eq!(failure.exit, Exit::Refused);
        assert!(
            failure.message.ends_with("--allow-listen 127.0.0.1:1"),
            "{failure}"
        );
    }

    #[test]
    fn what_may_pass_by_itself_has_the_code_of_a_lost_connection() {
        let vanished = CloseReason::TimedOut { seconds: 30 };
        let all = [
            SessionError::Silent,
            SessionError::AskedNothing,
            SessionError::Leaving("soon".into()),
            SessionError::Closed(vanished),
            SessionError::EndpointClosed,
            SessionError::Version("the relay"),
            SessionError::Failed("no".into()),
        ];
        for error in all {
            let is_lost = session(&error, THERE).exit == Exit::Lost;
            assert_eq!(is_lost, error.is_transient(), "{error}");
        }
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
        (summary.not_complete, summary.damaged) = (1, 0);
        summary.failed.push(outcome(false));
        assert_eq!(judging(&summary).map(|f| f.exit), Some(Exit::General));
        (summary.not_complete, summary.damaged) = (2, 1);
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
        assert_eq!(failure.message, format!("the peer was stopped; {AGAIN}"));
        // The peer may also close before the session is ready.
        let at_once = ConnectError::Closed {
            addr: "192.0.2.1:4433".parse().unwrap(),
            reason: stopped.clone(),
        };
        // What is no transfer cannot be resumed.
        assert_eq!(connecting(&at_once, THERE).message, "the peer was stopped");
        assert_eq!(closed(&stopped).message, "the peer was stopped");
        let vanished = CloseReason::TimedOut { seconds: 30 };
        let failure = transferring(&TransferError::Ended, Some(&vanished));
        assert!(failure.message.contains("vanished"), "{failure}");
        assert_eq!(failure.exit, Exit::Lost);
    }
}
