//! What an endpoint is configured with.

use std::collections::BTreeMap;
use std::time::Duration;

use weftline_proto::{Config, RateControl};

#[cfg(feature = "event-log")]
use crate::EventLogs;
use crate::{BindError, Monitor};
#[cfg(feature = "quic")]
use crate::{KnownPeers, PathRequest};

/// What decides how fast a QUIC connection sends, in place of or besides the engine's own
/// [`RateControl`].
#[cfg(feature = "quic")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Congestion {
    /// None: QUIC sends at once what the engine gives it, by the engine's [`RateControl::Adaptive`]
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

/// Configuration of an endpoint. A [`Config`] of the engine converts into it; otherwise start from
/// the default and change fields.
///
/// What contradicts itself is refused when an endpoint is bound: see [`BindError::Invalid`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EndpointConfig {
    /// Configuration of the engine, for each connection. The endpoint sets three of its fields:
    /// `datagram_overhead`, which the carrier knows; `initial_rtt`, where the handshake has measured
    /// it; and on QUIC `rate`, where [`EndpointConfig::congestion`] says so.
    pub session: Config,
    /// QUIC's congestion controller. `None` leaves the rate to the engine, and takes
    /// [`Congestion::Cubic`] when the engine leaves it to the carrier. With another one than
    /// [`Congestion::Engine`] an engine with [`RateControl::Adaptive`] leaves it to the carrier too.
    /// Plain UDP has none.
    #[cfg(feature = "quic")]
    pub congestion: Option<Congestion>,
    /// How long connecting may take, from the first packet to the peer's answer.
    pub connect_timeout: Duration,
    /// Let the system cut large buffers into packets (GSO): about half the work for the processor
    /// at high rates. Switch it off on emulated paths, where what drops one buffer drops several
    /// packets in a row.
    pub segmentation_offload: bool,
    /// Bytes asked of the system for the socket's send and receive buffers, each. The system may
    /// give less (Linux: `net.core.rmem_max` and `wmem_max`).
    pub socket_buffer: usize,
    /// A mark on all packets of the sockets that the endpoint and its paths open (Linux, `SO_MARK`), for rules
    /// of routing and filtering: a tunnel keeps its own packets out of the tunnel by it. It needs
    /// CAP_NET_ADMIN. A socket that the application gave stays as it is.
    pub socket_mark: Option<u32>,
    /// Connections of peers served at once; further ones are turned away.
    pub max_sessions: usize,
    /// Clients' handshakes under way at once, some 60 KB each. When all places are taken, the oldest
    /// unfinished handshake is given up. From a sixth of them on, and from 256 in any case, an address that has
    /// begun others lately is turned away. Plain UDP has no such handshakes.
    #[cfg(feature = "quic")]
    pub max_handshakes: usize,
    /// Names of the application's protocols, the preferred one first. The two ends agree on one in
    /// the TLS handshake (ALPN, RFC 7301); when they have none in common, connecting fails with
    /// [`ConnectError::ApplicationProtocol`](crate::ConnectError::ApplicationProtocol). Without names,
    /// the default, only ends without names connect. A name takes 1 to 244 bytes. Plain UDP has no
    /// handshake that would check it, and refuses names, as does WebTransport, where a URL says what is
    /// wanted.
    pub application_protocols: Vec<String>,
    /// The engine's configuration for connections of these application protocols, in place of
    /// [`session`](Self::session): for a port that serves several. It has the same `idle_timeout`, and its
    /// `rate` bounds what is sent if that of `session` does.
    pub sessions_by_protocol: BTreeMap<String, Config>,
    /// Let a peer that was connected to before send data in its first packets, a round trip
    /// earlier (QUIC's 0-RTT); both ends must set it. It is off unless asked for, since such data
    /// is protected less: an attacker who records it can have it accepted **at another time, in
    /// place of the original** (never twice), and it stays secret only as long as the ticket does.
    /// So a server waits for [`Connection::confirmed`](crate::Connection::confirmed) before it does
    /// what must not be done at another time. Plain UDP has none.
    #[cfg(feature = "quic")]
    pub early_data: bool,
    /// The paths of each connection that this endpoint makes: the first one of the least cost carries the
    /// connection's beginning, and the others are added as with
    /// [`Connection::add_path`](crate::Connection::add_path). Those that cannot be opened are tried again,
    /// later each time. Without any, the connection has one path, through the endpoint's own socket.
    #[cfg(feature = "quic")]
    pub paths: Vec<PathRequest>,
    /// Besides, a path through each network interface of this host that has a default route (Linux). They
    /// are watched: paths come and go with them.
    #[cfg(feature = "quic")]
    pub all_interfaces: bool,
    /// Looks at the connections of endpoints with this configuration. Its clones share it.
    pub monitor: Monitor,
    /// Writes the event log of each connection to a file; `None`, the default: there are no logs.
    #[cfg(feature = "event-log")]
    pub event_logs: Option<EventLogs>,
    /// What is remembered of peers. Clones of this configuration share it.
    #[cfg(feature = "quic")]
    pub known_peers: KnownPeers,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        EndpointConfig {
            session: Config::default(),
            #[cfg(feature = "quic")]
            congestion: None,
            connect_timeout: Duration::from_secs(10),
            segmentation_offload: true,
            socket_buffer: 4 << 20,
            socket_mark: None,
            max_sessions: 1024,
            #[cfg(feature = "quic")]
            max_handshakes: 1536,
            application_protocols: Vec::new(),
            sessions_by_protocol: BTreeMap::new(),
            #[cfg(feature = "quic")]
            early_data: false,
            #[cfg(feature = "quic")]
            paths: Vec::new(),
            #[cfg(feature = "quic")]
            all_interfaces: false,
            monitor: Monitor::new(),
            #[cfg(feature = "event-log")]
            event_logs: None,
            #[cfg(feature = "quic")]
            known_peers: KnownPeers::new(),
        }
    }
}

