//! The key pair that a host shows to its peers.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::Ed25519KeyPair;
use data_encoding::BASE64;
use rustls::crypto::aws_lc_rs::sign::any_eddsa_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;

use crate::{Fingerprint, random};

/// An Ed25519 key pair (RFC 8032). Peers know it by its [`Fingerprint`].
///
/// In a file it is unencrypted PEM PKCS#8 (RFC 5958, RFC 8410), which other tools read too. A key
/// from a vault or an environment variable goes in through [`Identity::from_pem`] or
/// [`Identity::from_der`].
#[derive(Clone)]
pub struct Identity {
    key: Arc<CertifiedKey>,
    pkcs8: Arc<[u8]>,
    fingerprint: Fingerprint,
}

impl Identity {
    /// A new key pair, kept only in memory.
    pub fn generate() -> Self {
        Self::from_pkcs8(&new_pkcs8()).expect("a key pair just made is well formed")
    }

    /// Reads the key pair in `path`.
    ///
    /// # Errors
    ///
    /// The file cannot be read, other users may read it (Unix), or it holds no Ed25519 key.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, IdentityError> {
        let path = path.as_ref();
        Self::from_pem(read_private(path)?).map_err(|error| IdentityError::NotAKey {
            path: path.to_owned(),
            error,
        })
    }

    /// Reads a key pair from PEM text (RFC 7468): the first `PRIVATE KEY` section, which holds
    /// PKCS#8. This is what [`Identity::to_pem`] and `openssl genpkey -algorithm ed25519` give.
    ///
    /// # Errors
    ///
    /// The text holds no Ed25519 private key.
    pub fn from_pem(pem: impl AsRef<[u8]>) -> Result<Self, InvalidKey> {
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem.as_ref())
            .map_err(|e| InvalidKey(format!("this is not PEM with a `PRIVATE KEY` in it: {e}")))?;
        Self::from_der(der.secret_pkcs8_der())
    }

    /// Reads a key pair from DER: PKCS#8, version 1 (RFC 5208) or 2 (RFC 5958).
    ///
    /// # Errors
    ///
    /// The bytes are not an Ed25519 private key.
    pub fn from_der(pkcs8: impl AsRef<[u8]>) -> Result<Self, InvalidKey> {
        Self::from_pkcs8(pkcs8.as_ref()).map_err(InvalidKey)
    }

    /// Reads the key pair in `path`; on first use, creates the file and its parent folders.
    ///
    /// The file is created whole or not at all, readable by its owner only, as are the folders. A
    /// file that exists is never replaced: two programs that start at once both get the same key.
    ///
    /// # Errors
    ///
    /// As [`Identity::load`], or the file cannot be made.
    pub fn load_or_create(path: impl AsRef<Path>) -> Result<Self, IdentityError> {
        let path = path.as_ref();
        match Self::load(path) {
            Err(IdentityError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
            }
            other => return other,
        }
        let pkcs8 = new_pkcs8();
        create_private(path, pem(&pkcs8).as_bytes()).map_err(|source| IdentityError::Create {
            path: path.to_owned(),
            source,
        })?;
        Self::load(path)
    }

    /// The name by which peers know this key pair.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The private key in PEM PKCS#8, for storage in a safe place. [`Identity::from_pem`] reads it.
    pub fn to_pem(&self) -> String {
        pem(&self.pkcs8)
    }

    /// What rustls shows to peers: the bare public key in place of a certificate (RFC 7250).
    pub(crate) fn certified_key(&self) -> Arc<CertifiedKey> {
        self.key.clone()
    }

    /// A secret that is the same each time this identity is used for this purpose at this port.
    ///
    /// The port is in it because processes that share an identity must not be able to end each
    /// other's connections (RFC 9000, section 21.11).
    pub(crate) fn secret(&self, purpose: &str, port: u16) -> [u8; 32] {
        secret(&self.pkcs8, purpose, port)
    }

    /// Shows another's public key without having its private key.
    #[cfg(test)]
    pub(crate) fn pretending_to_be(&self, other: &Identity) -> Self {
        let key = CertifiedKey::new(other.key.cert.clone(), self.key.key.clone());
        Identity {
            key: Arc::new(key),
            ..other.clone()
        }
    }

    fn from_pkcs8(der: &[u8]) -> Result<Self, String> {
        let signer = any_eddsa_type(&PrivatePkcs8KeyDer::from(der)).map_err(|e| e.to_string())?;
        let public = signer.public_key().ok_or("its public key is unknown")?;
        let public = CertificateDer::from(public.as_ref().to_vec());
        Ok(Identity {
            fingerprint: Fingerprint::of_public_key(&public),
            key: Arc::new(CertifiedKey::new(vec![public], signer)),
            pkcs8: der.into(),
        })
    }
}

/// Shows the fingerprint only, never the key.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Identity({})", self.fingerprint)
    }
}

/// These bytes are not an Ed25519 private key in PKCS#8.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no Ed25519 private key in PKCS#8: {0}; `openssl genpkey -algorithm ed25519` makes one in PEM"
)]
pub struct InvalidKey(String);

/// A key pair cannot be read or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdentityError {
    /// The file cannot be opened or read.
    #[error("cannot read the identity file {}: {source}", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Other users of this machine may read or change the private key.
    #[error(
        "the identity file {path} is open to other users (mode {mode:03o}): run `chmod 600 {path}`, and make a new identity if someone may have read it",
        path = .path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file holds something else.
    #[error("the identity file {} cannot be used: {error}", .path.display())]
    NotAKey {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: InvalidKey,
    },
    /// A new file cannot be written.
    #[error("cannot create the identity file {}: {source}", .path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// A secret that only the holder of this private key can have; it is the same each time for a purpose at a
