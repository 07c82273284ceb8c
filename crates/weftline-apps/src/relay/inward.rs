//! Messages from the peer, for as long as a session lasts.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep, sleep_until};
use weftline::{CloseReason, Connection};

use super::table::Hostile;

/// Time between two deliveries of waiting datagrams.
const GAP: Duration = Duration::from_millis(1);

/// Passes each message to `take`, which says whether `hand_on` has datagrams left to deliver;
/// `hand_on` says so too. Returns the reason why the session ended.
///
/// # Errors
/// Those of `take`.
pub(super) async fn inward(
    connection: &Connection,
    mut take: impl FnMut(Bytes) -> Result<bool, Hostile>,
    mut hand_on: impl FnMut() -> bool,
) -> Result<CloseReason, Hostile> {
    let mut due = None;
    loop {
        let waiting = sleep_until(due.unwrap_or_else(Instant::now));
        tokio::select! {
            message = connection.recv_message() => match message {
                Ok(message) => if take(message.data)? && due.is_none() {
                    due = Some(Instant::now() + GAP);
                },
                Err(reason) => return Ok(reason),
            },
            () = waiting, if due.is_some() => {
                due = hand_on().then(|| Instant::now() + GAP);
            }
        }
    }
}

/// Delivers the remaining datagrams when a session has ended.
pub(super) async fn finish(mut hand_on: impl FnMut() -> bool) {
    while hand_on() {
        sleep(GAP).await;
    }
}
