//! Makes a tunnel the network of this host (Linux), and makes it as it was before.
//!
//! | file | contents |
//! | --- | --- |
//! | `policy` | which packets go into the tunnel, and the kill switch |
//! | `dns` | which DNS servers names are asked of |
//! | `masquerade` | the server's side: where the clients' packets leave |
//!
//! Routes and rules are set by the program `ip`, as filters are by `nft` and name servers by `resolvectl`:
//! a netlink library would add ten crates and still leave these two.

mod dns;
mod masquerade;
mod policy;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use anyhow::Result;
use tun_rs::{AsyncDevice, DeviceBuilder};
use weftline_apps::tun::IpNet;

use crate::system::{IP, require_privilege};
use crate::ui::{Exit, Failure, exit, output};
use policy::Policy;

/// Longest name of a network device on Linux.
const LONGEST_NAME: usize = 15;

/// A tunnel as the network of this host.
#[derive(Clone, Debug, Default)]
pub(super) struct Setup {
    /// The device's name.
    pub(super) name: String,
    /// Its addresses, with the lengths of their prefixes; unknown until the server grants them.
    pub(super) addresses: Vec<IpNet>,
    /// Its MTU in bytes.
    pub(super) mtu: u16,
    /// What goes into the tunnel. A default route (`0.0.0.0/0`, `::/0`) of an IP version that the tunnel
    /// has no address of is closed instead.
    pub(super) routes: Vec<IpNet>,
    /// Where the server may answer.
    pub(super) servers: Vec<SocketAddr>,
    /// The DNS servers to ask for all names; none: those of before.
    pub(super) dns: Vec<IpAddr>,
    /// What would go into the tunnel goes nowhere else, until [`forget`].
    pub(super) kill_switch: bool,
    /// The server's side: packets of the tunnel leave through this interface, or the one of the default
    /// route, with the address of this host.
    pub(super) masquerade: Option<Option<String>>,
}

impl Setup {
    /// Before the session: removes what a killed run has left, and turns the kill switch on.
    ///
    /// # Errors
    /// This process may not change the network, the device is there already, or the system refuses a part.
    pub(super) fn prepare(&self) -> Result<()> {
        require_privilege()?;
        if exists(&self.name) {
            let name = &self.name;
            let message = format!("the network device {name} is in use: choose another --name");
            return Err(Failure::new(Exit::General, message).into());
        }
        dns::restore(&self.name)?;
        masquerade::restore(&self.name)?;
        let mut closed = self.closed();
        closed.keeps_blocked = self.kill_switch;
        closed.apply(&self.name).map(drop)
    }

    /// Creates the device, and leads into it what is to go there. Call it in a runtime of tokio.
    ///
    /// # Errors
    /// The system refuses a part; then all is as it was before.
    pub(super) fn up(&self) -> Result<Up> {
        let mut setup = self.clone();
        if !has_ipv6() {
            setup.addresses.retain(|net| matches!(net, IpNet::V4(_)));
        }
        setup.check_networks()?;
        let policy = setup.policy()?;
        let device = setup.device()?;
        // From here on, a failure takes everything back.
        let up = Up { device, setup };
        let Setup { name, dns, .. } = &up.setup;
        policy.apply(name)?;
        if let Some(interface) = &up.setup.masquerade {
            masquerade::set(name, &up.setup.addresses, interface.as_deref())?;
        }
        if !dns.is_empty() {
            dns::set(name, dns)?;
        }
        Ok(up)
    }

    /// The networks that the server grants are none of this host's, and not the server's own: their packets
    /// would go into the tunnel.
    fn check_networks(&self) -> Result<()> {
        let servers = self.servers.iter().map(|server| server.ip());
        let taken: Vec<IpAddr> = servers.chain(own_addresses(&self.name)?).collect();
        for net in &self.addresses {
            if let Some(address) = taken.iter().find(|address| net.contains(*address)) {
                let message = format!(
                    "{} of the tunnel has {address} in it, which is this host's or the server's outside of the tunnel: choose another --pool of `weftline tun serve`",
                    net.trunc()
                );
                return Err(Failure::new(Exit::General, message).into());
            }
        }
        Ok(())
    }

