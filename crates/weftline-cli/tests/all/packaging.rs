//! What packages bring beside the program: completions, and services with their options.

use std::collections::BTreeSet;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::running;

fn weftline(words: &[&str], home: &Path) -> Output {
    running::command(home, words).output().unwrap()
}

/// Writes the completions for a shell into a file of this name.
fn completions(shell: &str, folder: &Path, name: &str) -> PathBuf {
    let script = weftline(&["completions", shell], folder);
    assert!(script.status.success(), "{script:?}");
    let path = folder.join(name);
    fs::write(&path, script.stdout).unwrap();
    path
}

/// The words that a shell prints, one a line, up to the first blank.
fn printed(shell: &mut Command) -> BTreeSet<String> {
    let output = shell.stdin(Stdio::null()).output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
    let text = String::from_utf8(output.stdout).unwrap();
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    text.lines().filter_map(first).collect()
}

fn set(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

#[test]
fn bash_completes_commands_and_options() {
    if !weftline_testkit::has_command("bash", "--version", "bash") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = completions("bash", folder.path(), "weftline");
    let complete = |line: &[&str]| {
        let asks =
            "script=$1; shift; source \"$script\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1))
            _weftline weftline \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"
            printf '%s\\n' \"${COMPREPLY[@]}\"";
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-euc", asks, "bash"]).arg(&script);
        printed(bash.args(line))
    };
    assert_eq!(complete(&["weftline", "re"]), set(&["recv", "relay"]));
    let options = complete(&["weftline", "relay", "serve", "--peer"]);
    assert_eq!(options, set(&["--peer", "--peer-anyone"]));
}

#[test]
fn zsh_accepts_the_completions() {
    if !weftline_testkit::has_command("zsh", "--version", "zsh") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    completions("zsh", folder.path(), "_weftline");
    // The completion system takes it for the command of this name.
    let asks = "fpath=($1 $fpath); autoload -Uz compinit; compinit -D -u; print $_comps[weftline]
        autoload +X _weftline; print $+functions[_weftline]";
    let mut zsh = Command::new("zsh");
    zsh.args(["-fc", asks, "zsh"]).arg(folder.path());
    assert_eq!(printed(&mut zsh), set(&["_weftline", "1"]));
}

#[test]
fn fish_completes_commands_and_options() {
    if !weftline_testkit::has_command("fish", "--version", "fish") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let script = completions("fish", folder.path(), "weftline.fish");
    let complete = |line: &str| {
        let asks = "source $argv[1]; complete --do-complete $argv[2]";
        let mut fish = Command::new("fish");
        fish.env("HOME", folder.path()).args(["-c", asks]);
        printed(fish.arg(&script).arg(line))
    };
    assert_eq!(complete("weftline re"), set(&["recv", "relay"]));
    let options = complete("weftline relay serve --peer");
    assert_eq!(options, set(&["--peer", "--peer-anyone"]));
}

fn packaging() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging")
}

/// The command of a service, without the program and its file of options.
fn command_of(unit: &str) -> Vec<String> {
    let lines = unit.lines();
    let mut starts = lines.filter_map(|line| line.strip_prefix("ExecStart=weftline "));
    let words = starts.next().unwrap().split(" --config ").next().unwrap();
    words.split(' ').map(str::to_owned).collect()
}

/// The options and tables that a file proposes, with those behind a `#`.
fn proposed(file: &str) -> String {
    let is_option = |line: &&str| {
        let key = line.split(" = ").next().unwrap_or(line);
        let is_key = key != *line && key.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        is_key || line.starts_with('[')
    };
    let bare = |line: &str| line.trim_start_matches("# ").to_owned();
    let lines = file.lines().map(bare);
    let options: Vec<String> = lines.filter(|line| is_option(&line.as_str())).collect();
    let options = options.join("\n");
    let fingerprint = "mfrg-gzdf-mztw-q2lk-nnwg-23tp-obyx-e43u";
    options
        .replace("FINGERPRINT", fingerprint)
        .replace("HOST", "192.0.2.1")
}

#[test]
fn every_service_has_a_file_of_options_that_its_command_accepts() {
    let folder = tempfile::tempdir().unwrap();
    let mut services = 0;
    for entry in fs::read_dir(packaging().join("systemd")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let Some(service) = name.strip_suffix(".service") else {
            continue;
        };
        let file = match service.strip_suffix('@') {
            Some(client) => format!("examples/{client}-NAME.toml"),
            None => format!("etc/{service}.toml"),
        };
        let file = packaging().join(file.replace("weftline-", ""));
        let options =
            fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let given = folder.path().join("options.toml");
        fs::write(&given, proposed(&options)).unwrap();

        let command = command_of(&fs::read_to_string(&path).unwrap());
        let mut words: Vec<&str> = command.iter().map(String::as_str).collect();
        words.extend(["--check", "--config", given.to_str().unwrap()]);
        let checked = weftline(&words, folder.path());
        let said = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{name}: {said}");
        services += 1;
    }
    assert_eq!(services, 8);
}

#[test]
fn systemd_is_told_of_a_service_that_has_started_and_of_no_other() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let start = |listen: &str| {
        let words = ["relay", "serve", "--allow", "*:*", "--listen", listen];
        let mut command = running::command(home.path(), &words);
        command.env("NOTIFY_SOCKET", &path).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let mut told = [0; 64];

    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut failed = start(&taken.local_addr().unwrap().to_string());
    assert_eq!(failed.wait().unwrap().code(), Some(1));
    socket.set_nonblocking(true).unwrap();
    assert!(socket.recv(&mut told).is_err());

    let mut running = start("127.0.0.1:0");
    socket.set_nonblocking(false).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    let length = socket.recv(&mut told);
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(&told[..length.unwrap()], b"READY=1\n");
}
