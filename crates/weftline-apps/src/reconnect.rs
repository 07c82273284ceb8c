//! A session that is re-established after a loss; the clients of relay and forward share it.

use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::time::sleep;
use weftline::{CloseReason, Connection, Port};

use crate::error::SessionError;
use crate::session::{close, farewell};
use crate::stopper::Stopper;

/// First and longest time between attempts to connect.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_secs(8);

/// The work done with each session.
pub(crate) trait Rejoin: Sync {
    /// The agreement of both ends at the start of a session.
    type Agreed: Send;

    /// Connects, and agrees with the server on the rules.
    fn begin(
        &self,
    ) -> impl Future<Output = Result<(Port, Connection, Self::Agreed), SessionError>> + Send;

    /// Serves the session until it ends.
    fn carry(
        &self,
        connection: &Connection,
        agreed: Self::Agreed,
    ) -> impl Future<Output = CloseReason> + Send;

    /// A session was lost.
    fn on_lost(&self);

    /// The next attempt follows after `wait`.
    fn on_retry(&self, error: &SessionError, wait: Duration);

    /// Lets data in flight arrive before the session is closed on request.
    fn leave(
        &self,
        connection: &Connection,
        carried: Pin<&mut (impl Future<Output = CloseReason> + Send)>,
    ) -> impl Future<Output = ()> + Send;

    /// The session is closed.
    fn left(&self) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// Keeps a session until `stopper` stops it.
///
/// # Errors
/// The error of the first session is permanent. After a session has worked, attempts continue
/// without limit.
pub(crate) async fn reconnect(work: &impl Rejoin, stopper: &Stopper) -> Result<(), SessionError> {
    let mut wait = FIRST_WAIT;
    let mut served = false;
    loop {
        let begun = tokio::select! {
            begun = work.begin() => begun,
            () = stopper.asked() => return Ok(()),
        };
        let error = match begun {
            Ok((endpoint, connection, agreed)) => {
                served = true;
                wait = FIRST_WAIT;
                let mut carried = pin!(work.carry(&connection, agreed));
                let ended = tokio::select! {
                    ended = &mut carried => ended,
                    () = stopper.asked() => {
                        work.leave(&connection, carried).await;
                        farewell(&endpoint, close::INTERRUPTED, "stopped").await;
                        work.left().await;
                        return Ok(());
                    }
                };
                work.on_lost();
                connection.close(close::FAILED, "the session failed");
                SessionError::Closed(ended)
            }
            Err(error) => error,
        };
        // An error that a person must fix is permanent, unless a session has worked before.
        if !served && !error.is_transient() {
            return Err(error);
        }
        work.on_retry(&error, wait);
        tokio::select! {
            () = sleep(wait) => {}
            () = stopper.asked() => return Ok(()),
        }
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}
