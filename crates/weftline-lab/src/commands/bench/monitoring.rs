//! `weftline-lab bench monitoring`: what it costs to watch a running program.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::json;
use tempfile::TempDir;
use weftline::Identity;
use weftline_cli::ui::{Exit, OutputOptions, output};
use weftline_netem::units;

use super::super::program;
use crate::chaos::program::Program;

const HELP: &str = "\
Two relays carry the same datagrams over loopback, one after the other: one is not watched. The other
one serves metrics, which are asked for each second, as are the figures for `weftline status`, and writes the
event log. The cost is the difference of the processor time of the two, in each round; its mean over
all rounds is printed, with the standard error of that, for the sending and the receiving end, as a share
of one processor. The kernel counts processor time in ticks of 10 ms: few short rounds tell little.

Examples:
  weftline-lab bench monitoring
  weftline-lab bench monitoring --rounds 20 --no-log";

/// Bytes of a datagram.
const DATAGRAM: usize = 1100;
/// How long a relay may take to start and to carry the first datagram.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long one answer of a watched program may take.
const ANSWER: Duration = Duration::from_secs(2);
/// Datagrams that must arrive for a round to count.
const ARRIVED: f64 = 0.95;

/// Measure what monitoring costs: metrics, views and event logs
#[derive(Args, Clone, Debug)]
#[command(after_help = HELP)]
pub(super) struct MonitoringArgs {
    /// Rate of the datagrams
    #[arg(long, value_name = "RATE", default_value = "100mbit", value_parser = rate)]
    rate: u64,
    /// Seconds of each half of a round
    #[arg(long, value_name = "SECS", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=30))]
    secs: u64,
    /// Rounds
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u64).range(2..=100))]
    rounds: u64,
    /// Write no event log
    #[arg(long)]
    no_log: bool,
    /// The program to measure [default: `weftline` beside this program]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

fn rate(text: &str) -> Result<u64, String> {
    let rate = units::parse_rate(text).map_err(|error| error.to_string())?;
    match (1_000_000..=10_000_000_000).contains(&rate) {
        true => Ok(rate),
        false => Err("give 1mbit to 10gbit".to_owned()),
    }
}

/// A relay: two programs.
struct Relay {
    /// The end that datagrams come to, and the other one.
    ends: [Program; 2],
    /// Where datagrams go.
    near: SocketAddr,
    /// Where they arrive.
    far: UdpSocket,
    /// Where each end serves its metrics, if it is watched.
    metrics: Option<[SocketAddr; 2]>,
    _home: TempDir,
}

impl Relay {
    fn start(program: &Path, watched: Option<&MonitoringArgs>) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let keys = ["near.pem", "far.pem"].map(|name| home.path().join(name));
        let [near_key, far_key] = [&keys[0], &keys[1]];
        let near_is = Identity::load_or_create(near_key)?.fingerprint();
        let far_is = Identity::load_or_create(far_key)?.fingerprint();
        let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let target = far.local_addr()?;
        // The ports are free, now.
        let [server, near] = [free_udp()?, free_udp()?];
        let metrics = match watched {
            Some(_) => Some([free_tcp()?, free_tcp()?]),
            None => None,
        };
        let start = |end: usize, arguments: String| -> Result<Program> {
            let mut arguments: Vec<String> =
                arguments.split_whitespace().map(str::to_owned).collect();
            arguments.extend(["--identity".to_owned(), keys[end].display().to_string()]);
            if let (Some(metrics), Some(args)) = (metrics, watched) {
                arguments.extend(["--metrics".to_owned(), metrics[end].to_string()]);
                if !args.no_log {
                    let logs = home.path().join("logs").display().to_string();
                    arguments.extend(["--log-dir".to_owned(), logs]);
                }
            }
            let folder = || home.path().to_owned();
            let environment = vec![("HOME", folder()), ("XDG_CONFIG_HOME", folder())];
            let mut program = Program::new(program.to_owned(), arguments, environment);
            program.start().context(
                "the program cannot be started: build it (`cargo build --release -p weftline-cli`), or name it with --program",
            )?;
            Ok(program)
        };
        let serve = format!("relay serve --listen {server} --allow {target} --peer {near_is}");
        let serve = start(1, serve)?;
        let connect = format!("relay connect {server} --peer {far_is} --udp {near}={target}");
        let connect = start(0, connect)?;
        let mut relay = Relay {
            ends: [connect, serve],
            near,
            far,
            metrics,
            _home: home,
        };
        relay.wait()?;
        Ok(relay)
    }

    /// Waits until a datagram goes through.
    fn wait(&mut self) -> Result<()> {
        let (from, until) = (
            UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?,
            Instant::now() + PATIENCE,
        );
        self.far
            .set_read_timeout(Some(Duration::from_millis(100)))?;
        while Instant::now() < until {
            for end in &mut self.ends {
                if end.ended()?.is_some() {
                    bail!("a relay has ended: {}", end.words());
                }
            }
            // Refused while nothing listens there.
            let _ = from.send_to(&[0; 8], self.near);
            if self.far.recv(&mut [0; 16]).is_ok() {
                return Ok(());
            }
        }
        bail!("a relay carries nothing: {}", self.ends[0].words())
    }

    /// Carries datagrams for some seconds; the shares of a processor that the ends took.
    fn carry(&self, rate: u64, time: Duration) -> Result<[f64; 2]> {
        let done = Arc::new(AtomicBool::new(false));
        let arrived = Arc::new(AtomicU64::new(0));
        let sink = {
            let (done, arrived, far) = (done.clone(), arrived.clone(), self.far.try_clone()?);
            thread::spawn(move || {
                let mut buffer = [0; 2 * DATAGRAM];
                loop {
                    match far.recv(&mut buffer) {
                        Ok(DATAGRAM) => drop(arrived.fetch_add(1, Ordering::Relaxed)),
                        Ok(_) => {}
                        // Nothing came for 100 ms: what was on its way has arrived.
                        Err(_) if done.load(Ordering::Relaxed) => return,
                        Err(_) => {}
                    }
                }
            })
        };
        let (stop, stopped) = channel();
        let watcher = (self.metrics).map(|metrics| thread::spawn(move || watch(metrics, &stopped)));
        let before = self.processor()?;
        let began = Instant::now();
        let sent = send(self.near, rate, time)?;
        let (after, took) = (self.processor()?, began.elapsed().as_secs_f64());
        done.store(true, Ordering::Relaxed);
        drop(stop);
        let threads = [Some(sink), watcher];
        if threads.into_iter().flatten().any(|t| t.join().is_err()) {
            bail!("a thread of this measurement has failed");
        }
        let share = arrived.load(Ordering::Relaxed) as f64 / sent as f64;
        if share < ARRIVED {
            bail!(
                "only {:.0} % of the datagrams arrived: this machine is too slow for the rate, or too busy",
                share * 1e2
            );
        }
        Ok([0, 1].map(|end| (after[end] - before[end]) / took))
    }

    fn processor(&self) -> Result<[f64; 2]> {
        Ok([self.ends[0].processor()?, self.ends[1].processor()?])
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.ends.iter_mut().for_each(Program::kill);
    }
}

