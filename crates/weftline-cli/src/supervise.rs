//! A client or server that runs until a person stops it.

use std::cell::Cell;
use std::convert::Infallible;
use std::pin::Pin;
use std::time::Duration;

use weftline_apps::{SessionError, Stopper};

use crate::monitor::Watch;
use crate::ui::report::{Report, Standing};
use crate::ui::stop::stop;
use crate::ui::{Exit, Failure};

/// Runs `running`, reports its counters and shows them to whoever watches. The first signal, `stopping`, asks it to stop; each
/// further signal asks again. Returns the exit code of the first.
///
/// # Errors
/// Those of `running`.
pub(crate) async fn supervise<S: Standing>(
    report: &Report,
    watch: Watch,
    stopping: Pin<&mut impl Future<Output = Exit>>,
    stopper: &Stopper,
    running: impl Future<Output = Result<(), SessionError>>,
    look: impl Fn() -> S,
) -> Result<Exit, SessionError> {
    let asked = Cell::new(Exit::Ok);
    let signals = async {
        asked.set(stopping.await);
        repeatedly(stopper).await
    };
    tokio::select! {
        ended = running => ended.map(|()| asked.get()),
        never = signals => match never {},
        never = report.watch(&look) => match never {},
        never = watch.serve(|| look().json()) => match never {},
    }
}

/// The message about a client that connects again after `wait`.
pub(crate) fn retrying(failure: &Failure, wait: Duration) -> String {
    match wait.is_zero() {
        true => format!("{failure}; connecting again"),
        false => format!("{failure}; trying again in {} s", wait.as_secs_f64()),
    }
}

/// Asks it to stop now, and again at each further signal.
async fn repeatedly(stopper: &Stopper) -> Infallible {
    loop {
        stopper.stop();
        stop().await;
    }
}
