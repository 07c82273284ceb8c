//! A client or server that runs until a person stops it.

use std::cell::Cell;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use weftline_apps::{Budget, SessionError, Stopper};

use crate::config::ConfigOptions;
use crate::monitor::{MonitorOptions, Watch};
use crate::ui::failure::{self, There};
use crate::ui::report::{Report, Standing};
use crate::ui::stop::{Hangups, stop};
use crate::ui::{Exit, Failure, exit};

/// Options of every command that stays.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StayOptions {
    /// Where the command can be watched
    #[command(flatten)]
    pub(crate) monitor: MonitorOptions,
    /// Options in a file
    #[command(flatten)]
    pub(crate) config: ConfigOptions,
}

/// A client or server that is open.
pub(crate) struct Opened<L, R> {
    /// Where it can be watched.
    pub(crate) watch: Watch,
    /// What its clients may take and have taken; a client has none.
    pub(crate) budget: Option<Arc<Budget>>,
    /// Looks at its counters.
    pub(crate) look: L,
    /// What SIGHUP does.
    pub(crate) reload: Reload,
    /// Runs it until the stopper stops it.
    pub(crate) run: R,
}

/// What SIGHUP does to a command that stays; it never kills it.
pub(crate) enum Reload {
    /// A server reads this again; it says what came of it.
    Server(Box<dyn FnMut() -> Result<String, String>>),
    /// A client has nothing to read again. One that was started on a terminal ends with it.
    Client,
}

/// Opens a client or server, and runs it until a signal stops it: the first one asks it to stop, and each
/// further one asks again. Its counters are reported, and shown to monitors; errors are reported, and
/// decide the exit code.
pub(crate) async fn supervise<S, L, R>(
    report: &Report,
    there: There,
    open: impl Future<Output = Result<Opened<L, R>>>,
) -> Exit
where
    S: Standing + Default,
    L: Fn() -> S,
    R: AsyncFnOnce(&Stopper) -> Result<(), SessionError>,
{
    // From now on: before the command for the other host is printed.
    let stopping = stop();
    let mut hangups = Hangups::caught();
    let opened = match open.await {
        Ok(opened) => opened,
        Err(error) => return report.end(Some(&S::default()), &exit::wrap(&error)),
    };
    let Opened {
        watch,
        budget,
        look,
        reload,
        run,
    } = opened;
    let (stopper, asked) = (Stopper::new(), Cell::new(Exit::Ok));
    let signals = async {
        asked.set(stopping.await);
        repeatedly(&stopper).await
    };
    let hung_up = async {
        match reload {
            Reload::Server(reload) => hangups.each(reload).await,
            Reload::Client => loop {
                hangups.of_terminal().await;
                asked.set(Exit::Terminated);
                stopper.stop();
            },
        }
    };
    let ended = tokio::select! {
        ended = run(&stopper) => ended,
        never = hung_up => match never {},
        never = signals => match never {},
        never = report.watch(&look) => match never {},
        never = watch.serve(&look, budget.as_ref()) => match never {},
    };
    let failure = match ended {
        Ok(()) => Failure::new(asked.get(), "stopped"),
        Err(error) => failure::session(&error, there),
    };
    report.end(Some(&look()), &failure)
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
