//! TCP connections that programs of this host make, led to local listeners without the programs' knowing (Linux).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use weftline_apps::forward::Entry;
use weftline_apps::tun::IpNet;

use crate::system::{NFT, require_privilege};

/// How long `nft` may take to say that the rules are there.
const ANSWER: Duration = Duration::from_secs(10);
/// How long it may take to say more about what is wrong.
const MORE: Duration = Duration::from_millis(200);

/// While it lives, TCP connections to some networks come to a local listener. The rules are in a table of
/// nftables that belongs to a process `nft` (`flags owner`). That process ends with its standard input, which
/// this program has: nothing is left behind, not even when this program is killed.
pub(crate) struct Capture {
    nft: Child,
}

impl Capture {
    /// The local addresses that connections to `nets` are to be led to: one for each IP version.
    pub(crate) fn listeners(nets: &[IpNet]) -> impl Iterator<Item = (SocketAddr, Entry)> {
        let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let needed = |at: &IpAddr| nets.iter().any(|net| net.addr().is_ipv4() == at.is_ipv4());
        let needed = loopback.into_iter().filter(needed);
        needed.map(|at| ((at, 0).into(), Entry::Redirected))
    }

    /// Leads connections to `nets`, if there are any, to the one of the bound [listeners](Self::listeners) among these
    /// entries that has their IP version. Those to addresses of this host itself stay as they are.
    ///
    /// # Errors
    /// This process may not change the network, there is no `nft`, or the system refuses the rules.
    pub(crate) fn open(nets: &[IpNet], entries: &[(SocketAddr, Entry)]) -> Result<Option<Self>> {
        if nets.is_empty() {
            return Ok(None);
        }
        require_privilege()?;
        let bound = entries
            .iter()
            .filter(|(_, entry)| *entry == Entry::Redirected);
        let listeners: Vec<SocketAddr> = bound.map(|(at, _)| *at).collect();
        let table = format!("weftline-forward-{}", std::process::id());
        let script = script(&table, nets, &listeners);
        let mut capture = Capture {
            nft: NFT.start(&["-i"])?,
        };
        let answers = capture.answers();
        let stdin = capture.nft.stdin.as_mut().context("a pipe")?;
        // What is printed is the answer: the table is there. One that ends early says why.
        let _ = writeln!(stdin, "{script}\nlist table inet {table}");
        match answers.recv_timeout(ANSWER) {
            Ok(Ok(_)) => Ok(Some(capture)),
            Ok(Err(mut said)) => {
                while let Ok(Err(line)) = answers.recv_timeout(MORE) {
                    said += &line;
                }
                bail!(
                    "`nft` refused to redirect connections (Linux 5.12 and nftables 1.0 can): {}",
                    said.trim()
                );
            }
            Err(RecvTimeoutError::Timeout) => bail!("`nft` does not answer"),
            Err(RecvTimeoutError::Disconnected) => bail!("`nft` ended without a word"),
        }
    }

    /// The lines that `nft` prints, and those that it complains with.
    fn answers(&mut self) -> Receiver<Result<String, String>> {
        let (said, answers) = channel();
        let complained = said.clone();
        let (out, err) = (self.nft.stdout.take(), self.nft.stderr.take());
        // Both read until `nft` ends, so that it never waits for a reader.
        thread::spawn(move || each_line(out, |line| said.send(Ok(line)).is_ok()));
        thread::spawn(move || each_line(err, |line| complained.send(Err(line)).is_ok()));
        answers
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.nft.stdin = None;
        // It may have ended before.
        let _ = self.nft.wait();
    }
}

/// Reads to the end; `take` gets lines as long as it wants them.
fn each_line(from: Option<impl Read>, mut take: impl FnMut(String) -> bool) {
    let mut wanted = true;
    for line in from
        .into_iter()
        .flat_map(|from| BufReader::new(from).lines())
    {
        let Ok(line) = line else { return };
        wanted = wanted && take(line + "\n");
    }
}

/// The table in one line: what `nft -i` takes as one change.
fn script(table: &str, nets: &[IpNet], listeners: &[SocketAddr]) -> String {
    let mut rules = String::new();
    for net in nets {
        let (ip, is_v4) = match net {
            IpNet::V4(_) => ("ip", true),
            IpNet::V6(_) => ("ip6", false),
        };
        let listener = listeners.iter().find(|at| at.is_ipv4() == is_v4);
        if let Some(port) = listener.map(SocketAddr::port) {
            rules += &format!(" {ip} daddr {net} meta l4proto tcp redirect to :{port};");
        }
    }
    format!(
        "table inet {table} {{ flags owner; chain output {{ type nat hook output priority -100; oifname \"lo\" accept;{rules} }}; }}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_network_has_a_rule_to_the_listener_of_its_version() {
        let nets = ["10.0.0.0/8", "fd00::/8"].map(|net| net.parse().unwrap());
        let listeners = ["[::1]:6", "127.0.0.1:4"].map(|at| at.parse().unwrap());
        let script = script("t", &nets, &listeners);
        for rule in [
            "ip daddr 10.0.0.0/8 meta l4proto tcp redirect to :4;",
            "ip6 daddr fd00::/8 meta l4proto tcp redirect to :6;",
        ] {
            assert!(script.contains(rule), "{script}");
        }
        assert!(!script.contains('\n'));
    }
}
