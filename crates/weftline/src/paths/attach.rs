//! Paths get carriers, and lose them on purpose.

use std::sync::{Arc, Weak};

use weftline_proto::{AddPathError, CloseReason, PathOptions};

use crate::carrier::{Carrier, PATH_REMOVED};
use crate::driver;
use crate::lanes::Lane;
use crate::shared::{Shared, State};
use crate::{PathChange, PathError, PathId};

const REPLACED: (u64, &str) = (PATH_REMOVED, "this path has a new connection");
const REMOVED: (u64, &str) = (PATH_REMOVED, "the path was removed");

impl Shared {
    /// Lets the path use this carrier from now on, in place of the one that it had; a carrier that it
    /// cannot use ends.
    pub(super) fn attach(self: &Arc<Self>, id: PathId, carrier: Carrier) -> Result<(), PathError> {
        let Some(done) = self.done.get().and_then(Weak::upgrade) else {
            carrier.refuse("the session is over");
            return Err(PathError::Closed(CloseReason::Local));
        };
        let mut carrier = Some(carrier);
        let lane = self.with_all(|state, now| {
            if let Some(reason) = state.over() {
                return Err(PathError::Closed(reason.clone()));
            }
            let path = state.paths.get(id).ok_or(PathError::Unknown(id))?;
            let options = PathOptions {
                cost: path.request.cost,
            };
            if let Some(before) = path.lane.take() {
                state.part_with(now, &before, REPLACED);
            }
            let mut added = state.session.add_path(now, options);
            if added == Err(AddPathError::TooMany) && self.drop_silent(state, now) {
                added = state.session.add_path(now, options);
            }
            let lane = match (added, carrier.take()) {
                (Ok(added), Some(carrier)) => Some(Lane::new(added, carrier)),
                (Err(error), given) => {
                    carrier = given;
                    self.count_lanes(state);
                    return Err(error.into());
                }
                (Ok(_), None) => None,
            };
            if let Some(path) = state.paths.get(id) {
                path.lane = lane.clone();
                path.silent = None;
            }
            self.count_lanes(state);
            self.tell(state, id, PathChange::Opened);
            Ok(lane)
        });
        if let (Err(error), Some(carrier)) = (&lane, &carrier) {
            carrier.refuse(&error.to_string());
        }
        if let Some(lane) = lane? {
            lane.carrier.tell_joined();
            driver::spawn_lane(self.clone(), lane, done);
        }
        Ok(())
    }

    /// A client may have lost paths that this end still holds: the one that has been silent for longest goes.
    fn drop_silent(&self, state: &mut State, now: weftline_proto::Time) -> bool {
        let silent = state.paths.all.iter().filter(|path| !path.is_kept);
        let silent = silent.filter_map(|path| Some((path.silent?, path.id, path.lane.clone()?)));
        let Some((_, id, lane)) = silent.min_by_key(|(since, ..)| *since) else {
            return false;
        };
        state.part_with(now, &lane, REMOVED);
        self.tell(state, id, PathChange::Removed);
        state.paths.forget(id);
        true
    }

    /// Does without a path from now on.
    pub(crate) fn remove_path(&self, id: PathId) -> Result<(), PathError> {
        self.with_all(|state, now| {
            if let Some(reason) = state.over() {
                return Err(PathError::Closed(reason.clone()));
            }
            let lanes = state.paths.lanes().count();
            let path = state.paths.get(id).ok_or(PathError::Unknown(id))?;
            if let Some(lane) = path.lane.clone() {
                if lanes < 2 {
                    return Err(PathError::Last(id));
                }
                state.part_with(now, &lane, REMOVED);
            }
            self.tell(state, id, PathChange::Removed);
            state.paths.forget(id);
            self.count_lanes(state);
            Ok(())
        })
    }
}
