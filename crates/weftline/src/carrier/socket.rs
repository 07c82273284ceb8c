//! UDP sockets with large buffers.

use std::io;
use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

use crate::EndpointConfig;

/// A non-blocking UDP socket on `addr`; one on an IPv6 wildcard address serves IPv4 too.
pub(crate) fn bind(addr: SocketAddr, config: &EndpointConfig) -> io::Result<UdpSocket> {
    bind_to(addr, None, config)
}

/// As [`bind`]; with an interface, packets come and go through it alone.
pub(crate) fn bind_to(
    addr: SocketAddr,
    interface: Option<&str>,
    config: &EndpointConfig,
) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
    if addr.is_ipv6()
        && let Err(error) = socket.set_only_v6(false)
    {
        tracing::debug!(%error, "this socket serves IPv6 only");
    }
    let buffer = config.socket_buffer;
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
    if let Some(mark) = config.socket_mark {
        set_mark(&socket, mark)?;
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

#[cfg(target_os = "linux")]
fn set_mark(socket: &Socket, mark: u32) -> io::Result<()> {
    let set = socket.set_mark(mark);
    set.map_err(|error| {
        let message = format!("socket mark {mark}: {error} (a mark needs CAP_NET_ADMIN)");
        io::Error::new(error.kind(), message)
    })
}

#[cfg(not(target_os = "linux"))]
fn set_mark(_: &Socket, _: u32) -> io::Result<()> {
    let message = "sockets can be marked on Linux only: leave socket_mark out";
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
        let config = EndpointConfig::default();
        assert!(bind_to(any, Some("lo"), &config).is_ok());
        let error = bind_to(any, Some("no-such-one"), &config).unwrap_err();
        assert_eq!(error.to_string(), "no interface no-such-one");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_socket_has_the_mark_that_was_asked_for_or_is_not_made() {
        let any = "127.0.0.1:0".parse().unwrap();
        let mut config = EndpointConfig::default();
        let mark_of = |socket| socket2::SockRef::from(&socket).mark().unwrap();
        assert_eq!(mark_of(bind(any, &config).unwrap()), 0);
        config.socket_mark = Some(0x776c);
        match bind_to(any, Some("lo"), &config) {
            Ok(socket) => assert_eq!(mark_of(socket), 0x776c),
            Err(error) => {
                assert!(error.to_string().contains("CAP_NET_ADMIN"), "{error}");
                weftline_testkit::unable("root", "marks of sockets need CAP_NET_ADMIN");
            }
        }
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
