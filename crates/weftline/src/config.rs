//! What an endpoint is configured with.

use std::time::Duration;

use weftline_proto::{Config, RateControl};

/// What decides how fast a QUIC connection sends, besides the session's own
/// [`RateControl`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Congestion {
    /// The session alone: QUIC sends whatever the session's [`RateControl::Fixed`] lets out,
    /// at once. For paths whose rate is known.
    Engine,
    /// Our own, which goes by delay: it keeps the queue that it adds to the path short, and takes
    /// no notice of losses up to about a third. It gives way to whoever fills that queue.
    Delay,
    /// CUBIC (RFC 9438): fair beside most of the Internet's traffic, slow where packets are lost
    /// for other reasons than congestion.
    Cubic,
    /// BBR, version 1: keeps its rate under random loss, but fills the bottleneck's queue and
    /// beyond: with a short one, more than a third of what it sends may be lost there.
    Bbr,
    /// NewReno (RFC 9002 section 7): the simplest, and the slowest under loss.
    NewReno,
}

/// Configuration of an [`Endpoint`](crate::Endpoint). Start from the default and change fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointConfig {
    /// Configuration of each session. Two of its fields are set by the endpoint: what the carrier
    /// adds to a datagram is known here, and a symbol size that does not fit the path is lowered.
    pub session: Config,
    /// QUIC's congestion controller; `None` takes [`Congestion::Engine`] for a session with
    /// [`RateControl::Fixed`], and else [`Congestion::Delay`]. Plain UDP has no congestion control.
    pub congestion: Option<Congestion>,
    /// How long connecting may take, from the first packet to the peer's answer in the session.
    pub connect_timeout: Duration,
    /// Let the system cut large buffers into packets (GSO): about half the work for the processor
    /// at high rates. Switch it off on emulated paths, where what drops one buffer drops several
    /// packets in a row.
    pub segmentation_offload: bool,
    /// Bytes asked of the system for the socket's send and receive buffers, each. The system may
    /// give less (Linux: `net.core.rmem_max` and `wmem_max`).
    pub socket_buffer: usize,
    /// Sessions of peers served at once; further ones are turned away.
    pub max_sessions: usize,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        EndpointConfig {
            session: Config::default(),
            congestion: None,
            connect_timeout: Duration::from_secs(10),
            segmentation_offload: true,
            socket_buffer: 4 << 20,
            max_sessions: 64,
        }
    }
}

impl EndpointConfig {
    /// The defaults with this session configuration.
    pub fn new(session: Config) -> Self {
        EndpointConfig {
            session,
            ..Self::default()
        }
    }

    /// The congestion controller to use, `None` resolved.
    pub(crate) fn controller(&self) -> Congestion {
        match (self.congestion, self.session.rate) {
            (Some(chosen), _) => chosen,
            (None, RateControl::Fixed { .. }) if self.is_limited() => Congestion::Engine,
            (None, _) => Congestion::Delay,
        }
    }

    /// Does the session itself bound how fast it sends?
    pub(crate) fn is_limited(&self) -> bool {
        match self.session.rate {
            RateControl::Fixed { rate, window } => rate.is_some() || window.is_some(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fixed_rate_needs_no_other_controller() {
        let mut config = EndpointConfig::default();
        assert_eq!(config.controller(), Congestion::Delay);
        config.session.rate = RateControl::Fixed {
            rate: Some(1_000_000),
            window: None,
        };
        assert_eq!(config.controller(), Congestion::Engine);
        config.congestion = Some(Congestion::Cubic);
        assert_eq!(config.controller(), Congestion::Cubic);
    }

    #[test]
    fn no_limit_at_all_falls_back_to_a_controller() {
        let mut config = EndpointConfig::default();
        config.session.rate = RateControl::Fixed {
            rate: None,
            window: None,
        };
        assert_eq!(config.controller(), Congestion::Delay);
    }
}