impl EndpointConfig {
    /// The defaults, with this configuration of the engine.
    pub fn new(session: impl Into<Config>) -> Self {
        EndpointConfig {
            session: session.into(),
            ..Self::default()
        }
    }

    /// Refuses what contradicts itself.
    pub(crate) fn check(&self) -> Result<(), BindError> {
        self.session.check()?;
        check(
            !self.connect_timeout.is_zero(),
            "connect_timeout",
            format_args!("{:?}", self.connect_timeout),
            "more than zero",
        )?;
        check(
            (1..=MAX_SESSIONS).contains(&self.max_sessions),
            "max_sessions",
            self.max_sessions,
            "1 to 16777216; an endpoint that accepts nobody has Allowed::nobody()",
        )?;
        #[cfg(feature = "quic")]
        check(
            HANDSHAKES.contains(&self.max_handshakes),
            "max_handshakes",
            self.max_handshakes,
            "32 to 65536",
        )?;
        #[cfg(feature = "event-log")]
        if let Some(logs) = &self.event_logs {
            check(
                logs.size() >= EventLogs::LEAST_SIZE,
                "the size of event logs",
                format_args!("{} bytes", logs.size()),
                "1 MiB at least",
            )?;
        }
        for name in &self.application_protocols {
            check(
                (1..=LONGEST_PROTOCOL).contains(&name.len()),
                "application_protocols",
                format_args!("a name of {} bytes", name.len()),
                "names of 1 to 244 bytes",
            )?;
        }
        for (name, session) in &self.sessions_by_protocol {
            session.check()?;
            let fits = self.application_protocols.contains(name)
                && session.idle_timeout == self.session.idle_timeout
                && is_limited(session.rate) == is_limited(self.session.rate);
            check(
                fits,
                "sessions_by_protocol",
                format_args!("one for {name:?}"),
                "of application_protocols, with the idle_timeout of session, and a rate if session has one",
            )?;
        }
        Ok(())
    }

    /// The engine's configuration for a connection of this protocol.
    pub(crate) fn session_of(&self, protocol: Option<&str>) -> &Config {
        let of_protocol = protocol.and_then(|name| self.sessions_by_protocol.get(name));
        of_protocol.unwrap_or(&self.session)
    }

    /// Event logs have a place from now on.
    pub(crate) fn open_logs(&self) -> Result<(), BindError> {
        #[cfg(feature = "event-log")]
        if let Some(logs) = &self.event_logs {
            logs.open()?;
        }
        Ok(())
    }

    /// Refuses what plain UDP cannot do.
    pub(crate) fn check_insecure(&self) -> Result<(), BindError> {
        self.check_no_protocols("none on plain UDP, which has no handshake that checks them")
    }

    /// Refuses what WebTransport cannot do.
    #[cfg(feature = "web")]
    pub(crate) fn check_web(&self) -> Result<(), BindError> {
        self.check_no_protocols("none over WebTransport, where a page's URL says what it wants")
    }

    fn check_no_protocols(&self, allowed: &'static str) -> Result<(), BindError> {
        check(
            self.application_protocols.is_empty(),
            "application_protocols",
            format_args!("{:?}", self.application_protocols),
            allowed,
        )
    }

    /// The congestion controller to use, `None` resolved.
    #[cfg(feature = "quic")]
    pub(crate) fn controller(&self) -> Congestion {
        match (self.congestion, self.session.rate) {
            (Some(chosen), _) => chosen,
            (None, rate) if is_limited(rate) => Congestion::Engine,
            (None, _) => Congestion::Cubic,
        }
    }

    /// What controls the engine's rate on QUIC, which is to be `rate`: two controllers that adapt would
    /// fight.
    #[cfg(feature = "quic")]
    pub(crate) fn quic_rate(&self, rate: RateControl) -> RateControl {
        match (self.controller(), rate) {
            (Congestion::Engine, rate) => rate,
            (_, RateControl::Adaptive) => RateControl::Carrier,
            (_, rate) => rate,
        }
    }
}