    fn device(&self) -> Result<AsyncDevice> {
        let name = &self.name;
        let mut builder = DeviceBuilder::new().name(name).mtu(self.mtu);
        for address in &self.addresses {
            builder = match address {
                IpNet::V4(net) => builder.ipv4(net.addr(), net.prefix_len(), None),
                IpNet::V6(net) => builder.ipv6(net.addr(), net.prefix_len()),
            };
        }
        let device = builder.build_async().map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::ResourceBusy => ": it is in use, choose another --name",
                io::ErrorKind::NotFound => {
                    ": load the kernel's module tun, or let this container have /dev/net/tun"
                }
                io::ErrorKind::PermissionDenied => {
                    ": this user may not open /dev/net/tun (most systems let all: chmod 666)"
                }
                _ => "",
            };
            Failure::new(
                Exit::General,
                format!("cannot create the network device {name}: {error}{hint}"),
            )
        });
        Ok(device?)
    }

    /// What is wanted while the device is there.
    fn policy(&self) -> Result<Policy> {
        let mut policy = self.closed();
        for net in self.prefixes() {
            let mut own = self.addresses.iter();
            let has = own.any(|own| own.addr().is_ipv4() == net.addr().is_ipv4());
            match (has, net.prefix_len()) {
                (true, _) => policy.through.push(net),
                (false, 0) => policy.blocked.push(net),
                (false, _) => {
                    let message = format!(
                        "the route {net} needs an address of its IP version in the tunnel, and there is none: leave the route out, or give `weftline tun serve` a further --pool"
                    );
                    return Err(Failure::new(Exit::General, message).into());
                }
            }
        }
        Ok(policy)
    }

    /// What is wanted while there is no device.
    fn closed(&self) -> Policy {
        Policy {
            through: Vec::new(),
            blocked: match self.kill_switch {
                true => self.prefixes().collect(),
                false => Vec::new(),
            },
            servers: self.servers.clone(),
            keeps_blocked: false,
        }
    }

    /// What is to go into the tunnel. With the kill switch this names the tunnel's own networks too: without
    /// their device, their packets would look for another way.
    fn prefixes(&self) -> impl Iterator<Item = IpNet> {
        let own = self.addresses.iter().map(IpNet::trunc);
        let own = own.filter(|_| self.kill_switch);
        self.routes.iter().copied().chain(own)
    }
}

/// A tunnel that is the network of this host, until this is dropped.
pub(super) struct Up {
    /// The device.
    pub(super) device: AsyncDevice,
    setup: Setup,
}

impl Up {
    /// Makes the network of this host what it was before, or what the kill switch leaves of it.
    fn down(&self) -> Result<()> {
        let name = &self.setup.name;
        // Each of them, even if one fails.
        let parts = [
            self.setup.closed().apply(name),
            dns::restore(name),
            masquerade::restore(name),
        ];
        parts.into_iter().try_for_each(|part| part.map(drop))
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        if let Err(error) = self.down() {
            let (text, name) = (exit::text(&error), &self.setup.name);
            output::line(&format!(
                "warning: {text}; `weftline tun down --name {name}` tries again"
            ));
        }
    }
}

/// The mark of the sockets of the tunnel with this device: what carries it goes past the tunnel.
pub(super) fn mark(name: &str) -> u32 {
    policy::mark(name)
}

/// Removes what a tunnel that has ended left behind, the kill switch too. Returns whether there was anything.
///
/// # Errors
/// This process may not change the network, the tunnel is up, or the system refuses a part.
pub(super) fn forget(name: &str) -> Result<bool> {
    require_privilege()?;
    if exists(name) {
        let message = format!("the network device {name} is there: end its program first");
        return Err(Failure::new(Exit::General, message).into());
    }
    let parts = [
        Policy::default().apply(name)?,
        dns::restore(name)?,
        masquerade::restore(name)?,
    ];
    Ok(parts.contains(&true))
}

/// A name for a network device that causes no confusion anywhere.
///
/// # Errors
/// It is none; the text says what is one.
pub(super) fn device_name(text: &str) -> Result<String, String> {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    // Names of settings, and of the device that each host has.
    let taken = ["all", "default", "lo"].contains(&text);
    match starts && !taken && text.len() <= LONGEST_NAME && text.chars().all(allowed) {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "give a letter, then letters, digits, - and _, {LONGEST_NAME} in all at most, such as wl0"
        )),
    }
}

/// The name of a network device that somebody else made.
///
/// # Errors
/// It is none; the text says what is one.
pub(super) fn interface(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "_-.@".contains(c);
    let is_name = (1..=LONGEST_NAME).contains(&text.len()) && text.chars().all(allowed);
    match is_name && !["all", "default", "lo", ".", ".."].contains(&text) {
        true => Ok(text.to_owned()),
        false => {
            Err("give the name of an interface, such as eth0: `ip link` lists them".to_owned())
        }
    }
}

/// Whether this network namespace has the device.
fn exists(name: &str) -> bool {
    Path::new("/proc/sys/net/ipv4/conf").join(name).exists()
}

/// The addresses of this host's network devices but this one.
fn own_addresses(name: &str) -> Result<Vec<IpAddr>> {
    let devices = IP.json(&["address", "show"])?;
    let others = devices.iter().filter(|device| device["ifname"] != name);
    let infos = others.filter_map(|device| device["addr_info"].as_array());
    let addresses = infos.flatten().filter_map(|info| info["local"].as_str());
    Ok(addresses.filter_map(|text| text.parse().ok()).collect())
}

/// Whether a new device may have IPv6.
fn has_ipv6() -> bool {
    let off = std::fs::read_to_string("/proc/sys/net/ipv6/conf/default/disable_ipv6");
    off.is_ok_and(|off| off.trim() == "0")
}

#[cfg(test)]
mod tests;
