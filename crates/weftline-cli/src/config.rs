//! Configuration files: `--config FILE` stands for the options that the file gives.
//!
//! The keys of a file are the names of a command's options and operands, so a file says what a command
//! line says, and the same parser checks it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::builder::ArgAction;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command};
use toml::{Table, Value};
use weftline::{EventLogs, Identity};

use crate::cli;
use crate::home;
use crate::serve;
use crate::ui::{Exit, Failure};

/// Longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// A file with options.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Configuration")]
pub(crate) struct ConfigOptions {
    /// Read options from this TOML file: `listen = 9338`, `allow = ["10.0.0.0/8:80", "db:5432"]`,
    /// `overwrite = true`. Options on the command line replace those of the file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Check options, key, lists, certificates and folders, and end: with code 0 if the command would start
    /// with them. Nothing is made or opened
    #[arg(long)]
    check: bool,
}

impl ConfigOptions {
    /// The file, if there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// This host's key. Only to be checked, one that does not exist is not made: another one stands for it.
    ///
    /// # Errors
    /// The file can neither be read nor created.
    pub(crate) fn identity(&self, chosen: Option<&Path>) -> Result<Identity> {
        let path = home::identity_file(chosen)?;
        if self.check && !path.exists() {
            self.writes(path.parent())?;
            return Ok(Identity::generate());
        }
        Ok(home::identity(chosen)?.0)
    }

    /// Whether the command is only to be checked.
    pub(crate) fn only_checks(&self) -> bool {
        self.check
    }

    /// Call this for each folder that the command will write to; without one it is the current one.
    ///
    /// # Errors
    /// `--check` was given, and the folder cannot be made, or not be written to.
    pub(crate) fn writes(&self, folder: Option<&Path>) -> Result<(), Failure> {
        match self.check {
            true => home::writable(folder.unwrap_or(Path::new(""))),
            false => Ok(()),
        }
    }

    /// The options of a command with those of a table of the file.
    ///
    /// # Errors
    /// The table gives what the command does not have, or lacks what it needs.
    pub(crate) fn options<A: Args>(&self, name: &str, table: &Table) -> Result<A, Failure> {
        let file = self.config.clone().unwrap_or_default();
        let given = matches::<A>(&file, name, table)?;
        A::from_arg_matches(&given)
            .map_err(|error| wrong(&file, &format!("[{name}]: {}", in_short(&error))))
    }

    /// Call this when all is checked, before anything is opened. `logs` are those of the sessions.
    ///
    /// # Errors
    /// `--check` was given: there is no more to do.
    pub(crate) fn checked(&self, logs: Option<&EventLogs>) -> Result<(), Failure> {
        if let Some(logs) = logs {
            self.writes(Some(logs.folder()))?;
        }
        match self.check {
            true => Err(Failure::new(Exit::Ok, "the options are right")),
            false => Ok(()),
        }
    }
}

/// What a table of the file gives, for a command with these options.
///
/// # Errors
/// The table gives what the command does not have, or lacks what it needs.
pub(crate) fn matches<A: Args>(
    file: &Path,
    name: &str,
    table: &Table,
) -> Result<ArgMatches, Failure> {
    let wrong = |why: String| wrong(file, &format!("[{name}]: {why}"));
    let mut command = A::augment_args(Command::new("weftline").no_binary_name(true));
    command.build();
    let shared = table.keys().find(|key| SHARED.contains(&key.as_str()));
    if let Some(key) = shared {
        return Err(wrong(format!(
            "`{key}` is for all services: it stands before the first table"
        )));
    }
    let own = |arg: &Arg| !SHARED.contains(&arg.get_long().unwrap_or_default());
    let words = options_of(table, &command, own, |_| false).map_err(wrong)?;
    let parsed = command.try_get_matches_from(words);
    parsed.map_err(|error| wrong(in_short(&error)))
}

/// Options of a service that all services of `weftline serve` share.
const SHARED: &[&str] = &[
    "0rtt",
    "check",
    "client-memory",
    "client-sessions",
    "congestion",
    "handshakes",
    "identity",
    "listen",
    "log-dir",
    "log-size",
    "memory",
    "metrics",
    "stats",
    "timeout",
];

fn wrong(file: &Path, why: &str) -> Failure {
    let message = format!("--config {}: {why}", file.display());
    Failure::usage(message)
}

