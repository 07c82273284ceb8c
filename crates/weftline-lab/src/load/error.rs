//! Errors of the measurement of a transport.

use std::io;
use std::net::SocketAddr;

use weftline_proto::TextError;

/// A measurement cannot be made or completed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// No transport has this name.
    #[error(
        "unknown transport `{name}`: use one of {known}, or add a program with --ext {name}=PROGRAM"
    )]
    UnknownTransport {
        /// The given name.
        name: String,
        /// The known names.
        known: String,
    },
    /// A setting cannot be used.
    #[error(transparent)]
    Setting(#[from] TextError),
    /// Settings, or a transport and a workload, that contradict each other.
    #[error("{0}")]
    Contradiction(String),
    /// The host has no address.
    #[error("no address for `{host}`: {reason}")]
    NoAddress {
        /// The given name.
        host: String,
        /// The error.
        reason: String,
    },
    /// This end's address cannot be used.
    #[error("cannot listen on {at}: {reason}")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// The system's error.
        reason: String,
    },
    /// The peer cannot be reached.
    #[error("cannot connect to {to}: {reason}")]
    Connect {
        /// The peer's address.
        to: SocketAddr,
        /// The error.
        reason: String,
    },
    /// No sender came, or it stopped before it sent anything.
    #[error("no sender within {seconds} s: start it, or give a longer timeout=")]
    NobodyCame {
        /// How long this end waited.
        seconds: f64,
    },
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Connection(#[from] io::Error),
    /// The received data differs from the sent data.
    #[error(
        "{0}: the transport does not deliver what was written, or the two ends have different settings"
    )]
    Corrupt(String),
    /// A resource that this end needs cannot be created.
    #[error("{0}")]
    Setup(String),
}

/// The kind of failure; programs have an exit code for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The request is wrong.
    Usage,
    /// The peer is missing or vanished.
    Lost,
    /// The received data differs from the sent data.
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
