//! Datagrams from local programs.

use std::io;
use std::net::SocketAddr;

use tokio::net::UdpSocket;

use super::{CHUNK, Feed};
use crate::view::media::Parse;

/// Bytes that may wait in the system: key frames come in bursts.
const BUFFER: usize = 4 << 20;

/// An address that a source sends to.
pub(super) struct Socket(UdpSocket);

impl Socket {
    pub(super) async fn bind(addr: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(addr).await?;
        // The system may give less.
        let _ = socket2::SockRef::from(&socket).set_recv_buffer_size(BUFFER);
        Ok(Socket(socket))
    }

    /// Takes datagrams until the socket fails.
    pub(super) async fn play(
        &self,
        mut parser: Box<dyn Parse>,
        mut feed: Feed<'_>,
    ) -> io::Result<()> {
        let mut buffer = vec![0; CHUNK];
        loop {
            let (length, _) = self.0.recv_from(&mut buffer).await?;
            feed.push(&mut *parser, &buffer[..length]);
        }
    }
}
