//! The program, in a home of its own: run to its end, or under way.

#[cfg(target_os = "linux")]
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read};
#[cfg(target_os = "linux")]
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

#[cfg(target_os = "linux")]
use rustix::fs::OFlags;
#[cfg(target_os = "linux")]
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use tempfile::TempDir;
use weftline_testkit::until;

/// Longest wait for any event, on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The program with these words, in the home of a user to whom nobody types.
pub(crate) fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weftline"));
    command.args(arguments).current_dir(home).env("HOME", home);
    command.env_remove("XDG_CONFIG_HOME").stdin(Stdio::null());
    command
}

/// The user's fingerprint.
pub(crate) fn key(home: &Path) -> String {
    let output = command(home, &["key", "--quiet"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A program under way; it ends with the test.
pub(crate) struct Running {
    child: Child,
    lines: Receiver<String>,
}

/// Starts it where `weftline status` finds it.
pub(crate) fn start(home: &Path, arguments: &[&str]) -> Running {
    let mut command = command(home, arguments);
    command.env("XDG_RUNTIME_DIR", home);
    Running::new(command)
}

/// A new terminal: what types there and sees what is shown, and what programs are given.
#[cfg(target_os = "linux")]
pub(crate) fn terminal() -> (File, File) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let keyboard = openpt(flags).unwrap();
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let path = ptsname(&keyboard, Vec::new()).unwrap();
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    options.custom_flags(OFlags::NOCTTY.bits() as i32);
    let screen = options.open(path.to_str().unwrap()).unwrap();
    (File::from(keyboard), screen)
}

impl Running {
    /// Starts it; its standard error is read line by line.
    pub(crate) fn new(mut command: Command) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        Running::read(child, stderr)
    }

    /// As [`new`](Self::new), with a new terminal as its standard error.
    #[cfg(target_os = "linux")]
    pub(crate) fn on_terminal(mut command: Command) -> Self {
        let (keyboard, screen) = terminal();
        let child = command.stdout(Stdio::piped()).stderr(screen).spawn();
        Running::read(child.unwrap(), keyboard)
    }

    fn read(child: Child, stderr: impl Read + Send + 'static) -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
            lines.try_for_each(|line| sender.send(line))
        });
        Running { child, lines }
    }

    /// The first line of standard error with `needle` in it.
    pub(crate) fn line(&mut self, needle: &str) -> String {
        let mut seen = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
            if line.contains(needle) {
                return line;
            }
            seen.push(line);
        }
        panic!("no line with {needle:?} in {seen:#?}");
    }

    /// Its process number.
    /// The fingerprint and the address of a server that has begun.
    pub(crate) fn listening(&mut self) -> (String, String) {
        let fingerprint = self.line("fingerprint ");
        let listening = self.line("listening on ");
        let peer = fingerprint.split_whitespace().nth(1).unwrap();
        let address = listening.split([' ', ';']).nth(2).unwrap();
        (peer.to_owned(), address.to_owned())
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    #[cfg(unix)]
    pub(crate) fn signal(&self, signal: &str) {
        weftline_testkit::signal(self.id(), signal);
    }

    /// Waits for the end; returns the exit code, standard output and the rest of standard error.
    pub(crate) fn end_with_output(mut self) -> (i32, Vec<u8>, String) {
        let mut out = Vec::new();
        let mut stdout = self.child.stdout.take().unwrap();
        stdout.read_to_end(&mut out).unwrap();
        let ended = until("the end of the program", || self.child.try_wait().unwrap());
        let rest: Vec<String> = self.lines.iter().collect();
        (ended.code().unwrap_or(-1), out, rest.join("\n"))
    }

    /// Waits for the end; returns the exit code and standard output's lines.
    pub(crate) fn end(self) -> (i32, Vec<Value>) {
        let (code, out, _) = self.end_with_output();
        let out = String::from_utf8(out).unwrap();
        let lines = out.lines().map(|l| serde_json::from_str(l).unwrap());
        (code, lines.collect())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A user's home on a host of its own.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        Home(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        command(self.path(), arguments)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub(crate) fn fingerprint(&self) -> String {
        key(self.path())
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Running {
        Running::new(self.command(arguments))
    }

    /// Starts `recv` on a free port; returns it, its address and its fingerprint.
    pub(crate) fn receive(&self, arguments: &[&str]) -> (Running, String, String) {
        let mut running = self.start(&[&["recv", "--listen", "127.0.0.1:0"], arguments].concat());
        let hint = running.line("  weftline send FILE... ");
        let mut words = hint.split_whitespace().skip(3);
        let address = words.next().unwrap().to_owned();
        let fingerprint = words.nth(1).unwrap_or_default().to_owned();
        (running, address, fingerprint)
    }
}

/// The exit code.
pub(crate) fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// Standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Bytes as one JSON value.
pub(crate) fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(bytes)))
}
