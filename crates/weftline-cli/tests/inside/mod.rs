//! Programs on the two sides of an emulated path. Needs Linux, root, `ip` and a TUN device.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::fs::{File, read_to_string};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;
use weftline_emulator::{Lab, Links, PathConfig, Side};

/// Longest wait for any event, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A path whose forward direction, and `back` if given, are as the text says.
pub(crate) fn path(link: &str, back: Option<&str>, seed: u64) -> Lab {
    let mut config = PathConfig::new(Links::parse(link, back).unwrap());
    config.seed = seed;
    Lab::open(&config).unwrap()
}

/// Receives a datagram; a signal in between is none.
pub(crate) fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
    loop {
        match socket.recv_from(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            received => return received,
        }
    }
}

/// A program under way; it ends with this.
pub(crate) struct Running {
    child: Child,
    log: PathBuf,
}

impl Running {
    /// Starts it in `folder`, which is its home too, with its outputs in a file there.
    pub(crate) fn start(lab: &Lab, side: Side, folder: &Path, name: &str, words: &[&str]) -> Self {
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log).unwrap();
        let mut command = lab.command(side);
        command.args(words).current_dir(folder).env("HOME", folder);
        command.env_remove("XDG_CONFIG_HOME").stdin(Stdio::null());
        command.stdout(file.try_clone().unwrap()).stderr(file);
        let child = command.spawn().unwrap();
        Self { child, log }
    }

    /// Starts our program with these words.
    pub(crate) fn weftline(lab: &Lab, side: Side, folder: &Path, name: &str, words: &str) -> Self {
        let program = [env!("CARGO_BIN_EXE_weftline"), "--json"];
        let words: Vec<&str> = program
            .into_iter()
            .chain(words.split_whitespace())
            .collect();
        Self::start(lab, side, folder, name, &words)
    }

    /// Its process number.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its exit code, when it has ended by itself.
    pub(crate) fn exit(&mut self) -> i32 {
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    /// What it has printed.
    pub(crate) fn printed(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap()).into_owned()
    }

    /// Waits until it has printed this.
    pub(crate) fn says(&self, needle: &str) {
        self.until(needle, || self.printed().contains(needle));
    }

    /// Waits until somebody on its side has this UDP port.
    pub(crate) fn sees_port(&self, port: u16) {
        let needle = format!(":{port:04X} ");
        let tables = ["udp", "udp6"].map(|name| format!("/proc/{}/net/{name}", self.child.id()));
        self.until("the port", || {
            let found = |table| read_to_string(table).is_ok_and(|text| text.contains(&needle));
            tables.iter().any(found)
        });
    }

    /// Datagrams for this UDP port on its side that found no room in the socket's buffer.
    pub(crate) fn dropped(&self, port: u16) -> u64 {
        let needle = format!(":{port:04X} ");
        // One that has ended by itself has no table.
        let table = read_to_string(format!("/proc/{}/net/udp", self.child.id()));
        let table = table.unwrap_or_default();
        let lines = table.lines().filter(|line| line.contains(&needle));
        let last = lines.filter_map(|line| line.split_whitespace().last()?.parse::<u64>().ok());
        last.sum()
    }

    /// What `work` gives on its side. It must have said something: then it is there.
    pub(crate) fn there<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let side = File::open(format!("/proc/{}/ns/net", self.child.id())).unwrap();
        // A thread goes there and does not come back; its sockets stay there.
        let go = || {
            move_into_link_name_space(side.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            work()
        };
        std::thread::scope(|scope| scope.spawn(go).join().unwrap())
    }

    /// The answer of an HTTP server on its side.
    pub(crate) fn http(&self, at: &str, path: &str) -> String {
        let mut stream = self.there(|| TcpStream::connect(at).unwrap());
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// A socket on its side.
    pub(crate) fn socket(&self, at: &str) -> UdpSocket {
        let socket = self.there(|| UdpSocket::bind(at).unwrap());
        socket
            .set_read_timeout(Some(Duration::from_millis(500)))
            .unwrap();
        socket
    }

    /// Waits until so.
    pub(crate) fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            let waited = begun.elapsed();
            assert!(waited < PATIENCE, "waited for {what}: {}", self.printed());
            sleep(Duration::from_millis(10));
        }
    }

    /// Waits for its end; it must succeed.
    pub(crate) fn succeeds(mut self) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{}", self.printed());
    }

    /// Ends it by SIGTERM, twice: a reader of ffmpeg's that waits for packets needs that. Returns
    /// what it has printed.
    pub(crate) fn end(mut self) -> String {
        let begun = Instant::now();
        for _ in 0..2 {
            weftline_testkit::signal(self.child.id(), "-TERM");
            sleep(Duration::from_millis(100));
        }
        while self.child.try_wait().unwrap().is_none() {
            let waited = begun.elapsed();
            assert!(waited < PATIENCE, "it does not end: {}", self.printed());
            sleep(Duration::from_millis(10));
        }
        self.printed()
    }

    /// Ends our program; returns its last report.
    pub(crate) fn report(self) -> Value {
        let printed = self.end();
        let last = printed.lines().rfind(|line| line.starts_with('{'));
        serde_json::from_str(last.unwrap()).unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
