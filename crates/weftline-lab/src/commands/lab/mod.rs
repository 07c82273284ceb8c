//! `weftline-lab run`, `on` and `compare`: real programs on an emulated path.

#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod on;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod signals;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::load::External;
use anyhow::Result;
use clap::{Args, ValueEnum};
use weftline_cli::ui::{OutputOptions, output};
use weftline_emulator::Event;
use weftline_netem::units::parse_duration;

/// Exit code of the laboratory itself, distinct from those of the command that it runs (as in `env`
/// and `timeout`).
const FAILED: u8 = 125;
/// Exit code when there is no such command.
#[cfg(target_os = "linux")]
const NOT_FOUND: u8 = 127;

const RUN_EXAMPLES: &str = "\
Examples:
  How fast is TCP with 5 % loss? Side a runs the command, side b the server:
    weftline-lab run --link 'rate=25mbit delay=30ms loss=iid:5%' --b 'iperf3 -s -1' -- iperf3 -c b

  Losses in bursts and a slower return path; side b answers pings without a command:
    weftline-lab run --link 'delay=30ms loss=ge:10%,4' --back 'delay=90ms' -- ping -c 20 b

  A script that starts programs on both sides:
    weftline-lab run --link wifi -- sh -c 'weftline-lab on b my-server & sleep 1; my-client b'

  Two modems, one of which is gone from 5 s to 8 s:
    weftline-lab run --link lte --link 'rate=20mbit delay=40ms loss=iid:1%' --at '5s ip link set lab0 down' \\
        --at '8s ip link set lab0 up; ip route add default dev lab0 metric 100' --b './server' -- ./client b

  A shell on side a; `weftline-lab on b` in another terminal gives one on side b:
    weftline-lab run --link lte

  The same losses every time, the counters in a file, the packets for Wireshark:
    weftline-lab run --link 'rate=10mbit delay=20ms queue=60ms,100pkt loss=iid:1%' --seed 7 \\
        --counters counters.json --pcap path.pcap --b './server' -- ./client b

Link parts, in any order (or the name of a link: perfect, wifi, lte, leo, satellite, awful, ...):
  rate=25mbit           serialisation; bit, kbit, mbit, gbit; trace:FILE a recorded link (mahimahi)
  delay=30ms            one way; trace:FILE a line in ms for each 10 ms
  jitter=1ms            a random time up to 1 ms more; 1ms,normal around the delay; 1ms,reorder
  steps=30ms,15s        30 ms more, and back, each 15 s
  bunch=2ms,30ms        hold packets for 2 to 30 ms, then deliver all at once
  police=10mbit,64kB    drop what is beyond this rate and burst
  queue=60ms,100pkt     drop-tail, by time, packets, bytes (64kB) or several; with a rate, 100ms
                        unless given
  ecn=5ms               from this queue on, mark packets that allow it instead of dropping them
  loss=iid:10%          each packet; ge:10%,4 mean loss and mean burst; ge4:p,r,1-h,1-k;
                        periodic:20; trace:0010; trace:FILE rates and losses over time
  reorder=1%:5ms        delay 1 % of the packets by 5 ms
  duplicate=0.5%        deliver 0.5 % of the packets twice
  mtu=1400              largest packet

