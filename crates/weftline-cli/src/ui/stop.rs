//! Signals that stop the program.

use super::exit::{Exit, Failure};

/// Waits until a person presses Ctrl-C.
pub async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        // Without a handler the system ends the process on Ctrl-C, which is just as good.
        std::future::pending::<()>().await;
    }
}

/// Waits until a person or the system stops the program: with Ctrl-C, or on Unix with SIGTERM.
/// Returns the matching exit code.
pub async fn stop() -> Exit {
    tokio::select! {
        () = interrupted() => Exit::Interrupted,
        () = terminated() => Exit::Terminated,
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    if let Ok(mut signal) = signal(SignalKind::terminate())
        && signal.recv().await.is_some()
    {
        return;
    }
    // Without a handler the system ends the process, which is just as good.
    std::future::pending().await
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}

/// The failure that reports a stopped transfer; `exit` is from [`stop`].
pub fn stopped(exit: Exit) -> Failure {
    Failure::new(
        exit,
        "stopped; run the same command again to resume the transfer",
    )
}