/// What the parser says of a mistake, without the usage.
fn in_short(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.split("\n\n").next().unwrap_or_default();
    text.trim_start_matches("error: ").to_owned()
}

/// What the command line of this program says, with its file as it is now.
pub(crate) struct OptionsNow {
    /// The options of the command itself.
    given: ArgMatches,
    /// Those of each table.
    tables: Vec<(String, ArgMatches)>,
}

impl OptionsNow {
    /// Reads the file again.
    ///
    /// # Errors
    /// It cannot be read, or the program would not start with it.
    pub(crate) fn read() -> Result<Self, Failure> {
        let Expanded { words, tables } = cli::expanded()?;
        let parsed = cli::command().try_get_matches_from(words);
        let mut given = parsed.map_err(|error| Failure::usage(in_short(&error)))?;
        while let Some((_, its)) = given.remove_subcommand() {
            given = its;
        }
        let file = given.try_get_one::<PathBuf>("config").ok().flatten();
        let file = file.cloned().unwrap_or_default();
        let tables = tables.into_iter().map(|(name, table)| {
            let its = serve::table(&file, &name, &table)?;
            Ok((name, its))
        });
        Ok(OptionsNow {
            tables: tables.collect::<Result<_, Failure>>()?,
            given,
        })
    }

    /// The values of an option in this table; those of the command itself count for all tables.
    ///
    /// # Errors
    /// The table is gone.
    pub(crate) fn of<T>(&self, table: Option<&str>, option: &str) -> Result<Vec<T>, Failure>
    where
        T: Clone + Send + Sync + 'static,
    {
        let its = table.map(|table| {
            let its = self.tables.iter().find(|(name, _)| name == table);
            its.ok_or_else(|| {
                let message =
                    format!("[{table}] is gone: to end that service, start this one again");
                Failure::usage(message)
            })
        });
        let its = its.transpose()?.map(|(_, its)| its);
        let given = [Some(&self.given), its].into_iter().flatten();
        let values = given.filter_map(|given| given.try_get_many::<T>(option).ok().flatten());
        Ok(values.flatten().cloned().collect())
    }
}

/// A command line with what its configuration file gives.
pub(crate) struct Expanded {
    /// The words of the command line, and those that the file stands for.
    pub(crate) words: Vec<OsString>,
    /// The tables of the file of `weftline serve`, a service each.
    pub(crate) tables: Tables,
}

/// Tables of a file by their names.
pub(crate) type Tables = Vec<(String, Table)>;

/// The command line, with what its configuration file gives and the command line does not.
///
/// # Errors
/// The file cannot be read, is not TOML, or gives what the command does not have.
pub(crate) fn expand(words: Vec<OsString>, mut program: Command) -> Result<Expanded, Failure> {
    let plain = |words| {
        Ok(Expanded {
            words,
            tables: Vec::new(),
        })
    };
    // What is missing may be in the file, and what is wrong is told by the parse that counts.
    let trial = program.clone().ignore_errors(true);
    let Ok(matches) = trial.try_get_matches_from(&words) else {
        return plain(words);
    };
    // Commands learn of the options that all have.
    program.build();
    let (mut command, mut given) = (&program, &matches);
    while let Some((name, its)) = given.subcommand()
        && let Some(found) = command.find_subcommand(name)
    {
        (command, given) = (found, its);
    }
    let Ok(Some(file)) = given.try_get_one::<PathBuf>("config") else {
        return plain(words);
    };
    let is_given = |arg: &Arg| {
        let source = given.value_source(arg.get_id().as_str());
        source == Some(ValueSource::CommandLine)
    };
    let mut tables = Vec::new();
    let added = read(file).and_then(|mut table| {
        let serve = program.find_subcommand("serve");
        if serve.is_some_and(|serve| std::ptr::eq(serve, command)) {
            table.retain(|name, value| match value {
                Value::Table(table) => {
                    tables.push((name.to_owned(), std::mem::take(table)));
                    false
                }
                _ => true,
            });
        }
        options_of(&table, command, |_| true, is_given)
    });
    let added = added.map_err(|why| wrong(file, &why))?;
    let mut all = words;
    let end = all.iter().position(|word| word == "--");
    let end = end.unwrap_or(all.len());
    all.splice(end..end, added);
    Ok(Expanded { words: all, tables })
}