The command runs on side a with the terminal, side b's standard output goes to standard error.
The sides know each other as a and b (a4, b4: IPv4 only; a6, b6: IPv6 only). They reach nothing else. With
several links each side has a device for each (lab0, lab1, ...), with an address that is called a.lab1 or
b.lab1, and a default route, the first link's preferred; multipath TCP knows all of them.
Exit codes: the command's own, or that of the command on side b if it failed by itself; 125 when the lab fails, 127 when there is no such command.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  What the suites do:
    weftline-lab compare list

  Delays of a stream under losses, with all installed peers, in two minutes:
    weftline-lab compare B --quick --out compare-b

  Two presets beside TCP with BBR, five seeds:
    weftline-lab compare B --peers weftline/arq,weftline/streaming,l=5,tcp/bbr --seeds 5 --out mine

  Files of 100 KB one after the other over a path of your own, as JSON:
    weftline-lab compare own --link 'rate=2mbit delay=10ms loss=iid:1%' --load 'xfer n=20 size=100000' \\
        --peers weftline/udp-rc,tcp/cubic,udt --json

  Recorded links, the short form, and a full run that can be stopped and continued:
    weftline-lab compare R --traces generated --quick --out compare-r
    weftline-lab compare R --traces ~/traces --out compare-r

  Your own program (docs/reference/load.md specifies its interface) beside the others:
    weftline-lab compare A --ext mine=./my-program --out with-mine

Peers: `weftline/streaming,l=5` is the transport `weftline` with preset=streaming l=5, `tcp/bbr` is
`tcp` with cc=bbr: a value without a name is the preset or the congestion control. srt, udt and
kcptun take part if their programs are installed (docs/reference/load.md).

DIR receives runs.jsonl, with a line for each run, and report.html, table.md and results.json.";

/// Run a command on side a of an emulated path, and optionally one on side b
///
/// An emulator joins two network namespaces, with the rate, queue, delay and losses that you
/// choose. When the command ends, everything is removed and the emulator's counters are printed.
#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// From a to b: the link's parts, or the name of a link (see below). Given again, a further link
    /// between the sides, over devices of its own: lab1, lab2, lab3
    #[arg(long, value_name = "LINK", required_unless_present = "paths")]
    link: Vec<String>,
    /// From b to a [default: same rate, delay, queue, outages and MTU, without loss; or as the named link
    /// says]. The second one is that of the second link
    #[arg(long, value_name = "LINK")]
    back: Vec<String>,
    /// In place of --link: two links with a name, as dual_lte, or dual_lte,reorder for jitter that
    /// reorders packets
    #[arg(long, value_name = "NAME", conflicts_with_all = ["link", "back"])]
    paths: Option<String>,
    /// At a time after the start, run a shell command on side a: '5s ip link set lab1 down'
    #[arg(long, value_name = "TIME COMMAND")]
    at: Vec<Event>,
    /// A shell command for side b, started before side a and ended after it
    #[arg(long, value_name = "COMMAND")]
    b: Option<String>,
    /// Seed of all random choices: the same seed loses the same packets, counted from the first
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// MTU of both sides' devices [default: that of the link, else 1500]
    #[arg(long, value_name = "BYTES")]
    mtu: Option<u16>,
    /// Write delivered packets of both directions to a capture file
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Write all counters to a file, as one line of JSON
    #[arg(long, value_name = "FILE")]
    counters: Option<PathBuf>,
    /// Longest wait for the command on side b to open a port before side a starts
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    ready: Duration,
    /// How long the command on side b may go on after side a has ended
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = parse_duration)]
    linger: Duration,
    /// The command for side a, and its arguments [default: a shell]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Run a command on one side of a running lab
///
/// Inside a lab, that lab is used; elsewhere the only running one, or the one that WEFTLINE_LAB
/// names.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  weftline-lab on b tcpdump -n")]
pub(crate) struct OnArgs {
    /// The side
    side: SideName,
    /// The command and its arguments [default: a shell]
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "COMMAND"
    )]
    command: Vec<OsString>,
}

