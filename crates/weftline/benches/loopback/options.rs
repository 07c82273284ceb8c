//! The command line.

use anyhow::{Context, Result, bail, ensure};

use crate::arguments::{Form, number};
use crate::engine::{Engine, Wire};

pub(crate) const HELP: &str = "\
cargo bench -p weftline --bench loopback -- [OPTIONS]

  --mib N          size of the file [default: 1024]
  --loss P,..      percent of packets lost, each way [default: 0,5]
  --mtu N,..       bytes of the longest packet [default: 1500]
  --rounds N       runs of each engine; medians are shown [default: 3]
  --limit SECONDS  end a run that takes longer; what arrived counts [default: 60]
  --gso            also with segmentation offload
  --only NAME,..   only engines whose names contain one of these
  --ping N         N messages of 64 bytes there and back instead of the file, one at a time
  --profile        also the processor time of each layer of either end (Linux, perf)
  --json           one JSON object instead of tables

The file and its copies are in the folder for temporary files (TMPDIR), and stay there if a run is
interrupted.";

pub(crate) const SHORT_FORM: &str =
    "short form: 64 MiB, one round, 10 s at most; see `-- --help` for one worth quoting";
pub(crate) const SMOKE_FORM: &str =
    "1 MiB without loss, to see that it works; `cargo bench` measures";

pub(crate) struct Options {
    pub(crate) form: Form,
    pub(crate) mib: u64,
    pub(crate) loss: Vec<u32>,
    pub(crate) mtu: Vec<u32>,
    pub(crate) rounds: u32,
    /// Seconds.
    pub(crate) limit: u64,
    pub(crate) engines: Vec<Engine>,
    /// Messages there and back, instead of the file.
    pub(crate) ping: Option<u32>,
    /// Take samples of what the processor does.
    pub(crate) profile: bool,
    pub(crate) json: bool,
}

impl Options {
    /// All paths, in the order in which they take turns.
    pub(crate) fn paths(&self) -> Vec<Wire> {
        let with = |mtu: u32| self.loss.iter().map(move |&loss| Wire { mtu, loss });
        self.mtu.iter().copied().flat_map(with).collect()
    }

    /// Reads the arguments; `None` is a request for help.
    pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Option<Self>> {
        let (form, args) = Form::read(args);
        let (mib, loss, rounds, limit) = match form {
            Form::Full => (1024, vec![0, 5], 3, 60),
            Form::Short => (64, vec![0, 5], 1, 10),
            Form::Smoke => (1, vec![0], 1, 10),
        };
        let mut options = Options {
            form,
            mib,
            loss,
            mtu: vec![1500],
            rounds,
            limit,
            engines: Vec::new(),
            ping: None,
            profile: false,
            json: false,
        };
        let (mut gso, mut only) = (false, Vec::new());
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
            match arg.as_str() {
                "--mib" => options.mib = number(&value()?, 1, 1 << 20)?,
                "--loss" => {
                    let list = value()?;
                    let list = list.split(',').map(|loss| number(loss, 0, 90));
                    options.loss = list.collect::<Result<_>>()?;
                }
                "--mtu" => {
                    let list = value()?;
                    let list = list.split(',').map(|mtu| number(mtu, 1280, 65_536));
                    options.mtu = list.collect::<Result<_>>()?;
                }
                "--rounds" => options.rounds = number(&value()?, 1, 1000)?,
                "--limit" => options.limit = number(&value()?, 1, 3600)?,
                "--gso" => gso = true,
                "--only" => only = value()?.split(',').map(str::to_owned).collect(),
                "--ping" => options.ping = Some(number(&value()?, 1, 1_000_000)?),
                "--profile" => options.profile = true,
                "--json" => options.json = true,
                "--help" => return Ok(None),
                other => bail!("`{other}` is not an option; the options are\n\n{HELP}"),
            }
        }
        if options.ping.is_some() && options.loss.iter().any(|&loss| loss > 0) {
            bail!("--ping is for a path without losses: add --loss 0");
        }
        options.engines = Engine::all(gso);
        if options.ping.is_some() {
            options.engines.retain(|engine| engine.has_messages());
        }
        options.engines.retain(|engine| {
            let name = engine.name();
            only.is_empty() || only.iter().any(|part| name.contains(part))
        });
        ensure!(!options.engines.is_empty(), "--only leaves no engine");
        Ok(Some(options))
    }
}