/// port.
pub(crate) fn secret(private_key: &[u8], purpose: &str, port: u16) -> [u8; 32] {
    let key = hmac::Key::new(hmac::HMAC_SHA256, private_key);
    let mut context = hmac::Context::with_key(&key);
    context.update(b"weftline 1 ");
    context.update(purpose.as_bytes());
    context.update(&port.to_be_bytes());
    let mut secret = [0; 32];
    secret.copy_from_slice(context.sign().as_ref());
    secret
}

fn new_pkcs8() -> Vec<u8> {
    // Version 1 (RFC 5208) leaves out the public key; OpenSSL reads only that one.
    let pair = Ed25519KeyPair::generate().expect("the system's random source works");
    let document = pair
        .to_pkcs8v1()
        .expect("a key pair just made is well formed");
    document.as_ref().to_vec()
}

fn pem(pkcs8: &[u8]) -> String {
    let mut text = String::from("-----BEGIN PRIVATE KEY-----\n");
    for line in BASE64.encode(pkcs8).as_bytes().chunks(64) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text.push_str("-----END PRIVATE KEY-----\n");
    text
}

/// A key file is a few hundred bytes; more than this is not one.
const MAX_FILE: u64 = 16 << 10;

fn read_private(path: &Path) -> Result<Vec<u8>, IdentityError> {
    let failed = |source| IdentityError::Read {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(IdentityError::Exposed {
                path: path.to_owned(),
                mode,
            });
        }
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    Ok(bytes)
}

/// Makes `path` with `contents` unless it is there already.
fn create_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;

    let mut number = [0; 8];
    random::fill(&mut number)?;
    let name = format!(".identity-{:016x}.tmp", u64::from_ne_bytes(number));
    let temporary = folder.join(name);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    let done = file
        .write_all(contents)
        .and_then(|()| file.sync_all())
        .and_then(|()| publish(&temporary, path));
    fs::remove_file(&temporary).ok();
    done
}

/// Gives the finished file its name, unless another program has created that file first.
fn publish(temporary: &Path, path: &Path) -> io::Result<()> {
    match fs::hard_link(temporary, path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // Some file systems have no hard links.
        Err(_) if !path.exists() => fs::rename(temporary, path),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_survives_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/identity.pem");
        let made = Identity::load_or_create(&path).unwrap();
        let read = Identity::load(&path).unwrap();
        let again = Identity::load_or_create(&path).unwrap();
        assert_eq!(made.fingerprint(), read.fingerprint());
        assert_eq!(made.fingerprint(), again.fingerprint());
        assert_eq!(fs::read_to_string(&path).unwrap(), made.to_pem());
        let files = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(files, 1, "no temporary file is left behind");
    }

    #[test]
    fn a_key_from_a_vault_is_read_from_pem_or_der() {
        let made = Identity::generate();
        let pem = Identity::from_pem(made.to_pem()).unwrap();
        let der = Identity::from_der(&made.pkcs8).unwrap();
        assert_eq!(pem.fingerprint(), made.fingerprint());
        assert_eq!(der.fingerprint(), made.fingerprint());
        assert_eq!(der.to_pem(), made.to_pem());
        // Other sections before the key do not matter.
        let chain = format!(
            "-----BEGIN X-----\nAAAA\n-----END X-----\n{}",
            made.to_pem()
        );
        assert_eq!(
            Identity::from_pem(chain).unwrap().fingerprint(),
            made.fingerprint()
        );
    }

    #[test]
    fn what_is_no_ed25519_key_is_refused_with_advice() {
        let rsa_oid = b"\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01";
        for error in [
            Identity::from_pem("hello").unwrap_err(),
            Identity::from_der(b"").unwrap_err(),
            Identity::from_der(rsa_oid).unwrap_err(),
        ] {
            assert!(error.to_string().contains("openssl genpkey"), "{error}");
        }
    }

    #[test]
    fn identities_differ() {
        let one = Identity::generate();
        assert_ne!(one.fingerprint(), Identity::generate().fingerprint());
        assert!(!format!("{one:?}").contains("PRIVATE"));
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_private_and_an_exposed_one_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys/identity.pem");
        Identity::load_or_create(&path).unwrap();
        let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(path.parent().unwrap()), 0o700);

        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let error = Identity::load_or_create(&path).unwrap_err();
        assert!(matches!(error, IdentityError::Exposed { mode: 0o640, .. }));
        assert!(error.to_string().contains("chmod 600"), "{error}");
    }

    #[test]
    fn a_file_that_holds_no_key_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("identity.pem");
        create_private(&path, b"hello").unwrap();
        let error = Identity::load_or_create(&path).unwrap_err();
        assert!(matches!(error, IdentityError::NotAKey { .. }), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"hello");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = Identity::load("/nowhere/identity.pem").unwrap_err();
        assert!(error.to_string().contains("/nowhere/identity.pem"));
    }

    #[test]
    fn a_program_that_creates_second_keeps_the_first_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("identity.pem");
        let one = Identity::load_or_create(&path).unwrap();
        create_private(&path, Identity::generate().to_pem().as_bytes()).unwrap();
        assert_eq!(
            Identity::load(&path).unwrap().fingerprint(),
            one.fingerprint()
        );
    }
}