fn free_udp() -> Result<SocketAddr> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

fn free_tcp() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

/// Sends datagrams at a rate; how many.
fn send(to: SocketAddr, rate: u64, time: Duration) -> Result<u64> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let each = (DATAGRAM * 8) as f64 / rate as f64;
    let (began, mut sent) = (Instant::now(), 0);
    while began.elapsed() < time {
        let due = (began.elapsed().as_secs_f64() / each) as u64;
        while sent < due {
            socket.send_to(&[7; DATAGRAM], to)?;
            sent += 1;
        }
        thread::sleep(Duration::from_micros(500));
    }
    Ok(sent)
}

/// Asks both ends for their metrics and figures, once a second until the sender of `stopped` is dropped.
fn watch(metrics: [SocketAddr; 2], stopped: &Receiver<()>) {
    let mut due = Instant::now();
    let left = |due: Instant| due.saturating_duration_since(Instant::now());
    while stopped.recv_timeout(left(due)) == Err(RecvTimeoutError::Timeout) {
        due += Duration::from_secs(1);
        for at in metrics {
            for path in ["/metrics", "/status.json"] {
                let answer = ask(at, path).expect("a watched program answers");
                assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            }
        }
    }
}

fn ask(at: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&at, ANSWER)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {at}\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

pub(super) fn run(args: &MonitoringArgs, output: OutputOptions) -> Result<Exit> {
    let program = program(args.program.clone())?;
    let relays = [None, Some(args)].map(|watched| Relay::start(&program, watched));
    let [plain, watched] = relays;
    let relays = [plain?, watched?];
    let time = Duration::from_secs(args.secs);
    // The first round warms both up.
    for relay in &relays {
        relay.carry(args.rate, Duration::from_secs(1))?;
    }
    let mut rounds: Vec<[[f64; 2]; 2]> = Vec::new();
    for round in 0..args.rounds {
        let mut shares = [[0.0; 2]; 2];
        // Either goes first as often.
        for half in 0..2 {
            let which = usize::from((round + half) % 2 == 1);
            shares[which] = relays[which].carry(args.rate, time)?;
        }
        rounds.push(shares);
    }
    let of = |value: &dyn Fn(&[[f64; 2]; 2]) -> f64| mean(rounds.iter().map(value).collect());
    let rows = [("sending", 0), ("receiving", 1)].map(|(name, end)| Row {
        end: name,
        plain: of(&|r| r[0][end]).0,
        watched: of(&|r| r[1][end]).0,
        cost: of(&|r| r[1][end] - r[0][end]),
    });
    print(args, &rows, &rounds, output);
    Ok(Exit::Ok)
}

/// Shares of a processor that one end takes.
struct Row {
    end: &'static str,
    plain: f64,
    watched: f64,
    /// The difference, and its standard error.
    cost: (f64, f64),
}

fn print(args: &MonitoringArgs, rows: &[Row], rounds: &[[[f64; 2]; 2]], output: OutputOptions) {
    if output.json {
        let rows = rows.iter().map(|row| {
            json!({ "end": row.end, "plain": row.plain, "watched": row.watched,
                "cost": row.cost.0, "error": row.cost.1 })
        });
        let (mbit, rows) = (args.rate as f64 / 1e6, rows.collect::<Vec<_>>());
        output::print(format_args!(
            "{}",
            json!({ "mbit": mbit, "log": !args.no_log, "ends": rows, "rounds": rounds })
        ));
        return;
    }
    output::print(format_args!(
        "share of one processor at {}, mean of {} rounds of {} s",
        units::rate(args.rate),
        args.rounds,
        args.secs
    ));
    output::print(format_args!(
        "{:<10} {:>9} {:>9} {:>18}",
        "end", "plain", "watched", "cost"
    ));
    for row in rows {
        output::print(format_args!(
            "{:<10} {:>7.2} % {:>7.2} % {:>7.2} +- {:.2} %",
            row.end,
            row.plain * 1e2,
            row.watched * 1e2,
            row.cost.0 * 1e2,
            row.cost.1 * 1e2
        ));
    }
}

/// The mean, and its standard error.
fn mean(values: Vec<f64>) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
    (mean, (squares / (n - 1.0) / n).sqrt())
}
