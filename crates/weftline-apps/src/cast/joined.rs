//! The session description, as a receiver reads it.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use weftline_fecframe::ReceiverConfig;
use weftline_fecframe::ffci::{Ffci, SourceFlow};

/// The attribute of a flow whose ADUs have one symbol each.
pub(super) const ONE_SYMBOL: &str = "x-weftline-adus:one-symbol";
/// The attribute of a flow whose packets are sealed with a group key.
pub(super) const SEALED: &str = "x-weftline-sealed:chacha20-poly1305";

/// Longest description that is read, in bytes.
const LONGEST_FILE: u64 = 1 << 20;

/// A session description that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the session description {}: {reason}", .path.display())]
pub struct BadDescription {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub reason: String,
}

/// The contents of a session description.
#[derive(Clone, Debug)]
pub struct Description {
    /// The whole description.
    pub ffci: Ffci,
    /// The receiver configuration that it gives.
    pub config: ReceiverConfig,
    /// Whether packets are sealed with a group key.
    pub is_sealed: bool,
}

impl Description {
    /// Reads the file that [`Sender::description`](super::Sender::description) was written to.
    ///
    /// # Errors
    /// The file cannot be read, or describes no FECFRAME instance.
    pub fn read(path: &Path) -> Result<Self, BadDescription> {
        let failed = |reason: String| BadDescription {
            path: path.to_owned(),
            reason,
        };
        let mut text = String::new();
        let file = File::open(path).map_err(|e| failed(e.to_string()))?;
        let read = file.take(LONGEST_FILE).read_to_string(&mut text);
        read.map_err(|e| failed(e.to_string()))?;
        let ffci = Ffci::from_sdp(&text).map_err(|e| failed(e.to_string()))?;
        Ok(Description::new(ffci))
    }

    /// The description in the given FECFRAME configuration information.
    pub fn new(ffci: Ffci) -> Self {
        let has = |flow: &SourceFlow, what: &str| flow.attributes.iter().any(|a| a == what);
        let mut config = ffci.receiver();
        config.one_symbol_adus = ffci.sources.iter().all(|flow| has(flow, ONE_SYMBOL));
        let is_sealed = ffci.sources.iter().any(|flow| has(flow, SEALED));
        Description {
            ffci,
            config,
            is_sealed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weftline_fecframe::ffci::RepairFlow;
    use weftline_fecframe::{EncodingId, Fssi};

    #[test]
    fn weftlines_own_attributes_are_read_and_optional() {
        let fssi = Fssi::Rlc {
            symbol_size: 100,
            window_size_ratio: 128,
        };
        let at = "127.0.0.1:6000".parse().unwrap();
        let repair = RepairFlow::new(EncodingId::RlcGf256, fssi, at);
        let mut ffci = Ffci::new(vec![SourceFlow::new(0, at)], repair);
        let joined = Description::new(Ffci::from_sdp(&ffci.to_sdp()).unwrap());
        assert!(!joined.is_sealed && !joined.config.one_symbol_adus);
        ffci.sources[0].attributes = vec![ONE_SYMBOL.to_owned(), SEALED.to_owned()];
        let joined = Description::new(Ffci::from_sdp(&ffci.to_sdp()).unwrap());
        assert!(joined.is_sealed && joined.config.one_symbol_adus);
    }
}
