//! Stopping a running application.

use std::sync::Arc;

use tokio::sync::watch;

/// Stops a running application. Clones stop the same application.
///
/// The first [`stop`](Stopper::stop) lets data in flight arrive, and gives TCP connections time to
/// finish. The second one ends this wait.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<watch::Sender<u32>>);

impl Default for Stopper {
    fn default() -> Self {
        Stopper(Arc::new(watch::Sender::new(0)))
    }
}

impl Stopper {
    /// A stopper that has not been used.
    pub fn new() -> Self {
        Stopper::default()
    }

    /// Asks the application to stop.
    pub fn stop(&self) {
        self.0.send_modify(|times| *times = times.saturating_add(1));
    }

    /// Waits for the first request to stop.
    pub(crate) async fn asked(&self) {
        self.asked_times(1).await;
    }

    /// Waits for the second request to stop.
    pub(crate) async fn insisted(&self) {
        self.asked_times(2).await;
    }

    async fn asked_times(&self, least: u32) {
        // This fails only without a sender, and `self` holds one.
        let _ = self.0.subscribe().wait_for(|times| *times >= least).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test]
    async fn a_second_call_is_told_from_the_first() {
        let stopper = Stopper::new();
        let soon = Duration::from_millis(20);
        assert!(timeout(soon, stopper.asked()).await.is_err());
        stopper.clone().stop();
        stopper.asked().await;
        assert!(timeout(soon, stopper.insisted()).await.is_err());
        stopper.stop();
        stopper.insisted().await;
    }
}
