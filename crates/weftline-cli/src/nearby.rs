//! Receivers that show a code, found by multicast DNS (RFC 6762, RFC 6763) without an address: on this host, and
//! in the private networks that it is in.
//!
//! An announcement has addresses and a port. It has no name of a host or a user, and nothing of the code: who
//! answers proves afterwards that it has the code.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use mdns_sd::{IfKind, IfPredicate, Receiver, ServiceDaemon, ServiceEvent, ServiceInfo};
use tokio::time::{Instant, timeout_at};
use weftline_apps::Address;
use weftline_apps::pairing::Code;

use crate::ui::{Exit, Failure};

const SERVICE: &str = "_weftline._udp.local.";
/// How long the first answer may take: the question is asked again after one second and after three.
const FIRST: Duration = Duration::from_secs(4);
/// How long after it others may come.
const OTHERS: Duration = Duration::from_millis(700);
/// Answers that are looked at; anybody in the network can send any number.
const MOST: usize = 16;

/// Whether an address is of this host alone or of a private network. Nothing is announced in others.
fn is_near(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_private() || ip.is_link_local() || ip.is_loopback(),
        // A link-local address says nothing without an interface.
        IpAddr::V6(ip) => ip.is_unique_local() || ip.is_loopback(),
    }
}

/// The announcement of a receiver that shows a code. It ends when this is dropped.
pub(crate) struct Announcement(ServiceDaemon);

impl Announcement {
    /// Announces a receiver that is bound to this address. `None`: nobody nearby could reach it, or the
    /// system does not let it be announced.
    pub(crate) fn of(bound: SocketAddr) -> Option<Self> {
        let (ip, port) = (bound.ip().to_canonical(), bound.port());
        if !ip.is_unspecified() && !is_near(ip) {
            return None;
        }
        // `[::]` is bound for both versions of IP.
        let is_reached = move |own: IpAddr| match ip.is_unspecified() {
            true => is_near(own) && (own.is_ipv4() || ip.is_ipv6()),
            false => own == ip,
        };
        match announce(port, is_reached) {
            Ok(daemon) => Some(Announcement(daemon)),
            Err(error) => {
                tracing::warn!(%error, "the receiver is not announced in its network");
                None
            }
        }
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // Those who ask later get no answer in any case.
        self.0.shutdown().ok();
    }
}

fn announce(
    port: u16,
    is_used: impl Fn(IpAddr) -> bool + Send + Sync + 'static,
) -> mdns_sd::Result<ServiceDaemon> {
    let daemon = daemon(is_used)?;
    // Without a meaning, and different from all others.
    let name = format!("{:016x}", RandomState::new().hash_one(port));
    let host = format!("{name}.local.");
    let no_properties: Option<std::collections::HashMap<String, String>> = None;
    let mut service = ServiceInfo::new(SERVICE, &name, &host, "", port, no_properties)?;
    service.set_requires_probe(false);
    daemon.register(service.enable_addr_auto())?;
    Ok(daemon)
}

/// A responder and asker at these addresses of this host alone.
fn daemon(
    is_used: impl Fn(IpAddr) -> bool + Send + Sync + 'static,
) -> mdns_sd::Result<ServiceDaemon> {
    let daemon = ServiceDaemon::new()?;
    let used = IfPredicate::new(move |interface| is_used(interface.ip()));
    daemon.disable_interface(IfKind::All)?;
    daemon.enable_interface(IfKind::Predicate(used))?;
    Ok(daemon)
}

/// The address of the one receiver nearby that shows a code.
///
/// # Errors
/// There is none, or more than one: the message says which address is to be given with the code.
pub(crate) async fn find(code: Code) -> Result<Address, Failure> {
    let found = match look().await {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, "receivers cannot be looked for");
            Vec::new()
        }
    };
    match &found[..] {
        [one] => Ok(Address::from(*one)),
        [] => Err(Failure::new(
            Exit::Lost,
            format!(
                "no receiver on this host or in its private networks shows a code: name its host: weftline send FILE... HOST --code {code}"
            ),
        )),
        several => {
            let several: Vec<_> = several.iter().map(ToString::to_string).collect();
            Err(Failure::new(
                Exit::Lost,
                format!(
                    "more than one receiver nearby shows a code: {}; name the one that you mean: weftline send FILE... ADDR --code {code}",
                    several.join(", ")
                ),
            ))
        }
    }
}

/// All receivers nearby that show a code.
async fn look() -> mdns_sd::Result<Vec<SocketAddr>> {
    let daemon = daemon(is_near)?;
    let found = gather(&daemon.browse(SERVICE)?).await;
    daemon.shutdown().ok();
    Ok(found.into_values().collect())
}

/// The addresses of those who answer in time, by their names.
async fn gather(events: &Receiver<ServiceEvent>) -> BTreeMap<String, SocketAddr> {
    let (mut found, mut end) = (BTreeMap::new(), Instant::now() + FIRST);
    while let Ok(Ok(event)) = timeout_at(end, events.recv_async()).await {
        let ServiceEvent::ServiceResolved(receiver) = event else {
            continue;
        };
        let addresses = receiver.get_addresses().iter();
        let addresses = addresses.map(|address| address.to_ip_addr());
        // An address of this host first, then by IPv4.
        let best = addresses
            .filter(|ip| is_near(*ip))
            .min_by_key(|ip| (!ip.is_loopback(), ip.is_ipv6(), *ip));
        let Some(best) = best else { continue };
        if found.is_empty() {
            end = Instant::now() + OTHERS;
        }
        if found.len() < MOST {
            let address = SocketAddr::new(best, receiver.get_port());
            found.insert(receiver.get_fullname().to_owned(), address);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_private_networks_are_told() {
        for (ip, near) in [
            ("127.0.0.1", true),
            ("10.1.2.3", true),
            ("192.168.1.5", true),
            ("169.254.1.1", true),
            ("192.0.2.7", false),
            ("::1", true),
            ("fd00::1", true),
            ("fe80::1", false),
            ("2001:db8::1", false),
        ] {
            assert_eq!(is_near(ip.parse().unwrap()), near, "{ip}");
        }
        let public: SocketAddr = "192.0.2.7:9338".parse().unwrap();
        assert!(Announcement::of(public).is_none());
    }
}
