//! What a command that stays tells while it runs: `--metrics`, `weftline status`, `weftline top`.
//!
//! All three show one [`View`]: over HTTP as OpenMetrics, as JSON or as a page, and over a socket of
//! this host, for `status` and `top`, as JSON.

mod http;
mod local;
mod openmetrics;
pub(crate) mod status;
mod table;
pub(crate) mod top;
mod view;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{sleep, timeout};
use weftline::{EndpointConfig, Monitor};
use weftline_apps::Budget;

use crate::listen::local;
use crate::ui::output;
use crate::ui::report::Standing;
use view::{Service, View};

/// Connections that a listener serves at once, each of which asks for one view at a time.
const MOST: usize = 16;
/// The pause when no connection can be accepted, as without file descriptors: others may be given back.
const PAUSE: Duration = Duration::from_millis(100);

/// Where a command that stays can be watched.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Monitoring")]
pub(crate) struct MonitorOptions {
    /// Serve metrics over HTTP: OpenMetrics at /metrics, a live page at /, JSON at /status.json. PORT
    /// alone is one of 127.0.0.1, and :PORT is open at every address of this host. Everybody who
    /// reaches it may read it: it shows addresses and fingerprints of peers
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = local)]
    metrics: Option<SocketAddr>,
    #[arg(skip)]
    monitor: Monitor,
}

impl MonitorOptions {
    /// Watches the connections of endpoints with this configuration.
    pub(crate) fn complete(&self, config: &mut EndpointConfig) {
        config.monitor = self.monitor.clone();
    }

    /// Opens where the command, or this end of it, can be watched.
    ///
    /// # Errors
    /// The address of `--metrics` cannot be used.
    pub(crate) async fn open(&self, command: &'static str, end: &'static str) -> Result<Watch> {
        let http = match self.metrics {
            Some(addr) => Some(
                TcpListener::bind(addr)
                    .await
                    .with_context(|| format!("--metrics: cannot listen on {addr}"))?,
            ),
            None => None,
        };
        let service = Service {
            command,
            end,
            started: Instant::now(),
        };
        Ok(Watch {
            local: local::Socket::open(&service),
            http,
            service,
            monitor: self.monitor.clone(),
        })
    }
}

/// The command has opened what it needs: a unit of systemd with `Type=notify` has started.
fn tell_systemd() {
    #[cfg(target_os = "linux")]
    if let Err(error) = sd_notify::notify(&[sd_notify::NotifyState::Ready]) {
        tracing::warn!(%error, "systemd cannot be told that the service has started");
    }
}

/// Where a running command can be watched.
pub(crate) struct Watch {
    http: Option<TcpListener>,
    local: Option<local::Socket>,
    service: Service,
    monitor: Monitor,
}

/// Asks for a view of the present moment.
#[derive(Clone)]
struct Views(mpsc::Sender<oneshot::Sender<View>>);

impl Views {
    /// `None`: the command ends.
    async fn now(&self) -> Option<View> {
        let (answer, view) = oneshot::channel();
        self.0.send(answer).await.ok()?;
        view.await.ok()
    }
}

/// Serves the connections that a listener accepts, [`MOST`] at once and each for `limit`. One that finds no
/// place is closed. Clients of one listener take no place of another's.
async fn serve_each<S, F>(
    accept: impl AsyncFn() -> io::Result<S>,
    limit: Duration,
    serve: impl Fn(S) -> F,
) -> Infallible
where
    F: Future<Output = ()> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(stream) = accept().await else {
            sleep(PAUSE).await;
            continue;
        };
        if let Ok(place) = places.clone().try_acquire_owned() {
            let served = timeout(limit, serve(stream));
            tokio::spawn(async move {
                let _place = place;
                let _ = served.await;
            });
        }
    }
}

impl Watch {
    /// Answers those who watch, for as long as it is polled: the command has started. They see its own
    /// counters, and of a server what its clients may take and have taken.
    pub(crate) async fn serve<S: Standing>(
        self,
        look: impl Fn() -> S,
        budget: Option<&Arc<Budget>>,
    ) -> Infallible {
        tell_systemd();
        let (asked, mut asks) = mpsc::channel(MOST);
        let views = Views(asked);
        if let Some(listener) = &self.http {
            match listener.local_addr() {
                Ok(addr) => {
                    output::line(&format!("metrics at http://{addr}/"));
                    if !addr.ip().is_loopback() {
                        output::line(
                            "warning: --metrics: everybody who reaches this address sees the addresses and fingerprints of peers",
                        );
                    }
                }
                Err(error) => tracing::debug!(%error, "no address of --metrics"),
            }
        }
        let answer = async {
            while let Some(ask) = asks.recv().await {
                let overview = self.monitor.overview();
                let view = View::new(&self.service, overview, &look(), budget);
                // The one who asked may have gone.
                ask.send(view).ok();
            }
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            never = answer => never,
            never = http::serve(self.http.as_ref(), &views) => never,
            never = local::serve(self.local.as_ref(), &views) => never,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Test {
        #[command(flatten)]
        monitor: MonitorOptions,
    }

    #[test]
    fn an_address_is_read_as_forward_reads_it() {
        let read = |text: &str| {
            let test = Test::try_parse_from(["x", "--metrics", text]);
            test.map(|test| test.monitor.metrics.unwrap().to_string())
        };
        for (text, address) in [
            ("9339", "127.0.0.1:9339"),
            (":9339", "[::]:9339"),
            ("localhost:1", "127.0.0.1:1"),
            ("[::1]:1", "[::1]:1"),
        ] {
            assert_eq!(read(text).unwrap(), address);
        }
        assert!(read("host").unwrap_err().to_string().contains("give PORT"));
    }
}
