//! Bare UDP datagrams: a measurement of the path itself.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::UdpSocket;

use super::socket::{any_port, bound_tokio};
use super::{Link, Listener, LoadError, Messages, Task, Transport};

/// Number of empty datagrams that end a stream, because each may be lost.
const FAREWELLS: usize = 3;

/// Bare datagrams, without retransmission and ordering.
pub(super) struct Udp;

impl Transport for Udp {
    fn listen(&self, at: SocketAddr) -> Task<'_, Box<dyn Listener>> {
        Box::pin(async move {
            let socket = Arc::new(bound_tokio(at)?);
            Ok(Box::new(Door(socket)) as Box<dyn Listener>)
        })
    }

    fn connect(&self, to: SocketAddr) -> Task<'_, Link> {
        Box::pin(async move {
            let socket = bound_tokio(any_port(to))?;
            socket.connect(to).await.map_err(|e| LoadError::Connect {
                to,
                reason: e.to_string(),
            })?;
            Ok(Link::Messages(Box::new(Datagrams(Arc::new(socket)))))
        })
    }

    fn is_messages(&self) -> bool {
        true
    }
}

struct Door(Arc<UdpSocket>);

impl Listener for Door {
    fn accept(&mut self) -> Task<'_, Link> {
        Box::pin(async move {
            // The first datagram stays in the socket; from now on the socket receives from its
            // sender only.
            let peer = self.0.peek_sender().await?;
            self.0.connect(peer).await?;
            Ok(Link::Messages(Box::new(Datagrams(self.0.clone()))))
        })
    }
}

struct Datagrams(Arc<UdpSocket>);

impl Datagrams {
    async fn send_one(&self, message: &[u8]) -> Result<(), LoadError> {
        match self.0.send(message).await {
            Ok(_) => Ok(()),
            // A datagram without a receiver or without buffer space is a lost one.
            Err(e) if is_loss(&e) => Ok(()),
            Err(e) => Err(e.into()),
        }
    }
}

impl Messages for Datagrams {
    fn send<'a>(&'a mut self, message: &'a [u8]) -> Task<'a, ()> {
        Box::pin(self.send_one(message))
    }

    fn recv<'a>(&'a mut self, message: &'a mut [u8]) -> Task<'a, usize> {
        Box::pin(async move {
            loop {
                match self.0.recv(message).await {
                    Err(e) if is_loss(&e) => {}
                    other => return Ok(other?),
                }
            }
        })
    }

    fn farewell(&mut self) -> Task<'_, ()> {
        Box::pin(async move {
            for _ in 0..FAREWELLS {
                self.send_one(&[]).await?;
            }
            Ok(())
        })
    }

    fn close(self: Box<Self>) -> Task<'static, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// Whether the error is the network's answer to an earlier datagram (ICMP), or a full queue of
/// this host.
fn is_loss(error: &io::Error) -> bool {
    /// Linux's number of ENOBUFS, which has no name in the standard library.
    const NO_BUFFER: i32 = 105;
    error.kind() == io::ErrorKind::ConnectionRefused || error.raw_os_error() == Some(NO_BUFFER)
}