/// Does the engine itself bound how fast it sends?
pub(crate) fn is_limited(rate: RateControl) -> bool {
    match rate {
        RateControl::Adaptive => true,
        RateControl::Fixed { rate, window } => rate.is_some() || window.is_some(),
        _ => false,
    }
}

/// Room for the handshakes of addresses that have not been proved, and for others besides; 4 GB at most.
#[cfg(feature = "quic")]
const HANDSHAKES: core::ops::RangeInclusive<usize> = 32..=65_536;
/// More than a host can serve, and few enough for tokio's semaphores.
const MAX_SESSIONS: usize = 1 << 24;
/// TLS has names of up to 255 bytes, of which "weftline/1/" takes eleven.
pub(crate) const LONGEST_PROTOCOL: usize = 255 - 11;

/// The engine's configuration, and the defaults for the rest.
impl<T: Into<Config>> From<T> for EndpointConfig {
    fn from(session: T) -> Self {
        EndpointConfig::new(session)
    }
}

fn check(
    sound: bool,
    field: &'static str,
    value: impl std::fmt::Display,
    allowed: &'static str,
) -> Result<(), BindError> {
    match sound {
        true => Ok(()),
        false => Err(BindError::Invalid {
            field,
            value: value.to_string(),
            allowed,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weftline_proto::ConfigError;

    /// The field that is refused after this change.
    fn refused(change: impl FnOnce(&mut EndpointConfig)) -> Option<&'static str> {
        let mut config = EndpointConfig::default();
        change(&mut config);
        match config.check() {
            Err(BindError::Invalid { field, .. })
            | Err(BindError::Config(ConfigError::OutOfRange { field, .. })) => Some(field),
            Err(other) => panic!("{other}"),
            Ok(()) => None,
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused_by_name() {
        assert_eq!(refused(|_| ()), None);
        assert_eq!(refused(|c| c.session.send_buffer = 0), Some("send_buffer"));
        let zero = Duration::ZERO;
        assert_eq!(
            refused(|c| c.session.idle_timeout = zero),
            Some("idle_timeout")
        );
        assert_eq!(
            refused(|c| c.session.keep_alive = Some(zero)),
            Some("keep_alive")
        );
        assert_eq!(refused(|c| c.session.keep_alive = None), None);
        assert_eq!(
            refused(|c| c.connect_timeout = zero),
            Some("connect_timeout")
        );
        assert_eq!(refused(|c| c.max_sessions = 0), Some("max_sessions"));
        assert_eq!(
            refused(|c| c.max_sessions = usize::MAX),
            Some("max_sessions")
        );
        #[cfg(feature = "quic")]
        for (most, field) in [
            (31, Some("max_handshakes")),
            (32, None),
            (65_536, None),
            (65_537, Some("max_handshakes")),
        ] {
            assert_eq!(refused(|c| c.max_handshakes = most), field);
        }
        for name in ["", &"x".repeat(245)] {
            assert_eq!(
                refused(|c| c.application_protocols = vec![name.to_owned()]),
                Some("application_protocols")
            );
        }
        assert_eq!(
            refused(|c| c.application_protocols = vec!["x".repeat(244)]),
            None
        );
        let own = |change: fn(&mut Config)| {
            refused(|c| {
                let mut session = c.session.clone();
                change(&mut session);
                c.application_protocols = vec!["chat".to_owned()];
                c.sessions_by_protocol.insert("chat".to_owned(), session);
            })
        };
        assert_eq!(own(|session| session.limits.streams = 9), None);
        let its = Some("sessions_by_protocol");
        assert_eq!(own(|s| s.idle_timeout *= 2), its);
        assert_eq!(own(|s| s.rate = RateControl::Carrier), its);
        let unnamed = |c: &mut EndpointConfig| {
            let session = c.session.clone();
            c.sessions_by_protocol.insert("chat".to_owned(), session);
        };
        assert_eq!(refused(unnamed), its);
    }

    #[test]
    fn a_refusal_says_field_value_and_allowed_range() {
        let config = EndpointConfig {
            max_sessions: 0,
            ..EndpointConfig::default()
        };
        let text = config.check().unwrap_err().to_string();
        assert!(
            text.starts_with("max_sessions is 0: it must be 1 to "),
            "{text}"
        );
    }

    #[cfg(feature = "quic")]
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
        assert_eq!(config.quic_rate(config.session.rate), config.session.rate);
    }

    #[cfg(feature = "quic")]
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

    #[cfg(feature = "quic")]
    #[test]
    fn only_one_of_two_controllers_adapts() {
        let mut config = EndpointConfig::default();
        let adaptive = RateControl::Adaptive;
        assert_eq!(config.quic_rate(adaptive), adaptive);
        config.congestion = Some(Congestion::Bbr);
        assert_eq!(config.quic_rate(adaptive), RateControl::Carrier);
    }
}
