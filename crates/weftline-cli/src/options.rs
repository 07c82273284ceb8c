//! Options that several commands share, and the session that they configure.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use weftline::{
    Congestion, EndpointConfig, EventLogs, Fingerprint, Identity, KnownPeers, MAX_PATHS,
    ParsePathError, PathRequest, RateControl,
};

use weftline_apps::{Budget, Limits};

use crate::config::ConfigOptions;
use crate::event_logs;
use crate::peer::Peer;
use crate::preset::PresetChoice;
use crate::ui::{Failure, output};

/// How a session is protected and paced, and the identity of this host.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Session")]
pub(crate) struct SessionOptions {
    /// Key file of this host; created on first use [default: ~/.config/weftline/identity.pem]
    #[arg(long, value_name = "FILE")]
    pub identity: Option<PathBuf>,
    /// How lost packets are recovered: auto (repairs when they help most), streaming (evenly spaced
    /// repairs), rest, udp-rc, block, rlc-block, arq (retransmission); options of the engine may
    /// follow (docs/reference/presets.md), as in udp-rc,field=256
    #[arg(long, default_value = "auto", value_name = "NAME[,OPTION=VALUE...]")]
    pub preset: PresetChoice,
    /// Repair packets for each data packet, for example 0.15; with auto, an upper limit
    /// [default: the preset's]
    #[arg(long, value_name = "SHARE", value_parser = repair_share)]
    pub repair_share: Option<f64>,
    /// Send at most at this rate, whatever the network signals: for links you own, for example
    /// 20mbit
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub rate: Option<u64>,
    /// Keep at most this many bytes in flight, for example 190kB (rate times round-trip time)
    #[arg(long, value_name = "SIZE", value_parser = window)]
    pub window: Option<usize>,
    /// What decides the sending rate [default: engine]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<CongestionName>,
    /// Plain UDP: no encryption and no identities; both ends must ask for it
    #[arg(long)]
    pub insecure_udp: bool,
    /// Give up when the peer is silent for this long
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = timeout)]
    pub timeout: Duration,
    #[command(flatten)]
    logs: LogOptions,
}

/// The event logs of the sessions.
#[derive(Args, Clone, Debug)]
pub(crate) struct LogOptions {
    /// Write the event log of each session to a file of its own in this folder, as qlog: what was sent,
    /// received, decoded and delivered, packet by packet (docs/reference/event-log.md)
    #[arg(long, value_name = "DIR", help_heading = "Monitoring")]
    log_dir: Option<PathBuf>,
    /// Most bytes of the log of one session, at least 1 MiB; of a longer log the newest half or more
    /// is kept
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "64MB",
        value_parser = log_size,
        requires = "log_dir",
        help_heading = "Monitoring"
    )]
    log_size: u64,
}

impl LogOptions {
    /// Adds the logs to `config`.
    pub(crate) fn complete(&self, config: &mut EndpointConfig) {
        let dir = self.log_dir.as_ref();
        config.event_logs = dir.map(|dir| event_logs::of(dir, self.log_size));
    }
}

/// The paths of a client's sessions.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PathOptions {
    /// Use this path; repeat it to use several at once: a network interface (eth0, Linux), an address
    /// of this host (192.0.2.7), or another address of the server (to=198.51.100.1), or an interface or
    /// address and to= with a comma in between. `all` is each interface with a default route, as they
    /// come and go (Linux). A path with ,cost=1 carries data only while those
    /// of lower cost are not enough, or silent [default: the one that the system chooses]
    #[arg(
        long = "path",
        value_name = "PATH[,cost=N]",
        conflicts_with = "insecure_udp",
        help_heading = "Session"
    )]
    paths: Vec<PathName>,
}

/// A path, or all interfaces.
#[derive(Clone, Debug)]
enum PathName {
    All,
    One(PathRequest),
}

impl FromStr for PathName {
    type Err = ParsePathError;

    fn from_str(text: &str) -> Result<Self, ParsePathError> {
        match text {
            "all" => Ok(PathName::All),
            text => text.parse().map(PathName::One),
        }
    }
}

impl PathOptions {
    /// Adds the paths to `config`.
    ///
    /// # Errors
    /// They cannot be used together, or not with this session.
    pub(crate) fn complete(&self, config: &mut EndpointConfig) -> Result<(), Failure> {
        let named = self.paths.iter().filter_map(|path| match path {
            PathName::All => None,
            PathName::One(path) => Some(path.clone()),
        });
        let named: Vec<PathRequest> = named.collect();
        let all = named.len() < self.paths.len();
        if named.len() > MAX_PATHS {
            return Err(Failure::usage(format!(
                "--path: a session has at most {MAX_PATHS} paths"
            )));
        }
        let mut others = named.iter().enumerate();
        if let Some((_, twice)) = others.find(|(i, path)| named[..*i].contains(path)) {
            return Err(Failure::usage(format!("--path {twice} is given twice")));
        }
        let scheme = &config.session.scheme;
        if (all || named.len() > 1) && !scheme.takes_several_paths() {
            return Err(Failure::usage(format!(
                "--preset {} works over one path: use auto, streaming or arq with several",
                scheme.name()
            )));
        }
        config.paths = named;
        config.all_interfaces = all;
        Ok(())
    }
}

