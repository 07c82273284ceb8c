//! A request: what to measure.

use std::net::{SocketAddr, ToSocketAddrs};
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;

use super::LoadError;
use super::transport::{self, Transport};
use super::workload::bulk::{self, Bulk};
use super::workload::stream::{self, Stream};
use super::workload::xfer::{self, Xfer};
use weftline_proto::Settings;

/// Which end of a measurement this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Listens, reads and reports.
    Recv,
    /// Connects and writes.
    Send,
}

impl Side {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Side::Recv => "recv",
            Side::Send => "send",
        }
    }
}

/// The workload of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As much data as the path carries.
    Bulk,
    /// Messages at a constant rate.
    Stream,
    /// Transfers of one size, one after the other.
    Xfer,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 3] = [Mode::Bulk, Mode::Stream, Mode::Xfer];

    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Bulk => "bulk",
            Mode::Stream => "stream",
            Mode::Xfer => "xfer",
        }
    }
}

/// The text does not name a workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown workload `{0}`: use bulk, stream or xfer")]
pub struct UnknownMode(String);

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mode = Mode::ALL.into_iter().find(|mode| mode.name() == text);
        mode.ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// Addresses of one family only.
#[derive(Clone, Copy)]
enum Family {
    V4,
    V6,
}

enum Workload {
    Bulk(Bulk),
    Stream(Stream),
    Xfer(Xfer),
}

/// One end of a measurement, ready to run.
pub struct Request {
    side: Side,
    transport: Box<dyn Transport>,
    workload: Workload,
    address: SocketAddr,
    patience: Duration,
}

/// The result: the last line on standard output.
#[derive(Serialize)]
#[serde(untagged)]
enum Report {
    BulkReceived(bulk::Received),
    BulkSent(bulk::Sent),
    StreamReceived(stream::Received),
    StreamSent(stream::Sent),
    XferReceived(xfer::Received),
    XferSent(xfer::Sent),
}

impl Request {
    /// Parses a command line: a transport by name, a workload, the receiver's host and port, and
    /// `NAME=VALUE` settings.
    ///
    /// # Errors
    ///
    /// A part is unknown or contradicts another, or the host has no address; the message says what
    /// is valid.
    pub fn new(
        side: Side,
        transport: &str,
        mode: Mode,
        host: &str,
        port: u16,
        settings: &[String],
    ) -> Result<Self, LoadError> {
        let name = transport;
        let mut settings = Settings::parse(settings)?;
        let transport = transport::by_name(name, &mut settings)?;
        let messages = transport.is_messages();
        let workload = match mode {
            Mode::Bulk if name == "weftline" && messages => {
                let message = "bulk needs a stream: omit as=messages";
                return Err(LoadError::Contradiction(message.to_owned()));
            }
            Mode::Bulk => Workload::Bulk(Bulk::take(&mut settings, messages)?),
            Mode::Stream => Workload::Stream(Stream::take(&mut settings)?),
            Mode::Xfer => Workload::Xfer(Xfer::take(&mut settings, messages, name)?),
        };
        let patience = settings.number("timeout", "seconds", 0.1..=86_400.0)?;
        let family = settings.choice("ip", &[("4", Family::V4), ("6", Family::V6)])?;
        settings.finish(&format!("{} over {name}", mode.name()))?;
        Ok(Request {
            side,
            transport,
            workload,
            address: resolve(host, port, family)?,
            patience: Duration::from_secs_f64(patience.unwrap_or(30.0)),
        })
    }

    /// Measures, and passes the lines to print to `print`: a receiver's
    /// [`LISTENING`](super::LISTENING) when a sender may start, and the result. Runs in a tokio
    /// runtime with I/O and time.
    ///
    /// # Errors
    ///
    /// There is no result: the address is in use, or the peer is missing. A connection that fails
    /// later is not an error but a result.
    pub async fn run(&self, mut print: impl FnMut(&str)) -> Result<(), LoadError> {
        let done = match self.side {
            Side::Recv => self.receive(&mut print).await,
            Side::Send => self.send().await.map(|report| print(&report.line())),
        };
        // The peer should learn that this end has gone, or it would wait in vain.
        let _ = tokio::time::timeout(Duration::from_secs(1), self.transport.idle()).await;
        done
    }

