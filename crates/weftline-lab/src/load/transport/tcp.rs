//! The kernel's TCP.

use std::fs;
use std::io;
use std::net::SocketAddr;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::{ByteStream, Link, Listener, LoadError, Settings, Task, Transport};
use crate::load::Side;

/// Linux lists the available congestion controls here. Those that are missing in
/// `tcp_allowed_congestion_control` are for root only.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// TCP, without Nagle's delay.
pub(super) struct Tcp {
    /// The kernel's name of a congestion control; without one, the kernel's default.
    congestion: Option<String>,
    /// The way to the receiver; without one, the one that the kernel's routes say.
    way: Option<Way>,
}

/// The way to the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Way {
    /// Through this device.
    Device(String),
    /// Every one that the kernel's multipath TCP knows (RFC 8684).
    All,
}

impl Way {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "all" => Some(Way::All),
            name => {
                let is_one = !name.is_empty() && !name.contains(['+', '/']);
                is_one.then(|| Way::Device(name.to_owned()))
            }
        }
    }
}

impl Tcp {
    pub(super) fn take(settings: &mut Settings) -> Result<Self, LoadError> {
        let available = fs::read_to_string(AVAILABLE).unwrap_or_default();
        let names: Vec<&str> = available.split_whitespace().collect();
        let expected = match names.as_slice() {
            [] => "the name of one of the system's congestion controls".to_owned(),
            names => format!("one of {AVAILABLE}, here {}", names.join(", ")),
        };
        let congestion = settings.take("cc", &expected, |name| {
            (names.is_empty() || names.contains(&name)).then(|| name.to_owned())
        })?;
        let ways = "a network device, or all: every one that multipath TCP knows";
        let way = settings.take("paths", ways, Way::parse)?;
        Ok(Tcp { congestion, way })
    }

    /// The receiver's socket takes what comes over any device.
    fn socket(&self, for_address: SocketAddr, end: Side) -> Result<TcpSocket, LoadError> {
        let setup = |what: &str| {
            let what = what.to_owned();
            move |e: io::Error| LoadError::Setup(format!("{what}: {e}"))
        };
        let socket = match (&self.way, for_address) {
            (Some(Way::All), _) => {
                multipath(for_address).map_err(setup("multipath TCP is not available"))?
            }
            (_, SocketAddr::V4(_)) => TcpSocket::new_v4()?,
            (_, SocketAddr::V6(_)) => TcpSocket::new_v6()?,
        };
        if let (Some(Way::Device(name)), Side::Send) = (&self.way, end) {
            leave_through(&socket, name).map_err(setup(&format!("paths={name}")))?;
        }
        if let Some(name) = &self.congestion {
            choose(&socket, name).map_err(|e| {
                LoadError::Setup(format!(
                    "TCP congestion control `{name}` is not available: {e}"
                ))
            })?;
        }
        Ok(socket)
    }
}

#[cfg(target_os = "linux")]
fn choose(socket: &TcpSocket, congestion: &str) -> io::Result<()> {
    socket2::SockRef::from(socket).set_tcp_congestion(congestion.as_bytes())
}

/// A socket of multipath TCP.
#[cfg(target_os = "linux")]
fn multipath(for_address: SocketAddr) -> io::Result<TcpSocket> {
    use socket2::{Domain, Protocol, Socket, Type};
    let domain = Domain::for_address(for_address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::MPTCP))?;
    socket.set_nonblocking(true)?;
    Ok(TcpSocket::from_std_stream(socket.into()))
}

#[cfg(target_os = "linux")]
fn leave_through(socket: &TcpSocket, device: &str) -> io::Result<()> {
    socket2::SockRef::from(socket).bind_device(Some(device.as_bytes()))
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::*;

    const WHY: &str = "only Linux lets a program choose it";

    pub(super) fn choose(_: &TcpSocket, _: &str) -> io::Result<()> {
        Err(io::Error::other(WHY))
    }

    pub(super) fn multipath(_: SocketAddr) -> io::Result<TcpSocket> {
        Err(io::Error::other(WHY))
    }

    pub(super) fn leave_through(_: &TcpSocket, _: &str) -> io::Result<()> {
        Err(io::Error::other(WHY))
    }
}
#[cfg(not(target_os = "linux"))]
use elsewhere::{choose, leave_through, multipath};

impl Transport for Tcp {
    fn listen(&self, at: SocketAddr) -> Task<'_, Box<dyn Listener>> {
        Box::pin(async move {
            let listen = || {
                let socket = self.socket(at, Side::Recv).map_err(|e| e.to_string())?;
                let bind = || {
                    socket.set_reuseaddr(true)?;
                    socket.bind(at)?;
                    socket.listen(1024)
                };
                bind().map_err(|e: io::Error| e.to_string())
            };
            match listen() {
                Ok(listener) => Ok(Box::new(listener) as Box<dyn Listener>),
                Err(reason) => Err(LoadError::Listen { at, reason }),
            }
        })
    }

    fn connect(&self, to: SocketAddr) -> Task<'_, Link> {
        Box::pin(async move {
            let stream = self.socket(to, Side::Send)?.connect(to).await;
            link(stream.map_err(|e| LoadError::Connect {
                to,
                reason: e.to_string(),
            })?)
        })
    }
}

impl Listener for TcpListener {
    fn accept(&mut self) -> Task<'_, Link> {
        Box::pin(async move { link(TcpListener::accept(self).await?.0) })
    }
}

impl ByteStream for TcpStream {
    fn close(mut self: Box<Self>) -> Task<'static, ()> {
        Box::pin(async move { Ok(self.shutdown().await?) })
    }
}

fn link(stream: TcpStream) -> Result<Link, LoadError> {
    stream.set_nodelay(true)?;
    Ok(Link::Bytes(Box::new(stream)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_is_a_device_or_all() {
        assert_eq!(Way::parse("all"), Some(Way::All));
        assert_eq!(Way::parse("lab1"), Some(Way::Device("lab1".to_owned())));
        for bad in ["", "lab0+lab1", "a/b"] {
            assert_eq!(Way::parse(bad), None, "{bad}");
        }
    }
}
