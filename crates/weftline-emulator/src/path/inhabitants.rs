//! The processes inside a network namespace.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Time between two checks.
const LOOK: Duration = Duration::from_millis(5);
/// How long killed processes may take to end before they are abandoned.
const KILLED: Duration = Duration::from_secs(2);

/// Identifies a namespace: device and inode of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamespaceId(u64, u64);

impl NamespaceId {
    /// The identity of a namespace's file.
    pub(crate) fn of(file: &Path) -> Option<Self> {
        let metadata = fs::metadata(file).ok()?;
        Some(Self(metadata.dev(), metadata.ino()))
    }

    fn of_process(pid: i32) -> Option<Self> {
        Self::of(Path::new(&format!("/proc/{pid}/ns/net")))
    }

    /// Processes inside, without those that have ended and wait to be reaped.
    pub(crate) fn processes(self) -> Vec<i32> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let pids = entries
            .flatten()
            .filter_map(|e| e.file_name().to_str()?.parse().ok());
        pids.filter(|pid| Self::of_process(*pid) == Some(self))
            .collect()
    }

    /// Whether a process inside listens on TCP or has a UDP port.
    pub(crate) fn has_open_port(self) -> bool {
        let Some(pid) = self.processes().into_iter().next() else {
            return false;
        };
        let table = |name: &str| fs::read_to_string(format!("/proc/{pid}/net/{name}"));
        let open = [
            ("tcp", Some("0A")),
            ("tcp6", Some("0A")),
            ("udp", None),
            ("udp6", None),
        ]
        .into_iter()
        .any(|(name, state)| table(name).is_ok_and(|table| has_socket(&table, state)));
        // The process may have left, or its number may belong to another one.
        open && Self::of_process(pid) == Some(self)
    }

    /// Asks all processes inside to end, and kills those that have not after `grace`.
    pub(crate) fn end_all(self, grace: Duration) {
        if grace > Duration::ZERO && !self.signal_until_empty(Signal::TERM, grace, false) {
            return self.kill_all();
        }
        if grace == Duration::ZERO {
            self.kill_all();
        }
    }

    fn kill_all(self) {
        self.signal_until_empty(Signal::KILL, KILLED, true);
    }

    /// Whether the namespace became empty within `time`. With `again`, processes that appear
    /// meanwhile are signalled too.
    fn signal_until_empty(self, signal: Signal, time: Duration, again: bool) -> bool {
        let end = Instant::now() + time;
        let mut first = true;
        loop {
            let processes = self.processes();
            if processes.is_empty() {
                return true;
            }
            if first || again {
                processes
                    .into_iter()
                    .for_each(|pid| self.signal(pid, signal));
            }
            first = false;
            if Instant::now() >= end {
                return false;
            }
            sleep(LOOK);
        }
    }

    /// Signals a process if it is inside: the number may belong to another one by now.
    fn signal(self, pid: i32, signal: Signal) {
        if let Some(pid_) = Pid::from_raw(pid)
            && let Ok(process) = pidfd_open(pid_, PidfdFlags::empty())
            && Self::of_process(pid) == Some(self)
        {
            // The process may just have ended.
            let _ = pidfd_send_signal(process, signal);
        }
    }
}

/// Whether a table of /proc/net has a socket, in this state if one is given.
fn has_socket(table: &str, state: Option<&str>) -> bool {
    table.lines().skip(1).any(|line| {
        let found = line.split_whitespace().nth(3);
        found.is_some() && state.is_none_or(|state| found == Some(state))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TCP: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue
   0: 00000000:1451 00000000:0000 01 00000000:00000000 00:00000000 00000000
";

    #[test]
    fn only_a_listening_tcp_socket_is_an_open_port() {
        assert!(!has_socket(TCP, Some("0A")));
        assert!(has_socket(&TCP.replace(" 01 ", " 0A "), Some("0A")));
        assert!(has_socket(TCP, None));
        assert!(!has_socket(TCP.lines().next().unwrap(), None));
        assert!(!has_socket("", None));
    }

    #[test]
    fn this_process_is_among_those_of_its_own_namespace() {
        let own = NamespaceId::of(Path::new("/proc/self/ns/net")).unwrap();
        let pid = i32::try_from(std::process::id()).unwrap();
        assert!(own.processes().contains(&pid));
    }
}
