//! One run: a server and a client process, in a network namespace of their own.

use std::fs;
use std::path::Path;
use std::process::{ChildStdin, Command};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::engine::Wire;
use crate::ping::Trips;
use crate::process::{self, Process};
use crate::profile::sampled;
use crate::side::{Ended, Listening, Role, Task};

/// What one run came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Bytes of the file that arrived.
    bytes: u64,
    seconds: f64,
    pub(crate) client_cpu: Option<f64>,
    pub(crate) server_cpu: Option<f64>,
    /// Bytes that crossed the interface, both ways, Ethernet headers included.
    wire: Option<u64>,
    pub(crate) trips: Option<Trips>,
}

impl Run {
    pub(crate) fn mbit_per_second(&self) -> f64 {
        self.bytes as f64 * 8e-6 / self.seconds.max(1e-9)
    }

    /// The part of a file of this size that arrived.
    pub(crate) fn share(&self, size: u64) -> f64 {
        self.bytes as f64 / size as f64
    }

    pub(crate) fn complete(&self, size: u64) -> bool {
        self.bytes == size
    }

    /// Seconds, of both ends.
    pub(crate) fn processor_per_byte(&self) -> Option<f64> {
        Some((self.client_cpu? + self.server_cpu?) / self.bytes.max(1) as f64)
    }

    pub(crate) fn wire_per_byte(&self) -> Option<f64> {
        Some(self.wire? as f64 / self.bytes.max(1) as f64)
    }
}

/// Can runs have network namespaces of their own?
pub(crate) enum Namespaces {
    /// By this command.
    With(&'static [&'static str]),
    /// No, and why.
    Missing(String),
}

/// As root, or as a user who may be root in a user namespace. A namespace ends with its processes,
/// so there is nothing to clean up.
const COMMANDS: [&[&str]; 2] = [
    &["unshare", "--net", "--"],
    &["unshare", "--user", "--map-root-user", "--net", "--"],
];

impl Namespaces {
    pub(crate) fn find() -> Self {
        let works = |command: &&&[&str]| {
            let script = format!("{} && {}", UP, drop_rule(1));
            let output = prefixed(command, "sh").arg("-c").arg(script).output();
            output.is_ok_and(|output| output.status.success())
        };
        match COMMANDS.iter().find(works) {
            Some(command) => Namespaces::With(command),
            None => Namespaces::Missing(
                "this needs Linux, root or user namespaces, and the commands unshare, ip and nft \
                 (Debian: apt-get install util-linux iproute2 nftables)"
                    .to_owned(),
            ),
        }
    }
}

/// Where ethtool is, the kernel cuts a sender's large buffers before it drops packets, as a network
/// card does before a real path; otherwise it drops each buffer as a whole.
const UP: &str = "ip link set lo up \
    && { ethtool -K lo tx-udp-segmentation off >/dev/null 2>&1 || true; }";

/// On input, so that a sender's socket does not see the loss, as it would not on a real path.
fn drop_rule(loss: u32) -> String {
    format!(
        "nft 'add table inet loss; \
         add chain inet loss input {{ type filter hook input priority 0; }}; \
         add rule inet loss input iif lo meta l4proto udp numgen random mod 100 < {loss} drop'"
    )
}

/// Runs the task as two processes.
pub(crate) fn run(
    task: &Task,
    path: Wire,
    namespaces: &Namespaces,
    profile: Option<&Path>,
) -> Result<Run> {
    let Namespaces::With(command) = namespaces else {
        // Here the interface carries others' packets too.
        return Ok(Run {
            wire: None,
            ..pair(task)?
        });
    };
    let up = format!("ip link set lo mtu {} && {UP}", path.mtu);
    let prepare = match path.loss {
        0 => up,
        loss => format!("{up} && {}", drop_rule(loss)),
    };
    let program = std::env::current_exe()?;
    let mut child = prefixed(command, "sh");
    child
        .args(["-c", &format!("{prepare} && exec \"$@\"")])
        .arg("sh")
        .args(profile.map(sampled).unwrap_or_default())
        .arg(program)
        .args(process::arguments(&(Role::Pair, task))?);
    let (mut pair, _stdin) = Process::spawn(child)?;
    let run = pair.line();
    if profile.is_some() {
        // The samples are written at the end.
        pair.child.wait()?;
    }
    run
}

/// Both ends, in this process's network namespace.
pub(crate) fn pair(task: &Task) -> Result<Run> {
    let before = interface_bytes();
    let (mut server, _server_stdin) = start(Role::Server, task)?;
    let Listening { addr, key } = server.line()?;
    let (mut client, _client_stdin) = start(Role::Client { addr, key }, task)?;
    let client: Ended = client.line()?;
    let server: Ended = server.line()?;
    Ok(Run {
        bytes: server.bytes,
        // The receiver of datagrams alone knows when the last one came.
        seconds: match task.engine.is_reliable() {
            true => client.seconds,
            false => server.seconds,
        },
        client_cpu: client.cpu,
        server_cpu: server.cpu,
        wire: interface_bytes()
            .zip(before)
            .map(|(end, start)| end - start),
        trips: client.trips,
    })
}

/// The process ends when its standard input does.
fn start(role: Role, task: &Task) -> Result<(Process, ChildStdin)> {
    let mut child = Command::new(std::env::current_exe()?);
    child.args(process::arguments(&(role, task))?);
    Process::spawn(child)
}

fn prefixed(command: &[&str], program: &str) -> Command {
    let mut result = Command::new(command[0]);
    result.args(&command[1..]).arg(program);
    result
}

fn interface_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/net/dev").ok()?;
    let fields = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("lo:"))?;
    fields.split_whitespace().next()?.parse().ok()
}
