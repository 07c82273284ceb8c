//! TLS 1.3 (RFC 8446) with raw public keys (RFC 7250) both ways.
//!
//! No certificates, names or authorities: a peer is its key. Sessions are resumed only for early
//! data, where both ends want it; otherwise every handshake checks the keys anew. A resumed one
//! proves that both ends still have the secret of a handshake that did: the client's tickets belong
//! to one pair of identities, and the server finds the client's key with the ticket it made.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    AlwaysResolvesClientRawPublicKeys, ClientSessionStore, Resumption, Tls12ClientSessionValue,
    Tls13ClientSessionValue,
};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{
    AlwaysResolvesServerRawPublicKeys, ClientHello, NoServerSessionStorage, ResolvesServerCert,
    StoresServerSessions,
};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, NamedGroup,
    PeerIncompatible, ServerConfig, SignatureScheme, version::TLS13,
};

use crate::lock::lock;
use crate::{Allowed, Fingerprint, Identity};

/// The protocol's name in TLS (RFC 7301); the number rises with incompatible changes. The
/// application's own protocol follows it after a slash.
const ALPN: &str = "weftline/1";

/// The names in TLS of these application protocols; without any, that of Weftline alone.
pub(crate) fn alpn(protocols: &[String]) -> Vec<Vec<u8>> {
    match protocols.is_empty() {
        true => vec![ALPN.as_bytes().to_vec()],
        false => {
            let names = protocols.iter().map(|name| format!("{ALPN}/{name}"));
            names.map(String::into_bytes).collect()
        }
    }
}

/// The application protocol with this name in TLS.
pub(crate) fn application(alpn: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(alpn).ok()?.strip_prefix(ALPN)?;
    Some(name.strip_prefix('/')?.to_owned())
}

/// The name in TLS of the protocol that strangers may ask for.
pub(crate) fn strangers_alpn(protocol: &str) -> Vec<u8> {
    format!("{ALPN}/{protocol}").into_bytes()
}

/// The name in TLS of a connection that is a further path of a session: a server knows in the handshake
/// that it is not a session of its own.
const PATH: &str = "weftline-path/1";

/// That of a further path alone.
pub(crate) fn path_alpn() -> Vec<Vec<u8>> {
    vec![PATH.as_bytes().to_vec()]
}

/// These, and that of further paths.
pub(crate) fn with_paths(alpn: &[Vec<u8>]) -> Vec<Vec<u8>> {
    [alpn, &path_alpn()].concat()
}

pub(crate) fn is_path(alpn: &[u8]) -> bool {
    alpn == PATH.as_bytes()
}

/// Each is good for one handshake: this many allow for one that goes wrong.
const TICKETS: usize = 2;
/// A client keeps this many; the newest are used first, the oldest go.
const KEPT: usize = 8;

/// Where a handshake leaves the fingerprint that it refused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refused(Arc<Mutex<Option<Fingerprint>>>);

impl Refused {
    fn set(&self, peer: Fingerprint) {
        *lock(&self.0) = Some(peer);
    }

    pub(crate) fn take(&self) -> Option<Fingerprint> {
        lock(&self.0).take()
    }
}

/// The tickets that one server has given to one client. Each is used once.
#[derive(Clone, Debug, Default)]
pub(crate) struct TicketStore(Arc<Mutex<VecDeque<Tls13ClientSessionValue>>>);

impl TicketStore {
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}

impl ClientSessionStore for TicketStore {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut tickets = lock(&self.0);
        if tickets.len() == KEPT {
            tickets.pop_front();
        }
        tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        lock(&self.0).pop_back()
    }
}

/// What a server does for clients that come again.
#[derive(Clone)]
pub(crate) struct Tickets {
    /// Where tickets are kept that were made and not used.
    pub(crate) storage: Arc<dyn StoresServerSessions>,
    /// Take data along with the first packets.
    pub(crate) early: bool,
}

