//! The paths of a connection. Each has a carrier, and a driver that moves datagrams between it and
//! the engine's session, which all share.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard, OnceLock};

use tokio::sync::Notify;
use tokio::time::Instant;
use weftline_proto::{self as engine, CloseReason, Time};

use crate::carrier::Carrier;
use crate::lock::lock;
use crate::shared::{Shared, State};
use crate::{Packets, PathChange, PathEvent, PathId, PathInfo, PathRequest};

/// Events that are kept until the application asks for them; of more, the oldest go.
const EVENTS: usize = 64;

/// A carrier under a session.
pub(crate) struct Lane {
    pub(crate) path: engine::PathId,
    pub(crate) carrier: Carrier,
    /// The driver looks again at what to send and when to wake.
    pub(crate) changed: Notify,
    /// Code and reason for the end of this lane, where the session goes on without it.
    over: OnceLock<(u64, String)>,
}

impl Lane {
    pub(crate) fn new(path: engine::PathId, carrier: Carrier) -> Arc<Lane> {
        Arc::new(Lane {
            path,
            carrier,
            changed: Notify::new(),
            over: OnceLock::new(),
        })
    }

    /// The one that a session begins with.
    pub(crate) fn first(carrier: Carrier) -> Arc<Lane> {
        Lane::new(engine::PathId::FIRST, carrier)
    }

    /// This lane is over, or nothing is left to be sent after the session's end.
    pub(crate) fn is_over(&self, state: &State) -> bool {
        self.over.get().is_some() || state.is_drained()
    }

    /// How the session has parted with this lane, if it has.
    pub(crate) fn over(&self) -> Option<&(u64, String)> {
        self.over.get()
    }
}

/// The packets of a session's carriers.
#[derive(Default)]
pub(crate) struct Carried {
    running: Vec<Arc<Lane>>,
    over: Packets,
}

/// What the application calls a path.
pub(crate) struct Path {
    pub(crate) id: PathId,
    pub(crate) request: PathRequest,
    /// This end opens it again when its carrier has ended.
    pub(crate) is_kept: bool,
    /// `None` while it is to be opened.
    pub(crate) lane: Option<Arc<Lane>>,
    /// Since when nothing is heard of it.
    pub(crate) silent: Option<Instant>,
}

/// The paths of a session, and what has happened to them.
pub(crate) struct Paths {
    pub(crate) all: Vec<Path>,
    next: u32,
    pub(crate) events: VecDeque<PathEvent>,
}

impl Paths {
    pub(crate) fn new(first: Arc<Lane>, request: PathRequest) -> Self {
        let mut paths = Paths {
            all: Vec::with_capacity(1),
            next: PathId::FIRST.0,
            events: VecDeque::new(),
        };
        paths.add(request, false).lane = Some(first);
        paths
    }

    /// A further path, without a lane.
    pub(crate) fn add(&mut self, request: PathRequest, is_kept: bool) -> &mut Path {
        let id = PathId(self.next);
        self.next += 1;
        self.all.push(Path {
            id,
            request,
            is_kept,
            lane: None,
            silent: None,
        });
        let last = self.all.len() - 1;
        &mut self.all[last]
    }

    pub(crate) fn get(&mut self, id: PathId) -> Option<&mut Path> {
        self.all.iter_mut().find(|path| path.id == id)
    }

    /// The application does without this path from now on.
    pub(crate) fn forget(&mut self, id: PathId) {
        self.all.retain(|path| path.id != id);
    }

    pub(crate) fn lanes(&self) -> impl Iterator<Item = &Arc<Lane>> {
        self.all.iter().filter_map(|path| path.lane.as_ref())
    }

    fn of(&mut self, lane: &Lane) -> Option<&mut Path> {
        let is_it = |path: &&mut Path| {
            let its = path.lane.as_deref();
            its.is_some_and(|its| std::ptr::eq(its, lane))
        };
        self.all.iter_mut().find(is_it)
    }

    fn tell(&mut self, event: PathEvent) {
        tracing::info!("{event}");
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }
}

impl Shared {
    /// The drivers look again at what to send and when to wake.
    pub(crate) fn wake_drivers(&self) {
        self.first.changed.notify_one();
        if self.further.load(Ordering::Relaxed) {
            self.look(|state| {
                state
                    .paths
                    .lanes()
                    .for_each(|lane| lane.changed.notify_one())
            });
        }
    }

