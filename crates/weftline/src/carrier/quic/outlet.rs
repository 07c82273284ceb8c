//! A socket through which connections leave, and QUIC's side of it.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use aws_lc_rs::hmac;
use quinn::{Runtime, TokioRuntime};
use quinn_proto::HashedConnectionIdGenerator;

use super::jumbo;
use super::together::{Place, Together};
use super::twice::Twice;

/// A socket with QUIC's endpoint. Clones are handles to the same.
#[derive(Clone)]
pub(crate) struct Outlet {
    pub(crate) endpoint: quinn::Endpoint,
    runtime: Arc<Together>,
}

impl Outlet {
    /// `secret` gives one that is always the same for a purpose and a port, and `serves` says whether
    /// the port answers clients.
    pub(crate) fn new(
        socket: UdpSocket,
        secret: impl Fn(&str, u16) -> [u8; 32],
        serves: Arc<AtomicBool>,
    ) -> io::Result<Outlet> {
        let port = socket.local_addr()?.port();
        let runtime = Arc::new(Together::default());
        let endpoint = quinn::Endpoint::new_with_abstract_socket(
            reset_config(|purpose| secret(purpose, port)),
            None,
            wrap(socket, serves)?,
            runtime.clone(),
        )?;
        Ok(Outlet { endpoint, runtime })
    }

    /// Lets QUIC begin a connection, and gives the place beside its task.
    pub(crate) fn begin<C, E>(
        &self,
        begin: impl FnOnce(&quinn::Endpoint) -> Result<C, E>,
    ) -> Result<(C, Place), E> {
        self.runtime.begin(|| begin(&self.endpoint))
    }

    /// Moves to another socket.
    pub(crate) fn rebind(&self, socket: UdpSocket, serves: Arc<AtomicBool>) -> io::Result<()> {
        self.endpoint.rebind_abstract(wrap(socket, serves)?)
    }
}

/// Lets a server that was restarted at this port tell its earlier clients at once that it no longer
/// knows them (stateless reset, RFC 9000, section 10.3).
fn reset_config(secret: impl Fn(&str) -> [u8; 32]) -> quinn::EndpointConfig {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &secret("reset"));
    let ids = secret("connection id");
    let ids = u64::from_be_bytes(std::array::from_fn(|n| ids[n]));
    let mut config = quinn::EndpointConfig::new(Arc::new(key));
    if config.max_udp_payload_size(jumbo::LONGEST).is_err() {
        debug_assert!(false, "QUIC allows this size");
    }
    config.cid_generator(move || Box::new(HashedConnectionIdGenerator::from_key(ids)));
    config
}

/// The socket as QUIC uses it.
fn wrap(socket: UdpSocket, serves: Arc<AtomicBool>) -> io::Result<Arc<Twice>> {
    socket.set_nonblocking(true)?;
    let socket = TokioRuntime.wrap_udp_socket(socket)?;
    Ok(Twice::new(socket, serves))
}
