#![cfg_attr(feature = "quic", doc = include_str!("../README.md"))]
#![cfg_attr(
    not(feature = "quic"),
    doc = "Streams and messages over lossy networks, over plain UDP alone: see the feature `quic`."
)]
#![forbid(unsafe_code)]

#[cfg(feature = "quic")]
mod allowed;
mod carrier;
mod config;
mod connecting;
mod connection;
mod driver;
#[cfg(feature = "quic")]
mod endpoint;
mod error;
mod fingerprint;
mod handle;
#[cfg(feature = "quic")]
mod identity;
mod insecure;
#[cfg(feature = "quic")]
mod known;
mod lanes;
mod lock;
#[cfg(feature = "event-log")]
mod log;
mod monitor;
mod path;
#[cfg(feature = "quic")]
mod paths;
mod port;
mod quota;
mod random;
mod receipt;
mod shared;
mod stream;
#[cfg(feature = "web")]
mod web;

#[cfg(feature = "quic")]
pub use allowed::Allowed;
#[cfg(feature = "quic")]
pub use config::Congestion;
pub use config::EndpointConfig;
pub use connecting::Connecting;
pub use connection::Connection;
#[cfg(feature = "quic")]
pub use endpoint::Endpoint;
pub use error::{
    BindError, ConnectError, ExportError, Refusal, SendError, StreamError, Undelivered,
};
pub use fingerprint::{Fingerprint, ParseFingerprintError};
#[cfg(feature = "quic")]
pub use identity::{Identity, IdentityError, InvalidKey};
pub use insecure::InsecureEndpoint;
#[cfg(feature = "quic")]
pub use known::KnownPeers;
#[cfg(feature = "event-log")]
pub use log::EventLogs;
pub use monitor::{ConnectionInfo, Monitor, Overview, Packets, Refused, Totals};
pub use path::{ParsePathError, PathChange, PathError, PathEvent, PathId, PathInfo, PathRequest};
pub use port::Port;
pub use receipt::Receipt;
pub use stream::{ReadHalf, Stream, WriteHalf};
#[cfg(feature = "web")]
pub use web::{WebAllowed, WebCertificate, WebCertificateError, WebEndpoint, WebRequest};

#[doc(no_inline)]
pub use bytes::Bytes;
pub use weftline_proto::{
    AddPathError, Arq, Auto, Block, CloseReason, Config, ConfigError, DroppedStats, EncodingWindow,
    Feedback, Histogram, Limits, MAX_PATHS, Measured, Message, MessageId, PathReport, PathStats,
    Preset, RateControl, Rateless, ReceivedStats, Rest, RestShare, Scheme, SentStats, Stats,
    StreamId, Streaming, TextError, Time, VectorHeader, Violation, printable,
};
