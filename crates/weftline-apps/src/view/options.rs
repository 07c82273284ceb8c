//! Options of a server of viewers, and the errors of opening it.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use weftline::{BindError, EndpointConfig};

use super::media::detect::Format;
use super::source::{Source, SourceError};
use super::tokens::{NoToken, TokenRules};

/// Most viewers at a time that [`ViewOptions::viewers`] may allow.
pub const MOST_VIEWERS: usize = 4096;

/// Options of a [`View`](super::View).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ViewOptions {
    /// The address of the page, by TCP, and of the viewers' sessions, by UDP.
    pub listen: SocketAddr,
    /// Serve the page without encryption. Browsers play it only from this host itself, so the address must
    /// be one of this host alone.
    pub http: bool,
    /// The certificate and key of the page, as PEM files; without them it has a self-signed one, of which
    /// browsers warn.
    pub certificate: Option<(PathBuf, PathBuf)>,
    /// A folder with a page of one's own, in place of the one that this crate was built with.
    pub page: Option<PathBuf>,
    /// How long tokens admit viewers, and how many.
    pub tokens: TokenRules,
    /// Most viewers at a time, 1 to [`MOST_VIEWERS`].
    pub viewers: usize,
    /// The delay that pages begin with, 50 ms to 10 s.
    pub delay: Duration,
    /// The configuration of the sessions. Limits of what they accept are set by this crate.
    pub endpoint: EndpointConfig,
}

impl ViewOptions {
    /// The defaults: 64 viewers, 200 ms, tokens that last 12 hours.
    pub fn new(listen: SocketAddr) -> Self {
        ViewOptions {
            listen,
            http: false,
            certificate: None,
            page: None,
            tokens: TokenRules::default(),
            viewers: 64,
            delay: Duration::from_millis(200),
            endpoint: EndpointConfig::default(),
        }
    }
}

/// Where the stream comes from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SourceOptions {
    /// The pictures, and the sound that is in the same stream.
    pub source: Source,
    /// Sound from elsewhere: RTP with Opus.
    pub sound: Option<SocketAddr>,
    /// The format of a byte stream, if its first bytes are not to decide.
    pub format: Option<Format>,
    /// Play a file again and again.
    pub repeat: bool,
}

impl SourceOptions {
    /// This source, its format by its first bytes.
    pub fn new(source: Source) -> Self {
        SourceOptions {
            source,
            sound: None,
            format: None,
            repeat: false,
        }
    }
}

/// Why a server of viewers cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// An option is out of range.
    #[error("{0}")]
    Options(&'static str),
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The address of the page cannot be used.
    #[error("cannot listen on TCP {addr}: {source}")]
    Page {
        /// The address.
        addr: SocketAddr,
        /// The system's error.
        source: io::Error,
    },
    /// The address of the sessions cannot be used, or their certificate cannot be made.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The page's certificate or key cannot be used.
    #[error("{}: {reason}", .file.display())]
    Certificate {
        /// The file.
        file: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The folder with the page cannot be read.
    #[error("{}: {source}", .folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The certificate of the sessions cannot be made.
    #[error("cannot make a certificate: {0}")]
    Generate(String),
    /// No token can be made.
    #[error(transparent)]
    Token(#[from] NoToken),
}
