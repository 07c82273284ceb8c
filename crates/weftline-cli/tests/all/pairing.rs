//! Pairing by a code, names of peers, and the question at the terminal: real processes on loopback.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use weftline::{EndpointConfig, Identity};
use weftline_apps::pairing::pair;
use weftline_testkit::until;

use crate::running::{self, PATIENCE, code, stderr};

const RECV: [&str; 3] = ["recv", "--listen", "127.0.0.1:0"];

/// A user's home on a host of its own, with a file to send.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Home(tempfile::tempdir().unwrap());
        fs::write(home.path().join("f"), "from here").unwrap();
        home
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn config(&self, name: &str) -> PathBuf {
        self.path().join(".config/weftline").join(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.config(name)).unwrap_or_default()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = running::command(self.path(), arguments);
        command.stdout(Stdio::piped());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn fingerprint(&self) -> String {
        running::key(self.path())
    }

    /// Starts a program; what it tells people is read as it comes.
    fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.command(arguments);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let told = child.stderr.take().unwrap();
        Running::new(child, told)
    }

    /// Starts `recv` with a code; returns it, its address and the code.
    fn receive(&self, arguments: &[&str]) -> (Running, String, String) {
        // `nearby` tests announcements, where no other receiver answers.
        let secret = ["--code", "--no-announce"];
        let mut running = self.start(&[&RECV[..], &secret, arguments].concat());
        let (address, code) = running.code();
        (running, address, code)
    }
}

/// A program under way; it ends with the test.
struct Running {
    child: Child,
    told: Receiver<Vec<u8>>,
    /// What was told and not looked at yet.
    rest: String,
}

impl Running {
    fn new(child: Child, mut told: impl Read + Send + 'static) -> Self {
        let (sender, inbox) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal whose programs have ended gives an error.
            while let Ok(count @ 1..) = told.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Running {
            child,
            told: inbox,
            rest: String::new(),
        }
    }

    /// The first line with `needle` in it; those before are left behind.
    fn line(&mut self, needle: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(at) = self.rest.find(needle)
                && let Some(length) = self.rest[at..].find('\n')
            {
                let from = self.rest[..at].rfind('\n').map_or(0, |at| at + 1);
                let line = self.rest[from..at + length].trim_end().to_owned();
                self.rest.drain(..=at + length);
                return line;
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.told.recv_timeout(left) {
                Ok(bytes) => self.rest += &String::from_utf8_lossy(&bytes),
                Err(_) => panic!("no line with {needle:?} in:\n{}", self.rest),
            }
        }
    }

    /// Everything that was told until the end, and the exit code.
    fn end(mut self) -> (i32, String) {
        let ended = until("the end of the program", || self.child.try_wait().unwrap());
        let code = ended.code().unwrap_or(-1);
        while let Ok(bytes) = self.told.recv_timeout(Duration::from_millis(300)) {
            self.rest += &String::from_utf8_lossy(&bytes);
        }
        (code, std::mem::take(&mut self.rest))
    }