/// Compare transports on an emulated path: tables, plots and a report
///
/// Every run is a fresh lab with `weftline-lab load` at both ends. Peers alternate over seeds. Each
/// run is kept as soon as it has ended, and the same command continues a stopped comparison. Runs
/// in which the machine could not keep up are repeated.
#[derive(Args, Debug)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// A, B, C, D, karzand, udp-rc, R or M; `list` describes each of them. `own` is a path and a workload
    /// of your own
    suite: String,
    /// R, M: a folder with recorded links, NAME.trace each in mahimahi's format, or `generated` for some
    /// that are made here
    #[arg(long, value_name = "FOLDER")]
    traces: Option<PathBuf>,
    /// own: the links from sender to receiver, in the form of `run`
    #[arg(long, value_name = "LINK")]
    link: Vec<String>,
    /// own: the links from receiver to sender, in the form of `run` [default: as for `run`]
    #[arg(long, value_name = "LINK", requires = "link")]
    back: Vec<String>,
    /// own: the workload with its settings, in the form of `load`: 'xfer n=10 size=100000'
    #[arg(long, value_name = "WORKLOAD", requires = "link")]
    load: Option<String>,
    /// Peers to compare, separated by commas: TRANSPORT or TRANSPORT/NAME=VALUE,... with the
    /// transports and settings of `load` [default: the suite's]
    #[arg(long, value_name = "PEERS")]
    peers: Option<String>,
    /// Only cases whose names contain one of these texts, separated by semicolons; `list` shows
    /// the names [default: all]
    #[arg(long, value_name = "TEXTS", value_delimiter = ';')]
    cases: Vec<String>,
    /// A program that measures its own transport and keeps the interface of `load`
    #[arg(long, value_name = "NAME=PROGRAM")]
    ext: Vec<External>,
    /// Runs of each case, with different losses [default: 3, and 1 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// Seconds of sending in each run, for suites that have such a time
    #[arg(long, value_name = "S", value_parser = seconds)]
    secs: Option<f64>,
    /// The short form of the suite: less than two minutes
    #[arg(long)]
    quick: bool,
    /// Leave out the given peers that cannot run here, as with the suite's own
    #[arg(long)]
    skip_missing: bool,
    /// Folder for the runs and the report [with --json: nothing is kept without it]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run nothing; write the report of the kept runs
    #[arg(long)]
    report_only: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s| (2.0..=3600.0).contains(s));
    seconds.ok_or_else(|| "give seconds, 2 to 3600".to_owned())
}

/// A side, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SideName {
    /// The side of the main command
    A,
    /// The other side
    B,
}

/// Runs `weftline-lab run`.
pub(crate) fn run(args: &RunArgs, output: OutputOptions) -> ExitCode {
    #[cfg(target_os = "linux")]
    return ended(run::run(args, output));
    #[cfg(not(target_os = "linux"))]
    return elsewhere((args, output));
}

/// Runs `weftline-lab on`.
pub(crate) fn on(args: &OnArgs) -> ExitCode {
    #[cfg(target_os = "linux")]
    return ended(on::run(args));
    #[cfg(not(target_os = "linux"))]
    return elsewhere(args);
}

/// Runs `weftline-lab compare`.
pub(crate) fn compare(args: &CompareArgs, output: OutputOptions) -> ExitCode {
    #[cfg(target_os = "linux")]
    return ended(compare::run(args, output));
    #[cfg(not(target_os = "linux"))]
    return elsewhere((args, output));
}

#[cfg(not(target_os = "linux"))]
fn elsewhere<T>(_: T) -> ExitCode {
    ended(Err(anyhow::anyhow!(
        "the laboratory needs Linux, for its network namespaces; `weftline demo` shows a lossy path everywhere"
    )))
}

/// The exit code, after telling what went wrong.
fn ended(result: Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        output::line(&format!("error: {error:#}"));
        ExitCode::from(FAILED)
    })
}

/// The command as typed, or the user's shell.
#[cfg(target_os = "linux")]
fn or_shell(command: &[OsString]) -> Vec<OsString> {
    if command.is_empty() {
        vec![std::env::var_os("SHELL").unwrap_or_else(|| "sh".into())]
    } else {
        command.to_vec()
    }
}

/// Whether a shell would find `program`.
#[cfg(target_os = "linux")]
fn exists(program: &OsString) -> bool {
    use std::path::Path;
    if program.to_string_lossy().contains('/') {
        return Path::new(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
