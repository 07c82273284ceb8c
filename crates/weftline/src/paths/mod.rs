//! Opening further paths of a connection, and opening them again.

mod attach;
mod interfaces;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use weftline_proto::CloseReason;

use crate::carrier::Carrier;
use crate::carrier::quic::{Bond, Dialler, Joined};
use crate::lanes::Path;
use crate::path::in_order;
use crate::shared::{Shared, State};
use crate::{EndpointConfig, PathChange, PathError, PathEvent, PathId, PathRequest, random};

/// A path of which nothing is heard for this long gets a new connection: its interface may be another one
/// now, or the host may have another address there.
const STUCK: Duration = Duration::from_secs(5);
/// Pauses between attempts to open a path again.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Time between two looks at the interfaces of this host.
const WATCH: Duration = Duration::from_secs(2);
/// A peer that refuses a path is asked again more rarely.
const REFUSED_PAUSE: Duration = Duration::from_secs(60);

/// A client's connection joins its session at the server's end.
pub(crate) fn accept(joined: Joined) {
    let Joined {
        link,
        session,
        cost,
    } = joined;
    let request = PathRequest {
        cost,
        ..PathRequest::default()
    };
    let id = session.with_all(|state, _| state.paths.add(request, false).id);
    if let Err(error) = session.attach(id, Carrier::Quic(link)) {
        session.forget(id);
        tracing::debug!(%error, "a further path was refused");
    }
}

/// The paths that a connection to this address is asked to have: first the one to begin with.
pub(crate) fn wanted(config: &EndpointConfig, addr: SocketAddr) -> Vec<PathRequest> {
    let mut requests = config.paths.clone();
    if config.all_interfaces {
        let v6 = addr.ip().to_canonical().is_ipv6();
        for found in interfaces::requests(v6) {
            if !requests.iter().any(|r| r.interface == found.interface) {
                requests.push(found);
            }
        }
    }
    in_order(&requests)
}

/// Opens the further paths of a client's new connection that its endpoint's configuration asks for.
pub(crate) async fn open_all(shared: Arc<Shared>, config: EndpointConfig) {
    let Ok(opener) = Opener::of(&shared).await else {
        return;
    };
    opener.keep_first();
    let addr = shared.remote_addr();
    drop(shared);
    let mut opened = Vec::new();
    loop {
        opener.open_new(&wanted(&config, addr), &mut opened);
        if !config.all_interfaces {
            return;
        }
        tokio::select! {
            _ = opener.shared.over() => return,
            () = sleep(WATCH) => {}
        }
    }
}

/// Adds a path to a client's connection.
pub(crate) async fn add(shared: &Arc<Shared>, request: PathRequest) -> Result<PathId, PathError> {
    let over = pin!(shared.over());
    let add = async {
        let opener = Opener::of(shared).await?;
        let link = opener.dialler.again(&request, &opener.bond).await?;
        let id = opener.add(request);
        if let Err(error) = shared.attach(id, Carrier::Quic(link)) {
            shared.forget(id);
            return Err(error);
        }
        opener.keep_first();
        opener.keep(id);
        Ok(id)
    };
    tokio::select! {
        biased;
        reason = over => Err(PathError::Closed(reason)),
        added = add => added,
    }
}

/// What a client opens further paths with.
#[derive(Clone)]
struct Opener {
    shared: Arc<Shared>,
    dialler: Dialler,
    bond: Bond,
}

impl Opener {
    /// Waits until the peer has proved that it is live.
    async fn of(shared: &Arc<Shared>) -> Result<Opener, PathError> {
        let first = match &shared.first.carrier {
            Carrier::Quic(link) => link,
            Carrier::Udp(_) => return Err(PathError::Insecure),
            #[cfg(feature = "web")]
            Carrier::Web(_) => return Err(PathError::NotClient),
        };
        let dialler = first.dialled().ok_or(PathError::NotClient)?.opener()?;
        first.confirmed().await.map_err(PathError::Closed)?;
        shared.ready().await.map_err(PathError::Closed)?;
        let bond = match (shared.bond.get(), first.bond()) {
            (Some(bond), _) => bond.clone(),
            (None, Some(bond)) => shared.bond.get_or_init(|| bond).clone(),
            (None, None) => return Err(PathError::Closed(CloseReason::Local)),
        };
        Ok(Opener {
            shared: shared.clone(),
            dialler,
            bond,
        })
    }

    fn add(&self, request: PathRequest) -> PathId {
        let add = |state: &mut State, _| state.paths.add(request, true).id;
        self.shared.with_all(add)
    }

