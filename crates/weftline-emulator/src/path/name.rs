//! Names that identify the owner of a namespace.

use std::fmt;
use std::fs;
use std::process;

const MARK: &str = "weftline-";

/// A lab's name: the process that created it, by number and start time, so that a reused number is
/// not mistaken for the same process; and the number of labs that the process created before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LabName {
    pid: u32,
    born: u64,
    number: u32,
}

impl LabName {
    /// A name for this process's lab number `number`.
    pub(crate) fn own(number: u32) -> Self {
        let pid = process::id();
        Self {
            pid,
            born: birth(pid).unwrap_or(0),
            number,
        }
    }

    /// The lab that a namespace belongs to, if a lab created it.
    pub(crate) fn of_namespace(name: &str) -> Option<Self> {
        let name = name
            .strip_suffix("-a")
            .or_else(|| name.strip_suffix("-b"))?;
        Self::parse(name)
    }

    /// Parses the form that `Display` prints.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(MARK)?.split('-');
        let read = Self {
            pid: parts.next()?.parse().ok()?,
            born: parts.next()?.parse().ok()?,
            number: parts.next()?.parse().ok()?,
        };
        // Labs never print leading zeros or plus signs.
        (read.to_string() == name).then_some(read)
    }

    /// Whether the process that created it still runs.
    pub(crate) fn is_alive(self) -> bool {
        birth(self.pid) == Some(self.born)
    }
}

impl fmt::Display for LabName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{}-{}-{}", self.pid, self.born, self.number)
    }
}

/// When a process started, in clock ticks since boot; `None` when it has ended.
fn birth(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may hold any text; the third is
    // the state, the 22nd the start (proc(5)).
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ');
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back_and_its_owner_lives() {
        let own = LabName::own(3);
        assert_eq!(LabName::parse(&own.to_string()), Some(own));
        assert_eq!(LabName::of_namespace(&format!("{own}-b")), Some(own));
        assert!(own.is_alive());
    }

    #[test]
    fn another_process_of_the_same_number_is_not_the_owner() {
        let own = LabName::own(0);
        let earlier = LabName {
            born: own.born.wrapping_sub(1),
            ..own
        };
        assert!(!earlier.is_alive());
    }

    #[test]
    fn other_names_are_rejected() {
        for other in [
            "",
            "a",
            "weftline",
            "weftline-1-2",
            "weftline-1-2-3",
            "weftline-1-2-3-c",
            "weftline-01-2-3-a",
            "weftline-+1-2-3-a",
            "weftline-1-2-3-4-a",
            "xweftline-1-2-3-a",
        ] {
            assert_eq!(LabName::of_namespace(other), None, "{other}");
        }
    }

    #[test]
    fn a_process_that_ended_but_was_not_reaped_is_dead() {
        let mut child = process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        let alive = || birth(pid).is_some();
        for _ in 0..500 {
            if !alive() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(!alive());
        child.wait().unwrap();
    }
}
