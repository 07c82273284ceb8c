//! Signals that stop the program.

use super::exit::{Exit, Failure};
use super::terminal;

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

/// Keeps SIGHUP from ending the process from now on: a service outlives its terminal, and its lists of
/// peers are read again whenever they change.
pub fn outlive_hangup() {
    #[cfg(unix)]
    if let Ok(mut signal) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()) {
        tokio::spawn(async move {
            while signal.recv().await.is_some() {
                terminal::offer(
                    "SIGHUP: going on; lists of peers count as soon as they are changed".to_owned(),
                );
            }
        });
    }
}

/// The failure that reports a stopped transfer; `exit` is from [`stop`].
pub fn stopped(exit: Exit) -> Failure {
    Failure::new(
        exit,
        "stopped; run the same command again to resume the transfer",
    )
}