fn read(file: &Path) -> Result<Table, String> {
    let metadata = std::fs::metadata(file).map_err(|e| e.to_string())?;
    if metadata.len() > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes"));
    }
    let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
    text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().map_or(0, |span| span.start);
        let lines = text.bytes().take(before).filter(|byte| *byte == b'\n');
        format!("line {}: {}", lines.count() + 1, error.message())
    })
}

/// The words of a command line that say what the table says, except for what `is_given` already. The table
/// `has` these options of the command.
fn options_of(
    table: &Table,
    command: &Command,
    has: impl Fn(&Arg) -> bool,
    is_given: impl Fn(&Arg) -> bool,
) -> Result<Vec<OsString>, String> {
    let mut options = Vec::new();
    let mut operands = Vec::new();
    for (key, value) in table {
        let its = |arg: &&Arg| match arg.is_positional() {
            true => arg.get_id() == key.as_str(),
            false => arg.get_long() == Some(key),
        };
        let can_have = |arg: &&Arg| has(arg) && arg.get_long() != Some("config");
        let Some(arg) = command.get_arguments().filter(can_have).find(its) else {
            return Err(unknown(key, command.get_arguments().filter(can_have)));
        };
        if is_given(arg) {
            continue;
        }
        if arg.is_positional() {
            let values = texts(key, value)?.into_iter().map(OsString::from);
            operands.push((arg.get_index(), values.collect::<Vec<_>>()));
            continue;
        }
        let long = format!("--{key}");
        match (arg.get_action(), value) {
            (ArgAction::SetTrue, Value::Boolean(true)) => options.push(long.into()),
            (ArgAction::SetTrue, Value::Boolean(false)) => {}
            (ArgAction::Count, Value::Integer(count @ 0..=9)) => {
                options.extend((0..*count).map(|_| long.clone().into()));
            }
            (ArgAction::Count, _) => return Err(format!("`{key}` is a number from 0 to 9")),
            (ArgAction::SetTrue, _) => return Err(format!("`{key}` is true or false")),
            // Its value may be left out.
            (_, Value::Boolean(is_on)) if takes_none(arg) => {
                options.extend(is_on.then(|| long.into()));
            }
            _ => {
                let values = texts(key, value)?;
                options.extend(values.iter().map(|text| format!("{long}={text}").into()));
            }
        }
    }
    operands.sort_by_key(|(index, _)| *index);
    options.extend(operands.into_iter().flat_map(|(_, values)| values));
    Ok(options)
}

/// The values as they would be typed.
fn texts(key: &str, value: &Value) -> Result<Vec<String>, String> {
    match value {
        Value::String(text) => Ok(vec![text.clone()]),
        Value::Integer(number) => Ok(vec![number.to_string()]),
        Value::Float(number) => Ok(vec![number.to_string()]),
        Value::Array(values) => {
            let all: Result<Vec<_>, _> = values.iter().map(|v| texts(key, v)).collect();
            Ok(all?.concat())
        }
        _ => Err(format!("`{key}` is a text, a number or a list of them")),
    }
}

fn takes_none(arg: &Arg) -> bool {
    arg.get_num_args()
        .is_some_and(|range| range.min_values() == 0)
}

