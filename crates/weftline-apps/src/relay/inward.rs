//! What the other end sends, for as long as a session lasts.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::{Instant, sleep, sleep_until};
use weftline::{CloseReason, Connection};

use super::table::Hostile;

/// Time after which more is handed on of what waited.
const GAP: Duration = Duration::from_millis(1);

/// Gives each message to `take`, which says whether there is something left for `hand_on`, which
/// says so too. Returns why the session is over.
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

/// Hands on the rest when a session is over.
pub(super) async fn finish(mut hand_on: impl FnMut() -> bool) {
    while hand_on() {
        sleep(GAP).await;
    }
}
