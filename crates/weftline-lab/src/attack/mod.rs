//! Attacks: floods from strangers against a server with a hundred good sessions.
//!
//! The server is `weftline serve` in a process of its own, on a processor of its own. The good sessions
//! are the client ends of its services in this process: UDP flows, TCP connections and files. Before, during
//! and after each flood it is measured how much of what they send is answered and when, how fast an allowed
//! newcomer gets in, and what the server costs: processor, memory, and lines that it prints.
//!
//! | file | contents |
//! | --- | --- |
//! | `counts` | what good sessions sent, and what came back |
//! | `flood` | what strangers send, from one address or a thousand |
//! | `initial` | QUIC's first packets, from a real client's handshake |
//! | `good` | the good sessions, and newcomers |
//! | `server` | the server's process, and what it costs |

mod counts;
mod flood;
mod good;
mod initial;
mod server;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;

use flood::Flood;
pub use flood::Kind;
use good::Good;
use server::{Apart, Server};

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program `weftline`.
    pub program: PathBuf,
    /// Good sessions.
    pub sessions: usize,
    /// Seconds of each flood; half as many before and after.
    pub secs: f64,
    /// Packets, or handshakes, a second.
    pub rates: Vec<u32>,
    /// What strangers send.
    pub kinds: Vec<Kind>,
    /// Addresses from which it comes.
    pub sources: Vec<usize>,
}

/// What was measured in one flood.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// What strangers sent.
    pub flood: &'static str,
    /// From how many addresses.
    pub sources: usize,
    /// Packets that they should send, or handshakes that they should begin, each second.
    pub rate: u32,
    /// Those that they sent, or began, each second.
    pub sent: f64,
    /// Handshakes that proved their address each second; zero for other kinds.
    pub proved: f64,
    /// Answers that the good sessions got for each datagram, message or file: before, during and after.
    pub answered: [f64; 3],
    /// Seconds until an answer came, median and 99th percentile: before and during; `None` without answers.
    pub delays: [[Option<f64>; 2]; 2],
    /// How busy the server's processor was, before and during, also with what the kernel does.
    pub processor: [f64; 2],
    /// Memory of the server before the flood, and the most during it, bytes.
    pub memory: [u64; 2],
    /// Lines that the server printed each second, before and during.
    pub lines: [f64; 2],
    /// Seconds that newcomers needed, sorted; one that did not get in counts as infinite.
    pub newcomers: Vec<f64>,
}

impl Row {
    /// Answers during the flood for those before.
    pub fn kept(&self) -> f64 {
        self.answered[1] / self.answered[0]
    }
}

/// What this share of sorted values did not exceed.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((share * last as f64).ceil() as usize).copied()
}

/// Runs each kind of flood from each number of addresses at each rate; `report` is told of each row.
///
/// # Errors
/// The server or the good sessions cannot be started.
pub fn run(options: &Options, mut report: impl FnMut(&Row)) -> Result<Vec<Row>> {
    let apart = Apart::new()?;
    let mut rows = Vec::new();
    for kind in &options.kinds {
        for sources in &options.sources {
            for rate in &options.rates {
                let row = one(options, &apart, *kind, *sources, *rate)
                    .with_context(|| format!("{} from {sources} addresses", kind.name()))?;
                report(&row);
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

/// Seconds until what was begun before has been answered.
const SETTLE: f64 = 3.0;
/// Newcomers that try at the same time as a flood, each second.
const NEWCOMERS: u32 = 20;

fn one(options: &Options, apart: &Apart, kind: Kind, sources: usize, rate: u32) -> Result<Row> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let secure = kind != Kind::Hellos;
    let good = runtime.block_on(Good::new(options.sessions, secure))?;
    let mut server = Server::start(&options.program, good.target(), &good.fingerprints(), apart)?;
    let address = server.address();
    let began = runtime.block_on(good.connect(address, server.fingerprint()));
    began.with_context(|| format!("the server said: {}", server.words()))?;
    let flood = runtime.block_on(Flood::prepare(
        kind,
        address,
        server.fingerprint(),
        sources,
        &good,
    ))?;

    let (short, long) = (options.secs / 2.0, options.secs);
    let rest = |secs: f64| std::thread::sleep(Duration::from_secs_f64(secs));
    rest(SETTLE);
    good.delays();
    let (before, idle, quiet) = (good.counts(), apart.busy()?, server.lines());
    rest(short);
    let (calm, start, usual) = (good.counts(), apart.busy()?, server.lines());
    let (memory, early) = (server.memory()?, good.delays());

    let newcomers =
        secure.then(|| good.newcomers(&runtime, address, server.fingerprint(), NEWCOMERS));
    let running = flood.start(rate);
    let mut most = memory;
    for _ in 0..(10.0 * long) as u32 {
        rest(0.1);
        most = most.max(server.memory()?);
    }
    let [sent, proved] = running.stop().map(|count| count as f64 / long);
    let (stormy, end, many) = (good.counts(), apart.busy()?, server.lines());
    let late = good.delays();
    let newcomers = newcomers.map_or_else(Vec::new, |newcomers| newcomers.stop(&runtime));
    rest(SETTLE);
    let settled = good.counts();
    rest(short);
    let after = good.counts();
    server.check()?;
    runtime.shutdown_background();
    Ok(Row {
        flood: kind.name(),
        sources,
        rate,
        sent,
        proved,
        answered: [
            calm.since(&before),
            stormy.since(&calm),
            after.since(&settled),
        ],
        delays: [early, late].map(|sorted| [0.5, 0.99].map(|share| quantile(&sorted, share))),
        processor: [(start - idle) / short, (end - start) / long],
        memory: [memory, most],
        lines: [(usual - quiet) as f64 / short, (many - usual) as f64 / long],
        newcomers,
    })
}

/// Addresses of this host, of which strangers have as many as they want: each in a network (/24) of its own.
fn source(index: usize) -> SocketAddr {
    let [second, third] = [1 + (index / 250) as u8, (index % 250) as u8];
    (Ipv4Addr::new(127, second, third, 1), 0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_compares_with_the_time_before() {
        let row = Row {
            flood: "garbage",
            sources: 1,
            rate: 1000,
            sent: 1000.0,
            proved: 0.0,
            answered: [0.8, 0.4, 0.8],
            processor: [0.1, 0.2],
            memory: [1, 2],
            delays: [[Some(0.001); 2], [None; 2]],
            lines: [0.0, 1.0],
            newcomers: vec![0.1, 0.2, f64::INFINITY],
        };
        assert_eq!(row.kept(), 0.5);
        assert_eq!(quantile(&row.newcomers, 0.5), Some(0.2));
        assert_eq!(quantile(&row.newcomers, 0.99), Some(f64::INFINITY));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(source(0).to_string(), "127.1.0.1:0");
        assert_eq!(source(59_999).to_string(), "127.240.249.1:0");
    }
}