fn unknown<'a>(key: &str, all: impl Iterator<Item = &'a Arg>) -> String {
    let names = all.filter(|arg| !arg.is_hide_set()).filter_map(|arg| {
        let operand = arg.is_positional().then(|| arg.get_id().as_str());
        arg.get_long().or(operand)
    });
    let wanted: Vec<&str> = names
        .filter(|name| !["help", "version"].contains(name))
        .collect();
    format!(
        "`{}` is no option of this command; there are {}",
        weftline_apps::printable(key),
        wanted.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Program {
        #[command(subcommand)]
        sub: Sub,
    }

    #[derive(Debug, clap::Subcommand)]
    enum Sub {
        #[command(name = "run")]
        Serve(Serve),
        Other,
    }

    #[derive(Args, Debug)]
    struct Serve {
        folder: Option<PathBuf>,
        #[arg(long)]
        listen: Option<String>,
        #[arg(short = 'A', long, value_delimiter = ',')]
        allow: Vec<String>,
        #[arg(long)]
        overwrite: bool,
        #[arg(short, long, action = clap::ArgAction::Count)]
        verbose: u8,
        #[command(flatten)]
        _config: ConfigOptions,
    }

    fn expanded(text: &str, words: &[&str]) -> Result<Serve, String> {
        use clap::CommandFactory;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("serve.toml");
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let words = words.iter().map(|word| word.replace("FILE", file).into());
        let words = [OsString::from("x")].into_iter().chain(words).collect();
        let words = expand(words, Program::command())
            .map_err(|e| e.message)?
            .words;
        match Program::try_parse_from(words)
            .map_err(|e| e.to_string())?
            .sub
        {
            Sub::Serve(serve) => Ok(serve),
            Sub::Other => Err("the other command".into()),
        }
    }

    const ALL: &str =
        "folder = 'in box'\nlisten = 9338\nallow = ['a:1', 'b:2']\noverwrite = true\n";

    #[test]
    fn a_mistake_is_told_in_one_line_with_its_place() {
        let error = expanded("listen = 1\n\nlisten = 2\n", &["run", "--config", "FILE"]);
        let error = error.unwrap_err();
        assert!(
            error.ends_with("serve.toml: line 3: duplicate key"),
            "{error}"
        );
    }

    #[test]
    fn a_file_says_what_a_command_line_says() {
        for words in [&["run", "--config", "FILE"][..], &["run", "--config=FILE"]] {
            let serve = expanded(ALL, words).unwrap();
            assert_eq!(serve.folder.as_deref(), Some(Path::new("in box")));
            assert_eq!(serve.listen.as_deref(), Some("9338"));
            assert_eq!(serve.allow, ["a:1", "b:2"]);
            assert!(serve.overwrite);
        }
    }

    #[test]
    fn the_command_line_replaces_what_the_file_gives() {
        let words = ["run", "--listen", "1", "--config", "FILE", "--allow=c:3"];
        let serve = expanded(ALL, &words).unwrap();
        assert_eq!(serve.listen.as_deref(), Some("1"));
        assert_eq!(serve.allow, ["c:3"]);
        let words = ["run", "--config", "FILE", "-A", "c:3"];
        assert_eq!(expanded(ALL, &words).unwrap().allow, ["c:3"]);
        assert_eq!(expanded("verbose = 2", &words).unwrap().verbose, 2);
        let words = ["run", "--config", "FILE", "-v"];
        assert_eq!(expanded("verbose = 2", &words).unwrap().verbose, 1);
        // As the parser reads them: a letter among others, a value that looks like an option, an operand.
        let words = ["run", "-vvA", "c:3", "--config", "FILE"];
        let serve = expanded("verbose = 1\nallow = 'a:1'", &words).unwrap();
        assert_eq!((serve.verbose, serve.allow), (2, vec!["c:3".to_owned()]));
        let words = ["run", "--config", "FILE", "-A-v"];
        let serve = expanded("verbose = 1", &words).unwrap();
        assert_eq!((serve.verbose, serve.allow), (1, vec!["-v".to_owned()]));
        let serve = expanded(ALL, &["run", "--config", "FILE", "here"]).unwrap();
        assert_eq!(serve.folder.as_deref(), Some(Path::new("here")));
        let serve = expanded("overwrite = false", &["run", "--config", "FILE"]).unwrap();
        assert!(!serve.overwrite);
    }

    #[test]
    fn mistakes_are_named() {
        let with = |text: &str| expanded(text, &["run", "--config", "FILE"]).unwrap_err();
        let error = with("alow = 'a:1'");
        assert!(
            error.contains("`alow` is no option") && error.contains("allow"),
            "{error}"
        );
        assert!(with("overwrite = 'yes'").contains("`overwrite` is true or false"));
        assert!(with("listen = { port = 1 }").contains("`listen` is a text"));
        assert!(with("listen = ").contains("line 1"));
        assert!(with("listen = ['1', '2']").contains("--listen"));
        assert!(with("config = 'other.toml'").contains("no option"));
        let error = expanded("", &["run", "--config", "/nowhere/x"]).unwrap_err();
        assert!(error.contains("--config /nowhere/x: "), "{error}");
    }

    #[test]
    fn other_commands_and_operands_are_left_alone() {
        let error = expanded(ALL, &["other", "--config", "FILE"]).unwrap_err();
        assert!(error.contains("unexpected argument '--config'"), "{error}");
        let serve = expanded(ALL, &["run", "--", "--config"]).unwrap();
        assert_eq!(serve.folder.as_deref(), Some(Path::new("--config")));
    }
}
