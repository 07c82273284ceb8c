//! The kernel's TCP.

use std::fs;
use std::io;
use std::net::SocketAddr;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::{ByteStream, Link, Listener, LoadError, Settings, Task, Transport};

/// Linux lists the available congestion controls here. Those that are missing in
/// `tcp_allowed_congestion_control` are for root only.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// TCP, without Nagle's delay.
pub(super) struct Tcp {
    /// The kernel's name of a congestion control; without one, the kernel's default.
    congestion: Option<String>,
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
        Ok(Tcp { congestion })
    }

    fn socket(&self, for_address: SocketAddr) -> Result<TcpSocket, LoadError> {
        let socket = match for_address {
            SocketAddr::V4(_) => TcpSocket::new_v4(),
            SocketAddr::V6(_) => TcpSocket::new_v6(),
        }?;
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

#[cfg(not(target_os = "linux"))]
fn choose(_: &TcpSocket, _: &str) -> io::Result<()> {
    Err(io::Error::other("only Linux lets a program choose it"))
}

impl Transport for Tcp {
    fn listen(&self, at: SocketAddr) -> Task<'_, Box<dyn Listener>> {
        Box::pin(async move {
            let listen = || {
                let socket = self.socket(at).map_err(|e| e.to_string())?;
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
            let stream = self.socket(to)?.connect(to).await;
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
