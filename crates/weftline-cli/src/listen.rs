//! Waiting for others: where, for whom, and what this host tells them.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use anyhow::{Context, Result};
use weftline::{Allowed, Fingerprint, Identity, Refusal};
use weftline_apps::{Address, DEFAULT_PORT, printable};

use crate::home;
use crate::ui::output::quoted_command;
use crate::ui::{Exit, Failure, terminal};

/// Whom a server with this identity serves: anyone, or those named, those in the program's list and
/// this host itself.
pub(crate) fn allowed(identity: &Identity, anyone: bool, named: &[Fingerprint]) -> Result<Allowed> {
    if anyone {
        return Ok(Allowed::anyone());
    }
    // Whoever holds this host's own key need not be told apart from it. It also makes the
    // list never empty: an endpoint that allows nobody would not even answer.
    let own = identity.fingerprint();
    let listed = home::allowed()?;
    let named = named.iter().copied();
    Ok(Allowed::only(listed.into_iter().chain(named).chain([own])))
}

/// Binds the address asked for; by default all of IPv6 and IPv4, or IPv4 alone where there is
/// nothing else.
pub(crate) async fn bind<P, E>(
    listen: Option<&Address>,
    bind: impl Fn(SocketAddr) -> Result<P, E>,
) -> Result<P>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let candidates = match listen {
        Some(address) => address
            .resolve()
            .await
            .map_err(|e| Failure::new(Exit::Lost, e.to_string()))?,
        None => vec![
            SocketAddr::from((Ipv6Addr::UNSPECIFIED, DEFAULT_PORT)),
            SocketAddr::from((Ipv4Addr::UNSPECIFIED, DEFAULT_PORT)),
        ],
    };
    let mut result = Err(anyhow::anyhow!("no address to listen at"));
    for addr in candidates {
        result = bind(addr).context("cannot wait there; choose another address with --listen ADDR");
        if result.is_ok() {
            break;
        }
    }
    result
}

/// The address from which this host would talk to others, for people to type elsewhere.
pub(crate) fn reachable(local: SocketAddr) -> String {
    if !local.ip().is_unspecified() {
        return local.to_string();
    }
    // Connecting a UDP socket sends nothing; it only makes the system choose a source address.
    // The target is an address reserved for documentation.
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

/// Tells of somebody who was turned away. With `option` and its fingerprint behind it the command
/// that runs would not have: `purpose` says what that option is for.
pub(crate) fn turned_away(refusal: &Refusal, option: &str, purpose: &str) {
    match refusal {
        Refusal::UnknownPeer { peer, .. } => {
            let command = quoted_command("weftline", &format!("{option} {peer}"));
            terminal::offer(format!("refused {peer}: to {purpose}, run: {command}"));
        }
        refusal => terminal::offer(printable(&refusal.to_string())),
    }
}
