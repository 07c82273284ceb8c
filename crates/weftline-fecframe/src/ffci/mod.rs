//! The FEC Framework Configuration Information (RFC 6363, section 5.5): what both ends
//! of an instance must know before the first packet.

mod parse;
mod write;

use core::time::Duration;
use std::net::{IpAddr, SocketAddr};

use crate::{EncodingId, FlowSet, Fssi, ReceiverConfig};

pub use parse::SdpError;

/// One FECFRAME instance: the source flows and the repair flow that protects them.
///
/// ```
/// use weftline_fecframe::ffci::{Ffci, RepairFlow, SourceFlow};
/// use weftline_fecframe::{EncodingId, Fssi};
///
/// let fssi = Fssi::Rlc { symbol_size: 1400, window_size_ratio: 191 };
/// let ffci = Ffci::new(
///     vec![SourceFlow::new(0, "239.1.2.3:6000".parse()?)],
///     RepairFlow::new(EncodingId::RlcGf256, fssi, "239.1.2.3:6002".parse()?),
/// );
/// let sdp = ffci.to_sdp();
/// assert!(sdp.contains("a=fec-source-flow: id=0; tag-len=4\r\n"));
/// assert_eq!(Ffci::from_sdp(&sdp)?, ffci);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ffci {
    /// The name of the session; "-" if it has none.
    pub name: String,
    /// The protected flows.
    pub sources: Vec<SourceFlow>,
    /// The flow of repair packets.
    pub repair: RepairFlow,
}

/// A protected flow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceFlow {
    /// The identifier. It is part of the coded data, so both ends must use the same.
    pub id: u8,
    /// The destination of its packets.
    pub endpoint: Endpoint,
    /// The kind of media: `application`, `video`, `audio`.
    pub media: String,
    /// The protocol without FECFRAME: `UDP`, `RTP/AVP`.
    pub protocol: String,
    /// The formats of the media line: RTP payload types, or `*`.
    pub format: String,
    /// Further attributes, such as `rtpmap:33 MP2T/90000`.
    pub attributes: Vec<String>,
}

/// The flow of repair packets.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RepairFlow {
    /// The scheme.
    pub encoding_id: EncodingId,
    /// Its parameters.
    pub fssi: Fssi,
    /// The destination of repair packets.
    pub endpoint: Endpoint,
    /// The time that a receiver should wait for repair packets.
    pub window: Option<Duration>,
}

/// The destination of packets, and their permitted sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Endpoint {
    /// Address, unicast or multicast, and port.
    pub address: SocketAddr,
    /// Time to live of multicast packets over IPv4.
    pub ttl: Option<u8>,
    /// The only permitted sender, for source-specific multicast (RFC 4570).
    pub sender: Option<IpAddr>,
}

impl Ffci {
    /// An instance without a name.
    #[must_use]
    pub fn new(sources: Vec<SourceFlow>, repair: RepairFlow) -> Self {
        Self {
            name: "-".to_owned(),
            sources,
            repair,
        }
    }

    /// The identifiers of the source flows.
    #[must_use]
    pub fn flows(&self) -> FlowSet {
        self.sources.iter().map(|flow| flow.id).collect()
    }

    /// The configuration of a receiver of this instance. Its maximum latency is the
    /// repair window, if there is one.
    #[must_use]
    pub fn receiver(&self) -> ReceiverConfig {
        let mut config = ReceiverConfig::new(self.repair.encoding_id, self.repair.fssi);
        config.flows = self.flows();
        config.max_latency = self.repair.window;
        config
    }

    /// The instance as a session description (RFC 6364, RFC 8866). Control characters
    /// in texts become spaces.
    #[must_use]
    pub fn to_sdp(&self) -> String {
        write::sdp(self)
    }

    /// The instance that a session description describes. Unknown lines are skipped, as
    /// RFC 8866 requires; the description may contain other media.
    ///
    /// # Errors
    ///
    /// See [`SdpError`].
    pub fn from_sdp(text: &str) -> Result<Self, SdpError> {
        parse::sdp(text)
    }
}

impl SourceFlow {
    /// A flow of UDP packets to this address.
    #[must_use]
    pub fn new(id: u8, address: SocketAddr) -> Self {
        Self {
            id,
            endpoint: Endpoint::new(address),
            media: "application".to_owned(),
            protocol: "UDP".to_owned(),
            format: "*".to_owned(),
            attributes: Vec::new(),
        }
    }
}

impl RepairFlow {
    /// Repair packets of this scheme to this address.
    #[must_use]
    pub fn new(encoding_id: EncodingId, fssi: Fssi, address: SocketAddr) -> Self {
        Self {
            encoding_id,
            fssi,
            endpoint: Endpoint::new(address),
            window: None,
        }
    }
}

impl Endpoint {
    /// Packets to this address, from any sender.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            ttl: None,
            sender: None,
        }
    }
}