    /// A driver's turn may have left work for the others.
    pub(crate) fn wake_others(&self, of: &Lane) {
        if self.further.load(Ordering::Relaxed) {
            self.look(|state| {
                let others = state.paths.lanes().filter(|lane| lane.path != of.path);
                others.for_each(|lane| lane.changed.notify_one());
            });
        }
    }

    /// A lane begins to carry.
    pub(crate) fn count_lane(&self, lane: Arc<Lane>) {
        self.carried().running.push(lane);
    }

    /// A lane carries nothing any more.
    pub(crate) fn uncount_lane(&self, lane: &Lane) {
        let mut carried = self.carried();
        carried.running.retain(|one| !std::ptr::eq(&**one, lane));
        carried.over.add(lane.carrier.packets());
    }

    /// The packets of all carriers so far.
    pub(crate) fn packets(&self) -> Packets {
        let carried = self.carried();
        let mut packets = carried.over;
        for lane in &carried.running {
            packets.add(lane.carrier.packets());
        }
        packets
    }

    fn carried(&self) -> MutexGuard<'_, Carried> {
        lock(&self.carried)
    }

    /// The peer's address, on the first path that is open.
    pub(crate) fn remote_addr(&self) -> SocketAddr {
        let open = self.look(|state| state.paths.lanes().next().cloned());
        open.as_ref().unwrap_or(&self.first).carrier.remote_addr()
    }

    /// Something has happened to a path.
    pub(crate) fn tell(&self, state: &mut State, id: PathId, change: PathChange) {
        if let Some(path) = state.paths.get(id) {
            let request = path.request.clone();
            let event = PathEvent {
                id,
                request,
                change,
            };
            state.paths.tell(event);
            self.path_changed.notify_waiters();
        }
    }

    /// The lane's carrier has ended. If it was the last one, so has the session.
    pub(crate) fn lose_lane(&self, lane: &Lane, reason: CloseReason) {
        let lost = self.with_all(|state, now| {
            if lane.over().is_some() || state.over().is_some() {
                return true;
            }
            if state.paths.lanes().count() < 2 {
                return false;
            }
            let Some(path) = state.paths.of(lane) else {
                return true;
            };
            let (id, removed) = (path.id, lane.carrier.is_removed());
            path.lane = None;
            path.silent = None;
            let is_gone = removed || !path.is_kept;
            state.part_with(now, lane, (0, ""));
            let change = match removed {
                true => PathChange::Removed,
                false => PathChange::Lost(reason.clone()),
            };
            self.tell(state, id, change);
            if is_gone {
                state.paths.forget(id);
            }
            self.count_lanes(state);
            true
        });
        if !lost {
            self.lose(reason);
        }
    }

    pub(crate) fn count_lanes(&self, state: &State) {
        let further = state.paths.lanes().any(|l| l.path != self.first.path);
        self.further.store(further, Ordering::Relaxed);
    }

    /// The engine hears nothing of a path, or hears it again.
    pub(crate) fn on_silence(&self, state: &mut State, path: engine::PathId, is_silent: bool) {
        let has_it = |p: &&mut Path| p.lane.as_ref().is_some_and(|lane| lane.path == path);
        let Some(path) = state.paths.all.iter_mut().find(has_it) else {
            return;
        };
        path.silent = is_silent.then(Instant::now);
        let (id, change) = match is_silent {
            true => (path.id, PathChange::Silent),
            false => (path.id, PathChange::Heard),
        };
        self.tell(state, id, change);
    }
}

impl State {
    /// The paths as the application sees them.
    pub(crate) fn path_infos(&self) -> Vec<PathInfo> {
        let reports: Vec<_> = self.session.paths().collect();
        let info = |path: &Path| {
            let report = path.lane.as_ref().and_then(|lane| {
                let mut reports = reports.iter();
                reports
                    .find(|(id, _)| *id == lane.path)
                    .map(|(_, report)| *report)
            });
            PathInfo {
                id: path.id,
                request: path.request.clone(),
                remote: path.lane.as_ref().map(|lane| lane.carrier.remote_addr()),
                is_silent: path.silent.is_some() || report.is_some_and(|report| report.silent),
                report,
            }
        };
        self.paths.all.iter().map(info).collect()
    }

    /// The engine does without this lane, and its driver ends.
    pub(crate) fn part_with(&mut self, now: Time, lane: &Lane, (code, reason): (u64, &str)) {
        self.session.remove_path(now, lane.path);
        lane.over.set((code, reason.to_owned())).ok();
        lane.changed.notify_one();
    }
}
