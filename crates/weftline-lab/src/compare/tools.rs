//! The programs that measure peers, and which of them are available.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::load::{External, Mode, NAMES, Request, Side};

use super::peer::Peer;
use super::suite::Case;

/// Scripts that measure other programs, each by the name of its transport.
const SCRIPTS: [Script; 2] = [
    Script {
        name: "kcptun",
        text: include_str!("../../ext/kcptun.sh"),
        needs: ["kcptun-server", "kcptun-client"],
        package: "kcptun",
    },
    Script {
        name: RIST,
        text: include_str!("../../ext/rist.sh"),
        needs: ["ristsender", "ristreceiver"],
        package: "rist-tools",
    },
];
/// It carries messages, and no more than are offered.
const RIST: &str = "rist";
/// Weftline's programs that are built separately, by the names of their transports.
const HELPERS: [(&str, &str); 2] = [("srt", "weftline-load-srt"), ("udt", "weftline-load-udt")];
/// The receiver's port; flow i has this plus 10 i (kcptun uses the two ports after it, too).
const PORT: u16 = 5000;

struct Script {
    name: &'static str,
    text: &'static str,
    needs: [&'static str; 2],
    /// Debian's package of the programs that it needs.
    package: &'static str,
}

/// The available programs.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The program with the command `load`.
    pub lab: PathBuf,
    externals: Vec<External>,
    folder: PathBuf,
}

/// Why a peer is not available.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Missing(String);

impl Tools {
    /// `lab` is the program with the command `load`; `externals` are programs for other
    /// transports, which take precedence over built-in ones. `folder` receives unpacked files.
    pub fn new(lab: PathBuf, externals: Vec<External>, folder: &Path) -> Self {
        Tools {
            lab,
            externals,
            folder: folder.to_owned(),
        }
    }

    /// Whether `peer` can run `case`.
    ///
    /// # Errors
    /// The missing or wrong part.
    pub fn check(&self, case: &Case, peer: &Peer) -> Result<(), Missing> {
        let name = peer.transport.as_str();
        if self.is_builtin(name) {
            let settings = self.settings(case, peer);
            let request = Request::new(Side::Send, name, case.mode, "127.0.0.1", PORT, &settings);
            request.map_err(|e| Missing(e.to_string()))?;
            let is_multipath = name == "tcp" && peer.setting("paths") == Some("all");
            let has_multipath = fs::read_to_string("/proc/sys/net/mptcp/enabled");
            return match is_multipath && !has_multipath.is_ok_and(|on| on.trim() == "1") {
                true => Err(Missing("this kernel has no multipath TCP".to_owned())),
                false => Ok(()),
            };
        }
        if !case.others.is_empty() {
            let message = "flows that share a path are measured by `series=`, which only weftline, tcp, quinn and kcp have";
            return Err(Missing(message.to_owned()));
        }
        if case.setting("stamp").is_some() {
            let message = "`stamp=` is only for weftline, tcp, quinn and kcp";
            return Err(Missing(message.to_owned()));
        }
        if name == RIST && case.mode != Mode::Stream {
            return Err(Missing("it carries a stream only".to_owned()));
        }
        self.program(name).map(drop)
    }

    /// The command line of one end of flow `flow`: arguments for [`Tools::lab`], with the
    /// program of `--ext` among them.
    ///
    /// # Errors
    /// The program for this transport is missing.
    pub(super) fn arguments(
        &self,
        side: Side,
        mode: Mode,
        peer: &Peer,
        settings: &[String],
        flow: usize,
    ) -> Result<Vec<String>, Missing> {
        let name = peer.transport.as_str();
        let port = usize::from(PORT) + 10 * flow;
        let mut arguments: Vec<String> = ["load", side.name(), name, mode.name(), "b"]
            .map(str::to_owned)
            .into();
        arguments.push(port.to_string());
        arguments.extend_from_slice(settings);
        if !self.is_builtin(name) {
            let program = self.program(name)?;
            arguments.extend(["--ext".to_owned(), format!("{name}={}", program.display())]);
        }
        Ok(arguments)
    }

    /// All settings of a measured flow.
    pub(super) fn settings(&self, case: &Case, peer: &Peer) -> Vec<String> {
        let mut settings = [&case.settings, case.engine_for(peer), &peer.settings].concat();
        let is_stranger = self.externals.iter().any(|e| e.name == peer.transport);
        if case.mode == Mode::Stream && !is_stranger {
            // The interface does not require a distribution from external programs.
            settings.push("cdf=1".to_owned());
        }
        settings
    }

    fn is_builtin(&self, name: &str) -> bool {
        NAMES.contains(&name) && !self.externals.iter().any(|e| e.name == name)
    }

