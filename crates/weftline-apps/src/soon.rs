//! Waiting in tests, for what must come soon.

use std::time::Duration;

use tokio::time::{sleep, timeout};

/// Longest wait for any event, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The future's value, which must come soon.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    let value = timeout(PATIENCE, future).await;
    value.expect("this should have taken a moment")
}

/// Waits until a condition is true.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    soon(async {
        while !is_so() {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}
