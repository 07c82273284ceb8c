//! One preset under one workload: two endpoints, the path between them, and the result.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path as FilePath;
use std::time::Duration;

use anyhow::{Context, Result};
use weftline::{
    Allowed, Congestion, Connection, Endpoint, EndpointConfig, Identity, Preset, RateControl, Stats,
};
use weftline_netem::LinkConfig;

use super::path::{Path, PathReport};
use super::workload::{MessageStream, Outcome, file, messages};
use crate::preset::PresetChoice;
use crate::ui::Failure;

/// The share of the link's rate that the engine uses: the rest is for QUIC's own packets.
const RATE_SHARE: f64 = 0.95;
/// How long a run waits for its receiver to see the end: no measurement depends on it.
const FAREWELL: Duration = Duration::from_secs(1);

/// The traffic of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workload {
    /// Messages at a steady rate on one stream.
    Stream,
    /// A file, as fast as the path carries it.
    File,
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Workload::Stream => "stream",
            Workload::File => "file",
        })
    }
}

/// Settings that all runs of a demo share.
#[derive(Clone, Debug)]
pub(super) struct Setup<'a> {
    /// Client to server.
    pub forward: LinkConfig,
    /// Server to client.
    pub back: LinkConfig,
    /// Rate of the links in bit/s.
    pub rate: u64,
    /// Repairs for each source symbol, where the preset sends repairs.
    pub repair_share: f64,
    /// Seed of the losses and the content.
    pub seed: u64,
    /// The stream workload.
    pub load: MessageStream,
    /// The file workload.
    pub file: &'a FilePath,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// The preset, which decides how losses are repaired.
    pub preset: Preset,
    /// The traffic.
    pub workload: Workload,
    /// Measurements of the receiving application.
    pub outcome: Outcome,
    /// The sending session's counters.
    pub sender: Stats,
    /// The receiving session's counters.
    pub receiver: Stats,
    /// The path's counters.
    pub path: PathReport,
    /// Why the run failed, if it did.
    pub error: Option<String>,
}

impl Run {
    /// Bytes on the forward path, all headers included, for each byte delivered.
    pub(super) fn wire_bytes_per_byte(&self) -> Option<f64> {
        let bytes = self.outcome.bytes;
        (bytes > 0).then(|| self.path.forward.offered_bytes as f64 / bytes as f64)
    }

    /// Delivered Mbit/s.
    pub(super) fn goodput_mbps(&self) -> f64 {
        crate::ui::progress::megabits(self.outcome.bytes, self.outcome.elapsed)
    }
}

/// Runs `workload` under `preset` over a fresh path between fresh endpoints.
///
/// # Errors
/// The endpoints or the path cannot be created. Later errors are in the [`Run`].
pub(super) async fn run(
    setup: &Setup<'_>,
    choice: &PresetChoice,
    workload: Workload,
) -> Result<Run> {
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let (sender, receiver) = (Identity::generate(), Identity::generate());
    let (ours, theirs) = (sender.fingerprint(), receiver.fingerprint());
    let config = config(setup, choice)?;
    let server = Endpoint::bind(loopback, receiver, Allowed::only([ours]), config.clone())?;
    let client = Endpoint::bind(loopback, sender, Allowed::nobody(), config)?;
    let path = Path::start(
        server.local_addr()?,
        setup.forward.clone(),
        setup.back.clone(),
        setup.seed,
    )
    .context("creating the path on loopback")?;
    let mut run = Run {
        preset: choice.preset,
        workload,
        outcome: Outcome::default(),
        sender: Stats::default(),
        receiver: Stats::default(),
        path: PathReport::default(),
        error: None,
    };
    match carry(setup, workload, &client, &server, &path, theirs).await {
        Ok((outcome, from, to)) => {
            run.outcome = outcome;
            run.sender = from.stats();
            run.receiver = to.stats();
            client.close(0, "");
            let _ = tokio::time::timeout(FAREWELL, to.closed()).await;
        }
        Err(error) => run.error = Some(format!("{error:#}")),
    }
    // Sessions would linger to notify their peers; here both ends know already.
    client.close(0, "");
    server.close(0, "");
    run.path = tokio::task::spawn_blocking(move || path.finish()).await?;
    Ok(run)
}

async fn carry(
    setup: &Setup<'_>,
    workload: Workload,
    client: &Endpoint,
    server: &Endpoint,
    path: &Path,
    peer: weftline::Fingerprint,
) -> Result<(Outcome, Connection, Connection)> {
    let connecting = async {
        client
            .connect(path.address(), peer)
            .await
            .context("connecting")
    };
    let accepting = async {
        server
            .accept()
            .await
            .context("the server accepted no client")
    };
    let (from, to) = tokio::try_join!(connecting, accepting)?;
    let outcome = match workload {
        Workload::Stream => messages(&from, &to, setup.load).await?,
        Workload::File => file(&from, &to, setup.file).await?,
    };
    Ok((outcome, from, to))
}

fn config(setup: &Setup<'_>, choice: &PresetChoice) -> Result<EndpointConfig> {
    let mut session = choice.config().map_err(Failure::usage)?;
    session.scheme.set_share(setup.repair_share);
    let rate = (setup.rate as f64 * RATE_SHARE) as u64;
    session.rate = RateControl::Fixed {
        rate: Some(rate),
        window: None,
    };
    let mut config = EndpointConfig::new(session);
    config.congestion = Some(Congestion::Engine);
    config.connect_timeout = Duration::from_secs(20);
    Ok(config)
}
