//! What an endpoint is configured with.

use std::time::Duration;

use weftline_proto::{Config, RateControl};

use crate::KnownPeers;

/// What decides how fast a QUIC connection sends, in place of or besides the session's own
/// [`RateControl`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Congestion {
    /// None: QUIC sends at once whatever the session lets out, by its [`RateControl::Adaptive`]
    /// or [`RateControl::Fixed`].
    Engine,
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
    /// QUIC's congestion controller. `None` leaves the rate to the session, and takes
    /// [`Congestion::Cubic`] for one that leaves it to the carrier. With another one than
    /// [`Congestion::Engine`] a session with [`RateControl::Adaptive`] leaves it to the carrier too.
    /// Plain UDP has none.
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
    /// Let a peer that was connected to before send data in its first packets, a round trip
    /// earlier (QUIC's 0-RTT); both ends must have it set. Off unless asked for, since such data
    /// is protected less: whoever records it can have it taken **once more, in place of the
    /// original** (never twice), and it stays secret only as long as the ticket does. So a server
    /// waits for [`Connection::confirmed`](crate::Connection::confirmed) before it does what must
    /// not be done in another's name at another time. Plain UDP has none.
    pub early_data: bool,
    /// What is remembered of peers. Clones of this configuration share it.
    pub known_peers: KnownPeers,
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
            early_data: false,
            known_peers: KnownPeers::new(),
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
            (None, _) if self.is_limited() => Congestion::Engine,
            (None, _) => Congestion::Cubic,
        }
    }

    /// Does the session itself bound how fast it sends?
    pub(crate) fn is_limited(&self) -> bool {
        match self.session.rate {
            RateControl::Adaptive => true,
            RateControl::Fixed { rate, window } => rate.is_some() || window.is_some(),
            _ => false,
        }
    }

    /// What controls a session's rate on QUIC: two controllers that adapt would fight.
    pub(crate) fn quic_rate(&self) -> RateControl {
        match (self.controller(), self.session.rate) {
            (Congestion::Engine, rate) => rate,
            (_, RateControl::Adaptive) => RateControl::Carrier,
            (_, rate) => rate,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_with_a_rate_of_its_own_needs_no_other_controller() {
        let mut config = EndpointConfig::default();
        assert_eq!(config.controller(), Congestion::Engine);
        config.session.rate = RateControl::Fixed {
            rate: Some(1_000_000),
            window: None,
        };
        assert_eq!(config.controller(), Congestion::Engine);
        config.congestion = Some(Congestion::Cubic);
        assert_eq!(config.controller(), Congestion::Cubic);
        assert_eq!(config.quic_rate(), config.session.rate);
    }

    #[test]
    fn no_limit_at_all_falls_back_to_a_controller() {
        let mut config = EndpointConfig::default();
        config.session.rate = RateControl::Fixed {
            rate: None,
            window: None,
        };
        assert_eq!(config.controller(), Congestion::Cubic);
        config.session.rate = RateControl::Carrier;
        assert_eq!(config.controller(), Congestion::Cubic);
    }

    #[test]
    fn only_one_of_two_controllers_adapts() {
        let mut config = EndpointConfig::default();
        assert_eq!(config.quic_rate(), RateControl::Adaptive);
        config.congestion = Some(Congestion::Bbr);
        assert_eq!(config.quic_rate(), RateControl::Carrier);
    }
}
