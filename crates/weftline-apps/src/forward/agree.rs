//! The agreement of both ends at the start of a session, so that mistakes show before the first
//! connection.

use std::net::SocketAddr;

use tokio::io::AsyncWriteExt;
use weftline::{Connection, Stream};

use super::wire::{Reply, Request, Status};
use crate::error::SessionError;
use crate::target::Target;

/// The result of the agreement.
pub(crate) struct Agreed {
    /// Addresses at which the peer listens; each for as long as its stream is held.
    pub(super) listeners: Vec<(String, Stream)>,
    /// Warnings: rules that may fail later.
    pub(super) warnings: Vec<String>,
}

/// Asks whether the targets are allowed, and makes the peer listen.
///
/// # Errors
/// A target is not allowed, the peer cannot listen, or the session failed.
pub(super) async fn agree(
    connection: &Connection,
    targets: &[Target],
    listen: &[SocketAddr],
) -> Result<Agreed, SessionError> {
    let mut asked = Vec::new();
    // Without any question, a peer of another kind would go unnoticed.
    let targets: Vec<String> = targets.iter().map(Target::to_string).collect();
    let nothing = [String::new()];
    let questions = if targets.is_empty() {
        &nothing[..]
    } else {
        &targets
    };
    // All at once, so that together they need one round trip.
    for target in questions {
        let stream = ask(connection, &Request::Ask(target.clone())).await?;
        asked.push((target, stream));
    }
    let mut listening = Vec::new();
    for (rule, at) in (0..).zip(listen) {
        let request = Request::Listen(rule, at.to_string());
        listening.push((at, ask(connection, &request).await?));
    }
    let mut warnings = Vec::new();
    for (target, mut stream) in asked {
        match Reply::expect(&mut stream).await {
            Ok(_) => {}
            Err(reply) if reply.status == Status::NotAllowed => {
                return Err(SessionError::TargetRefused {
                    target: target.clone(),
                    reason: reply.text,
                });
            }
            Err(reply) if reply.status == Status::UnknownName => warnings.push(reply.text),
            Err(reply) => return Err(failed(connection, &reply)),
        }
    }
    let mut listeners = Vec::new();
    for (at, mut stream) in listening {
        match Reply::expect(&mut stream).await {
            Ok(bound) => listeners.push((bound, stream)),
            Err(reply) if reply.status == Status::NotAllowed => {
                return Err(SessionError::ListenRefused {
                    address: *at,
                    reason: reply.text,
                });
            }
            Err(reply) => return Err(failed(connection, &reply)),
        }
    }
    Ok(Agreed {
        listeners,
        warnings,
    })
}

async fn ask(connection: &Connection, request: &Request) -> Result<Stream, SessionError> {
    let stream = connection.open_stream().await;
    let mut stream = stream.map_err(SessionError::Closed)?;
    match stream.write_all(&request.bytes()).await {
        Ok(()) => Ok(stream),
        Err(error) => Err(failed(
            connection,
            &Reply::new(Status::Other, error.to_string()),
        )),
    }
}

fn failed(connection: &Connection, reply: &Reply) -> SessionError {
    match connection.close_reason() {
        Some(reason) => SessionError::Closed(reason),
        // The session may end in a moment.
        None if reply.status == Status::Leaving => SessionError::Leaving(reply.text.clone()),
        None => SessionError::Failed(reply.text.clone()),
    }
}