    /// Opens those of the paths that the connection does not have, and gives up those that it `opened` before
    /// whose interface is gone.
    fn open_new(&self, wanted: &[PathRequest], opened: &mut Vec<PathId>) {
        let (have, gone) = self.shared.look(|state| {
            let all = &state.paths.all;
            let have: Vec<PathRequest> = all.iter().map(|path| path.request.clone()).collect();
            let is_gone = |path: &&Path| {
                path.lane.is_none() && opened.contains(&path.id) && !wanted.contains(&path.request)
            };
            let gone: Vec<PathId> = all.iter().filter(is_gone).map(|path| path.id).collect();
            (have, gone)
        });
        for id in gone {
            opened.retain(|other| *other != id);
            self.shared.remove_path(id).ok();
        }
        for request in wanted.iter().filter(|request| !have.contains(request)) {
            let id = self.add(request.clone());
            opened.push(id);
            self.clone().keep(id);
        }
    }

    /// The path that the connection began with is opened again too, from now on.
    fn keep_first(&self) {
        let is_new = self.shared.with_all(|state, _| {
            let first = state.paths.get(PathId::FIRST);
            first.is_some_and(|first| !std::mem::replace(&mut first.is_kept, true))
        });
        if is_new {
            self.clone().keep(PathId::FIRST);
        }
    }

    /// Opens the path whenever it has no connection, until it is removed or the session is over.
    fn keep(self, id: PathId) {
        tokio::spawn(async move {
            let Some(request) = self.shared.request(id) else {
                return;
            };
            let (mut pause, mut told) = (FIRST_PAUSE, None);
            while self.shared.until_needed(id).await {
                let opened = tokio::select! {
                    opened = self.dialler.again(&request, &self.bond) => opened,
                    () = self.shared.until_not_needed(id) => continue,
                };
                let attached = opened.and_then(|link| self.shared.attach(id, Carrier::Quic(link)));
                let Err(error) = attached else {
                    (pause, told) = (FIRST_PAUSE, None);
                    continue;
                };
                let longest = match error {
                    PathError::Refused { .. } => REFUSED_PAUSE,
                    _ => LONGEST_PAUSE,
                };
                if told.as_ref() != Some(&error) {
                    told = Some(error.clone());
                    let tell = |state: &mut State| {
                        self.shared.tell(state, id, PathChange::Failed(error));
                    };
                    self.shared.with_as_driver(|state, _| tell(state));
                }
                tokio::select! {
                    () = sleep(pause.mul_f64(0.75 + random::share() / 2.0)) => {}
                    () = self.shared.until_not_needed(id) => {}
                }
                pause = (pause * 2).min(longest);
            }
        });
    }
}

/// Whether a path is to be opened.
enum Need {
    No,
    /// Not before this.
    From(Instant),
    Yes,
    /// It is not wanted any more.
    Never,
}

impl Shared {
    fn need(&self, id: PathId) -> Need {
        self.look(|state| {
            if state.over().is_some() {
                return Need::Never;
            }
            match state.paths.all.iter().find(|path| path.id == id) {
                None => Need::Never,
                Some(path) if path.lane.is_none() => Need::Yes,
                Some(path) => match path.silent {
                    Some(since) if since.elapsed() >= STUCK => Need::Yes,
                    Some(since) => Need::From(since + STUCK),
                    None => Need::No,
                },
            }
        })
    }

    /// Waits until the path is to be opened; false: never again.
    async fn until_needed(&self, id: PathId) -> bool {
        loop {
            let mut changed = pin!(self.path_changed.notified());
            changed.as_mut().enable();
            match self.need(id) {
                Need::Yes => return true,
                Need::Never => return false,
                Need::No => changed.await,
                Need::From(then) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(then) => {}
                },
            }
        }
    }

    async fn until_not_needed(&self, id: PathId) {
        loop {
            let mut changed = pin!(self.path_changed.notified());
            changed.as_mut().enable();
            match self.need(id) {
                Need::Yes => changed.await,
                _ => return,
            }
        }
    }

    fn request(&self, id: PathId) -> Option<PathRequest> {
        self.look(|state| {
            let path = state.paths.all.iter().find(|path| path.id == id)?;
            Some(path.request.clone())
        })
    }

    /// A path that was never opened.
    fn forget(&self, id: PathId) {
        self.with_all(|state, _| state.paths.forget(id));
    }

    /// Waits for the next event of a path.
    pub(crate) fn next_path_event(&self) -> impl Future<Output = Result<PathEvent, CloseReason>> {
        self.wait(&self.path_changed, |state, _| {
            match (state.paths.events.pop_front(), state.over()) {
                (Some(event), _) => Poll::Ready(Ok(event)),
                (None, Some(reason)) => Poll::Ready(Err(reason.clone())),
                (None, None) => Poll::Pending,
            }
        })
    }
}

#[cfg(test)]
mod tests;
