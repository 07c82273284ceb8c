//! What of this host's network goes into the tunnel: options of the client.

use std::io;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use tokio::task::spawn_blocking;
use weftline::EndpointConfig;
use weftline_apps::Address;
use weftline_apps::tun::{IpNet, Lease, System};

use super::system::{self, Setup, Up};
use crate::system::network;
use crate::ui::{Failure, exit};

/// Options that say what goes into the tunnel.
#[derive(Args, Clone, Debug)]
pub(super) struct NetworkOptions {
    /// Send what is for this network through the tunnel, or with `server` what the server suggests; may be
    /// repeated
    #[arg(long = "route", value_name = "NETWORK", help_heading = "Network", value_parser = route)]
    routes: Vec<Choice<IpNet>>,
    /// Send everything through the tunnel but what is for this host's own networks. An IP version that the
    /// tunnel has no address of is closed
    #[arg(long, help_heading = "Network")]
    default_route: bool,
    /// Ask this DNS server for all names, or with `server` those that the server suggests; may be repeated
    #[arg(long, value_name = "ADDRESS", help_heading = "Network", value_parser = dns)]
    dns: Vec<Choice<IpAddr>>,
    /// Let nothing that is to go through the tunnel leave in another way: not before it is up, and not
    /// after this program has ended or was killed. `weftline tun down` lifts it, or a reboot
    #[arg(long, help_heading = "Network")]
    kill_switch: bool,
}

/// What the user chooses, or leaves to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice<T> {
    Server,
    Own(T),
}

impl<T> Choice<T> {
    fn own(&self) -> Option<&T> {
        match self {
            Choice::Server => None,
            Choice::Own(value) => Some(value),
        }
    }

    fn is_server(&self) -> bool {
        matches!(self, Choice::Server)
    }
}

fn route(text: &str) -> Result<Choice<IpNet>, String> {
    choice(text, network)
}

fn dns(text: &str) -> Result<Choice<IpAddr>, String> {
    let wrong = |_| "give the address of a DNS server, or `server`".to_owned();
    choice(text, |text| IpAddr::from_str(text).map_err(wrong))
}

fn choice<T>(
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, String>,
) -> Result<Choice<T>, String> {
    match text {
        "server" => Ok(Choice::Server),
        text => parse(text).map(Choice::Own),
    }
}

impl NetworkOptions {
    /// Before the session to `server`: what is to be done for it, and the kill switch is on.
    ///
    /// # Errors
    /// This process may not change the network, or the options contradict each other.
    pub(super) async fn prepare(
        &self,
        name: &str,
        server: &Address,
        endpoint: &mut EndpointConfig,
    ) -> Result<Host> {
        let mut routes: Vec<IpNet> = self
            .routes
            .iter()
            .filter_map(Choice::own)
            .copied()
            .collect();
        if self.default_route {
            routes.extend([IpAddr::from([0; 4]), IpAddr::from([0; 16])].map(whole));
        }
        if self.kill_switch && routes.is_empty() {
            let message =
                "--kill-switch needs to know what it stops: add --default-route, or --route";
            return Err(Failure::usage(message).into());
        }
        endpoint.socket_mark = Some(system::mark(name));
        // Asked before the kill switch is on. If the name is not known yet, connecting asks again.
        let mut servers = server.resolve().await.unwrap_or_default();
        let others = endpoint.paths.iter().filter_map(|path| path.remote);
        servers.extend(others.map(|mut remote| {
            if remote.port() == 0 {
                remote.set_port(server.port());
            }
            remote
        }));
        let setup = Setup {
            name: name.to_owned(),
            routes,
            servers,
            dns: self.dns.iter().filter_map(Choice::own).copied().collect(),
            kill_switch: self.kill_switch,
            ..Setup::default()
        };
        setup.prepare()?;
        Ok(Host {
            server: server.clone(),
            setup,
            takes_routes: self.routes.iter().any(Choice::is_server),
            takes_dns: self.dns.iter().any(Choice::is_server),
            opening: Opening::default(),
        })
    }

    /// What to tell at the end.
    pub(super) fn remains(&self, name: &str) -> Option<String> {
        self.kill_switch.then(|| {
            format!("the kill switch stays on; `weftline tun down --name {name}` lifts it")
        })
    }
}

