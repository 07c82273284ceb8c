//! Who the two ends are.

use std::path::PathBuf;
use std::str::FromStr;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::Bytes;
use crate::errors::{FingerprintError, IdentityError};

/// The name of a peer: the first 20 bytes of SHA-256 over its public key.
///
/// As text it is base32 in lower case, eight groups of four letters with dashes in between, such as
/// ``mfrg-gzdf-mztw-q2lk-nnwg-23tp-obyx-e43u``. Either case is read, with or without dashes.
///
/// Raises :class:`FingerprintError`: the text is not a fingerprint.
#[pyclass(frozen, eq, ord, hash, module = "weftline")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Fingerprint(pub(crate) weftline::Fingerprint);

#[pymethods]
impl Fingerprint {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        let parsed = weftline::Fingerprint::from_str(text);
        parsed
            .map(Fingerprint)
            .map_err(|error| FingerprintError::new_err(error.to_string()))
    }

    /// Its 20 bytes.
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.as_bytes())
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Fingerprint('{}')", self.0)
    }

    fn __reduce__(slf: Bound<'_, Self>) -> (Bound<'_, PyAny>, (String,)) {
        let text = slf.get().0.to_string();
        (slf.get_type().into_any(), (text,))
    }
}

/// A fingerprint, or its text.
#[derive(FromPyObject)]
pub(crate) enum Peer<'py> {
    Fingerprint(PyRef<'py, Fingerprint>),
    Text(String),
}

impl Peer<'_> {
    pub(crate) fn fingerprint(&self) -> PyResult<weftline::Fingerprint> {
        match self {
            Peer::Fingerprint(fingerprint) => Ok(fingerprint.0),
            Peer::Text(text) => Fingerprint::new(text).map(|fingerprint| fingerprint.0),
        }
    }
}

/// An Ed25519 key pair. Peers know it by its fingerprint.
///
/// In a file it is unencrypted PEM PKCS#8, as ``openssl genpkey -algorithm ed25519`` makes it, and readable by its owner only.
#[pyclass(frozen, module = "weftline")]
pub(crate) struct Identity(pub(crate) weftline::Identity);

fn failed(error: impl std::fmt::Display) -> PyErr {
    IdentityError::new_err(error.to_string())
}

#[pymethods]
impl Identity {
    /// Make a key pair that is kept only in memory.
    #[staticmethod]
    fn generate() -> Self {
        Identity(weftline::Identity::generate())
    }

    /// Read the key pair in a file.
    ///
    /// Raises :class:`IdentityError`: the file cannot be read, other users may read it, or it holds no Ed25519 key.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        weftline::Identity::load(path).map(Identity).map_err(failed)
    }

    /// Read the key pair in a file; on first use, make the file and its folders.
    ///
    /// A file that exists is never replaced: two programs that start at once both get the same key.
    ///
    /// Raises :class:`IdentityError`: as ``load``, or the file cannot be made.
    #[staticmethod]
    fn load_or_create(path: PathBuf) -> PyResult<Self> {
        weftline::Identity::load_or_create(path)
            .map(Identity)
            .map_err(failed)
    }

    /// Read a key pair from PEM: the first ``PRIVATE KEY`` section, which holds PKCS#8.
    ///
    /// Raises :class:`IdentityError`: the text holds no Ed25519 private key.
    #[staticmethod]
    fn from_pem(pem: &str) -> PyResult<Self> {
        weftline::Identity::from_pem(pem)
            .map(Identity)
            .map_err(failed)
    }

    /// Read a key pair from DER: PKCS#8, version 1 or 2.
    ///
    /// Raises :class:`IdentityError`: the bytes are not an Ed25519 private key.
    #[staticmethod]
    fn from_der(pkcs8: Bytes) -> PyResult<Self> {
        weftline::Identity::from_der(pkcs8)
            .map(Identity)
            .map_err(failed)
    }

    /// The private key in PEM PKCS#8, for storage in a safe place.
    fn to_pem(&self) -> String {
        self.0.to_pem()
    }

    /// The name by which peers know this key pair.
    #[getter]
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint(self.0.fingerprint())
    }

    /// Shows the fingerprint only, never the key.
    fn __repr__(&self) -> String {
        format!("<Identity {}>", self.0.fingerprint())
    }
}

/// Which peers an endpoint accepts. A peer proves in the handshake that it holds the key behind its fingerprint.
#[pyclass(frozen, module = "weftline")]
pub(crate) struct Allowed(pub(crate) weftline::Allowed);

#[pymethods]
impl Allowed {
    /// No peer: the endpoint only connects.
    #[staticmethod]
    fn nobody() -> Self {
        Allowed(weftline::Allowed::nobody())
    }

    /// These peers only, fingerprints or their texts.
    ///
    /// Raises :class:`FingerprintError`: a text is not a fingerprint.
    #[staticmethod]
    fn only(peers: Vec<Peer<'_>>) -> PyResult<Self> {
        let peers = peers.iter().map(Peer::fingerprint);
        let peers: Vec<_> = peers.collect::<PyResult<_>>()?;
        Ok(Allowed(weftline::Allowed::only(peers)))
    }

    /// Every peer that reaches the endpoint's port. The application itself must decide what each may do:
    /// ``Connection.peer`` tells which peer it is.
    #[staticmethod]
    fn anyone() -> Self {
        Allowed(weftline::Allowed::anyone())
    }

    /// Besides, any peer that asks for this application protocol and for no other: for two ends that have yet to learn
    /// who the other is. ``Endpoint.accept_stranger`` gives its connection. The name takes 1 to 244 bytes, and is none of
    /// ``Config.application_protocols``.
    fn and_strangers_for(&self, protocol: &str) -> Self {
        Allowed(self.0.clone().and_strangers_for(protocol))
    }

    /// May this peer connect?
    fn allows(&self, peer: Peer<'_>) -> PyResult<bool> {
        Ok(self.0.allows(&peer.fingerprint()?))
    }

    fn __repr__(&self) -> String {
        format!("<Allowed {:?}>", self.0)
    }
}