/// What the clients of a server may take, with all its services. A session counts with 1 MB and what
/// it holds.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Limits")]
pub(crate) struct LimitOptions {
    /// Most memory that one client may take, with all sessions and connections of its fingerprint.
    /// Beyond it, further ones are refused and the session that holds the most is closed
    #[arg(long, value_name = "SIZE", default_value = "512MB", value_parser = memory)]
    client_memory: u64,
    /// Most memory that all clients together may take
    #[arg(long, value_name = "SIZE", default_value = "4000MB", value_parser = memory)]
    memory: u64,
    /// Most sessions of one client
    #[arg(long, value_name = "NUMBER", default_value = "128", value_parser = clap::value_parser!(u32).range(1..))]
    client_sessions: u32,
    /// Most handshakes of clients under way at once, some 60 KB each; beyond it, the oldest unfinished
    /// one is given up
    #[arg(long, value_name = "NUMBER", default_value = "1536", value_parser = clap::value_parser!(u32).range(32..=65536), conflicts_with = "insecure_udp")]
    handshakes: u32,
}

impl LimitOptions {
    /// Gives the endpoint the limits that it counts itself.
    pub(crate) fn complete(&self, config: &mut EndpointConfig) {
        self.limits().complete(config);
    }

    /// Nothing of these limits is taken.
    pub(crate) fn budget(&self) -> Arc<Budget> {
        Budget::new(self.limits())
    }

    fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.client_memory = self.client_memory;
        limits.memory = self.memory;
        limits.client_sessions = self.client_sessions;
        limits.handshakes = self.handshakes;
        limits
    }
}

/// How long a transfer waits for its peer.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct StallOptions {
    /// Give up when the peer answers, but the transfer makes no progress for this long
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = stall_timeout,
        help_heading = "Session"
    )]
    pub stall_timeout: Duration,
}

/// How a session that replaces an earlier one starts.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AgainOptions {
    /// Start later sessions of the same run with data in the first packet (QUIC's 0-RTT), a round
    /// trip earlier; both ends must ask for it
    #[arg(
        long = "0rtt",
        conflicts_with = "insecure_udp",
        help_heading = "Session"
    )]
    pub early_data: bool,
    /// State that all sessions of this run share.
    #[arg(skip)]
    known_peers: KnownPeers,
}

impl AgainOptions {
    /// Adds the state of earlier sessions to `config`.
    pub(crate) fn complete(&self, config: &mut EndpointConfig) {
        config.early_data = self.early_data;
        config.known_peers = self.known_peers.clone();
    }
}

/// Congestion controllers by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CongestionName {
    /// Weftline's own: fills the path but keeps its queue short; random loss does not slow it
    Engine,
    /// CUBIC: fair to competing traffic, slow under random loss
    Cubic,
    /// BBR: keeps its rate under random loss, but overfills queues
    Bbr,
    /// NewReno: the simplest
    #[value(name = "newreno")]
    NewReno,
}

impl From<CongestionName> for Congestion {
    fn from(name: CongestionName) -> Self {
        match name {
            CongestionName::Engine => Congestion::Engine,
            CongestionName::Cubic => Congestion::Cubic,
            CongestionName::Bbr => Congestion::Bbr,
            CongestionName::NewReno => Congestion::NewReno,
        }
    }
}

impl SessionOptions {
    /// Whom a client connects to, and who it is itself; nobody with `--insecure-udp`.
    ///
    /// # Errors
    /// The peer's name is not known, or this host's key cannot be used.
    pub(crate) fn ends(
        &self,
        peer: Option<&Peer>,
        check: &ConfigOptions,
    ) -> Result<Option<(Fingerprint, Identity)>> {
        let Some(peer) = peer else {
            output::insecure();
            return Ok(None);
        };
        let identity = check.identity(self.identity.as_deref())?;
        Ok(Some((peer.fingerprint()?, identity)))
    }

