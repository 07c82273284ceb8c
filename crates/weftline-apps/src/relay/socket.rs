//! The UDP sockets of both ends.

use std::io;
use std::net::{SocketAddr, UdpSocket as StdSocket};

use socket2::SockRef;
use tokio::net::UdpSocket;

use crate::address::any_like;

/// Requested size of a socket's buffers in bytes: a burst waits there instead of being lost.
const SOCKET_BUFFER: usize = 1 << 20;

/// A socket at a local address.
pub(super) fn bound(at: SocketAddr) -> io::Result<UdpSocket> {
    ready(StdSocket::bind(at)?)
}

/// A socket that talks to one target.
pub(super) fn connected(target: SocketAddr) -> io::Result<UdpSocket> {
    let socket = StdSocket::bind(any_like(target))?;
    socket.connect(target)?;
    ready(socket)
}

fn ready(socket: StdSocket) -> io::Result<UdpSocket> {
    let options = SockRef::from(&socket);
    // A smaller size from the system is not an error.
    let _ = options.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = options.set_send_buffer_size(SOCKET_BUFFER);
    socket.set_nonblocking(true)?;
    UdpSocket::from_std(socket)
}
