//! The network of this host (Linux): the system's own programs `ip`, `nft` and `resolvectl`, and who may use them.

use std::io::Write;
use std::net::IpAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use rustix::thread::{
    CapabilitySet, capabilities, configure_capability_in_ambient_set, set_capabilities,
};
use serde_json::Value;
use weftline_apps::tun::IpNet;

use crate::ui::{Exit, Failure};

/// Where the system has them. A PATH that the caller of this program sets has no say: what runs here
/// may change the network.
const FOLDERS: [&str; 5] = [
    "/usr/sbin",
    "/usr/bin",
    "/sbin",
    "/bin",
    "/run/current-system/sw/bin",
];

/// A program of the system, and the package that brings it.
pub(crate) struct Program {
    name: &'static str,
    package: &'static str,
}

pub(crate) const IP: Program = Program {
    name: "ip",
    package: "iproute2",
};
pub(crate) const NFT: Program = Program {
    name: "nft",
    package: "nftables",
};
pub(crate) const RESOLVECTL: Program = Program {
    name: "resolvectl",
    package: "systemd-resolved",
};

impl Program {
    /// Runs it with these words and this standard input; it must succeed. Returns what it printed.
    ///
    /// # Errors
    /// There is no such program, or it fails; the message has what it said.
    pub(crate) fn run(&self, words: &[&str], input: &str) -> Result<String> {
        let name = self.name;
        let output = self.output(words, input)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let line = failed_line(&said, input);
        let words = words.join(" ");
        match line {
            Some(line) => bail!("`{name} {words}` refused `{line}`: {}", said.trim()),
            None => bail!("`{name} {words}` failed: {}", said.trim()),
        }
    }

    /// As [`Program::run`] with `-j`: the objects that it printed.
    ///
    /// # Errors
    /// As [`Program::run`], or what it printed is not a list.
    pub(crate) fn json(&self, words: &[&str]) -> Result<Vec<Value>> {
        let shown = self.run(&[&["-j"], words].concat(), "")?;
        serde_json::from_str(&shown).with_context(|| format!("the answer of `{}`", self.name))
    }

    /// Whether this host has it.
    pub(crate) fn is_here(&self) -> bool {
        self.path().is_some()
    }

    fn path(&self) -> Option<PathBuf> {
        let mut places = FOLDERS
            .iter()
            .map(|folder| Path::new(folder).join(self.name));
        places.find(|path| path.exists())
    }

    /// As [`Program::run`], but the caller judges the exit status.
    pub(crate) fn output(&self, words: &[&str], input: &str) -> Result<Output> {
        let mut child = self.start(words)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that ends early says why on standard error.
            let _ = stdin.write_all(input.as_bytes());
        }
        let name = self.name;
        let output = child.wait_with_output();
        output.with_context(|| format!("`{name}` cannot be run"))
    }

    /// Starts it with these words, and a pipe for each of its three streams.
    ///
    /// # Errors
    /// There is no such program, or it cannot be run.
    pub(crate) fn start(&self, words: &[&str]) -> Result<Child> {
        let Program { name, package } = self;
        let Some(path) = self.path() else {
            bail!("there is no `{name}` on this host: install {package}");
        };
        hand_on_privilege();
        let mut command = Command::new(path);
        command.args(words).env_clear().env("LC_ALL", "C");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C is for this program, which ends the others.
        command.process_group(0);
        let child = command.stderr(Stdio::piped()).spawn();
        child.with_context(|| format!("`{name}` cannot be run"))
    }
}

/// The line of `ip -batch` that failed.
fn failed_line<'a>(said: &str, input: &'a str) -> Option<&'a str> {
    let (_, number) = said.split_once("Command failed -:")?;
    let number: usize = number.split_whitespace().next()?.parse().ok()?;
    input.lines().nth(number.checked_sub(1)?)
}

/// Says how to get the privilege to change the network, unless this process has it.
///
/// # Errors
/// It has not.
pub(crate) fn require_privilege() -> Result<()> {
    let mine = capabilities(None);
    if mine.is_ok_and(|mine| mine.effective.contains(CapabilitySet::NET_ADMIN)) {
        return Ok(());
    }
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.display();
    let message = format!(
        "changing the network needs the capability CAP_NET_ADMIN: use sudo, or once `sudo setcap cap_net_admin+ep {program}`, or in a unit of systemd AmbientCapabilities=CAP_NET_ADMIN"
    );
    Err(Failure::new(Exit::General, message).into())
}

/// A network, or an address as a network of its own.
///
/// # Errors
/// It is neither; the text says what is.
pub(crate) fn network(text: &str) -> Result<IpNet, String> {
    let Ok(net) = text.parse::<IpNet>() else {
        let address = text.parse::<IpAddr>().map(IpNet::from);
        return address.map_err(|_| "give a network such as 10.0.0.0/8, or an address".to_owned());
    };
    match net.trunc() {
        whole if whole == net => Ok(net),
        whole => Err(format!("it has bits set behind its length: give {whole}")),
    }
}

/// Lets the programs that this thread starts change the network as this process may: what has the
/// capability by `setcap` does not hand it on otherwise. Where it fails, the program says what it lacks.
fn hand_on_privilege() {
    let Ok(mut mine) = capabilities(None) else {
        return;
    };
    mine.inheritable |= mine.permitted & CapabilitySet::NET_ADMIN;
    let _ = set_capabilities(None, mine);
    let _ = configure_capability_in_ambient_set(CapabilitySet::NET_ADMIN, true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_was_refused_and_why() {
        let error = IP.run(&["-batch", "-"], "rule show\nnonsense here\n");
        let Err(error) = error.map_err(|e| e.to_string()) else {
            panic!("nonsense was accepted")
        };
        if error.contains("there is no `ip`") {
            return weftline_testkit::unable("ip", &error);
        }
        assert!(error.contains("refused `nonsense here`"), "{error}");
        let nobody = Program {
            name: "no-such-program",
            package: "nothing",
        };
        let error = nobody.run(&[], "").map_err(|e| e.to_string());
        let message = "there is no `no-such-program` on this host: install nothing";
        assert_eq!(error, Err(message.to_owned()));
    }

    #[test]
    fn an_address_is_a_network_and_bits_behind_the_length_are_refused() {
        let net = |text: &str| text.parse::<IpNet>().unwrap();
        assert_eq!(network("10.0.0.0/8"), Ok(net("10.0.0.0/8")));
        assert_eq!(network("fd00::7"), Ok(net("fd00::7/128")));
        assert!(network("10.1.0.0/8").unwrap_err().contains("10.0.0.0/8"));
        for bad in ["", "10.0.0.0/33", "server", "10/8"] {
            assert!(network(bad).unwrap_err().contains("network"), "{bad}");
        }
    }
}
