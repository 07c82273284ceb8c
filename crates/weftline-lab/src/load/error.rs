//! What can go wrong while a transport is measured.

use std::io;
use std::net::SocketAddr;

use weftline_proto::TextError;

/// A measurement cannot be made, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No transport has this name.
    #[error(
        "unknown transport `{name}`: use one of {known}, or join a program with --ext {name}=PROGRAM"
    )]
    UnknownTransport {
        /// The name given.
        name: String,
        /// The names there are.
        known: String,
    },
    /// A setting cannot be used.
    #[error(transparent)]
    Setting(#[from] TextError),
    /// Settings, or a transport and a workload, that do not go together.
    #[error("{0}")]
    Contradiction(String),
    /// The host has no address.
    #[error("no address for `{host}`: {reason}")]
    NoAddress {
        /// The name given.
        host: String,
        /// Why.
        reason: String,
    },
    /// This end's address cannot be used.
    #[error("cannot listen at {at}: {reason}")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// What the system said.
        reason: String,
    },
    /// The peer cannot be reached.
    #[error("cannot connect to {to}: {reason}")]
    Connect {
        /// The peer's address.
        to: SocketAddr,
        /// Why.
        reason: String,
    },
    /// No sender came, or it stopped sending before it began.
    #[error("no sender within {seconds} s: start it, or give a longer timeout=")]
    NobodyCame {
        /// How long it was waited for.
        seconds: f64,
    },
    /// The connection does not do what it should.
    #[error("the connection failed: {0}")]
    Connection(#[from] io::Error),
    /// What was read is not what was written.
    #[error(
        "{0}: the transport does not deliver what was written, or the two ends have different settings"
    )]
    Corrupt(String),
    /// Something that this end needs cannot be made.
    #[error("{0}")]
    Setup(String),
}

/// What kind of failure it is; programs end with an exit code for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The request is wrong.
    Usage,
    /// The peer is not there, or vanished.
    Lost,
    /// What arrived is not what was sent.
    Corrupt,
    /// Anything else.
    General,
}

impl LoadError {
    /// The kind of failure.
    pub fn kind(&self) -> Failed {
        match self {
            LoadError::UnknownTransport { .. }
            | LoadError::Setting(_)
            | LoadError::Contradiction(_) => Failed::Usage,
            LoadError::NoAddress { .. }
            | LoadError::Connect { .. }
            | LoadError::NobodyCame { .. }
            | LoadError::Connection(_) => Failed::Lost,
            LoadError::Corrupt(_) => Failed::Corrupt,
            LoadError::Listen { .. } | LoadError::Setup(_) => Failed::General,
        }
    }

    /// The error as the last line on standard output: `{"error":"..."}`.
    pub fn to_json(&self) -> String {
        serde_json::json!({ "error": self.to_string() }).to_string()
    }
}
