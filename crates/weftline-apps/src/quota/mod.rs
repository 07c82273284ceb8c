//! What the clients of a server may take: each by itself, and all together.

mod budget;

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use crate::lock::lock;
use weftline::{Connection, EndpointConfig, Fingerprint};

pub use budget::{Budget, Place, Usage};

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

/// What the clients of a port may take, with all its services. A session counts with a little memory,
/// and with what it holds for its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Memory of each client, in bytes: of all sessions and connections with one fingerprint, or on
    /// plain UDP from one address.
    pub client_memory: u64,
    /// Memory of all clients together, in bytes.
    pub memory: u64,
    /// Sessions of each client: others must find room too.
    pub client_sessions: u32,
    /// Handshakes of clients under way at once. The port itself counts them, with the configuration that
    /// [`complete`](Self::complete) makes.
    pub handshakes: u32,
}

impl Default for Limits {
    /// 512 MB and 128 sessions for each client, 4 GB and 1,536 handshakes for all.
    fn default() -> Self {
        Limits {
            client_memory: 512_000_000,
            memory: 4_000_000_000,
            client_sessions: 128,
            handshakes: 1536,
        }
    }
}

impl Limits {
    /// With less memory, sessions would end for what they ordinarily hold.
    pub const LEAST_MEMORY: u64 = 10_000_000;

    /// Gives a port the limits that it counts itself.
    pub fn complete(&self, config: &mut EndpointConfig) {
        config.max_handshakes = self.handshakes as usize;
    }
}

/// What a quota counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Sessions,
    Connections,
    Flows,
}

/// A limit, and the server's option that sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    pub(crate) limit: u64,
    pub(crate) option: Option<&'static str>,
}

/// Something that a client asked for, or what its session holds, is beyond a limit of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct OverLimit {
    unit: Unit,
    of_one: bool,
    /// It is for a session that was let in and holds the most now.
    ends_session: bool,
    limit: Limit,
}

impl fmt::Display for OverLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ends_session {
            f.write_str("this session holds the most, and ")?;
        }
        f.write_str(match self.of_one {
            true => "this client has all that the server allows it: ",
            false => "the clients of the server have all that it allows them together: ",
        })?;
        let number = self.limit.limit;
        match self.unit {
            Unit::Bytes => write!(f, "{} MB of memory", number / 1_000_000),
            Unit::Sessions => write!(f, "{number} sessions"),
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

    /// A client that has more than its limit, or none if all together have; and what to tell.
    pub(crate) fn excess(&self) -> Option<(Option<Who>, OverLimit)> {
        let over = |of_one, limit| OverLimit {
            unit: self.unit,
            of_one,
            ends_session: true,
            limit,
        };
        let taken = lock(&self.taken);
        let greedy = taken
            .by
            .iter()
            .find(|(_, amount)| **amount > self.each.limit);
        match greedy {
            Some((who, _)) => Some((Some(*who), over(true, self.each))),
            None if taken.all > self.all.limit => Some((None, over(false, self.all))),
            None => None,
        }
    }

    /// Takes `amount` for a client.
    ///
    /// # Errors
    /// The client, or all together, would have more than the limit.
    pub(crate) fn take(self: &Arc<Self>, who: Who, amount: u64) -> Result<Share, OverLimit> {
        let over = |of_one, limit| OverLimit {
            unit: self.unit,
            of_one,
            ends_session: false,
            limit,
        };
        let mut taken = lock(&self.taken);
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

    /// What all have, and how many clients have something.
    pub(crate) fn taken(&self) -> (u64, usize) {
        let taken = lock(&self.taken);
        (taken.all, taken.by.len())
    }
}

impl Share {
    /// The client has this much of it now, even if that is beyond a limit.
    fn set(&mut self, amount: u64) {
        let taken = &mut *lock(&self.quota.taken);
        let before = std::mem::replace(&mut self.amount, amount);
        taken.all = taken.all - before + amount;
        let by_one = taken.by.entry(self.who).or_default();
        *by_one = *by_one - before + amount;
        if *by_one == 0 {
            taken.by.remove(&self.who);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(name: u8) -> Who {
        Who::Key(Fingerprint::from([name; 20]))
    }

    /// Of bytes.
    fn quota(each: u64, all: u64) -> Arc<Quota> {
        let limit = |limit, option| Limit {
            limit,
            option: Some(option),
        };
        let (each, all) = (limit(each, "--client-memory"), limit(all, "--memory"));
        Quota::new(Unit::Bytes, each, all)
    }

    #[test]
    fn a_client_takes_no_more_than_its_share_and_all_no_more_than_there_is() {
        let quota = quota(2_000_000, 3_000_000);
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
        assert_eq!(quota.taken(), (0, 0));
    }

    #[test]
    fn what_overflows_is_over_the_limit() {
        let quota = quota(512_000_000, 4_000_000_000);
        let _one = quota.take(client(1), 1).unwrap();
        assert!(quota.take(client(1), u64::MAX).is_err());
    }
}
