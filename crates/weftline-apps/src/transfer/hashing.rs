//! Digests of files. Everything here blocks.

use std::fs::File;
use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

use super::wire::Digest;

/// Length and digest of what is left to read of `file`.
pub(super) fn hash_file(mut file: File) -> io::Result<(u64, Digest)> {
    let mut hasher = Sha256::new();
    let len = copy_into(&mut hasher, &mut file)?;
    Ok((len, hasher.finalize().into()))
}

/// Digests the first `len` bytes of `file` and leaves it positioned after them; `None` if it is
/// shorter.
pub(super) fn hash_prefix(file: &mut File, len: u64) -> io::Result<Option<Sha256>> {
    let mut hasher = Sha256::new();
    let got = copy_into(&mut hasher, &mut file.take(len))?;
    Ok((got == len).then_some(hasher))
}

/// Digests what is left of `input`; returns its length.
pub(super) fn copy_into(hasher: &mut Sha256, input: &mut impl Read) -> io::Result<u64> {
    let mut buffer = vec![0; 256 << 10];
    let mut total = 0;
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(n) => {
                hasher.update(&buffer[..n]);
                total += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
