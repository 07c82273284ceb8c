//! TLS 1.3 (RFC 8446) with raw public keys (RFC 7250) both ways.
//!
//! No certificates, names or authorities: a peer is its key. Sessions are never resumed, so that
//! every handshake checks the keys anew.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, Resumption};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, NoServerSessionStorage};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error,
    PeerIncompatible, ServerConfig, SignatureScheme, version::TLS13,
};

use crate::{Allowed, Fingerprint, Identity};

/// The protocol's name in TLS (RFC 7301); the number rises with incompatible changes.
const ALPN: &[u8] = b"weftline/1";

/// Where a handshake leaves the fingerprint that it refused.
pub(crate) type Refused = Arc<OnceLock<Fingerprint>>;

/// For connecting to a peer with exactly this fingerprint.
pub(crate) fn client(
    identity: &Identity,
    expected: Fingerprint,
    refused: Refused,
) -> Result<ClientConfig, Error> {
    let check = Arc::new(PeerCheck::new(Allowed::only([expected]), refused));
    let resolver = AlwaysResolvesClientRawPublicKeys::new(identity.certified_key());
    let mut config = ClientConfig::builder_with_provider(check.provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(check)
        .with_client_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    Ok(config)
}

/// For accepting the allowed peers.
pub(crate) fn server(
    identity: &Identity,
    allowed: Allowed,
    refused: Refused,
) -> Result<ServerConfig, Error> {
    let check = Arc::new(PeerCheck::new(allowed, refused));
    let resolver = AlwaysResolvesServerRawPublicKeys::new(identity.certified_key());
    let mut config = ServerConfig::builder_with_provider(check.provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(check)
        .with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Accepts allowed keys; rustls then asks it whether the peer's signature over the handshake
/// was made with that key.
#[derive(Debug)]
struct PeerCheck {
    allowed: Allowed,
    refused: Refused,
    provider: Arc<CryptoProvider>,
}

impl PeerCheck {
    fn new(allowed: Allowed, refused: Refused) -> Self {
        PeerCheck {
            allowed,
            refused,
            provider: Arc::new(aws_lc_rs::default_provider()),
        }
    }

    fn check_key(&self, spki: &CertificateDer<'_>) -> Result<(), Error> {
        let peer = Fingerprint::of_public_key(spki);
        if self.allowed.allows(&peer) {
            return Ok(());
        }
        self.refused.set(peer).ok();
        Err(CertificateError::ApplicationVerificationFailure.into())
    }

    fn check_signature(
        &self,
        message: &[u8],
        spki: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature_with_raw_key(
            message,
            &SubjectPublicKeyInfoDer::from(spki.as_ref()),
            signature,
            &self.provider.signature_verification_algorithms,
        )
    }
}

fn no_tls12() -> Error {
    PeerIncompatible::Tls13RequiredForQuic.into()
}

impl ServerCertVerifier for PeerCheck {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check_key(key)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _key: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, key, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for PeerCheck {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        key: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check_key(key)?;
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _key: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(no_tls12())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, key, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
