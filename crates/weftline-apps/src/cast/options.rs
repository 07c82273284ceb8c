//! What the two ends of a cast are told, and why they cannot begin.

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

/// What the sending end is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SenderOptions {
    /// Where local programs send a flow to; each is a flow of its own.
    pub inputs: Vec<SocketAddr>,
    /// Where the first flow goes: a host or a multicast group. The others go to the ports after it.
    pub to: Address,
    /// Where repair packets go, if not to a port of the same host behind the flows.
    pub repair_to: Option<Address>,
    /// How late a datagram may be made up for at the receiver.
    pub max_latency: Duration,
    /// Source packets of all packets, 1/2 to 1.
    pub code_rate: CodeRate,
    /// The scheme.
    pub encoding_id: EncodingId,
    /// Bytes of a symbol: those of the longest datagram and 3.
    pub symbol_size: u16,
    /// Datagrams may take several symbols.
    pub long_adus: bool,
    /// Bit/s of all flows together; unknown or varying if not given.
    pub rate: Option<u64>,
    /// The interface by which a multicast group is reached.
    pub interface: Option<Interface>,
    /// Hops that packets may make; the system's default if not given, and 1 to a group.
    pub ttl: Option<u8>,
    /// Encrypts and authenticates each packet.
    pub group_key: Option<GroupKey>,
}

impl SenderOptions {
    /// A sliding window over GF(2^8), two source packets of three, 200 ms, symbols of 1400 bytes.
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

/// What the receiving end is told.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReceiverOptions {
    /// What the sender described.
    pub description: Description,
    /// Where each flow is handed on to, in the order of the description.
    pub outputs: Vec<SocketAddr>,
    /// The interface on which a multicast group is joined.
    pub interface: Option<Interface>,
    /// Take packets of this host only; if not given, what the description says.
    pub source: Option<IpAddr>,
    /// The order in which datagrams are handed on.
    pub order: Order,
    /// How long a datagram may be waited for; if not given, what the description says.
    pub max_latency: Option<Duration>,
    /// Take only packets that this key opens.
    pub group_key: Option<GroupKey>,
}

impl ReceiverOptions {
    /// In the order of sending, as the description says otherwise.
    pub fn new(description: Description, outputs: Vec<SocketAddr>) -> Self {
        let order = description.config.order;
        ReceiverOptions {
            description,
            outputs,
            interface: None,
            source: None,
            order,
            max_latency: None,
            group_key: None,
        }
    }
}

/// An end cannot begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There are more flows than one instance has.
    #[error("{got} flows are more than {most}: start a second sender for the rest")]
    TooManyFlows {
        /// How many there are.
        got: usize,
        /// How many there may be.
        most: usize,
    },
    /// The name of the receiving host is not known.
    #[error(transparent)]
    UnknownHost(#[from] UnknownHost),
    /// An interface is named, and the address is no multicast group.
    #[error("an interface is for multicast groups, and {0} is none")]
    NoGroup(SocketAddr),
    /// The interface cannot be used.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// What is asked for does not go together.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for the seal")]
    NoRandom,
    /// FECFRAME has no such sender or receiver.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Nothing can be sent there.
    #[error("cannot send to {to}: {source}")]
    Send {
        /// Where.
        to: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Datagrams of local programs cannot be taken there.
    #[error("cannot listen at {at}: {source}")]
    Listen {
        /// Where.
        at: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Packets cannot be received there.
    #[error(
        "cannot receive at {at}: {source}; it must be an address of this host or a group, and no other program's"
    )]
    Receive {
        /// Where.
        at: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// There are not as many outputs as flows.
    #[error("the description has {flows} flows, and {outputs} outputs were given")]
    Outputs {
        /// Flows in the description.
        flows: usize,
        /// Outputs given.
        outputs: usize,
    },
    /// Packets are sealed, and there is no key.
    #[error("the packets are sealed with a group key: it is needed")]
    KeyNeeded,
}

impl From<NoRandom> for OpenError {
    fn from(_: NoRandom) -> Self {
        OpenError::NoRandom
    }
}
