//! Other codes, each in its own file.

pub(crate) mod cu_fec;
#[allow(unsafe_code)]
pub(crate) mod isal;

use std::fmt;

/// Another library in the benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// The name in results.
    pub name: &'static str,
    /// A description.
    pub what: &'static str,
    /// The reason if it cannot take part.
    pub missing: Option<String>,
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.what)?;
        match &self.missing {
            Some(reason) => write!(f, "; not available: {reason}"),
            None => Ok(()),
        }
    }
}

/// All peers, and whether they can run here.
#[must_use]
pub fn all() -> Vec<Peer> {
    let peer = |name, what, missing| Peer {
        name,
        what,
        missing,
    };
    vec![
        peer(
            isal::NAME,
            "Intel's library, C and assembly, matrix codes over the same GF(2^8)",
            isal::load().err(),
        ),
        peer(
            cu_fec::NAME,
            "crate cu-fec 1.3, sliding-window codes of RFC 8681",
            None,
        ),
        peer(
            RS_SIMD,
            "crate reed-solomon-simd 3.1, Reed-Solomon by FFT over GF(2^16)",
            None,
        ),
        peer(
            RS_ERASURE,
            "crate reed-solomon-erasure 6.0, Reed-Solomon by matrices, with its SIMD code",
            erasure_missing(),
        ),
        peer(RAPTORQ, "crate raptorq 2.0, RFC 6330", None),
    ]
}

/// reed-solomon-simd in results.
pub(crate) const RS_SIMD: &str = "reed-solomon-simd";
/// reed-solomon-erasure in results.
pub(crate) const RS_ERASURE: &str = "reed-solomon-erasure";
/// raptorq in results.
pub(crate) const RAPTORQ: &str = "raptorq";

/// The reason if reed-solomon-erasure must not run here: its C code is compiled
/// for CPUs with AVX2 and does not check.
pub(crate) fn erasure_missing() -> Option<String> {
    #[cfg(target_arch = "x86_64")]
    if !(std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("bmi2")) {
        return Some("its SIMD code needs AVX2, which this CPU does not have".to_owned());
    }
    None
}
