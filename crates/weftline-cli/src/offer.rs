//! A service that this host offers on a port: what the servers of relay, forward and tun have in common.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use weftline::EndpointConfig;
use weftline_apps::host::{Hosted, Service, host};
use weftline_apps::{Protocol, SessionError, Stopper};

use crate::listen::ListenOptions;
use crate::options::{LimitOptions, SessionOptions};
use crate::supervise::{Opened, Reload, StayOptions, supervise};
use crate::ui::failure::There;
use crate::ui::progress::Reporter;
use crate::ui::report::{Report, Standing};
use crate::ui::{Exit, OutputOptions};

/// A service, ready to be started on a port.
pub(crate) struct Offer<S> {
    /// What its clients ask for; the list of peers is by that.
    pub(crate) service: Protocol,
    /// Where it is offered, and to which peers besides.
    pub(crate) listen: ListenOptions,
    /// The configuration of its endpoint.
    pub(crate) config: EndpointConfig,
    /// The command of its clients, with `SERVER` for the server's address and identity.
    pub(crate) client: &'static str,
    /// What anyone may do whom `--peer-anyone` lets in.
    pub(crate) risk: &'static str,
    /// Starts it; the port is open then.
    pub(crate) start: Start,
    /// Looks at its counters.
    pub(crate) look: Box<dyn Fn() -> S>,
    /// What is to be done when the port has stopped.
    pub(crate) stopped: Box<dyn FnOnce()>,
}

/// What starts a service.
pub(crate) type Start = Box<dyn FnOnce() -> Result<Arc<dyn Service>>>;

/// A command that offers one service.
pub(crate) struct One<'a> {
    /// The command, as in `relay`.
    pub(crate) command: &'static str,
    /// What messages tell to run on the other host.
    pub(crate) there: There,
    /// How often statistics are printed.
    pub(crate) stats: Option<Duration>,
    /// What its clients may take.
    pub(crate) limits: LimitOptions,
    /// Options of its session.
    pub(crate) session: &'a SessionOptions,
    /// Options of every command that stays.
    pub(crate) stay: &'a StayOptions,
}

impl One<'_> {
    /// Offers the service until a person stops it.
    pub(crate) async fn run<S: Standing + Default>(
        self,
        output: OutputOptions,
        offer: impl FnOnce(Reporter) -> Result<Offer<S>>,
    ) -> Result<Exit> {
        let report = Report::new(self.command, "serve", output, self.stats);
        let opening = async {
            let mut offer = offer(report.reporter.clone())?;
            self.stay.monitor.complete(&mut offer.config);
            self.limits.complete(&mut offer.config);
            let (listen, check) = (&offer.listen, &self.stay.config);
            let door = listen.open(offer.service, self.session, check, offer.config)?;
            let service = (offer.start)()?;
            let watch = self.stay.monitor.open(self.command, "serve").await?;
            if !output.quiet {
                listen.announce(&door.port, &[offer.client])?;
                listen.warn(offer.risk);
            }
            let (port, budget) = (door.port.clone(), self.limits.budget());
            Ok(Opened {
                watch,
                budget: Some(budget.clone()),
                look: offer.look,
                reload: Reload::Server(Box::new(move || door.reload())),
                run: async move |stopper: &Stopper| -> Result<(), SessionError> {
                    let ended = host(&port, &[Hosted::new(service)], &budget, stopper).await;
                    (offer.stopped)();
                    ended
                },
            })
        };
        Ok(supervise(&report, self.there, opening).await)
    }
}
