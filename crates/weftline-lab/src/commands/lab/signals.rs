//! Signals, as requests to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};
use weftline_emulator::Stop;

const NONE: u8 = 0;
const INTERRUPT: u8 = 1;
const TERMINATE: u8 = 2;

/// Ctrl-C, SIGTERM and a closed terminal: from now on they are recorded instead of ending the
/// process.
pub(super) struct Signals(Arc<AtomicU8>);

impl Signals {
    pub(super) fn listen() -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let guard = runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hangup = signal(SignalKind::hangup())?;
        let mut quit = signal(SignalKind::quit())?;
        drop(guard);
        let received = Arc::new(AtomicU8::new(NONE));
        let noted = received.clone();
        thread::spawn(move || {
            runtime.block_on(async {
                loop {
                    let which = tokio::select! {
                        _ = interrupt.recv() => INTERRUPT,
                        _ = terminate.recv() => TERMINATE,
                        _ = hangup.recv() => TERMINATE,
                        _ = quit.recv() => TERMINATE,
                    };
                    // The stronger request counts.
                    noted.fetch_max(which, Ordering::Relaxed);
                }
            });
        });
        Ok(Self(received))
    }

    pub(super) fn received(&self) -> Option<Stop> {
        match self.0.load(Ordering::Relaxed) {
            INTERRUPT => Some(Stop::Interrupt),
            TERMINATE => Some(Stop::Terminate),
            _ => None,
        }
    }
}
