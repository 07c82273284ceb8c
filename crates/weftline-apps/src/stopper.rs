//! Asking what runs to stop.

use std::sync::Arc;

use tokio::sync::watch;

/// Asks an application that runs to stop. Clones ask the same application.
///
/// The first [`stop`](Stopper::stop) lets what is under way arrive, and lets TCP connections go on
/// for a while. The second one ends that patience.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<watch::Sender<u32>>);

impl Default for Stopper {
    fn default() -> Self {
        Stopper(Arc::new(watch::Sender::new(0)))
    }
}

impl Stopper {
    /// Nothing is asked yet.
    pub fn new() -> Self {
        Stopper::default()
    }

    /// Asks to stop.
    pub fn stop(&self) {
        self.0.send_modify(|times| *times = times.saturating_add(1));
    }

    /// Waits until it was asked.
    pub(crate) async fn asked(&self) {
        self.asked_times(1).await;
    }

    /// Waits until it was asked a second time.
    pub(crate) async fn insisted(&self) {
        self.asked_times(2).await;
    }

    async fn asked_times(&self, least: u32) {
        // It only fails without a sender, and this holds one.
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