/// All addresses of this IP version.
fn whole(any: IpAddr) -> IpNet {
    IpNet::new_assert(any, 0)
}

/// Makes the tunnel the network of the client's host.
pub(super) struct Host {
    server: Address,
    /// What is known before the server has granted anything.
    setup: Setup,
    /// The server's suggestions are taken.
    takes_routes: bool,
    takes_dns: bool,
    opening: Opening,
}

/// Locked while the network is being changed, also if nobody waits for that any more.
pub(super) type Opening = Arc<tokio::sync::Mutex<()>>;

impl Host {
    pub(super) fn opening(&self) -> Opening {
        self.opening.clone()
    }

    /// What to set up for this lease.
    ///
    /// # Errors
    /// What is left to the server is nothing; the text says what to do.
    fn setup(&self, lease: &Lease) -> Result<Setup, &'static str> {
        if self.takes_routes && lease.routes.is_empty() {
            return Err(
                "the server suggests no routes: name them with --route, or at the server with --push-route",
            );
        }
        if self.takes_dns && lease.dns.is_empty() {
            return Err(
                "the server suggests no DNS servers: name them with --dns, or at the server with --push-dns",
            );
        }
        let mut setup = self.setup.clone();
        setup.addresses.clone_from(&lease.addresses);
        setup.mtu = lease.mtu;
        if self.takes_routes {
            // Those that the tunnel can carry.
            let can_carry = |net: &IpNet| {
                let mut own = lease.addresses.iter();
                own.any(|own| own.addr().is_ipv4() == net.addr().is_ipv4())
            };
            let routes = lease.routes.iter().map(IpNet::trunc);
            setup.routes.extend(routes.filter(can_carry));
        }
        if self.takes_dns {
            setup.dns.extend(&lease.dns);
        }
        Ok(setup)
    }
}

impl System for Host {
    type Device = Up;

    async fn open(&self, lease: &Lease) -> io::Result<Up> {
        let mut setup = self.setup(lease).map_err(io::Error::other)?;
        if setup.servers.is_empty() {
            setup.servers = self.server.resolve().await.unwrap_or_default();
        }
        let opening = self.opening.clone().lock_owned().await;
        // If nobody waits for it any more, it is taken down, and then the lock is free.
        let up = spawn_blocking(move || (setup.up(), opening)).await;
        let (up, _opening) = up.map_err(io::Error::other)?;
        up.map_err(|error| io::Error::other(exit::text(&error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn suggestions_of_the_server_count_only_where_they_were_asked_for() {
        let lease = Lease {
            addresses: nets(&["10.66.0.2/24"]),
            mtu: 1320,
            routes: nets(&["10.9.8.7/16", "fd00::/8"]),
            dns: vec!["10.66.0.1".parse().unwrap()],
            ..Lease::default()
        };
        let mut host = Host {
            server: "host".parse().unwrap(),
            setup: Setup {
                routes: nets(&["192.0.2.0/24"]),
                ..Setup::default()
            },
            takes_routes: false,
            takes_dns: false,
            opening: Opening::default(),
        };
        let setup = host.setup(&lease).unwrap();
        assert_eq!(setup.routes, nets(&["192.0.2.0/24"]));
        assert!(setup.dns.is_empty() && setup.mtu == 1320);
        (host.takes_routes, host.takes_dns) = (true, true);
        let setup = host.setup(&lease).unwrap();
        assert_eq!(setup.routes, nets(&["192.0.2.0/24", "10.9.0.0/16"]));
        assert_eq!(setup.dns, lease.dns);
        // What was asked for and is not there is not passed over: names would be asked elsewhere.
        let mut less = lease.clone();
        less.dns.clear();
        assert!(host.setup(&less).unwrap_err().contains("--push-dns"));
        less.routes.clear();
        assert!(host.setup(&less).unwrap_err().contains("--push-route"));
    }

    #[test]
    fn a_choice_is_the_servers_or_ones_own() {
        assert_eq!(route("server"), Ok(Choice::Server));
        assert!(route("10.0.0.1/8").unwrap_err().contains("10.0.0.0/8"));
        assert_eq!(dns("fd00::1"), Ok(Choice::Own("fd00::1".parse().unwrap())));
        assert!(dns("name").unwrap_err().contains("DNS server"));
    }
}
