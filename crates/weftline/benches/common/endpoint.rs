//! A bare quinn endpoint on loopback.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use anyhow::Result;
use quinn::{Endpoint, ServerConfig, TokioRuntime};
use socket2::{Domain, Protocol, Socket, Type};

/// As Weftline's endpoints ask for.
const SOCKET_BUFFER: usize = 4 << 20;

pub(crate) fn bind(config: Option<ServerConfig>) -> Result<Endpoint> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
    socket.set_recv_buffer_size(SOCKET_BUFFER)?;
    socket.set_send_buffer_size(SOCKET_BUFFER)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    let socket: UdpSocket = socket.into();
    Ok(Endpoint::new(
        quinn::EndpointConfig::default(),
        config,
        socket,
        Arc::new(TokioRuntime),
    )?)
}
