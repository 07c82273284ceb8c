//! Connections that the packet filter of this host has redirected.

use std::io;
use std::net::SocketAddr;

use socket2::SockRef;
use tokio::net::TcpStream;

use super::wire::{Reply, Status};

/// The address that the program connected to, before the packet filter led the connection here.
///
/// # Errors
/// Nothing led it here: the program connected to this port itself.
pub(super) fn target(tcp: &TcpStream) -> Result<SocketAddr, Reply> {
    let here = tcp.local_addr();
    match here.and_then(|here| Ok((here, original(tcp, here)?))) {
        Ok((here, target)) if target != here => Ok(target),
        _ => Err(Reply::new(
            Status::Other,
            "a program connected to the port for redirected connections, and was not redirected",
        )),
    }
}

/// What the kernel's table of connections says.
fn original(tcp: &TcpStream, here: SocketAddr) -> io::Result<SocketAddr> {
    let socket = SockRef::from(tcp);
    let target = match here {
        SocketAddr::V4(_) => socket.original_dst_v4(),
        SocketAddr::V6(_) => socket.original_dst_v6(),
    };
    target?
        .as_socket()
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}