    /// The address and the code that `recv` shows.
    fn code(&mut self) -> (String, String) {
        let line = self.line("  weftline send FILE... ");
        let words: Vec<&str> = line.split_whitespace().skip(3).collect();
        assert_eq!(words[1], "--code", "{line}");
        (words[0].to_owned(), words[2].to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A code that is not the right one.
fn other(code: &str) -> String {
    let (number, words) = code.split_once('-').unwrap();
    let number: u8 = number.parse().unwrap();
    format!("{}-{words}", number % 99 + 1)
}

#[test]
fn after_a_code_neither_host_asks_for_anything_again() {
    let (from, to) = (Home::new(), Home::new());
    let (recv, address, secret) = to.receive(&["inbox", "--keep"]);
    let sent = from.run(&["send", "f", &address, "--code", &secret]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert!(stderr(&sent).contains("paired with "), "{}", stderr(&sent));
    let received = fs::read_to_string(to.path().join("inbox/f")).unwrap();
    assert_eq!(received, "from here");
    // Each has the other by name, and the receiver what the sender may do.
    let (ours, theirs) = (from.fingerprint(), to.fingerprint());
    assert!(from.read("peers").contains(&format!(" {theirs} {address}")));
    let mut recv = recv;
    recv.line("it may send files here from now on");
    assert!(to.read("peers").contains(&format!(" {ours}\n")));
    assert!(to.read("allowed-files").starts_with(&ours));
    #[cfg(unix)]
    for (home, file) in [(&from, "peers"), (&to, "peers"), (&to, "allowed-files")] {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(home.config(file)).unwrap().permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{file}");
    }
    // The address is enough now, and the code is used.
    fs::write(from.path().join("g"), "more").unwrap();
    let sent = from.run(&["send", "g", &address]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert!(to.path().join("inbox/g").exists());
    // Typed again, it does not count as a try of the next code, which is open.
    recv.line("a new code");
    let (_, next) = recv.code();
    assert_ne!(next, secret);
    for _ in 0..2 {
        let again = from.run(&["send", "g", &address, "--code", &secret]);
        assert_eq!(code(&again), 0, "{}", stderr(&again));
        assert!(stderr(&again).contains("the code is not needed"));
    }
    let late = Home::new().run(&["send", "f", &address, "--code", &secret]);
    assert_eq!(code(&late), 3, "{}", stderr(&late));
    let new = Home::new();
    fs::write(new.path().join("n"), "new").unwrap();
    for (code_, exit) in [(other(&next), 3), (next, 0)] {
        let sent = new.run(&["send", "n", &address, "--code", &code_]);
        assert_eq!(code(&sent), exit, "{}", stderr(&sent));
    }
    drop(recv);
    // A receiver without codes knows the sender too.
    let again = to.start(&[&RECV[..], &["again"]].concat());
    let mut again = again;
    let line = again.line("  weftline send FILE... ");
    assert!(line.contains("--peer "), "{line}");
    let at = line.split_whitespace().nth(3).unwrap();
    let sent = from.run(&["send", "f", at, "--peer", &theirs]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
}

#[test]
fn a_single_receiver_ends_after_its_pair_and_remembers_it() {
    let (from, to) = (Home::new(), Home::new());
    let (recv, address, secret) = to.receive(&["--json"]);
    let sent = from.run(&["send", "f", &address, "--code", &secret]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    let mut recv = recv;
    let mut out = String::new();
    let mut stdout = recv.child.stdout.take().unwrap();
    stdout.read_to_string(&mut out).unwrap();
    let (ended, told) = recv.end();
    assert_eq!(ended, 0, "{told}");
    let lines: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2, "{out}");
    assert_eq!(lines[0]["code"], secret.as_str());
    assert_eq!(lines[0]["address"], address.as_str());
    assert_eq!(lines[0]["fingerprint"], to.fingerprint().as_str());
    assert_eq!(lines[1]["ok"], true);
    assert!(to.read("allowed-files").starts_with(&from.fingerprint()));
}

#[test]
fn a_code_comes_again_when_the_sender_that_used_it_does_not() {
    let (from, to) = (Home::new(), Home::new());
    let (mut recv, address, secret) = to.receive(&["inbox"]);
    let (address_, secret) = (address.parse().unwrap(), secret.parse().unwrap());
    let (identity, config) = (Identity::generate(), EndpointConfig::default());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let paired = runtime.block_on(pair(&address_, &secret, &identity, None, &config));
    assert_eq!(paired.unwrap().peer.to_string(), to.fingerprint());
    recv.line("a new code");
    let (_, next) = recv.code();
    assert_ne!(next, secret.to_string());
    let sent = from.run(&["send", "f", &address, "--code", &next]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert_eq!(recv.end().0, 0);
}

#[test]
fn three_wrong_codes_end_a_code_and_tell_the_sender_nothing_else() {
    let (from, to) = (Home::new(), Home::new());
    let (mut recv, address, secret) = to.receive(&["--keep"]);
    for _ in 0..3 {
        let wrong = from.run(&["send", "f", &address, "--code", &other(&secret)]);
        assert_eq!(code(&wrong), 3);
        let told = stderr(&wrong);
        let expected = "error: wrong code: use the one that `weftline recv` shows now\n";
        assert_eq!(told, expected);
    }
    recv.line("three wrong codes");
    let right = from.run(&["send", "f", &address, "--code", &secret]);
    assert_ne!(code(&right), 0, "{}", stderr(&right));
    recv.line("a new code");
    let (_, next) = recv.code();
    assert_ne!(next, secret);
    let sent = from.run(&["send", "f", &address, "--code", &next]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
}

#[test]
fn known_peers_that_cannot_be_read_cost_no_code() {
    let (from, to) = (Home::new(), Home::new());
    let (recv, address, secret) = to.receive(&["inbox"]);
    fs::create_dir_all(from.config("")).unwrap();
    fs::write(from.config("peers"), "studio\n").unwrap();
    let send = ["send", "f", &address, "--code", &secret];
    let sent = from.run(&send);
    assert_ne!(code(&sent), 0);
    assert!(stderr(&sent).contains("line 1: "), "{}", stderr(&sent));
    fs::remove_file(from.config("peers")).unwrap();
    let sent = from.run(&send);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert!(from.read("peers").contains(&to.fingerprint()));
    assert_eq!(recv.end().0, 0);
}

#[test]
fn without_a_terminal_there_is_no_code_unless_asked_for() {
    let (from, to) = (Home::new(), Home::new());
    let mut recv = to.start(&RECV);
    let line = recv.line("  weftline send FILE... ");
    assert!(line.contains("--peer "), "{line}");
    let address = line.split_whitespace().nth(3).unwrap();
    let sent = from.run(&["send", "f", address, "--code", "7-amber-river"]);
    assert_eq!(code(&sent), 4, "{}", stderr(&sent));
    assert!(stderr(&sent).contains("waits for no code now"));
    let slip = from.run(&["send", "f", address, "--code", "7-amber-rivr"]);
    assert_eq!(code(&slip), 2);
    assert!(stderr(&slip).contains("`rivr` is not a word of codes"));
}

#[test]
fn another_key_at_a_known_address_is_refused_until_it_is_paired() {
    let (from, to, new) = (Home::new(), Home::new(), Home::new());
    let (_recv, address, secret) = new.receive(&["--keep"]);
    let theirs = to.fingerprint();
    let added = from.run(&["peers", "add", "studio", &theirs, &address]);
    assert_eq!(code(&added), 0, "{}", stderr(&added));
    let sent = from.run(&["send", "f", &address]);
    assert_eq!(code(&sent), 3, "{}", stderr(&sent));
    let told = stderr(&sent);
    for part in [&theirs[..], &new.fingerprint(), "studio", "--code"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let sent = from.run(&["send", "f", &address, "--code", &secret]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    let sent = from.run(&["send", "f", &address]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert!(from.read("peers").contains(&format!("studio {theirs}\n")));
}

#[test]
fn a_known_receiver_that_refuses_this_host_needs_the_code() {
    let (from, to) = (Home::new(), Home::new());
    let (recv, address, secret) = to.receive(&["inbox"]);
    let added = from.run(&["peers", "add", "studio", &to.fingerprint(), &address]);
    assert_eq!(code(&added), 0, "{}", stderr(&added));
    let wrong = from.run(&["send", "f", &address, "--code", &other(&secret)]);
    assert_eq!(code(&wrong), 3);
    assert!(stderr(&wrong).contains("wrong code"), "{}", stderr(&wrong));
    let sent = from.run(&["send", "f", &address, "--code", &secret]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    assert_eq!(recv.end().0, 0);
    let line = format!("studio {} {address}\n", to.fingerprint());
    assert_eq!(from.read("peers"), line);
}

#[test]
fn a_name_stands_for_its_address() {
    let (from, to) = (Home::new(), Home::new());
    let (_recv, address, _) = to.receive(&["--keep", "--peer", &from.fingerprint()]);
    let add = ["peers", "add", "studio", &to.fingerprint(), &address];
    let added = from.run(&add);
    assert_eq!(code(&added), 0, "{}", stderr(&added));
    let sent = from.run(&["send", "f", "studio"]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    // Another port is that of a host with such a name.
    let sent = from.run(&["send", "f", "studio:1"]);
    assert_eq!(code(&sent), 2, "{}", stderr(&sent));
    assert!(stderr(&sent).contains("nobody is known at studio:1"));
}

#[test]
fn a_name_stands_for_its_fingerprint() {
    let (from, to) = (Home::new(), Home::new());
    fs::create_dir_all(to.config("")).unwrap();
    let ours = from.fingerprint();
    let list = format!("# friends\nlaptop {ours} # on the road\n");
    fs::write(to.config("peers"), &list).unwrap();
    let mut recv = to.start(&[&RECV[..], &["--peer", "laptop"]].concat());
    let line = recv.line("  weftline send FILE... ");
    let address = line.split_whitespace().nth(3).unwrap();
    let unknown = from.run(&["send", "f", address]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("nobody is known at"));
    let nobody = from.run(&["send", "f", address, "--peer", "studio"]);
    assert_eq!(code(&nobody), 2);
    assert!(stderr(&nobody).contains("no peer is called studio"));
    assert_eq!(
        code(&from.run(&["peers", "add", "it", &to.fingerprint()])),
        0
    );
    assert_eq!(code(&from.run(&["peers", "rename", "it", "studio"])), 0);
    let sent = from.run(&["send", "f", address, "--peer", "studio"]);
    assert_eq!(code(&sent), 0, "{}", stderr(&sent));
    recv.line(&format!("connection from laptop ({ours})"));
    let listed = from.run(&["peers", "--json"]);
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["peers"][0]["name"], "studio");
    assert_eq!(listed["peers"][0]["fingerprint"], to.fingerprint().as_str());
    assert_eq!(code(&from.run(&["peers", "remove", "studio"])), 0);
    assert_eq!(from.read("peers"), "");
    assert_eq!(to.read("peers"), list);
}

/// The question, on terminals of their own.
#[cfg(target_os = "linux")]
mod terminal {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    /// Starts a program on a new terminal; returns it, and what types there.
    fn start(home: &Home, arguments: &[&str]) -> (Running, File) {
        let (keyboard, screen) = running::terminal();
        let mut command = home.command(arguments);
        command.stdin(screen.try_clone().unwrap()).stderr(screen);
        let child = command.spawn().unwrap();
        (Running::new(child, keyboard.try_clone().unwrap()), keyboard)
    }

    /// A receiver at a terminal, a sender at another one that it does not know, and the receiver's address.
    fn meet(from: &Home, to: &Home, options: &[&str]) -> (Running, File, Running, String) {
        let (mut recv, keyboard) = start(to, &[&RECV[..], &["inbox"], options].concat());
        let line = recv.line("  weftline send FILE... ");
        let address = line.split_whitespace().nth(3).unwrap().to_owned();
        let (mut send, _) = start(from, &["send", "f", &address, "--peer", &to.fingerprint()]);
        send.line("waiting up to 120 s for its operator");
        let ours = from.fingerprint();
        recv.line(&format!("allow {ours} at 127.0.0.1:"));
        (recv, keyboard, send, address)
    }

    #[test]
    fn a_sender_waits_for_the_operator_who_says_yes() {
        // An operator who names another sender has no code, and is asked all the same.
        let other = Home::new().fingerprint();
        for options in [&[][..], &["--peer", &other]] {
            let (from, to) = (Home::new(), Home::new());
            let (recv, mut keyboard, send, _) = meet(&from, &to, options);
            keyboard.write_all(b"y\n").unwrap();
            let (sent, told) = send.end();
            assert_eq!(sent, 0, "{told}");
            let (received, told) = recv.end();
            assert_eq!(received, 0, "{told}");
            assert!(to.path().join("inbox/f").exists());
            // For this run only.
            assert_eq!(to.read("allowed-files"), "");
        }
    }

    #[test]
    fn others_who_knock_during_a_question_are_shown() {
        let (from, to, other) = (Home::new(), Home::new(), Home::new());
        let (mut recv, _keyboard, _send, address) = meet(&from, &to, &[]);
        let refused = other.run(&["send", "f", &address, "--peer", &to.fingerprint()]);
        assert_eq!(code(&refused), 3, "{}", stderr(&refused));
        recv.line(&format!("refused {}", other.fingerprint()));
    }

    #[test]
    fn a_stopped_terminal_keeps_no_sender_waiting() {
        let (from, to) = (Home::new(), Home::new());
        let (mut recv, mut keyboard) = start(&to, &[&RECV[..], &["inbox", "--keep"]].concat());
        let (address, secret) = recv.code();
        recv.line("the code is good for one sender");
        // Ctrl-S: from now on the terminal takes nothing.
        keyboard.write_all(b"\x13").unwrap();
        let sending = from.start(&["send", "f", &address, "--code", &secret]);
        let (sent, told) = sending.end();
        assert_eq!(sent, 0, "{told}");
        // Ctrl-Q: what was queued comes.
        keyboard.write_all(b"\x11").unwrap();
        recv.line("a new code");
        assert_ne!(recv.code().1, secret);
    }

    #[test]
    fn always_is_remembered() {
        let (from, to) = (Home::new(), Home::new());
        let (recv, mut keyboard, send, _) = meet(&from, &to, &[]);
        keyboard.write_all(b"always\n").unwrap();
        let (sent, told) = send.end();
        assert_eq!(sent, 0, "{told}");
        assert_eq!(recv.end().0, 0);
        assert!(to.read("allowed-files").starts_with(&from.fingerprint()));
        assert!(to.read("peers").contains(&from.fingerprint()));
    }

    #[test]
    fn no_is_asked_once_and_an_answer_before_the_question_is_none() {
        let (from, to) = (Home::new(), Home::new());
        let (mut recv, mut keyboard) = start(&to, &[&RECV[..], &["inbox"]].concat());
        let (address, _) = recv.code();
        keyboard.write_all(b"always\n").unwrap();
        let (mut send, _) = start(&from, &["send", "f", &address, "--peer", &to.fingerprint()]);
        send.line("waiting up to 120 s for its operator");
        let ours = from.fingerprint();
        recv.line(&format!("allow {ours} at 127.0.0.1:"));
        keyboard.write_all(b"\n").unwrap();
        recv.line(&format!("{ours} stays refused"));
        // It tries again and again, and the operator is left alone.
        let end = Instant::now() + Duration::from_secs(6);
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            if let Ok(bytes) = recv.told.recv_timeout(left) {
                recv.rest += &String::from_utf8_lossy(&bytes);
            }
            assert!(!recv.rest.contains("allow "), "{}", recv.rest);
        }
        assert!(!to.path().join("inbox/f").exists());
        assert_eq!(to.read("allowed-files"), "");
    }
}
