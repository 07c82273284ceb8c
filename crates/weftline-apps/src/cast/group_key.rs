//! The secret that the members of a group share.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Octets of a key.
const LENGTH: usize = 32;
/// Longest key file in octets.
const LONGEST_FILE: u64 = 4096;

/// The secret of a group: its holders can read, and can send as any member.
#[derive(Clone, PartialEq, Eq)]
pub struct GroupKey(pub(super) [u8; LENGTH]);

/// A key file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the group key {}: {reason}", .path.display())]
pub struct BadKey {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
}

impl From<[u8; LENGTH]> for GroupKey {
    fn from(octets: [u8; LENGTH]) -> Self {
        GroupKey(octets)
    }
}

impl fmt::Debug for GroupKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GroupKey(..)")
    }
}

impl GroupKey {
    /// Reads a key file: 32 octets in hexadecimal or base64.
    ///
    /// # Errors
    /// The file cannot be read, is not a key, or belongs to this user and is open to others.
    pub fn read(path: &Path) -> Result<Self, BadKey> {
        let refused = |reason: String| BadKey {
            path: path.to_owned(),
            reason,
        };
        let mut text = String::new();
        let file = File::open(path).map_err(|e| refused(e.to_string()))?;
        private(&file, path).map_err(refused)?;
        let read = file.take(LONGEST_FILE).read_to_string(&mut text);
        read.map_err(|e| refused(e.to_string()))?;
        let key = GroupKey::parse(text.trim());
        key.ok_or_else(|| {
            let how =
                "it must be 32 octets in hexadecimal or base64; make one: umask 077; openssl rand -hex 32";
            refused(how.to_owned())
        })
    }

    fn parse(text: &str) -> Option<Self> {
        let octets = match text.len() == 2 * LENGTH {
            true => hexadecimal(text)?,
            false => base64(text)?,
        };
        octets.try_into().ok().map(GroupKey)
    }
}

/// Checks that only its owner can read or change the key, unless it is another user's.
#[cfg(unix)]
fn private(file: &File, path: &Path) -> Result<(), String> {
    use std::os::unix::fs::MetadataExt;
    let metadata = file.metadata().map_err(|e| e.to_string())?;
    let ours = metadata.uid() == rustix::process::geteuid().as_raw();
    let mode = metadata.mode() & 0o777;
    match ours && mode & 0o077 != 0 {
        true => Err(format!(
            "its permissions {mode:04o} let other users read or change it; run: chmod 600 {}",
            path.display()
        )),
        false => Ok(()),
    }
}

#[cfg(not(unix))]
fn private(_: &File, _: &Path) -> Result<(), String> {
    Ok(())
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |c: &u8| char::from(*c).to_digit(16).map(|d| d as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| Some(digit(pair.first()?)? << 4 | digit(pair.get(1)?)?))
        .collect()
}

/// RFC 4648, section 4, with or without the padding.
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut octets = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            octets.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    // The remaining bits must be padding, not the rest of a truncated octet.
    (bits == 0 && count < 6).then_some(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_the_same_key() {
        let key = GroupKey(std::array::from_fn(|i| i as u8));
        let hexadecimal = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";
        let base64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
        assert_eq!(GroupKey::parse(hexadecimal).as_ref(), Some(&key));
        assert_eq!(GroupKey::parse(base64), Some(key));
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "00".repeat(32)).unwrap();
        for (mode, good) in [
            (0o600, true),
            (0o400, true),
            (0o640, false),
            (0o604, false),
            (0o660, false),
            (0o777, false),
        ] {
            let permissions = PermissionsExt::from_mode(mode);
            std::fs::set_permissions(file.path(), permissions).unwrap();
            let read = GroupKey::read(file.path());
            assert_eq!(read.is_ok(), good, "{mode:o}: {read:?}");
            if let Err(error) = read {
                let remedy = format!("run: chmod 600 {}", file.path().display());
                assert!(error.to_string().ends_with(&remedy), "{error}");
            }
        }
    }

    #[test]
    fn an_invalid_key_is_refused_without_revealing_it() {
        for text in [
            "",
            "00",
            "AAEC",
            &"x".repeat(64),
            &"A".repeat(42),
            &"é".repeat(32),
        ] {
            assert_eq!(GroupKey::parse(text), None, "{text}");
        }
        assert_eq!(format!("{:?}", GroupKey([7; 32])), "GroupKey(..)");
    }
}