    /// The endpoint configuration that the options describe.
    ///
    /// # Errors
    /// The options contradict each other.
    pub(crate) fn endpoint(&self) -> Result<EndpointConfig, Failure> {
        let fixed = self.rate.is_some() || self.window.is_some();
        let mut session = self.preset.config().map_err(Failure::usage)?;
        if let Some(share) = self.repair_share
            && !session.scheme.set_share(share)
        {
            let message = format!(
                "--repair-share has no meaning with --preset {}, which sends no repairs, or as many as are needed: choose another preset",
                self.preset
            );
            return Err(Failure::usage(message));
        }
        if fixed {
            session.rate = RateControl::Fixed {
                rate: self.rate,
                window: self.window.map(|bytes| bytes as u64),
            };
        }
        session.idle_timeout = self.timeout;
        // Well below the timeout, so that one lost probe does not end an idle session.
        session.keep_alive = Some((self.timeout / 4).min(Duration::from_secs(10)));
        let mut config = EndpointConfig::new(session);
        config.congestion = self.congestion.map(Into::into);
        config.connect_timeout = config.connect_timeout.min(self.timeout);
        self.logs.complete(&mut config);
        Ok(config)
    }
}

/// Repairs for each source symbol, as the engine expects it.
pub(crate) fn repair_share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().map(|p| p / 100.0),
        None => text.parse(),
    };
    share
        .ok()
        .filter(|s| (0.0..=4.0).contains(s))
        .ok_or_else(|| {
            format!("`{text}` is not a repair share: give 0 to 4, for example 0.15 or 15%")
        })
}

/// Bounds of times that several options have.
pub(crate) const SHORTEST: Duration = Duration::from_millis(100);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

/// The slowest rate at which a session still makes progress, in bit/s.
const MIN_RATE: u64 = 8_000;
/// The smallest window that holds a few packets, in bytes.
const MIN_WINDOW: usize = 3_000;

/// The rate of a session, which must get through.
pub(crate) fn rate(text: &str) -> Result<u64, String> {
    let rate = weftline_netem::units::parse_rate(text).map_err(|e| e.to_string())?;
    if rate < MIN_RATE {
        return Err("nothing would get through: give 8kbit or more".into());
    }
    Ok(rate)
}

fn memory(text: &str) -> Result<u64, String> {
    let size = weftline_netem::units::parse_size(text).map_err(|e| e.to_string())?;
    match u64::try_from(size) {
        Ok(size) if size >= Limits::LEAST_MEMORY => Ok(size),
        _ => Err(format!(
            "give {}MB or more",
            Limits::LEAST_MEMORY / 1_000_000
        )),
    }
}

fn log_size(text: &str) -> Result<u64, String> {
    let size = weftline_netem::units::parse_size(text).map_err(|e| e.to_string())? as u64;
    match size >= EventLogs::LEAST_SIZE {
        true => Ok(size),
        false => Err(format!("give {} (1 MiB) or more", EventLogs::LEAST_SIZE)),
    }
}

fn window(text: &str) -> Result<usize, String> {
    let window = weftline_netem::units::parse_size(text).map_err(|e| e.to_string())?;
    if window < MIN_WINDOW {
        return Err("too small for a few packets: give 3kB or more".into());
    }
    Ok(window)
}

pub(crate) fn timeout(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_secs(1)..=HOUR)
}

/// A peer that is busy says so every 5 s.
fn stall_timeout(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_secs(10)..=DAY)
}

/// How long to wait at most; not at all is possible.
pub(crate) fn wait(text: &str) -> Result<Duration, String> {
    within(text, Duration::ZERO..=HOUR)
}

/// How often something is printed.
pub(crate) fn stats(text: &str) -> Result<Duration, String> {
    within(text, SHORTEST..=DAY)
}

