//! Options of the two ends of a cast, and the errors of opening them.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use weftline_fecframe::{CodeRate, ConfigError, EncodingId, Order};

use super::group_key::GroupKey;
use super::interface::{Interface, InterfaceError};
use super::joined::Description;
use super::plan::PlanError;
use super::seal::NoRandom;
use crate::address::{Address, UnknownHost};

/// Options of the sending end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SenderOptions {
    /// The addresses that local programs send to; each receives one flow.
    pub inputs: Vec<SocketAddr>,
    /// The destination of the first flow: a host or a multicast group. The others use the next
    /// ports.
    pub to: Address,
    /// The destination of repair packets, if not the port of the same host after those of the
    /// flows.
    pub repair_to: Option<Address>,
    /// How late a datagram may be recovered at the receiver.
    pub max_latency: Duration,
    /// Source packets as a share of all packets, 1/2 to 1.
    pub code_rate: CodeRate,
    /// The scheme.
    pub encoding_id: EncodingId,
    /// Bytes of a symbol: the longest datagram plus 3.
    pub symbol_size: u16,
    /// Datagrams may use several symbols.
    pub long_adus: bool,
    /// Bit/s of all flows together; `None` if it is unknown or varies.
    pub rate: Option<u64>,
    /// The interface to a multicast group.
    pub interface: Option<Interface>,
    /// Hop limit of packets; if not given, the system's default, and 1 to a group.
    pub ttl: Option<u8>,
    /// Encrypts and authenticates each packet.
    pub group_key: Option<GroupKey>,
}

impl SenderOptions {
    /// Options with the defaults: a sliding window over GF(2^8), code rate 2/3, 200 ms, symbols of
    /// 1400 bytes.
    pub fn new(inputs: Vec<SocketAddr>, to: Address) -> Self {
        SenderOptions {
            inputs,
            to,
            repair_to: None,
            max_latency: Duration::from_millis(200),
            code_rate: CodeRate::new(2, 3).expect("2/3 is a code rate"),
            encoding_id: EncodingId::RlcGf256,
            symbol_size: 1400,
            long_adus: false,
            rate: None,
            interface: None,
            ttl: None,
            group_key: None,
        }
    }
}

/// Options of the receiving end.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReceiverOptions {
    /// The sender's description.
    pub description: Description,
    /// The destination of each flow, in the order of the description.
    pub outputs: Vec<SocketAddr>,
    /// The interface on which a multicast group is joined.
    pub interface: Option<Interface>,
    /// Accept packets from this host only; if not given, the description decides.
    pub source: Option<IpAddr>,
    /// The order in which datagrams are delivered.
    pub order: Order,
    /// How long to wait for a datagram; if not given, the description decides.
    pub max_latency: Option<Duration>,
    /// ls: the number of newest symbols that equations may contain, 1 to
    /// [`LONGEST_LINEAR_SYSTEM`]; if not given, twice the decoding window. Sliding windows only.
    pub linear_system: Option<u32>,
    /// Accept only packets that this key opens.
    pub group_key: Option<GroupKey>,
}

impl ReceiverOptions {
    /// Options with the defaults: those of the description.
    pub fn new(description: Description, outputs: Vec<SocketAddr>) -> Self {
        let order = description.config.order;
        ReceiverOptions {
            description,
            outputs,
            interface: None,
            source: None,
            order,
            max_latency: None,
            linear_system: None,
            group_key: None,
        }
    }
}

/// The longest linear system that a receiver may choose, in symbols.
pub const LONGEST_LINEAR_SYSTEM: u32 = 1 << 16;

/// An end cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There are more flows than one instance allows.
    #[error("{got} flows are more than {most}: start a second sender for the rest")]
    TooManyFlows {
        /// Number of flows given.
        got: usize,
        /// Most flows of one instance.
        most: usize,
    },
    /// The name of the receiving host cannot be resolved.
    #[error(transparent)]
    UnknownHost(#[from] UnknownHost),
    /// An interface is given, but the address is not a multicast group.
    #[error("an interface is for multicast groups, and {0} is not one")]
    NoGroup(SocketAddr),
    /// No interface is given, and the system knows none for this group.
    #[error("this host has no route to the group {0}: name the interface to it")]
    NoRoute(IpAddr),
    /// The interface cannot be used.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// The options contradict each other.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for the seal")]
    NoRandom,
    /// The configuration of the FECFRAME sender or receiver is invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The socket to a destination cannot be opened.
    #[error("cannot send to {to}: {source}")]
    Send {
        /// The address.
        to: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The local address of a flow cannot be used.
    #[error("cannot listen on {at}: {source}")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The address for packets cannot be used.
    #[error(
        "cannot receive at {at}: {source}; it must be an address of this host or a group, and no other program may use it"
    )]
    Receive {
        /// The address.
        at: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The number of outputs differs from the number of flows.
    #[error("the description has {flows} flows, and {outputs} outputs were given")]
    Outputs {
        /// Flows in the description.
        flows: usize,
        /// Outputs given.
        outputs: usize,
    },
    /// A linear system is given, but the flow has Reed-Solomon blocks.
    #[error("a linear system is for sliding windows, and the description has Reed-Solomon blocks")]
    NoLinearSystem,
    /// The linear system is out of its range.
    #[error("the linear system is {0} symbols; it must be 1 to {LONGEST_LINEAR_SYSTEM}")]
    LinearSystem(u32),
    /// The packets are sealed, but no key is given.
    #[error("the packets are sealed with a group key: it is needed")]
    KeyNeeded,
}

impl From<NoRandom> for OpenError {
    fn from(_: NoRandom) -> Self {
        OpenError::NoRandom
    }
}
