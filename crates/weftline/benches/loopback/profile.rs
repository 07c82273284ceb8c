//! Where the processor's time goes, layer by layer: samples of Linux's `perf`, sorted by function.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// The command that takes samples of what follows it, and of its children.
pub(crate) fn sampled(samples: &Path) -> Vec<String> {
    let samples = samples.to_string_lossy().into_owned();
    ["perf", "record", "--quiet", "--freq=1999", "--output"]
        .map(str::to_owned)
        .into_iter()
        .chain([samples, "--".to_owned()])
        .collect()
}

/// Can samples be taken here?
pub(crate) fn check() -> Result<()> {
    let works = Command::new("perf")
        .args(["record", "--quiet", "--output=/dev/null", "--", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    ensure!(
        works,
        "--profile needs the program perf and the right to use it: install it (Debian: apt-get \
         install linux-perf) and run this as root"
    );
    Ok(())
}

/// The name of each layer, and what the names of its functions contain. The first layer that matches
/// has the sample.
const LAYERS: &[(&str, &[&str])] = &[
    (
        "rate control",
        &["weftline_proto::rate", "weftline_proto::rtt"],
    ),
    ("scheme", &["weftline_proto::sender::scheme"]),
    ("flight and reports", &["weftline_proto::sender"]),
    (
        "receiver",
        &[
            "weftline_proto::receiver",
            "weftline_proto::clock",
            "weftline_proto::ranges",
        ],
    ),
    (
        "streams, messages",
        &[
            "weftline_proto::streams",
            "weftline_proto::messages",
            "weftline_proto::payload",
        ],
    ),
    ("session, datagrams", &["weftline_proto"]),
    ("codec", &["weftline_codec"]),
    ("driver, carrier", &["weftline"]),
    (
        "cipher",
        &["aws_lc", "rustls", "gcm", "aead", "aesni", "chacha"],
    ),
    ("QUIC", &["quinn"]),
    ("tasks, locks", &["tokio", "parking_lot", "futex::Mutex"]),
    (
        "memory",
        &[
            "malloc",
            "_int_free",
            "unlink_chunk",
            "cfree",
            "realloc",
            "alloc::",
        ],
    ),
    ("copies", &["memmove", "memcpy", "memset", "__mem"]),
];

/// Layers of the kernel, likewise.
const KERNEL: &[(&str, &[&str])] = &[
    (
        "kernel: files",
        &[
            "folio", "ext4", "shmem", "page", "vfs_", "iomap", "xas_", "iov_iter", "tmpfs",
        ],
    ),
    (
        "kernel: wake-ups",
        &[
            "futex",
            "switch",
            "sched",
            "wake",
            "epoll",
            "enqueue_task",
            "dequeue",
            "pick_next",
            "hrtimer",
            "spin_unlock_irqrestore",
            "idle",
        ],
    ),
    ("kernel: network", &[""]),
];

fn layer(function: &str, in_kernel: bool) -> &'static str {
    let layers = if in_kernel { KERNEL } else { LAYERS };
    let found = layers
        .iter()
        .find(|(_, parts)| parts.iter().any(|part| function.contains(part)));
    found.map_or("other", |(name, _)| name)
}

/// Samples of either end, by layer.
#[derive(Debug, Default)]
pub(crate) struct Profile(BTreeMap<&'static str, [u64; 2]>);

impl Profile {
    /// Reads what `perf record` has written; the threads of either end have its name.
    pub(crate) fn read(samples: &Path) -> Result<Self> {
        let output = Command::new("perf")
            .args(["script", "--fields", "comm,ip,sym,dso", "--input"])
            .arg(samples)
            .output()
            .context("perf script")?;
        ensure!(
            output.status.success(),
            "perf script failed: {}",
            output.status
        );
        let mut profile = Profile::default();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            profile.add(line);
        }
        ensure!(!profile.0.is_empty(), "perf has no samples of either end");
        Ok(profile)
    }

    /// A line has the thread, the address, the function and its object.
    fn add(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let end = match words.next() {
            Some("client") => 0,
            Some("server") => 1,
            _ => return,
        };
        let rest: Vec<&str> = words.skip(1).collect();
        let Some((object, function)) = rest.split_last() else {
            return;
        };
        let in_kernel = object.starts_with("([");
        let layer = layer(&function.join(" "), in_kernel);
        self.0.entry(layer).or_default()[end] += 1;
    }

    /// Shares of all samples, by layer.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (&'static str, [f64; 2])> {
        let all: u64 = self.0.values().flatten().sum();
        let share = move |n: u64| n as f64 / all.max(1) as f64;
        self.0
            .iter()
            .map(move |(name, ends)| (*name, ends.map(share)))
    }
}
