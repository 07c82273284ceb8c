//! UDP sockets with large buffers.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

/// A non-blocking UDP socket on `addr`; one on an IPv6 wildcard address serves IPv4 too.
pub(crate) fn bind(addr: SocketAddr, buffer: usize) -> io::Result<UdpSocket> {
    bind_to(addr, None, buffer)
}

/// As [`bind`]; with an interface, packets come and go through it alone.
pub(crate) fn bind_to(
    addr: SocketAddr,
    interface: Option<&str>,
    buffer: usize,
) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
    if addr.is_ipv6()
        && let Err(error) = socket.set_only_v6(false)
    {
        tracing::debug!(%error, "this socket serves IPv6 only");
    }
    // The system gives what it allows; a smaller buffer costs packets, not correctness.
    socket.set_recv_buffer_size(buffer).ok();
    socket.set_send_buffer_size(buffer).ok();
    tracing::debug!(
        asked = buffer,
        recv = socket.recv_buffer_size().ok(),
        send = socket.send_buffer_size().ok(),
        "socket buffers"
    );
    if let Some(interface) = interface {
        bind_to_interface(&socket, interface)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&addr.into())?;
    Ok(socket.into())
}

#[cfg(target_os = "linux")]
fn bind_to_interface(socket: &Socket, interface: &str) -> io::Result<()> {
    let bound = socket.bind_device(Some(interface.as_bytes()));
    bound.map_err(|error| match error.raw_os_error() {
        Some(NO_DEVICE) => io::Error::new(error.kind(), format!("no interface {interface}")),
        _ => error,
    })
}

/// ENODEV of Linux.
#[cfg(target_os = "linux")]
const NO_DEVICE: i32 = 19;

#[cfg(not(target_os = "linux"))]
fn bind_to_interface(_: &Socket, _: &str) -> io::Result<()> {
    let message = "interfaces can be named on Linux only: give an address of this host";
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}

/// `addr` as a socket of the given family wants it: IPv4 addresses mapped for IPv6 sockets.
pub(crate) fn for_family(addr: SocketAddr, v6: bool) -> SocketAddr {
    match addr.ip() {
        IpAddr::V4(ip) if v6 => SocketAddrV6::new(ip.to_ipv6_mapped(), addr.port(), 0, 0).into(),
        _ => addr,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_socket_of_an_interface_is_not_made_without_it() {
        let any = "127.0.0.1:0".parse().unwrap();
        assert!(bind_to(any, Some("lo"), 1 << 16).is_ok());
        let error = bind_to(any, Some("no-such-one"), 1 << 16).unwrap_err();
        assert_eq!(error.to_string(), "no interface no-such-one");
    }

    #[test]
    fn an_ipv4_address_is_mapped_only_for_an_ipv6_socket() {
        let v4: SocketAddr = "192.0.2.7:99".parse().unwrap();
        assert_eq!(for_family(v4, false), v4);
        let mapped = for_family(v4, true);
        assert_eq!(mapped.to_string(), "[::ffff:192.0.2.7]:99");
        assert_eq!(for_family(mapped, true), mapped);
    }
}
