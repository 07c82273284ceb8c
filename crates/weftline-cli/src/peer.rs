//! Who a peer is, as options say it.

use std::str::FromStr;

use anyhow::Result;
use weftline::Fingerprint;
use weftline_apps::pairing::Name;

use crate::book::Book;
use crate::ui::Failure;

/// A peer, as `--peer` says who it is: its fingerprint, or its name in the file of known peers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Key(Fingerprint),
    Named(Name),
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text.parse(), text.parse()) {
            (Ok(key), _) => Ok(Peer::Key(key)),
            (_, Ok(name)) => Ok(Peer::Named(name)),
            (Err(error), _) => Err(error.to_string()),
        }
    }
}

impl Peer {
    /// Its fingerprint.
    ///
    /// # Errors
    /// Nobody has this name, or the file cannot be read.
    pub(crate) fn fingerprint(&self) -> Result<Fingerprint> {
        let name = match self {
            Peer::Key(key) => return Ok(*key),
            Peer::Named(name) => name,
        };
        let book = Book::read()?;
        let known = book.named(name).ok_or_else(|| {
            let message = format!(
                "no peer is called {name}: `weftline peers` lists the names; otherwise give a fingerprint"
            );
            Failure::usage(message)
        })?;
        Ok(known.peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_is_a_fingerprint_or_a_name() {
        let key = Fingerprint::from([7; 20]);
        assert_eq!(key.to_string().parse(), Ok(Peer::Key(key)));
        assert_eq!("studio".parse(), Ok(Peer::Named("studio".parse().unwrap())));
        // A slip in a fingerprint is told as such.
        let text = key.to_string().replacen('a', "1", 1);
        assert!(text.parse::<Peer>().unwrap_err().contains("letter"));
    }
}
