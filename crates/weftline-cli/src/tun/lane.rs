//! TCP connections that end at this host and at the server, and go as streams through the tunnel's session.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use weftline_apps::forward::Lane;
use weftline_apps::tun::IpNet;

use crate::forward::capture::Capture;
use crate::forward::connect::{not_open, tell};
use crate::forward::options::ConnectionOptions;
use crate::system::network;
use crate::ui::Failure;
use crate::ui::progress::Reporter;

/// How long a connection waits while there is no session.
const WAIT: Duration = Duration::from_secs(10);

/// Options of the client.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "TCP")]
pub(super) struct LaneOptions {
    /// TCP connections of this host's programs to addresses in NETWORK end here, and go as streams to the
    /// server, which connects to the same addresses (its --allow): a single connection is faster so. May be
    /// repeated
    #[arg(short = 'T', long = "transparent", value_name = "NETWORK", value_parser = network, conflicts_with = "insecure_udp")]
    transparent: Vec<IpNet>,
    #[command(flatten)]
    connections: ConnectionOptions,
}

impl LaneOptions {
    /// The listeners for these connections, and what leads the connections there.
    ///
    /// # Errors
    /// This process may not change the network, or a limit is out of range.
    pub(super) async fn open(
        &self,
        is_secure: bool,
        reporter: &Reporter,
    ) -> Result<Option<(Arc<Lane>, Capture)>> {
        if !self.transparent.is_empty() && !is_secure {
            return Err(insecure().into());
        }
        let listen: Vec<_> = Capture::listeners(&self.transparent).collect();
        let (bounds, reporter) = (self.connections.bounds()?, reporter.clone());
        let lane = Lane::open(&listen, bounds, WAIT, move |event| tell(&event, &reporter));
        let lane = Arc::new(lane.await.map_err(not_open)?);
        let capture = Capture::open(&self.transparent, lane.entries())?;
        Ok(capture.map(|capture| (lane, capture)))
    }
}

/// The peer must be known.
pub(super) fn insecure() -> Failure {
    Failure::usage("TCP connections need an authenticated peer: omit --insecure-udp")
}