    async fn receive(&self, print: &mut impl FnMut(&str)) -> Result<(), LoadError> {
        let listener = self.transport.listen(self.address).await?;
        print(super::LISTENING);
        let (report, owed) = match &self.workload {
            Workload::Bulk(bulk) => {
                let (received, owed) = bulk.receive(listener, self.patience).await?;
                (Report::BulkReceived(received), owed)
            }
            Workload::Stream(stream) => {
                let (received, owed) = stream.receive(listener, self.patience).await?;
                (Report::StreamReceived(received), owed)
            }
            Workload::Xfer(xfer) => {
                let (received, owed) = xfer.receive(listener, self.patience).await?;
                (Report::XferReceived(received), owed)
            }
        };
        print(&report.line());
        owed.await;
        Ok(())
    }

    async fn send(&self) -> Result<Report, LoadError> {
        if let Workload::Xfer(xfer) = &self.workload {
            let sent = xfer
                .send(&*self.transport, self.address, self.patience)
                .await?;
            return Ok(Report::XferSent(sent));
        }
        let connect = self.transport.connect(self.address);
        let link = match tokio::time::timeout(self.patience, connect).await {
            Ok(link) => link?,
            Err(_) => {
                return Err(LoadError::Connect {
                    to: self.address,
                    reason: format!("no answer within {} s", self.patience.as_secs_f64()),
                });
            }
        };
        Ok(match &self.workload {
            Workload::Bulk(bulk) => Report::BulkSent(bulk.send(link).await?),
            Workload::Stream(stream) => Report::StreamSent(stream.send(link).await?),
            Workload::Xfer(_) => unreachable!("it makes its own connections"),
        })
    }
}

impl Report {
    fn line(&self) -> String {
        serde_json::to_string(self).expect("numbers and texts are always JSON")
    }
}

/// The first address of the host, of the requested family.
fn resolve(host: &str, port: u16, family: Option<Family>) -> Result<SocketAddr, LoadError> {
    let failed = |reason: String| LoadError::NoAddress {
        host: host.to_owned(),
        reason,
    };
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let mut all = (bare.unwrap_or(host), port)
        .to_socket_addrs()
        .map_err(|e| failed(e.to_string()))?;
    let fits = |address: &SocketAddr| match family {
        Some(Family::V4) => address.is_ipv4(),
        Some(Family::V6) => address.is_ipv6(),
        None => true,
    };
    all.find(fits)
        .ok_or_else(|| failed("none of the family that ip= selects".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(transport: &str, mode: Mode, settings: &[&str]) -> LoadError {
        let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
        let request = Request::new(Side::Send, transport, mode, "127.0.0.1", 9, &settings);
        match request {
            Ok(_) => panic!("{transport} {mode:?} {settings:?} is accepted"),
            Err(error) => error,
        }
    }

    #[test]
    fn errors_of_wrong_requests_name_what_is_valid() {
        for (transport, mode, settings, part) in [
            (
                "tcpp",
                Mode::Bulk,
                &[][..],
                "weftline, tcp, quinn, kcp, udp",
            ),
            (
                "tcp",
                Mode::Bulk,
                &["rate=3"],
                "cc, paths, secs, skip, series, amount, stamp, timeout, ip",
            ),
            ("tcp", Mode::Bulk, &["skip=10"], "lower skip"),
            ("tcp", Mode::Stream, &["size=15"], "16 to"),
            ("tcp", Mode::Stream, &["cc=none-such"], "cc takes"),
            ("udp", Mode::Bulk, &[], "give rate="),
            ("udp", Mode::Xfer, &[], "reliable stream"),
            (
                "quinn",
                Mode::Xfer,
                &["cc=fast"],
                "one of cubic, bbr, newreno",
            ),
            ("weftline", Mode::Bulk, &["as=messages"], "omit as=messages"),
            (
                "weftline",
                Mode::Stream,
                &["preset=none"],
                "one of arq, block, streaming, rest, udp-rc, rlc-block, auto",
            ),
            ("weftline", Mode::Stream, &["carrier=udp", "cc=bbr"], "cc="),
        ] {
            let error = error(transport, mode, settings);
            assert_eq!(error.kind(), crate::load::Failed::Usage, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn no_setting_has_two_meanings() {
        for transport in transport::NAMES {
            for mode in Mode::ALL {
                // It panics if a transport and a workload use the same name.
                let _ = Request::new(Side::Recv, transport, mode, "127.0.0.1", 9, &[]);
            }
        }
    }

    #[test]
    fn a_host_resolves_to_the_requested_family() {
        let v6 = resolve("[::1]", 5, None).unwrap();
        assert!(v6.is_ipv6() && v6.port() == 5);
        assert!(resolve("127.0.0.1", 5, Some(Family::V6)).is_err());
        assert!(resolve("127.0.0.1", 5, Some(Family::V4)).is_ok());
    }
}
