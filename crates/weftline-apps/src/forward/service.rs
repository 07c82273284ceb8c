//! State that all sessions of a server share.

use tokio::sync::{Semaphore, watch};

use super::counts::Counts;
use super::event::OnEvent;
use super::listeners::Listeners;
use super::options::ServerOptions;

/// Most connections of all sessions together.
const MOST_RUNNING: u32 = 100_000;

/// State that all sessions of a server share.
pub(super) struct Service {
    pub(super) options: ServerOptions,
    pub(super) counts: Counts,
    pub(super) on_event: OnEvent,
    pub(super) listeners: Listeners,
    /// Each connection holds a permit.
    pub(super) running: Semaphore,
    /// Turns true once, when nothing new may start.
    pub(super) leaving: watch::Sender<bool>,
}

impl Service {
    pub(super) fn new(options: ServerOptions, on_event: OnEvent) -> Self {
        Service {
            options,
            counts: Counts::default(),
            on_event,
            listeners: Listeners::default(),
            running: Semaphore::new(MOST_RUNNING as usize),
            leaving: watch::Sender::new(false),
        }
    }

    /// Whether the server is stopping, so that nothing new may start.
    pub(super) fn is_leaving(&self) -> bool {
        *self.leaving.borrow()
    }

    /// Waits until there are no connections; none can start while the result is held.
    pub(super) async fn drained(&self) -> impl Sized {
        // This fails only if the semaphore is closed, which never happens.
        self.running.acquire_many(MOST_RUNNING).await
    }
}