/// For connecting to an allowed peer. With `tickets`, which must be of that
/// peer, sessions are resumed, but with this very configuration only: keep it.
pub(crate) fn client(
    identity: &Identity,
    allowed: Allowed,
    alpn: &[Vec<u8>],
    refused: Refused,
    tickets: Option<TicketStore>,
) -> Result<ClientConfig, Error> {
    let check = Arc::new(PeerCheck::new(allowed, refused, Arc::default()));
    let resolver = AlwaysResolvesClientRawPublicKeys::new(identity.certified_key());
    let mut config = ClientConfig::builder_with_provider(check.provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(check)
        .with_client_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = alpn.to_vec();
    config.enable_early_data = tickets.is_some();
    config.resumption = match tickets {
        Some(tickets) => Resumption::store(Arc::new(tickets)),
        None => Resumption::disabled(),
    };
    config.enable_sni = false;
    Ok(config)
}

/// For accepting the allowed peers in one handshake, and any other that asks for nothing but the
/// protocol that `allowed` has for strangers.
pub(crate) fn server(
    identity: &Identity,
    allowed: Allowed,
    alpn: &[Vec<u8>],
    refused: Refused,
    tickets: Option<Tickets>,
) -> Result<ServerConfig, Error> {
    let is_stranger = Arc::new(AtomicBool::new(false));
    let resolver = Desk {
        key: AlwaysResolvesServerRawPublicKeys::new(identity.certified_key()),
        strangers: allowed.strangers().map(strangers_alpn),
        is_stranger: is_stranger.clone(),
    };
    let check = Arc::new(PeerCheck::new(allowed, refused, is_stranger));
    let mut config = ServerConfig::builder_with_provider(check.provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(check)
        .with_cert_resolver(Arc::new(resolver));
    config.alpn_protocols = alpn.to_vec();
    match tickets {
        Some(tickets) => {
            config.session_storage = tickets.storage;
            config.send_tls13_tickets = TICKETS;
            // QUIC knows all or nothing (RFC 9001, section 4.6.1).
            config.max_early_data_size = if tickets.early { u32::MAX } else { 0 };
        }
        None => {
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
    }
    Ok(config)
}

/// One for all handshakes.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    let provider = PROVIDER.get_or_init(|| Arc::new(aws_lc_rs::default_provider()));
    provider.clone()
}

/// Accepts allowed keys; rustls then asks it whether the peer's signature over the handshake
/// was made with that key.
#[derive(Debug)]
struct PeerCheck {
    allowed: Allowed,
    refused: Refused,
    /// The client has asked for what all may ask for.
    is_stranger: Arc<AtomicBool>,
    provider: Arc<CryptoProvider>,
}

impl PeerCheck {
    fn new(allowed: Allowed, refused: Refused, is_stranger: Arc<AtomicBool>) -> Self {
        PeerCheck {
            allowed,
            refused,
            is_stranger,
            provider: provider(),
        }
    }

    fn check_key(&self, spki: &CertificateDer<'_>) -> Result<(), Error> {
        let peer = Fingerprint::of_public_key(spki);
        if self.allowed.allows(&peer) || self.is_stranger.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.refused.set(peer);
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

/// Shows the server's key. It is asked before the client shows its own, and notes whether the client
/// asks for the strangers' protocol and no other: whatever they agree on is that one then.
#[derive(Debug)]
struct Desk {
    key: AlwaysResolvesServerRawPublicKeys,
    strangers: Option<Vec<u8>>,
    is_stranger: Arc<AtomicBool>,
}

impl ResolvesServerCert for Desk {
    fn resolve(&self, client: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let asked: Vec<&[u8]> = client.alpn().into_iter().flatten().take(2).collect();
        let strangers = self.strangers.as_deref();
        let is_stranger = strangers.is_some_and(|name| asked == [name]);
        self.is_stranger.store(is_stranger, Ordering::Relaxed);
        self.key.resolve(client)
    }

    fn only_raw_public_keys(&self) -> bool {
        true
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
