//! The paths of a connection, as the application names and sees them.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use weftline_proto::{AddPathError, CloseReason, PathReport};

use crate::ConnectError;

/// From where to where a path goes, and whether it is to be spared. As text: an interface or a
/// local address, `to=` and the peer's address, `cost=` and a number, with commas in between, as
/// in `wwan0,cost=1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PathRequest {
    /// Leave through this network interface only (Linux).
    pub interface: Option<String>,
    /// Leave from this address of this host. The host's routes must send what comes from it
    /// through the right interface.
    pub local: Option<IpAddr>,
    /// Another address of the peer than the one that the connection was made to; port 0 is the
    /// connection's.
    pub remote: Option<SocketAddr>,
    /// The path carries data only while those of lower cost are not enough, or silent.
    pub cost: u8,
}

impl PathRequest {
    /// The peer's address on this path of a connection to `addr`.
    #[cfg(feature = "quic")]
    pub(crate) fn remote_of(&self, addr: SocketAddr) -> SocketAddr {
        let mut remote = self.remote.unwrap_or(addr);
        if remote.port() == 0 {
            remote.set_port(addr.port());
        }
        remote
    }
}

impl fmt::Display for PathRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        words.extend(self.interface.clone());
        words.extend(self.local.map(|local| local.to_string()));
        words.extend(self.remote.map(|remote| match remote.port() {
            0 => format!("to={}", remote.ip()),
            _ => format!("to={remote}"),
        }));
        words.extend((self.cost > 0).then(|| format!("cost={}", self.cost)));
        if words.is_empty() {
            words.push("default".to_owned());
        }
        f.write_str(&words.join(","))
    }
}

/// The cheapest first, where the session begins; and only what they cost beyond it matters.
#[cfg(feature = "quic")]
pub(crate) fn in_order(requests: &[PathRequest]) -> Vec<PathRequest> {
    let mut requests = requests.to_vec();
    requests.sort_by_key(|request| request.cost);
    let least = requests.first().map_or(0, |request| request.cost);
    requests
        .iter_mut()
        .for_each(|request| request.cost -= least);
    requests
}

/// A text is not a [`PathRequest`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a path: give an interface (eth0), an address of this host (192.0.2.7) or one of the peer (to=198.51.100.1), and after a comma cost=1 to spare it"
)]
pub struct ParsePathError(String);

impl FromStr for PathRequest {
    type Err = ParsePathError;

    fn from_str(text: &str) -> Result<Self, ParsePathError> {
        let wrong = || ParsePathError(weftline_proto::printable(text));
        let mut request = PathRequest::default();
        for word in text.split(',') {
            let taken = if let Some(to) = word.strip_prefix("to=") {
                let addr = to.parse().or_else(|_| {
                    let ip: Result<IpAddr, _> = to.parse();
                    ip.map(|ip| SocketAddr::new(ip, 0))
                });
                request.remote.replace(addr.map_err(|_| wrong())?).is_some()
            } else if let Some(cost) = word.strip_prefix("cost=") {
                std::mem::replace(&mut request.cost, cost.parse().map_err(|_| wrong())?) != 0
            } else if let Ok(local) = word.parse() {
                request.local.replace(local).is_some()
            } else if is_interface(word) {
                request.interface.replace(word.to_owned()).is_some()
            } else {
                true
            };
            if taken {
                return Err(wrong());
            }
        }
        let goes = request.interface.is_some() || request.local.is_some();
        match goes || request.remote.is_some() {
            true => Ok(request),
            false => Err(wrong()),
        }
    }
}

/// As Linux allows it.
fn is_interface(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_graphic() && !['/', '=', ':'].contains(&c);
    (1..16).contains(&name.len()) && name.chars().all(allowed) && ![".", ".."].contains(&name)
}

/// A path of a connection. A path whose carrier had to be opened again is the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathId(pub(crate) u32);

impl PathId {
    /// The path that the connection began with.
    pub const FIRST: PathId = PathId(0);

    /// Its number in the connection, from 1. None is used twice.
    pub fn number(self) -> u32 {
        self.0 + 1
    }
}

impl fmt::Display for PathId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path {}", self.number())
    }
}

