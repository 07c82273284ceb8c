//! A socket of this host on which a running command shows itself to `weftline status` and
//! `weftline top`: a program that connects gets the view as JSON, and the end of the stream.

use std::convert::Infallible;
use std::future::pending;

use super::Views;
use super::view::Service;

#[cfg(unix)]
pub(super) use unix::Socket;
#[cfg(unix)]
pub(crate) use unix::running;

#[cfg(unix)]
pub(super) async fn serve(socket: Option<&Socket>, views: &Views) -> Infallible {
    match socket {
        Some(socket) => socket.serve(views).await,
        None => pending().await,
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, DirBuilder};
    use std::io::{self, ErrorKind, Read};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    use std::path::{Path, PathBuf};
    use std::time::{Duration, Instant};
    use std::{env, process};

    use serde_json::Value;
    use tokio::io::AsyncWriteExt;
    use tokio::net::{UnixListener, UnixStream};

    use super::*;
    use crate::home;
    use crate::monitor::serve_each;

    /// How long a command may take to show itself, or `status` to read it.
    const PATIENCE: Duration = Duration::from_secs(2);
    /// Most bytes that are read of a command.
    const LARGEST: u64 = 4 << 20;
    const ENDING: &str = "sock";

    /// The folders in which commands show themselves: of this user, and of services of the system.
    fn folders() -> Vec<PathBuf> {
        let own = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let own = own.filter(|path| path.is_absolute() && path.is_dir());
        let own = own.map(|path| path.join("weftline"));
        let system = Some("/run/weftline".into());
        let home = home::folder().ok().map(|path| path.join("run"));
        [own, system, home].into_iter().flatten().collect()
    }

    /// The socket; the file goes with it.
    pub(crate) struct Socket {
        listener: UnixListener,
        path: PathBuf,
    }

    impl Socket {
        /// `None` where there is no place for it: the command works without.
        pub(crate) fn open(service: &Service) -> Option<Self> {
            let name = format!("{}-{}.{ENDING}", service.name("-"), process::id());
            let open = |folder: PathBuf| {
                let opened = at(&folder, &name);
                opened
                    .inspect_err(|error| {
                        let folder = folder.display();
                        tracing::debug!(%error, %folder, "no socket for `weftline status`");
                    })
                    .ok()
            };
            folders().into_iter().find_map(open)
        }

        pub(crate) async fn serve(&self, views: &Views) -> Infallible {
            let accept = async || Ok(self.listener.accept().await?.0);
            serve_each(accept, PATIENCE, |stream| show(stream, views.clone())).await
        }
    }

    impl Drop for Socket {
        fn drop(&mut self) {
            fs::remove_file(&self.path).ok();
        }
    }

    fn at(folder: &Path, name: &str) -> io::Result<Socket> {
        match DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // Nobody else may read it, or put something else in its place.
        let metadata = fs::symlink_metadata(folder)?;
        let ours = rustix::process::geteuid().as_raw();
        if !metadata.is_dir() || metadata.uid() != ours || metadata.mode() & 0o077 != 0 {
            return Err(io::Error::other("it is not a folder of this user alone"));
        }
        let path = folder.join(name);
        // A process with this number was killed.
        fs::remove_file(&path).ok();
        let listener = UnixListener::bind(&path)?;
        Ok(Socket { listener, path })
    }

    async fn show(mut stream: UnixStream, views: Views) {
        let Some(view) = views.now().await else {
            return;
        };
        let json = view.json().to_string();
        // The one who asked may have gone. The end of the stream comes with the drop.
        let _ = stream.write_all(json.as_bytes()).await;
    }

    /// What each running command shows, in the order of their names. Sockets of killed ones are removed.
    pub(crate) fn running() -> Vec<Value> {
        let folders = folders().into_iter();
        let files = folders.filter_map(|folder| fs::read_dir(folder).ok());
        let paths = files.flatten().flatten().map(|entry| entry.path());
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| path.extension().is_some_and(|ending| ending == ENDING))
            .collect();
        paths.sort();
        paths.iter().filter_map(|path| ask(path).ok()).collect()
    }

    fn ask(path: &Path) -> io::Result<Value> {
        let stream = match std::os::unix::net::UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                fs::remove_file(path).ok();
                return Err(error);
            }
            stream => stream?,
        };
        let (mut text, end) = (Vec::new(), Instant::now() + PATIENCE);
        let mut stream = stream.take(LARGEST);
        loop {
            // A command that says a byte a second does not hold up the others.
            let left = end.saturating_duration_since(Instant::now());
            let left = left.max(Duration::from_millis(1));
            stream.get_ref().set_read_timeout(Some(left))?;
            let mut part = [0; 1 << 16];
            match stream.read(&mut part)? {
                0 => return Ok(serde_json::from_slice(&text)?),
                len => text.extend_from_slice(&part[..len]),
            }
        }
    }
}

/// Other systems have no such socket: there is `--metrics`.
#[cfg(not(unix))]
pub(super) struct Socket;

#[cfg(not(unix))]
impl Socket {
    pub(super) fn open(_: &Service) -> Option<Self> {
        None
    }
}

#[cfg(not(unix))]
pub(super) async fn serve(_: Option<&Socket>, _: &Views) -> Infallible {
    pending().await
}

#[cfg(not(unix))]
pub(crate) fn running() -> Vec<serde_json::Value> {
    Vec::new()
}
