//! Open connections of a server that stops, kept by the service manager until its next start (systemd's
//! FileDescriptorStoreMax=).
//!
//! The manager gets each socket, and a file in memory that says what they are: for each a line of JSON, and the bytes
//! that wait for the socket and for the peer.

use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};

use anyhow::{Context, Result};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::sockopt::socket_cookie;
use sd_notify::{NotifyState, notify_with_fds};
use serde::{Deserialize, Serialize};
use weftline_apps::forward::{Left, Waiting};

/// Names of what the manager keeps.
const CONNECTION: &str = "weftline-connection";
const STATE: &str = "weftline-connections";
/// More bytes do not wait for a connection, either way.
const MOST_WAITING: usize = 200_000_000;

/// What the file says of a connection.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    /// The kernel's number of the socket.
    cookie: u64,
    peer: String,
    token: String,
    to: String,
    /// Bytes after the line: for the socket, and then for the peer.
    inward: usize,
    out: usize,
}

/// Whether there is a service manager.
pub(super) fn is_possible() -> bool {
    env::var_os("NOTIFY_SOCKET").is_some()
}

/// Gives connections to the service manager; returns their number.
///
/// # Errors
/// There is no service manager, or it does not take them: they are reset.
pub(super) fn hand_over(left: Vec<Left>) -> Result<usize> {
    if left.is_empty() {
        return Ok(0);
    }
    let file = memfd_create(STATE, MemfdFlags::CLOEXEC).context("a file in memory")?;
    let mut file = File::from(file);
    for one in &left {
        write(&mut file, one)?;
    }
    // A connection that ends meanwhile is kept too: the peer learns of that.
    let keep = |name, fd: &dyn AsFd| {
        let state = [
            NotifyState::FdStore,
            NotifyState::FdName(name),
            NotifyState::Custom("FDPOLL=0"),
        ];
        notify_with_fds(&state, &[fd.as_fd()])
    };
    // If there is room for some only, the file is worth the most.
    keep(STATE, &file).context("the service manager")?;
    for one in &left {
        keep(CONNECTION, &one.tcp).context("the service manager")?;
    }
    Ok(left.len())
}

/// The connections that an earlier start of this server has left; the service manager keeps them no longer.
///
/// # Errors
/// What the manager has kept cannot be read.
pub(super) fn take_over() -> Result<Vec<Left>> {
    let mut sockets = Vec::new();
    let mut states = Vec::new();
    for (name, fd) in sd_listen_fds::get().context("LISTEN_FDS")? {
        let fd = fd.into_std();
        // Programs that this one runs do not inherit it.
        fcntl_setfd(&fd, FdFlags::CLOEXEC).context("LISTEN_FDS")?;
        match name.as_deref() {
            Some(CONNECTION) => sockets.push(TcpStream::from(fd)),
            Some(STATE) => states.push(fd),
            _ => {}
        }
    }
    if sockets.is_empty() && states.is_empty() {
        return Ok(Vec::new());
    }
    for name in [CONNECTION, STATE] {
        let remove = [NotifyState::FdStoreRemove, NotifyState::FdName(name)];
        sd_notify::notify(&remove).context("the service manager")?;
    }
    read(states, sockets)
}

fn write(file: &mut File, left: &Left) -> Result<()> {
    let entry = Entry {
        cookie: socket_cookie(&left.tcp)?,
        peer: left.peer.to_string(),
        token: left.token.clone(),
        to: left.to.clone(),
        inward: left.waiting.inward.len(),
        out: left.waiting.out.len(),
    };
    writeln!(file, "{}", serde_json::to_string(&entry)?)?;
    file.write_all(&left.waiting.inward)?;
    file.write_all(&left.waiting.out)?;
    Ok(())
}

/// The connections that these files describe. A socket that no file knows is closed.
fn read(files: Vec<OwnedFd>, mut sockets: Vec<TcpStream>) -> Result<Vec<Left>> {
    let mut all = Vec::new();
    for file in files {
        let mut file = File::from(file);
        file.rewind()?;
        let mut file = BufReader::new(file);
        let mut line = String::new();
        while file.read_line(&mut line)? > 0 {
            let entry: Entry = serde_json::from_str(&line)?;
            line.clear();
            let mut waiting = Waiting::default();
            for (bytes, into) in [
                (entry.inward, &mut waiting.inward),
                (entry.out, &mut waiting.out),
            ] {
                if bytes > MOST_WAITING {
                    return Err(io::Error::from(io::ErrorKind::InvalidData).into());
                }
                into.resize(bytes, 0);
                file.read_exact(into)?;
            }
            let is_it = |tcp: &TcpStream| socket_cookie(tcp) == Ok(entry.cookie);
            let Some(place) = sockets.iter().position(is_it) else {
                continue;
            };
            let tcp = sockets.swap_remove(place);
            tcp.set_nonblocking(true)?;
            all.push(Left {
                peer: entry.peer.parse()?,
                token: entry.token,
                to: entry.to,
                waiting,
                tcp,
            });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn what_is_left_is_found_again_by_its_addresses() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let peer = "aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa-aaaa";
        let pairs: Vec<_> = (0..3)
            .map(|_| {
                (
                    TcpStream::connect(at).unwrap(),
                    listener.accept().unwrap().0,
                )
            })
            .collect();
        let file = memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
        let mut file = File::from(file);
        let left = pairs.iter().enumerate().map(|(number, (near, _))| Left {
            peer: peer.parse().unwrap(),
            token: format!("key:{number}"),
            to: "target:1".into(),
            waiting: Waiting {
                inward: vec![b'\n'; number * 100_000],
                out: vec![b'x'; number],
            },
            tcp: near.try_clone().unwrap(),
        });
        for one in left {
            write(&mut file, &one).unwrap();
        }
        let mut sockets: Vec<_> = pairs
            .iter()
            .map(|(near, _)| near.try_clone().unwrap())
            .collect();
        sockets.rotate_left(1);
        // One has ended.
        sockets.pop();
        let mut found = read(vec![file.into()], sockets).unwrap();
        assert_eq!(found.len(), 2);
        let mut last = found.pop().unwrap();
        assert_eq!(
            (last.token.as_str(), last.to.as_str()),
            ("key:2", "target:1")
        );
        assert_eq!(
            (last.peer.to_string().as_str(), last.waiting.inward.len()),
            (peer, 200_000)
        );
        last.tcp.write_all(b"on").unwrap();
        let mut came = [0; 2];
        (&pairs[2].1).read_exact(&mut came).unwrap();
        assert_eq!(&came, b"on");
    }
}