/// A path cannot be added or removed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The server's end cannot reach a client on a path that the client has not opened.
    #[error("only the end that connected opens further paths: call add_path there")]
    NotClient,
    /// The connection is plain UDP.
    #[error("a connection over plain UDP has one path: use Endpoint, which encrypts")]
    Insecure,
    /// The path's connection cannot be made.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The peer does not take the path.
    #[error("{addr} does not take a further path: {reason}")]
    Refused {
        /// The peer's address on this path.
        addr: SocketAddr,
        /// Why.
        reason: String,
    },
    /// The session has as many paths as it may, or its scheme is for one path only.
    #[error(transparent)]
    Session(#[from] AddPathError),
    /// There is no such path, or not any more.
    #[error("the connection has no {0}")]
    Unknown(PathId),
    /// It is the only one.
    #[error("{0} is the only one: close the connection instead")]
    Last(PathId),
    /// The connection is over.
    #[error("the connection is over: {0}")]
    Closed(CloseReason),
}

/// How a path of a connection is. As text it is the path's name.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PathInfo {
    /// Which one.
    pub id: PathId,
    /// What was asked for; at the server's end the cost alone.
    pub request: PathRequest,
    /// The peer's address on this path; `None` while the path is being opened.
    pub remote: Option<SocketAddr>,
    /// Nothing is heard of it.
    pub is_silent: bool,
    /// Counters and estimates of its present connection.
    pub report: Option<PathReport>,
}

/// Something has happened to a path. As text it is a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathEvent {
    /// To which one.
    pub id: PathId,
    /// What was asked for; at the server's end the cost alone.
    pub request: PathRequest,
    /// What.
    pub change: PathChange,
}

/// What can happen to a path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathChange {
    /// It carries data from now on, for the first time or again.
    Opened,
    /// Nothing is heard of it: others carry what it carried.
    Silent,
    /// It is heard again.
    Heard,
    /// Its connection has ended. The end that opened it opens it again.
    Lost(CloseReason),
    /// It cannot be opened, and is tried again, later each time. Told once for each cause.
    Failed(PathError),
    /// An application has removed it, at one of the ends.
    Removed,
}

impl fmt::Display for PathEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name(self.id, &self.request))?;
        match &self.change {
            PathChange::Opened => f.write_str(" is open"),
            PathChange::Silent => f.write_str(" is silent: the others carry its data"),
            PathChange::Heard => f.write_str(" is heard again"),
            PathChange::Lost(reason) => write!(f, " has lost its connection: {reason}"),
            PathChange::Failed(error) => {
                write!(f, " cannot be opened, and is tried again: {error}")
            }
            PathChange::Removed => f.write_str(" was removed"),
        }
    }
}

impl fmt::Display for PathInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&name(self.id, &self.request))
    }
}

/// What people call a path.
fn name(id: PathId, request: &PathRequest) -> String {
    match request.interface.is_none() && request.local.is_none() && request.remote.is_none() {
        true => id.to_string(),
        false => format!("path {request}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_as_it_is_written() {
        for text in [
            "eth0",
            "wwan0,cost=1",
            "192.0.2.7",
            "2001:db8::7",
            "to=198.51.100.1",
            "to=[2001:db8::1]:9338",
            "eth0.100,192.0.2.7,to=198.51.100.1:99,cost=255",
        ] {
            let request: PathRequest = text.parse().unwrap();
            assert_eq!(request.to_string(), text);
        }
    }

    #[test]
    fn what_is_not_a_path_is_refused() {
        for text in [
            "",
            "cost=1",
            "eth0,cost=256",
            "eth0,eth1",
            "192.0.2.7,192.0.2.8",
            "to=host",
            "eth0,",
            "a/b",
            "abcdefghijklmnop",
            "eth0,speed=1",
        ] {
            let parsed: Result<PathRequest, _> = text.parse();
            assert!(parsed.is_err(), "{text}");
        }
    }

    #[test]
    #[cfg(feature = "quic")]
    fn a_session_begins_on_its_cheapest_path() {
        let requests = ["wwan0,cost=3", "eth0,cost=1", "wlan0,cost=1"];
        let requests = in_order(&requests.map(|text| text.parse().unwrap()));
        let texts: Vec<String> = requests.iter().map(PathRequest::to_string).collect();
        assert_eq!(texts, ["eth0", "wlan0", "wwan0,cost=2"]);
    }

    #[test]
    fn a_path_to_another_address_keeps_the_port() {
        let addr: SocketAddr = "192.0.2.1:9338".parse().unwrap();
        let remote = |text: &str| text.parse::<PathRequest>().unwrap().remote_of(addr);
        assert_eq!(remote("eth0"), addr);
        assert_eq!(remote("to=192.0.2.2"), "192.0.2.2:9338".parse().unwrap());
        assert_eq!(remote("to=192.0.2.2:7"), "192.0.2.2:7".parse().unwrap());
    }
}
