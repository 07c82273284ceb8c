//! Serving peers: the address, the allowed peers, and the message about a refused one.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use anyhow::{Context, Result};
use weftline::{Allowed, Identity, Refusal};
use weftline_apps::Listen;

use crate::book;
use crate::home::{self, Use};
use crate::listed::Listed;
use crate::peer::Peer;
use crate::ui::output::{self, quoted_command};
use crate::ui::terminal;

/// The peers that a server with this identity serves: anyone, or the peers named in the options,
/// the peers in the program's list for this use, as it is at that moment, and this host itself.
pub(crate) fn allowed(
    identity: &Identity,
    purpose: Use,
    anyone: bool,
    named: &[Peer],
) -> Result<Allowed> {
    if let Some(warning) = home::outdated_list() {
        output::line(&warning);
    }
    if anyone {
        return Ok(Allowed::anyone());
    }
    // A holder of this host's own key is as trusted as this host.
    let own = Ok(identity.fingerprint());
    let named = named.iter().map(Peer::fingerprint).chain([own]);
    let named: BTreeSet<_> = named.collect::<Result<_>>()?;
    let listed = Listed::open(purpose)?;
    Ok(Allowed::from_fn(move |peer| {
        named.contains(peer) || listed.has(peer)
    }))
}

/// Binds the address asked for, or the default.
pub(crate) fn bind<P, E>(
    listen: Option<Listen>,
    bind: impl Fn(SocketAddr) -> Result<P, E>,
) -> Result<P>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let mut result = Err(anyhow::anyhow!("no address to listen on"));
    for addr in listen.unwrap_or_default().for_peers() {
        result = bind(addr)
            .context("cannot listen on this address; choose another one with --listen ADDR");
        if result.is_ok() {
            break;
        }
    }
    result
}

/// The address from which this host would talk to others, for people to type on another host.
pub(crate) fn reachable(local: SocketAddr) -> String {
    if !local.ip().is_unspecified() {
        return local.to_string();
    }
    // Connecting a UDP socket sends nothing; the system only chooses a source address. The target
    // is an address reserved for documentation.
    let outward = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    match outward() {
        Some(ip) if !ip.is_unspecified() => SocketAddr::new(ip, local.port()).to_string(),
        _ => format!("THIS-HOST:{}", local.port()),
    }
}

/// Reports a refused peer. The running command with `option` and the fingerprint of the peer would
/// not have refused it; `purpose` says what the option is for.
pub(crate) fn turned_away(refusal: &Refusal, option: &str, purpose: &str) {
    match refusal {
        Refusal::UnknownPeer { peer, .. } => {
            let command = quoted_command("weftline", &format!("{option} {peer}"));
            terminal::offer(format!(
                "refused {}: to {purpose}, run: {command}",
                book::shown(peer)
            ));
        }
        refusal => terminal::offer(refusal.to_string()),
    }
}
