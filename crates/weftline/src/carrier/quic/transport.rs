//! QUIC's own settings.

use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::{BbrConfig, CubicConfig, NewRenoConfig};
use quinn::{AckFrequencyConfig, IdleTimeout, MtuDiscoveryConfig, TransportConfig, VarInt};

use super::super::congestion::Unlimited;
use super::{IDLE_MARGIN, jumbo};
use crate::config::is_limited;
use crate::{BindError, Congestion, EndpointConfig};

/// Bytes of datagrams that wait in QUIC where it sends at once whatever it is given: as many as it
/// sends in one turn.
const SENT_AT_ONCE: usize = 64 << 10;
/// And where its congestion control holds them back: a few packets, so that the engine decides late
/// what to send.
const HELD_BACK: usize = 8 << 10;
/// Received datagrams held for the engine; when it is slow, the oldest go.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Path MTU discovery stops when it cannot gain more than this: it needs a round trip for each step,
/// three to a usual path's 1500 bytes.
const MTU_STEP: u16 = 60;
/// It looks again after this, and at once when it thought that the path had shrunk: where losses are
/// common both it and the detection of black holes (RFC 8899) err now and then.
const MTU_INTERVAL: Duration = Duration::from_secs(60);
/// Where it looks for more sizes, and more probes are lost.
const JUMBO_INTERVAL: Duration = Duration::from_secs(600);
const MTU_COOLDOWN: Duration = Duration::from_millis(1);
/// Packets that the peer may leave unacknowledged; the engine has feedback of its own.
const ACK_EVERY: u32 = 30;
/// Nor does the engine wait for QUIC's acknowledgements, so that each rides in a datagram where
/// one leaves in time. QUIC asks for a round trip at most, and for no less than 25 ms.
const ACK_WITHIN: Duration = Duration::from_secs(1);
/// Assumed where a round trip's time is not known: a lost packet of the handshake is sent again
/// after three of these. RFC 9002 recommends 333 ms, hence a second. On a path with more
/// than 300 ms, a packet or two are sent again without need.
const USUAL_RTT: Duration = Duration::from_millis(100);
/// A handshake takes some computing besides.
const SHORTEST_RTT: Duration = Duration::from_millis(20);

/// The settings of a connection on which a round trip probably takes `rtt`, if that is known; `jumbo`:
/// the path may take jumbo frames.
pub(crate) fn transport(
    config: &EndpointConfig,
    rtt: Option<Duration>,
    jumbo: bool,
) -> Result<TransportConfig, BindError> {
    let session_idle = config.session.idle_timeout;
    let idle = IdleTimeout::try_from(session_idle.saturating_add(IDLE_MARGIN)).map_err(|_| {
        BindError::IdleTimeout {
            seconds: session_idle.as_secs(),
        }
    })?;
    let mut acks = AckFrequencyConfig::default();
    acks.ack_eliciting_threshold(VarInt::from_u32(ACK_EVERY));
    let mut transport = TransportConfig::default();
    match config.controller() {
        Congestion::Engine if !is_limited(config.session.rate) => return Err(BindError::Unlimited),
        Congestion::Engine => {
            // Nothing is decided by QUIC's own losses, so a gap needs no early acknowledgement.
            acks.reordering_threshold(VarInt::from_u32(0))
                .max_ack_delay(Some(ACK_WITHIN));
            transport.congestion_controller_factory(Arc::new(Unlimited::default()))
        }
        Congestion::Cubic => {
            transport.congestion_controller_factory(Arc::new(CubicConfig::default()))
        }
        Congestion::Bbr => transport.congestion_controller_factory(Arc::new(BbrConfig::default())),
        Congestion::NewReno => {
            transport.congestion_controller_factory(Arc::new(NewRenoConfig::default()))
        }
    };
    let mut discovery = MtuDiscoveryConfig::default();
    discovery
        .minimum_change(MTU_STEP)
        .interval(MTU_INTERVAL)
        .black_hole_cooldown(MTU_COOLDOWN);
    let mut held_back = HELD_BACK;
    if jumbo {
        discovery
            .upper_bound(jumbo::LONGEST)
            .interval(JUMBO_INTERVAL);
        // One datagram must fit.
        held_back = held_back.max(usize::from(jumbo::LONGEST) + 256);
    }
    let send_buffer = match config.controller() {
        Congestion::Engine => SENT_AT_ONCE,
        _ => held_back,
    };
    transport
        .mtu_discovery_config(Some(discovery))
        .max_idle_timeout(Some(idle))
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(0))
        .datagram_receive_buffer_size(Some(RECEIVE_BUFFER))
        .datagram_send_buffer_size(send_buffer)
        .enable_segmentation_offload(config.segmentation_offload)
        .ack_frequency_config(Some(acks));
    #[cfg(feature = "quic-qlog")]
    transport.qlog_stream(config.event_logs.as_ref().and_then(crate::EventLogs::quic));
    transport.initial_rtt(rtt.unwrap_or(USUAL_RTT).max(SHORTEST_RTT));
    Ok(transport)
}