    /// The program for a transport that is not built in.
    fn program(&self, name: &str) -> Result<PathBuf, Missing> {
        if let Some(external) = self.externals.iter().find(|e| e.name == name) {
            return find(&external.program).ok_or_else(|| {
                Missing(format!(
                    "--ext {name}: there is no program {}",
                    external.program.display()
                ))
            });
        }
        if let Some(script) = SCRIPTS.iter().find(|script| script.name == name) {
            return self.unpack(script);
        }
        let Some((_, helper)) = HELPERS.iter().find(|(n, _)| *n == name) else {
            return Err(Missing(format!(
                "unknown transport `{name}`: use one of {}, srt, udt, kcptun, rist, or add a program \
                 with --ext {name}=PROGRAM",
                NAMES.join(", ")
            )));
        };
        let beside = self
            .lab
            .parent()
            .into_iter()
            .flat_map(|folder| [folder.join(helper), folder.join("../ext").join(helper)]);
        let here = Path::new("target/ext").join(helper);
        let mut found = beside.chain([here]).chain([PathBuf::from(helper)]);
        found.find_map(|program| find(&program)).ok_or_else(|| {
            Missing(format!(
                "{helper} is missing: build it with `make -C crates/weftline-lab/ext` \
                 (docs/reference/load.md), or name it with --ext {name}=PROGRAM"
            ))
        })
    }

    /// Unpacks a script and returns its path.
    fn unpack(&self, script: &Script) -> Result<PathBuf, Missing> {
        let Script { name, text, .. } = script;
        for program in script.needs {
            if find(Path::new(program)).is_none() {
                return Err(Missing(format!(
                    "{program} is not installed (Debian: {})",
                    script.package
                )));
            }
        }
        let script = self.folder.join(format!("{name}.sh"));
        let is_there = fs::read_to_string(&script).is_ok_and(|there| there == *text);
        if !is_there {
            let write = || -> io::Result<()> {
                fs::create_dir_all(&self.folder)?;
                fs::write(&script, text)?;
                fs::set_permissions(&script, fs::Permissions::from_mode(0o755))
            };
            write().map_err(|e| Missing(format!("{}: {e}", script.display())))?;
        }
        script
            .canonicalize()
            .map_err(|e| Missing(format!("{}: {e}", script.display())))
    }
}

/// A program's absolute path, looked up as in a shell.
fn find(program: &Path) -> Option<PathBuf> {
    let is_program = |path: &Path| {
        fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    if program.components().count() > 1 {
        return is_program(program)
            .then(|| program.canonicalize().ok())
            .flatten();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut all = std::env::split_paths(&path).map(|folder| folder.join(program));
    all.find(|path| is_program(path))
}

#[cfg(test)]
mod tests {
    use super::super::suite::Scale;
    use super::super::suites;
    use super::*;

    fn tools(externals: &[&str], folder: &Path) -> Tools {
        let externals = externals.iter().map(|e| e.parse().unwrap()).collect();
        Tools::new(folder.join("weftline-lab"), externals, folder)
    }

    fn case(suite: &str) -> Case {
        let suite = suites::by_name(suite, Scale::default()).unwrap();
        suite.cases.into_iter().next().unwrap()
    }

    fn problem(tools: &Tools, suite: &str, peer: &str) -> Option<String> {
        let checked = tools.check(&case(suite), &peer.parse().unwrap());
        checked.err().map(|e| e.to_string())
    }

    #[test]
    fn errors_about_missing_programs_name_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let tools = tools(&["mine=/no/such/program"], folder.path());
        assert_eq!(problem(&tools, "B", "weftline/streaming,l=5"), None);
        for (suite, peer, part) in [
            ("B", "weftline/none-such", "takes one of arq, block"),
            ("B", "mine", "/no/such/program"),
            ("B", "other", "--ext other=PROGRAM"),
            ("D", "mine", "series="),
            ("karzand", "mine", "stamp="),
        ] {
            let problem = problem(&tools, suite, peer).unwrap();
            assert!(problem.contains(part), "{peer}: {problem}");
        }
    }

    #[test]
    fn an_external_program_replaces_a_built_in_one_and_gets_only_the_interface() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("mine");
        fs::write(&program, "#!/bin/sh\n").unwrap();
        let ext = format!("tcp={}", program.display());
        let tools = tools(&[&ext], folder.path());
        assert!(problem(&tools, "B", "tcp").is_some(), "it cannot be run");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(problem(&tools, "B", "tcp"), None);
        let peer: Peer = "tcp/x=1".parse().unwrap();
        let case = case("B");
        let settings = tools.settings(&case, &peer);
        assert_eq!(settings, [&case.settings[..], &["x=1".to_owned()]].concat());
        let line = tools
            .arguments(Side::Recv, case.mode, &peer, &settings, 2)
            .unwrap();
        assert_eq!(line[..6], ["load", "recv", "tcp", "stream", "b", "5020"]);
        assert!(line.last().unwrap().starts_with("tcp=/"));
        let udp: Peer = "udp".parse().unwrap();
        assert!(tools.settings(&case, &udp).contains(&"cdf=1".to_owned()));
    }
}