/// A time in this range, whose bounds are whole seconds or milliseconds.
pub(crate) fn within(text: &str, accepted: RangeInclusive<Duration>) -> Result<Duration, String> {
    let time = weftline_netem::units::parse_duration(text).map_err(|e| e.to_string())?;
    if accepted.contains(&time) {
        return Ok(time);
    }
    let [least, most] =
        [accepted.start(), accepted.end()].map(|bound| match bound.subsec_millis() {
            0 => format!("{}s", bound.as_secs()),
            _ => format!("{}ms", bound.as_millis()),
        });
    Err(format!("give {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Exit;
    use clap::Parser;
    use weftline::Config;

    #[derive(Parser)]
    struct Test {
        #[command(flatten)]
        session: SessionOptions,
        #[command(flatten)]
        paths: PathOptions,
    }

    fn endpoint(arguments: &[&str]) -> Result<EndpointConfig, Failure> {
        let test = Test::try_parse_from([&["x"], arguments].concat());
        let test = test.unwrap_or_else(|e| panic!("{e}"));
        let mut config = test.session.endpoint()?;
        test.paths.complete(&mut config)?;
        Ok(config)
    }

    #[test]
    fn a_time_out_of_range_is_refused_with_the_range() {
        assert_eq!(wait("0"), Ok(Duration::ZERO));
        assert_eq!(wait("3600s"), Ok(HOUR));
        assert_eq!(wait("3601s"), Err("give 0s to 3600s".to_owned()));
        assert_eq!(stats("99ms"), Err("give 100ms to 86400s".to_owned()));
        assert!(stats("soon").is_err());
    }

    #[test]
    fn paths_reach_the_session() {
        let config = endpoint(&["--path", "eth0", "--path", "192.0.2.7,cost=1"]).unwrap();
        let paths: Vec<String> = config.paths.iter().map(PathRequest::to_string).collect();
        assert_eq!(paths, ["eth0", "192.0.2.7,cost=1"]);
        assert!(!config.all_interfaces);
        assert!(endpoint(&["--preset", "block", "--path", "eth0"]).is_ok());
        let config = endpoint(&["--path", "all", "--path", "wwan0,cost=1"]).unwrap();
        assert!(config.all_interfaces && config.paths.len() == 1);
    }

    #[test]
    fn paths_that_cannot_be_used_say_why() {
        let twice = &["--path", "eth0", "--path", "eth0"][..];
        let block = &["--preset", "block", "--path", "eth0", "--path", "eth1"];
        let nine: Vec<String> = (0..9).map(|i| format!("--path=eth{i}")).collect();
        let nine: Vec<&str> = nine.iter().map(String::as_str).collect();
        for (arguments, why) in [
            (twice, "--path eth0 is given twice"),
            (block, "--preset block works over one path"),
            (&nine, "at most 8 paths"),
        ] {
            let error = endpoint(arguments).unwrap_err();
            assert!(error.message.contains(why), "{}", error.message);
        }
        let plain = Test::try_parse_from(["x", "--insecure-udp", "--path", "eth0"]);
        assert!(plain.is_err());
    }

    #[test]
    fn options_reach_the_session() {
        let config = endpoint(&[
            "--preset",
            "streaming",
            "--rate",
            "5mbit",
            "--window",
            "60kB",
            "--repair-share",
            "20%",
            "--timeout",
            "4s",
        ])
        .unwrap();
        assert_eq!(
            config.session.rate,
            RateControl::Fixed {
                rate: Some(5_000_000),
                window: Some(60_000)
            }
        );
        assert_eq!(config.session.scheme, Config::streaming().share(0.2).into());
        assert_eq!(config.session.keep_alive, Some(Duration::from_secs(1)));
        assert_eq!(config.congestion, None);
    }

    #[test]
    fn a_repair_share_is_the_limit_of_auto() {
        let config = endpoint(&["--repair-share", "0.2"]).unwrap();
        assert_eq!(config.session.scheme, Config::auto().overhead(0.2).into());
    }

    #[test]
    fn contradictions_name_the_flag_to_change() {
        let error = endpoint(&["--preset", "arq", "--repair-share", "0.1"]).unwrap_err();
        assert!(error.exit == Exit::Usage && error.message.contains("--preset arq"));
    }

    #[test]
    fn rates_and_windows_that_carry_nothing_are_refused() {
        for bad in ["0bit", "7kbit"] {
            assert!(rate(bad).unwrap_err().contains("8kbit"), "{bad}");
        }
        assert_eq!(rate("8kbit"), Ok(8_000));
        assert!(window("2999").or(window("2kB")).is_err());
        assert_eq!(window("3kB"), Ok(3_000));
    }

    #[test]
    fn a_stall_is_longer_than_a_busy_peer_is_silent() {
        assert_eq!(stall_timeout("10s"), Ok(Duration::from_secs(10)));
        assert!(stall_timeout("9s").unwrap_err().contains("10s"));
    }

    #[test]
    fn shares_have_bounds() {
        assert_eq!(repair_share("0.15"), Ok(0.15));
        for bad in ["-1", "5", "x", "NaN", ""] {
            assert!(repair_share(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn event_logs_have_a_folder_and_a_size() {
        let logs = |arguments| endpoint(arguments).unwrap().event_logs;
        assert!(logs(&[]).is_none());
        let given = logs(&["--log-dir", "logs", "--log-size", "2MB"]).expect("logs");
        assert_eq!(given.folder(), std::path::Path::new("logs"));
        assert!(Test::try_parse_from(["x", "--log-size", "2MB"]).is_err());
        assert!(log_size("1MB").is_err());
    }

    #[test]
    fn memory_that_no_session_can_do_with_is_refused() {
        assert_eq!(memory("10MB"), Ok(10_000_000));
        assert_eq!(memory("9MB"), Err("give 10MB or more".to_owned()));
    }
}
