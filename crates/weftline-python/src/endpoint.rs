//! Endpoints: UDP ports that connect and accept.

use std::net::SocketAddr;

use pyo3::prelude::*;
use weftline::{EndpointConfig, InsecureEndpoint, Port, Refusal};

use crate::bridge::{self, Operation};
use crate::config::Config;
use crate::connection::Connection;
use crate::errors;
use crate::identity::{Allowed, Fingerprint, Identity, Peer};
use crate::runtime;
use crate::socket;

/// A port, with encryption or without.
#[pyclass(frozen, module = "weftline._native")]
pub(crate) struct Endpoint(Kind);

enum Kind {
    Quic(weftline::Endpoint),
    Insecure(InsecureEndpoint),
}

impl Endpoint {
    fn port(&self) -> &Port {
        match &self.0 {
            Kind::Quic(endpoint) => endpoint,
            Kind::Insecure(endpoint) => endpoint,
        }
    }

    /// What only an endpoint with encryption can do.
    fn quic(&self) -> PyResult<&weftline::Endpoint> {
        match &self.0 {
            Kind::Quic(endpoint) => Ok(endpoint),
            Kind::Insecure(_) => Err(errors::ConfigError::new_err(
                "an insecure endpoint cannot do this: it cannot tell its peers apart",
            )),
        }
    }
}

fn accepted(py: Python<'_>, accepted: Option<weftline::Connection>) -> PyResult<Py<PyAny>> {
    Ok(match accepted {
        Some(connection) => Py::new(py, Connection(connection))?.into_any(),
        None => py.None(),
    })
}

fn address(text: &str) -> PyResult<SocketAddr> {
    text.parse().map_err(|_| {
        errors::ConfigError::new_err(format!(
            "{text:?} is not an address with a port: give for example '127.0.0.1:4433' or '[::1]:4433'"
        ))
    })
}

#[pyfunction]
pub(crate) fn bind(
    py: Python<'_>,
    addr: &str,
    identity: &Identity,
    allowed: &Allowed,
    config: Config,
) -> PyResult<Endpoint> {
    let (addr, config) = (address(addr)?, EndpointConfig::try_from(config)?);
    bridge::start(py)?;
    let (identity, allowed) = (identity.0.clone(), allowed.0.clone());
    py.detach(|| {
        let _runtime = runtime::enter()?;
        let bound = weftline::Endpoint::bind(addr, identity, allowed, config);
        bound.map(Kind::Quic).map(Endpoint).map_err(errors::bind)
    })
}

#[pyfunction]
pub(crate) fn from_socket(
    py: Python<'_>,
    socket: &Bound<'_, PyAny>,
    identity: &Identity,
    allowed: &Allowed,
    config: Config,
) -> PyResult<Endpoint> {
    let (socket, config) = (
        socket::duplicate(socket)?,
        EndpointConfig::try_from(config)?,
    );
    bridge::start(py)?;
    let (identity, allowed) = (identity.0.clone(), allowed.0.clone());
    py.detach(|| {
        let _runtime = runtime::enter()?;
        let bound = weftline::Endpoint::from_socket(socket, identity, allowed, config);
        bound.map(Kind::Quic).map(Endpoint).map_err(errors::bind)
    })
}

#[pyfunction]
pub(crate) fn bind_insecure(py: Python<'_>, addr: &str, config: Config) -> PyResult<Endpoint> {
    let (addr, config) = (address(addr)?, EndpointConfig::try_from(config)?);
    bridge::start(py)?;
    py.detach(|| {
        let _runtime = runtime::enter()?;
        let bound = InsecureEndpoint::bind(addr, config);
        bound
            .map(Kind::Insecure)
            .map(Endpoint)
            .map_err(errors::bind)
    })
}

#[pyfunction]
pub(crate) fn from_socket_insecure(
    py: Python<'_>,
    socket: &Bound<'_, PyAny>,
    config: Config,
) -> PyResult<Endpoint> {
    let (socket, config) = (
        socket::duplicate(socket)?,
        EndpointConfig::try_from(config)?,
    );
    bridge::start(py)?;
    py.detach(|| {
        let _runtime = runtime::enter()?;
        let bound = InsecureEndpoint::from_socket(socket, config);
        bound
            .map(Kind::Insecure)
            .map(Endpoint)
            .map_err(errors::bind)
    })
}

