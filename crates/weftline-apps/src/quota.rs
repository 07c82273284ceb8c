//! What the clients of a server may take: each by itself, and all together.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weftline::{Connection, Fingerprint};

/// Whose share something is: of a key, or of an address where nobody has a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Who {
    Key(Fingerprint),
    Address(IpAddr),
}

impl Who {
    /// The client at the other end.
    pub(crate) fn of(connection: &Connection) -> Self {
        match connection.peer() {
            Some(peer) => Who::Key(peer),
            None => Who::Address(connection.remote_addr().ip()),
        }
    }
}

/// Memory of a server, in bytes, that its clients may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Each client: all sessions and connections with one fingerprint.
    pub each: u64,
    /// All clients together.
    pub all: u64,
}

impl Default for Memory {
    /// 512 MB for each client, 4 GB for all.
    fn default() -> Self {
        Memory {
            each: 512_000_000,
            all: 4_000_000_000,
        }
    }
}

impl Memory {
    pub(crate) fn quota(self) -> Arc<Quota> {
        let limit = |limit, option| Limit { limit, option };
        Quota::new(
            Unit::Bytes,
            limit(self.each, Some("--client-memory")),
            limit(self.all, Some("--memory")),
        )
    }
}

/// What a quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Connections,
    Flows,
}

/// A limit, and the server's option that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) limit: u64,
    pub(crate) option: Option<&'static str>,
}

/// Something that a client asked for is beyond a limit of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct OverLimit {
    unit: Unit,
    of_one: bool,
    limit: Limit,
}

impl fmt::Display for OverLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.of_one {
            true => "this client has all that the server allows it: ",
            false => "the clients of the server have all that it allows them together: ",
        })?;
        let number = self.limit.limit;
        match self.unit {
            Unit::Bytes => write!(f, "{} MB of memory", number / 1_000_000),
            Unit::Connections => write!(f, "{number} connections"),
            Unit::Flows => write!(f, "{number} flows"),
        }?;
        match self.limit.option {
            Some(option) => write!(f, " ({option} of the server)"),
            None => Ok(()),
        }
    }
}

/// Counts what is taken. Memory: an entry for each client that has something.
#[derive(Debug)]
pub(crate) struct Quota {
    unit: Unit,
    each: Limit,
    all: Limit,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    by: HashMap<Who, u64>,
    all: u64,
}

/// What a client has taken; it is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    quota: Arc<Quota>,
    who: Who,
    amount: u64,
}

impl Quota {
    pub(crate) fn new(unit: Unit, each: Limit, all: Limit) -> Arc<Self> {
        Arc::new(Quota {
            unit,
            each,
            all,
            taken: Mutex::default(),
        })
    }

    /// Takes `amount` for a client.
    ///
    /// # Errors
    /// The client, or all together, would have more than the limit.
    pub(crate) fn take(self: &Arc<Self>, who: Who, amount: u64) -> Result<Share, OverLimit> {
        let over = |of_one, limit| OverLimit {
            unit: self.unit,
            of_one,
            limit,
        };
        let mut taken = self.lock();
        let by_one = taken.by.get(&who).copied().unwrap_or(0);
        let (one, all) = (
            by_one.saturating_add(amount),
            taken.all.saturating_add(amount),
        );
        if one > self.each.limit {
            return Err(over(true, self.each));
        }
        if all > self.all.limit {
            return Err(over(false, self.all));
        }
        taken.by.insert(who, one);
        taken.all = all;
        Ok(Share {
            quota: self.clone(),
            who,
            amount,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let taken = &mut *self.quota.lock();
        taken.all -= self.amount;
        if let Some(by_one) = taken.by.get_mut(&self.who) {
            *by_one -= self.amount;
            if *by_one == 0 {
                taken.by.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: u8) -> Who {
        Who::Key(Fingerprint::from([name; 20]))
    }

    #[test]
    fn a_client_takes_no_more_than_its_share_and_all_no_more_than_there_is() {
        let memory = Memory {
            each: 2_000_000,
            all: 3_000_000,
        };
        let quota = memory.quota();
        let first = quota.take(client(1), 1_500_000).unwrap();
        let second = quota.take(client(1), 500_000).unwrap();
        let over = quota.take(client(1), 1).unwrap_err().to_string();
        assert_eq!(
            over,
            "this client has all that the server allows it: 2 MB of memory (--client-memory of the \
             server)"
        );
        let other = quota.take(client(2), 1_000_000).unwrap();
        let over = quota.take(client(2), 1).unwrap_err().to_string();
        assert_eq!(
            over,
            "the clients of the server have all that it allows them together: 3 MB of memory \
             (--memory of the server)"
        );
        drop(first);
        let again = quota.take(client(2), 1_000_000).unwrap();
        drop((second, other, again));
        let taken = quota.lock();
        assert_eq!((taken.all, taken.by.len()), (0, 0));
    }

    #[test]
    fn what_overflows_is_over_the_limit() {
        let quota = Memory::default().quota();
        let _one = quota.take(client(1), 1).unwrap();
        assert!(quota.take(client(1), u64::MAX).is_err());
    }
}
