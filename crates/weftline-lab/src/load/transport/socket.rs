//! UDP sockets with buffers for bursts while the application is not reading.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

use super::LoadError;

/// Requested buffer size in each direction, in bytes; the system may give less.
const BUFFER: usize = 4 << 20;

/// A bound socket, ready for the runtime.
pub(super) fn bound(at: SocketAddr) -> Result<UdpSocket, LoadError> {
    let bind = || {
        let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_recv_buffer_size(BUFFER)?;
        socket.set_send_buffer_size(BUFFER)?;
        socket.set_nonblocking(true)?;
        socket.bind(&at.into())?;
        Ok(socket.into())
    };
    bind().map_err(|e: io::Error| LoadError::Listen {
        at,
        reason: e.to_string(),
    })
}

/// A bound socket, for the runtime.
pub(super) fn bound_tokio(at: SocketAddr) -> Result<tokio::net::UdpSocket, LoadError> {
    Ok(tokio::net::UdpSocket::from_std(bound(at)?)?)
}

/// Any port of this host, to talk to `peer`.
pub(super) fn any_port(peer: SocketAddr) -> SocketAddr {
    match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}
