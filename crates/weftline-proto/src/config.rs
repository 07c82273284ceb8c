//! What a session is configured with.

use core::time::Duration;

use crate::policy::{Policies, Preset};

/// How fast the engine itself may send.
///
/// A carrier may be slower (its own congestion controller); the engine never exceeds either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RateControl {
    /// As fast as the path allows with a short queue, whatever it loses; on any carrier.
    #[default]
    Adaptive,
    /// As fast as the carrier takes datagrams: the carrier's congestion controller decides.
    Carrier,
    /// A fixed rate and, if given, a fixed window: for links one owns, and for experiments
    /// (Karzand et al. kept one bandwidth-delay product in flight).
    Fixed {
        /// Bits per second on the wire, [`Config::datagram_overhead`] included; `None` is unlimited.
        rate: Option<u64>,
        /// Bytes in flight, sent and neither acknowledged nor known to be lost; `None` is unlimited.
        window: Option<u64>,
    },
}

/// Configuration of a session. Start from [`Config::preset`] and change fields.
///
/// Only [`Limits`] and the feedback policy are told to the peer; everything else is this end's
/// own business, so two ends need not agree on flags.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// How this end protects what it sends.
    pub policies: Policies,
    /// How fast this end sends.
    pub rate: RateControl,
    /// Most payload bytes in one source symbol. A repair symbol and its header are
    /// [`crate::wire::REPAIR_OVERHEAD`] longer; symbols are shorter while the path, as told with
    /// [`Session::set_largest_datagram`](crate::Session::set_largest_datagram), takes less.
    pub symbol_size: u16,
    /// Bytes that the carrier, UDP and IP add to each datagram; only rate control uses it.
    pub datagram_overhead: u16,
    /// What this end accepts from its peer.
    pub limits: Limits,
    /// Bytes accepted from the application and not yet sent: on each stream, and in messages.
    pub send_buffer: usize,
    /// The session is lost when nothing arrives for this long.
    pub idle_timeout: Duration,
    /// Send a probe when nothing was sent for this long; `None` lets an idle session time out.
    pub keep_alive: Option<Duration>,
    /// Round-trip time assumed until one is measured.
    pub initial_rtt: Duration,
    /// Hand messages over even when their deadline has passed.
    pub deliver_late_messages: bool,
}

/// What one end accepts from the other; bounds its memory and its work per datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Payload bytes of a source symbol.
    pub symbol_size: u16,
    /// Source symbols from the lowest unknown one to the highest that may be sent.
    pub symbols: u32,
    /// Source symbols that one repair symbol may cover.
    pub window: u16,
    /// Symbols that may be missing at once before further repairs are refused.
    pub unknowns: u16,
    /// Bytes of stream data in the session that the application has not read.
    pub session_data: u64,
    /// Bytes of one stream that the application has not read.
    pub stream_data: u64,
    /// Streams that the peer may have open at once.
    pub streams: u32,
    /// Bytes of one message; lowered to what fits `session_data` and `message_data` whatever its
    /// fragments cost.
    pub message_size: u32,
    /// Bytes of messages that are incomplete or not yet taken by the application.
    pub message_data: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            symbol_size: 1500,
            symbols: 8192,
            window: 1024,
            unknowns: 1024,
            session_data: 24 << 20,
            stream_data: 16 << 20,
            streams: 256,
            message_size: 1 << 20,
            message_data: 8 << 20,
        }
    }
}

impl Config {
    /// The defaults, with the policies of `preset`.
    pub fn preset(preset: Preset) -> Self {
        Config {
            policies: preset.policies(),
            rate: RateControl::Adaptive,
            symbol_size: 1400,
            datagram_overhead: 28 + 36,
            limits: Limits::default(),
            send_buffer: 256 << 10,
            idle_timeout: Duration::from_secs(30),
            keep_alive: Some(Duration::from_secs(10)),
            initial_rtt: Duration::from_millis(100),
            deliver_late_messages: false,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::preset(Preset::Auto)
    }
}
