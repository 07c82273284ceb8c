//! The certificate that a server shows to browsers.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_lc_rs::digest;
use rcgen::{CertificateParams, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::TLS13;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use crate::carrier::tls;
use crate::{BindError, identity};

/// Browsers take a certificate by its hash if it is valid for 14 days at most (W3C WebTransport,
/// "custom certificate requirements").
const VALID: Duration = Duration::from_secs(13 * 24 * 3600);
/// It is valid for clocks that are slow by this, too.
const SLOW_CLOCKS: Duration = Duration::from_secs(3600);

/// A certificate with its private key, which a [`WebEndpoint`](crate::WebEndpoint) shows to browsers.
/// Clones share it.
///
/// A page trusts it in one of two ways: an authority that the browser knows has signed it for the host's
/// name, or the page names its [hash](WebCertificate::hash) when it connects (`serverCertificateHashes`).
/// Then it must be as [`WebCertificate::generate`] makes it, and the page is as trustworthy as the way by
/// which it got the hash.
#[derive(Clone)]
pub struct WebCertificate(Arc<Inner>);

struct Inner {
    key: Arc<CertifiedKey>,
    private_key: PrivateKeyDer<'static>,
    hash: [u8; 32],
    not_after: SystemTime,
}

/// A certificate cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WebCertificateError {
    /// A name of the host cannot stand in a certificate.
    #[error("the host's names {names:?} cannot stand in a certificate: {reason}")]
    Names {
        /// The names.
        names: Vec<String>,
        /// Why not.
        reason: String,
    },
    /// There is no certificate in the PEM text, or it cannot be read.
    #[error("this is no certificate in PEM: {0}")]
    Chain(String),
    /// There is no private key in the PEM text, or it cannot be read.
    #[error("this is no private key in PEM: {0}")]
    Key(String),
    /// The two do not belong together, or cannot be used.
    #[error("certificate and private key cannot be used together: {0}")]
    Pair(String),
}

impl WebCertificate {
    /// Makes a key pair (ECDSA, P-256) and a certificate for it that it has signed itself, for these names
    /// or IP addresses of the host. It is valid for 13 days from now on: make another one in time, and give
    /// it to [`WebEndpoint::set_certificate`](crate::WebEndpoint::set_certificate).
    ///
    /// # Errors
    ///
    /// A name cannot stand in a certificate.
    pub fn generate(names: &[String]) -> Result<Self, WebCertificateError> {
        let unfit = |error: rcgen::Error| WebCertificateError::Names {
            names: names.to_vec(),
            reason: error.to_string(),
        };
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(unfit)?;
        let mut params = CertificateParams::new(names).map_err(unfit)?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        let common = &mut params.distinguished_name;
        common.push(DnType::CommonName, "weftline");
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = rcgen::date_time_ymd(1970, 1, 1) + now.unwrap_or_default();
        params.not_before = now - SLOW_CLOCKS;
        params.not_after = now + VALID;
        let certificate = params.self_signed(&key).map_err(unfit)?;
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        Self::new(vec![certificate.der().clone()], key.into())
    }

    /// Reads a certificate and those of its authorities, the host's own first, and its private key
    /// (PKCS#8, SEC1 or PKCS#1), both as PEM text.
    ///
    /// # Errors
    ///
    /// They cannot be read, or do not belong together.
    pub fn from_pem(
        chain: impl AsRef<[u8]>,
        key: impl AsRef<[u8]>,
    ) -> Result<Self, WebCertificateError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain.as_ref()).collect();
        let chain = chain.map_err(|e| WebCertificateError::Chain(e.to_string()))?;
        let key = PrivateKeyDer::from_pem_slice(key.as_ref());
        let key = key.map_err(|e| WebCertificateError::Key(e.to_string()))?;
        Self::new(chain, key)
    }

    fn new(
        chain: Vec<CertificateDer<'static>>,
        private_key: PrivateKeyDer<'static>,
    ) -> Result<Self, WebCertificateError> {
        let unread = |reason: String| WebCertificateError::Chain(reason);
        let leaf = chain.first().ok_or_else(|| unread("it is empty".into()))?;
        let parsed = Certificate::from_der(leaf).map_err(|e| unread(e.to_string()))?;
        let validity = parsed.tbs_certificate().validity();
        let hash = digest::digest(&digest::SHA256, leaf);
        let key = CertifiedKey::from_der(chain.clone(), private_key.clone_key(), &tls::provider());
        let key = key.map_err(|e| WebCertificateError::Pair(e.to_string()))?;
        Ok(WebCertificate(Arc::new(Inner {
            hash: std::array::from_fn(|n| hash.as_ref()[n]),
            not_after: validity.not_after.to_system_time(),
            key: Arc::new(key),
            private_key,
        })))
    }

    /// The SHA-256 of the certificate (of its DER): what a page gives the browser in
    /// `serverCertificateHashes`.
    pub fn hash(&self) -> [u8; 32] {
        self.0.hash
    }

    /// When it ceases to be valid.
    pub fn not_after(&self) -> SystemTime {
        self.0.not_after
    }

    /// The certificate and those of its authorities, in DER, the host's own first.
    pub fn chain(&self) -> &[CertificateDer<'static>] {
        &self.0.key.cert
    }

    /// Settings of TLS 1.3 for another server that shows this certificate, with these names of protocols
    /// (ALPN, RFC 7301), the preferred one first: for HTTPS beside WebTransport. Clients show none, and each
    /// of their handshakes is a full one.
    ///
    /// # Errors
    ///
    /// The cryptographic library refuses its configuration.
    pub fn server_config(&self, alpn: &[&str]) -> Result<ServerConfig, BindError> {
        let config = ServerConfig::builder_with_provider(tls::provider())
            .with_protocol_versions(&[&TLS13])
            .map_err(|e| BindError::Tls(e.to_string()))?;
        let certificate = Arc::new(SingleCertAndKey::from(self.0.key.clone()));
        let mut config = config.with_no_client_auth().with_cert_resolver(certificate);
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(config)
    }

    /// A secret that is the same each time this key is used for this purpose at this port.
    pub(crate) fn secret(&self, purpose: &str, port: u16) -> [u8; 32] {
        identity::secret(self.0.private_key.secret_der(), purpose, port)
    }
}

impl fmt::Debug for WebCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebCertificate")
            .field("hash", &data_encoding::HEXLOWER.encode(&self.hash()))
            .field("not_after", &self.not_after())
            .finish_non_exhaustive()
    }
}
