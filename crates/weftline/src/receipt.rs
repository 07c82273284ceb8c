//! What became of a message.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use weftline_proto::{CloseReason, MessageId};

use crate::shared::Shared;

/// What became of a message that was sent: a future that is ready once that is known.
///
/// It may be dropped: the message goes its way all the same. It does not keep the connection
/// open. Memory: one entry for each receipt that the application holds.
pub struct Receipt {
    shared: Arc<Shared>,
    id: MessageId,
}

impl Receipt {
    /// The message's number: [`Message::id`](crate::Message::id) at the peer.
    pub fn id(&self) -> MessageId {
        self.id
    }

    /// The message was just accepted; the connection's state has an entry for it.
    pub(crate) fn new(shared: Arc<Shared>, id: MessageId) -> Self {
        Receipt { shared, id }
    }
}

/// Cancel safe: polling again later gives the same answer.
impl Future for Receipt {
    type Output = Result<(), Undelivered>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let id = self.id;
        self.shared
            .with_as_driver(|state, _| state.poll_receipt(id, cx))
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        let id = self.id;
        self.shared
            .with_as_driver(|state, _| state.remove_receipt(id));
    }
}

impl fmt::Debug for Receipt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Receipt").field(&self.id).finish()
    }
}

/// Why a message did not arrive, as far as this end knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Undelivered {
    /// Its deadline passed before the peer acknowledged all of it: it was never sent, or a part of
    /// it was lost. It may have arrived all the same, by a repair that came after the loss.
    #[error("the deadline passed before the peer acknowledged the message")]
    Expired,
    /// The connection ended before the peer acknowledged it.
    #[error("the connection ended before the peer acknowledged the message: {0}")]
    Closed(CloseReason),
}
