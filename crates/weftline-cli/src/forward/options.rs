//! Options that both ends share.

use std::time::Duration;

use clap::Args;
use weftline::EndpointConfig;
use weftline_apps::forward::Bounds;
use weftline_netem::units;

use crate::options::{AgainOptions, SessionOptions, stats, wait};
use crate::ui::Failure;

/// The limits of connections.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConnectionOptions {
    /// Most TCP connections of each client at once, with all sessions of its fingerprint; further ones
    /// are refused
    #[arg(long, value_name = "NUMBER", default_value = "256", value_parser = connections)]
    connections: u32,
    /// Most bytes of each TCP connection that may wait here for its reader: 1MB, and more for one that reads
    /// fast; also the most that a connection can carry in a round trip
    #[arg(long, value_name = "SIZE", default_value = "4MB", value_parser = buffer)]
    buffer: usize,
    /// When stopped, how long open TCP connections may go on before they are reset
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = wait)]
    drain_timeout: Duration,
}

/// Options of both ends of `forward`.
#[derive(Args, Clone, Debug)]
pub(super) struct BoundsOptions {
    #[command(flatten)]
    connections: ConnectionOptions,
    /// Print a line of statistics this often
    #[arg(long, value_name = "TIME", value_parser = stats)]
    pub(super) stats: Option<Duration>,
    /// State that a session inherits from the previous one.
    #[command(flatten)]
    again: AgainOptions,
}

impl BoundsOptions {
    /// The endpoint configuration for these limits.
    ///
    /// # Errors
    /// The session's options do not fit the limits, or each other.
    pub(super) fn endpoint(&self, session: &SessionOptions) -> Result<EndpointConfig, Failure> {
        if session.insecure_udp {
            let message = "forward has to authenticate its peer: omit --insecure-udp";
            return Err(Failure::usage(message));
        }
        let mut config = session.endpoint()?;
        self.again.complete(&mut config);
        self.bounds()?.apply(&mut config);
        Ok(config)
    }

    /// What they say.
    ///
    /// # Errors
    /// A bound is out of range, which the command line has checked before.
    pub(super) fn bounds(&self) -> Result<Bounds, Failure> {
        self.connections.bounds()
    }
}

impl ConnectionOptions {
    /// What they say.
    ///
    /// # Errors
    /// A bound is out of range, which the command line has checked before.
    pub(crate) fn bounds(&self) -> Result<Bounds, Failure> {
        let bounds = Bounds::new(self.connections, self.buffer, self.drain_timeout);
        bounds.map_err(|error| Failure::usage(error.to_string()))
    }
}

fn connections(text: &str) -> Result<u32, String> {
    let number = text.parse().ok();
    let number = number.filter(|n| Bounds::CONNECTIONS.contains(n));
    number.ok_or_else(|| format!("give 1 to {}", Bounds::CONNECTIONS.end()))
}

fn buffer(text: &str) -> Result<usize, String> {
    let size = units::parse_size(text).map_err(|e| e.to_string())?;
    match Bounds::BUFFER.contains(&size) {
        true => Ok(size),
        false => Err("give 300kB to 64MB".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(
            (connections("256"), buffer("1MB")),
            (Ok(256), Ok(1_000_000))
        );
        assert!(connections("0").is_err() && connections("10001").is_err());
        assert!(buffer("299kB").is_err() && buffer("65MB").is_err());
        assert!(stats("1ms").is_err());
    }
}
