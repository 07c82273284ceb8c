//! `weftline peers`

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use weftline::Fingerprint;
use weftline_apps::Address;
use weftline_apps::pairing::Name;

use crate::book::{Book, Known};
use crate::ui::{Exit, OutputOptions, output};

const EXAMPLES: &str = "\
Examples:
  weftline peers                                       all known peers
  weftline peers add studio FINGERPRINT host.example   a peer, and where it receives
  weftline peers rename studio attic
  weftline peers remove attic

A name stands for its fingerprint wherever --peer is an option. `weftline send FILE... HOST` needs
no --peer for a HOST that is a peer's address, or the name of a peer that has one. What a peer may
do here is in other lists: ~/.config/weftline/allowed-files, allowed-relay, allowed-forward and
allowed-tun.";

/// Show and change the names of known peers, in ~/.config/weftline/peers
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PeersArgs {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Clone, Debug, Subcommand)]
enum Command {
    /// Show all known peers
    List,
    /// Add a peer
    Add {
        /// What to call it: letters, digits, dots, dashes and underscores
        name: Name,
        /// Its fingerprint, as `weftline key` prints it there
        fingerprint: Fingerprint,
        /// Where it receives: HOST or HOST:PORT
        address: Option<Address>,
    },
    /// Forget a peer. It stays in the lists of what it is allowed
    Remove {
        /// Its name
        name: Name,
    },
    /// Give a peer another name
    Rename {
        /// Its name
        name: Name,
        /// The new one
        to: Name,
    },
}

/// Runs the command.
///
/// # Errors
/// The file cannot be read or written, or the change is refused.
pub(crate) fn run(args: PeersArgs, output: OutputOptions) -> Result<Exit> {
    match args.command.unwrap_or(Command::List) {
        Command::List => list(&Book::read()?, output),
        Command::Add {
            name,
            fingerprint,
            address,
        } => Book::edit(|book| {
            book.add(Known {
                name,
                peer: fingerprint,
                address,
            })
        })?,
        Command::Remove { name } => {
            let known = Book::edit(|book| book.remove(&name))?;
            if !output.quiet {
                output::line(&format!("{name} was {}", known.peer));
            }
        }
        Command::Rename { name, to } => Book::edit(|book| book.rename(&name, &to))?,
    }
    Ok(Exit::Ok)
}

fn list(book: &Book, output: OutputOptions) {
    if output.json {
        let peers = book.all().map(|known| {
            json!({
                "name": known.name.as_str(),
                "fingerprint": known.peer.to_string(),
                "address": known.address.as_ref().map(ToString::to_string),
            })
        });
        let peers: Vec<_> = peers.collect();
        output::print(json!({ "peers": peers }));
        return;
    }
    let width = book.all().map(|known| known.name.as_str().len()).max();
    for known in book.all() {
        let address = known.address.as_ref().map(|a| format!("  {a}"));
        output::print(format_args!(
            "{:width$}  {}{}",
            known.name,
            known.peer,
            address.unwrap_or_default(),
            width = width.unwrap_or_default()
        ));
    }
}