#[pymethods]
impl Endpoint {
    fn local_address(&self) -> PyResult<String> {
        Ok(self.port().local_addr()?.to_string())
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        self.port().fingerprint().map(Fingerprint)
    }

    #[pyo3(signature = (addr, peer, early))]
    fn connect(&self, addr: &str, peer: Option<Peer<'_>>, early: bool) -> PyResult<Operation> {
        let addr = address(addr)?;
        let connecting = match (&self.0, peer) {
            (Kind::Quic(endpoint), Some(peer)) => endpoint.connect(addr, peer.fingerprint()?),
            (Kind::Insecure(endpoint), None) => endpoint.connect(addr),
            _ => {
                return Err(errors::ConfigError::new_err(
                    "a peer is named where its connection is encrypted, and only there",
                ));
            }
        };
        let connecting = match early {
            true => connecting.early(),
            false => connecting,
        };
        Ok(Operation::new(connecting, |py, connected| {
            let connection = connected.map_err(errors::connect)?;
            Ok(Py::new(py, Connection(connection))?.into_any())
        }))
    }

    fn connect_stranger(&self, addr: &str, protocol: &str) -> PyResult<Operation> {
        let connecting = self.quic()?.connect_stranger(address(addr)?, protocol);
        Ok(Operation::new(connecting, |py, connected| {
            let connection = connected.map_err(errors::connect)?;
            Ok(Py::new(py, Connection(connection))?.into_any())
        }))
    }

    fn accept(&self) -> Operation {
        let port = self.port().clone();
        Operation::new(async move { port.accept().await }, accepted)
    }

    fn accept_stranger(&self) -> PyResult<Operation> {
        let endpoint = self.quic()?.clone();
        let accept = async move { endpoint.accept_stranger().await };
        Ok(Operation::new(accept, accepted))
    }

    /// The next peer that was turned away: kind, text, address and fingerprint.
    fn refused(&self) -> Operation {
        let port = self.port().clone();
        Operation::new(async move { port.refused().await }, |py, refusal| {
            let told = refusal.map(|refusal| {
                let text = refusal.to_string();
                let (kind, addr, peer) = match refusal {
                    Refusal::UnknownPeer { peer, addr } => {
                        ("unknown-peer", Some(addr), Some(Fingerprint(peer)))
                    }
                    Refusal::Full { addr } => ("full", Some(addr), None),
                    Refusal::Crowded { addr } => ("crowded", Some(addr), None),
                    Refusal::Handshake { addr, .. } => ("handshake", Some(addr), None),
                    Refusal::Path { peer, addr } => ("path", Some(addr), Some(Fingerprint(peer))),
                    _ => ("more", None, None),
                };
                (kind, text, addr.map(|addr| addr.to_string()), peer)
            });
            Ok(told.into_pyobject(py)?.into_any().unbind())
        })
    }

    fn set_allowed(&self, py: Python<'_>, allowed: &Allowed) -> PyResult<()> {
        let (endpoint, allowed) = (self.quic()?, allowed.0.clone());
        py.detach(|| endpoint.set_allowed(allowed))
            .map_err(errors::bind)
    }

    fn rebind(&self, py: Python<'_>, socket: &Bound<'_, PyAny>) -> PyResult<()> {
        let (endpoint, socket) = (self.quic()?, socket::duplicate(socket)?);
        py.detach(|| {
            let _runtime = runtime::enter()?;
            endpoint.rebind(socket).map_err(socket::given)
        })
    }

    fn close(&self, py: Python<'_>, code: u64, reason: &str) -> PyResult<()> {
        crate::connection::check_code(code)?;
        py.detach(|| self.port().close(code, reason));
        Ok(())
    }

    fn wait_idle(&self) -> Operation {
        let port = self.port().clone();
        Operation::new(
            async move { port.wait_idle().await },
            |py, ()| Ok(py.None()),
        )
    }
}
