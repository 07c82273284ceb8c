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
use weftline_netem::units::parse_duration;

/// Exit code of the laboratory itself, apart from those of the command it runs (as `env` and
/// `timeout` have it).
const FAILED: u8 = 125;
/// Exit code when there is no such command.
#[cfg(target_os = "linux")]
const NOT_FOUND: u8 = 127;

const RUN_EXAMPLES: &str = "\
Examples:
  How fast is TCP where 5 % are lost? Side a runs the command, side b the server:
    weftline-lab run --link 'rate=25mbit delay=30ms loss=iid:5%' --b 'iperf3 -s -1' -- iperf3 -c b

  Nothing needs to run on side b to answer pings; losses in bursts, another way back:
    weftline-lab run --link 'delay=30ms loss=ge:10%,4' --back 'delay=90ms' -- ping -c 20 b

  A script that starts things on both sides:
    weftline-lab run --link wifi -- sh -c 'weftline-lab on b my-server & sleep 1; my-client b'

  A shell on side a; `weftline-lab on b` in another terminal gives one on side b:
    weftline-lab run --link lte

  The same losses every time, the counters in a file, the packets for Wireshark:
    weftline-lab run --link 'rate=10mbit delay=20ms queue=60ms,100pkt loss=iid:1%' --seed 7 \\
        --counters counters.json --pcap path.pcap --b './server' -- ./client b

Link parts, in any order (or the name of a link: clean, wifi, lte, leo, satellite, awful, ...):
  rate=25mbit           serialisation; bit, kbit, mbit, gbit
  delay=30ms            one way; jitter=1ms adds up to so much at random
  queue=60ms,100pkt     drop-tail, by time, packets, bytes (64kB) or several; with a rate, 100ms
                        unless given
  ecn=5ms               mark instead of drop, from this queue on, where packets allow it
  loss=iid:10%          each packet; ge:10%,4 mean loss and mean burst; ge4:p,r,1-h,1-k;
                        periodic:20; trace:0010; trace:FILE rates and losses over time
  reorder=1%:5ms        hold back so many for so long
  duplicate=0.5%        deliver so many twice
  mtu=1400              largest packet

The command runs on side a with the terminal, side b's standard output goes to standard error.
The sides know each other as a and b (a4, b4 by IPv4 and a6, b6 by IPv6 only) and nothing else.
Exit codes: the command's own; 125 when the lab fails, 127 when there is no such command.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  What the suites do:
    weftline-lab compare list

  Delays of a stream under losses, all peers that are installed, in two minutes:
    weftline-lab compare B --quick --out compare-b

  Two presets beside TCP with BBR, five seeds:
    weftline-lab compare B --peers weftline/arq,weftline/streaming,l=5,tcp/bbr --seeds 5 --out mine

  A program of yours (docs/reference/load.md has the contract) beside the others:
    weftline-lab compare A --ext mine=./my-program --out with-mine

Peers: `weftline/streaming,l=5` is the transport `weftline` with preset=streaming l=5, `tcp/bbr` is
`tcp` with cc=bbr: a value without a name is the preset or the congestion control. srt, udt and
kcptun take part where their programs are (docs/reference/load.md).

DIR gets runs.jsonl, a line for each run; report.html, table.md and results.json are made of it.";

/// Run a command on side a of an emulated path, and perhaps one on side b
///
/// Two network namespaces are joined by an emulator with rate, queue, delay and losses of your
/// choice. When the command ends, everything is removed and the emulator's counters are printed.
#[derive(Args, Debug)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArgs {
    /// From a to b: the link's parts, or the name of a link; see below
    #[arg(long, value_name = "LINK")]
    link: String,
    /// From b to a [default: same rate, delay, queue and MTU, nothing lost; or the named link's]
    #[arg(long, value_name = "LINK")]
    back: Option<String>,
    /// A shell command for side b, started first and ended when side a has ended
    #[arg(long, value_name = "COMMAND")]
    b: Option<String>,
    /// What chance draws from: the same seed loses the same packets, counted from the first
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// MTU of both sides' devices [default: that of the link, else 1500]
    #[arg(long, value_name = "BYTES")]
    mtu: Option<u16>,
    /// Write what is delivered, in both directions, to a capture file
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Write the counters to a file, as one line of JSON [default: to standard error]
    #[arg(long, value_name = "FILE")]
    counters: Option<PathBuf>,
    /// Wait so long at most for the command on side b to open a port before a starts
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = parse_duration)]
    ready: Duration,
    /// Let the command on side b go on for so long after a has ended, before it is ended
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = parse_duration)]
    linger: Duration,
    /// The command for side a, and its arguments [default: a shell]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Run a command on one side of a lab that is running
///
/// Inside a lab it is that one; elsewhere the only one there is, or the one named by WEFTLINE_LAB.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  weftline-lab on b tcpdump -n")]
pub(crate) struct OnArgs {
    /// Which side
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
/// Every run is a fresh lab with `weftline-lab load` at both ends. Peers alternate over seeds, each run
/// is kept as soon as it has ended, and the same command goes on where it was stopped; runs in
/// which the machine could not keep up are repeated.
#[derive(Args, Debug)]
#[command(after_help = COMPARE_EXAMPLES)]
pub(crate) struct CompareArgs {
    /// A, B, C, D, karzand or udp-rc; `list` tells what each does
    suite: String,
    /// Who is compared, separated by commas: TRANSPORT or TRANSPORT/NAME=VALUE,... with the
    /// transports and settings of `load` [default: the suite's]
    #[arg(long, value_name = "PEERS")]
    peers: Option<String>,
    /// Only the cases whose names contain one of these texts, separated by semicolons; `list` has
    /// the names [default: all]
    #[arg(long, value_name = "TEXTS", value_delimiter = ';')]
    cases: Vec<String>,
    /// A program that measures a transport of its own, to the contract of `load`
    #[arg(long, value_name = "NAME=PROGRAM")]
    ext: Vec<External>,
    /// Runs of each, with other losses [default: 3, and 1 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// How long is sent in each run, in seconds, where the suite has such a time
    #[arg(long, value_name = "S", value_parser = seconds)]
    secs: Option<f64>,
    /// The small form of the suite: below two minutes
    #[arg(long)]
    quick: bool,
    /// Where the runs are kept and the report is written
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Run nothing; make the report from the runs that are there
    #[arg(long)]
    report_only: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s| (2.0..=3600.0).contains(s));
    seconds.ok_or_else(|| "give seconds, 2 to 3600".to_owned())
}

/// A side by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SideName {
    /// Where the main command runs
    A,
    /// The other one
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

/// Whether `program` can be found as a shell would.
#[cfg(target_os = "linux")]
fn exists(program: &OsString) -> bool {
    use std::path::Path;
    if program.to_string_lossy().contains('/') {
        return Path::new(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}
