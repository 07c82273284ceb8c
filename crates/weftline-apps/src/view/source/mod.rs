//! Where the stream comes from: standard input, a file, or UDP.

mod datagrams;
mod file;
mod pipe;

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use super::event::{OnEvent, ViewEvent};
use super::hub::Hub;
use super::media::rtp::Rtp;
use super::media::{Parse, Unit};
use super::options::SourceOptions;
use crate::local_flow;

/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// A source of pictures and sound.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// Standard input: a live stream, or a file that is played in real time.
    Stdin,
    /// A file that is played in real time.
    File(PathBuf),
    /// Datagrams with a byte stream, as MPEG-TS.
    Udp(SocketAddr),
    /// RTP with H.264.
    Rtp(SocketAddr),
}

/// The text is not a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a source: give udp://IP:PORT or rtp://IP:PORT (or :PORT, for this host only), a file, or - for standard input"
)]
pub struct BadSource(String);

impl FromStr for Source {
    type Err = BadSource;

    fn from_str(text: &str) -> Result<Self, BadSource> {
        let bad = || BadSource(text.to_owned());
        if text == "-" {
            return Ok(Source::Stdin);
        }
        if let Some((scheme, address)) = text.split_once("://") {
            let address = local_flow(address).ok_or_else(bad)?;
            return match scheme {
                "udp" => Ok(Source::Udp(address)),
                "rtp" => Ok(Source::Rtp(address)),
                _ => Err(bad()),
            };
        }
        match text.is_empty() {
            true => Err(bad()),
            false => Ok(Source::File(text.into())),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Stdin => f.write_str("standard input"),
            Source::File(path) => path.display().fmt(f),
            Source::Udp(addr) => write!(f, "udp://{addr}"),
            Source::Rtp(addr) => write!(f, "rtp://{addr}"),
        }
    }
}

/// Why a source cannot be read, or read further.
#[derive(Debug, thiserror::Error)]
#[error("{source}: {error}", source = .from)]
pub struct SourceError {
    from: Source,
    #[source]
    error: io::Error,
}

/// A source that is open.
pub(super) struct Opened {
    options: SourceOptions,
    main: Main,
    sound: Option<datagrams::Socket>,
}

enum Main {
    Pipe,
    File(file::Reader),
    Datagrams(datagrams::Socket),
}

impl Opened {
    /// Opens the source.
    ///
    /// # Errors
    /// The file or address cannot be used.
    pub(super) async fn open(options: SourceOptions) -> Result<Self, SourceError> {
        let from = options.source.clone();
        let failed = |error| SourceError { from, error };
        let main = match &options.source {
            Source::Stdin => match file::stdin() {
                Some(reader) => Ok(Main::File(reader)),
                None => Ok(Main::Pipe),
            },
            Source::File(path) => file::Reader::open(path).await.map(Main::File),
            Source::Udp(addr) | Source::Rtp(addr) => {
                datagrams::Socket::bind(*addr).await.map(Main::Datagrams)
            }
        };
        let main = main.map_err(failed)?;
        let sound = match options.sound {
            None => None,
            Some(addr) => {
                let from = Source::Rtp(addr);
                let socket = datagrams::Socket::bind(addr).await;
                Some(socket.map_err(|error| SourceError { from, error })?)
            }
        };
        Ok(Opened {
            options,
            main,
            sound,
        })
    }

    /// Hands all of the source to the viewers, until it ends.
    ///
    /// # Errors
    /// It cannot be read further.
    pub(super) async fn play(self, hub: &Arc<Hub>, on_event: &OnEvent) -> Result<(), SourceError> {
        let Opened {
            options,
            main,
            sound,
        } = self;
        let feed = |source| Feed {
            hub,
            on_event,
            source,
            units: Vec::new(),
        };
        let failed = |error| SourceError {
            from: options.source.clone(),
            error,
        };
        let sound = async {
            match sound {
                Some(socket) => socket.play(Box::new(Rtp::opus()), feed(1)).await,
                None => std::future::pending().await,
            }
        };
        let main = async {
            match main {
                Main::Pipe => pipe::play(options.format, feed(0)).await,
                Main::File(reader) => reader.play(&options, feed(0)).await,
                Main::Datagrams(socket) => {
                    let parser: Box<dyn Parse> = match options.source {
                        Source::Rtp(_) => Box::new(Rtp::h264()),
                        _ => Box::new(super::media::detect::Detect::new(options.format)),
                    };
                    socket.play(parser, feed(0)).await
                }
            }
        };
        tokio::select! {
            ended = main => ended.map_err(failed),
            ended = sound => ended.map_err(failed),
        }
    }
}

/// Where the units of a source go.
struct Feed<'a> {
    hub: &'a Arc<Hub>,
    on_event: &'a OnEvent,
    source: usize,
    units: Vec<Unit>,
}

impl Feed<'_> {
    /// Gives bytes to the parser, and hands on what comes out.
    fn push(&mut self, parser: &mut dyn Parse, bytes: &[u8]) {
        parser.push(bytes, self.hub.now(), &mut self.units);
        self.publish(parser);
    }

    fn quiet(&mut self, parser: &mut dyn Parse) {
        parser.quiet(&mut self.units);
        self.publish(parser);
    }

    fn end(&mut self, parser: &mut dyn Parse) {
        parser.end(&mut self.units);
        self.publish(parser);
    }

    fn publish(&mut self, parser: &mut dyn Parse) {
        self.tell(parser);
        for unit in self.units.drain(..) {
            self.hub.publish(self.source, &unit);
        }
    }

    fn tell(&self, parser: &mut dyn Parse) {
        if let Some(trouble) = parser.trouble() {
            (self.on_event)(ViewEvent::Source(&trouble));
        }
    }
}
