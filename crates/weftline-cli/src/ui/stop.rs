//! Signals from people and from the system.

use std::convert::Infallible;
use std::io::IsTerminal;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::exit::{Exit, Failure};
use super::terminal;

/// Waits until a person presses Ctrl-C. The handler is installed at once, not when it is first polled.
pub fn interrupted() -> impl Future<Output = ()> {
    #[cfg(unix)]
    return caught(SignalKind::interrupt());
    #[cfg(windows)]
    {
        let signal = tokio::signal::windows::ctrl_c();
        async {
            if let Ok(mut signal) = signal
                && signal.recv().await.is_some()
            {
                return;
            }
            std::future::pending().await
        }
    }
}

/// Waits until a person or the system stops the program: with Ctrl-C, or on Unix with SIGTERM.
/// Returns the matching exit code. The handlers are installed at once, not when it is first polled.
pub fn stop() -> impl Future<Output = Exit> {
    let interrupted = interrupted();
    #[cfg(unix)]
    let terminated = caught(SignalKind::terminate());
    #[cfg(not(unix))]
    let terminated = std::future::pending();
    async {
        tokio::select! {
            () = interrupted => Exit::Interrupted,
            () = terminated => Exit::Terminated,
        }
    }
}

/// As [`stop`]; a hangup stops a command that was started on a terminal, and no service.
pub fn stop_or_hangup() -> impl Future<Output = Exit> {
    let (stopping, mut hangups) = (stop(), Hangups::caught());
    async move {
        tokio::select! {
            exit = stopping => exit,
            () = hangups.of_terminal() => Exit::Terminated,
        }
    }
}

/// Without a handler the system ends the process, which is just as good.
#[cfg(unix)]
fn caught(kind: SignalKind) -> impl Future<Output = ()> {
    let signal = signal(kind);
    async {
        if let Ok(mut signal) = signal
            && signal.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}

/// SIGHUP no longer ends the process: a service outlives its terminal.
#[derive(Debug)]
pub struct Hangups {
    #[cfg(unix)]
    signal: Option<Signal>,
}

impl Hangups {
    /// From now on.
    pub fn caught() -> Self {
        Hangups {
            #[cfg(unix)]
            signal: signal(SignalKind::hangup()).ok(),
        }
    }

    /// Calls `reload` at each of them, and tells what it says; an error is a warning.
    pub async fn each(&mut self, mut reload: impl FnMut() -> Result<String, String>) -> Infallible {
        while self.is_next().await {
            terminal::offer(match reload() {
                Ok(text) => format!("SIGHUP: {text}"),
                Err(text) => format!("warning: SIGHUP: {text}"),
            });
        }
        std::future::pending().await
    }

    /// Waits for one that ends a client: one that was started on a terminal ends with it. A service goes on;
    /// it has nothing to read again.
    pub async fn of_terminal(&mut self) {
        while self.is_next().await {
            if std::io::stderr().is_terminal() {
                terminal::offer("SIGHUP: stopping with the terminal".to_owned());
                return;
            }
            terminal::offer("SIGHUP: going on".to_owned());
        }
        std::future::pending().await
    }

    /// Waits for the next; false if none can come.
    #[cfg(unix)]
    async fn is_next(&mut self) -> bool {
        match &mut self.signal {
            Some(signal) => signal.recv().await.is_some(),
            None => false,
        }
    }

    /// Windows has no such signal.
    #[cfg(windows)]
    async fn is_next(&mut self) -> bool {
        false
    }
}

/// The failure that reports a stopped transfer; `exit` is from [`stop`].
pub fn stopped(exit: Exit) -> Failure {
    Failure::new(
        exit,
        "stopped; run the same command again to resume the transfer",
    )
}
