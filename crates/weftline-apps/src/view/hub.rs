//! One source, many viewers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;
use tokio::time::Instant;

use super::clock::Timeline;
use super::counts::Counts;
use super::media::{Kind, Unit};
use super::outbox::{Outbox, Repeat};
use super::wire::{Frame, Track};
use crate::lock::lock;

/// Most pictures of a group that are kept for newcomers, and their bytes. Of a longer group they get
/// nothing: they wait for the next key frame.
const MOST_PICTURES: usize = 900;
const MOST_BYTES: usize = 12 << 20;
/// Bounds of the time between key frames that deadlines are made of.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(10);
/// The time between key frames before it is known.
const USUAL: Duration = Duration::from_secs(2);
/// Sources with a clock of their own.
pub(super) const SOURCES: usize = 2;

/// Hands the frames of a source to all viewers.
#[derive(Debug)]
pub(super) struct Hub {
    began: Instant,
    most: usize,
    delay: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    timelines: [Timeline; SOURCES],
    /// Pictures and packets of sound so far.
    pictures: u32,
    sounds: u32,
    group: Group,
    spacing: Duration,
    last_key: Option<Instant>,
    seats: HashMap<u64, Arc<Inner>>,
    next_seat: u64,
    counts: Counts,
}

/// The newest key frame and what depends on it.
#[derive(Debug, Default)]
struct Group {
    frames: Vec<Arc<Frame>>,
    bytes: usize,
    /// It is too long to be kept, or a picture of it is missing.
    is_incomplete: bool,
}

/// A viewer's place. Dropping it gives the place back.
#[derive(Debug)]
pub(super) struct Seat {
    hub: Arc<Hub>,
    id: u64,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    outbox: Mutex<Outbox>,
    wake: Notify,
}

impl Hub {
    /// For up to `most` viewers, whose delay is `delay` until they choose one.
    pub(super) fn new(most: usize, delay: Duration) -> Arc<Self> {
        Arc::new(Hub {
            began: Instant::now(),
            most,
            delay,
            state: Mutex::new(State {
                timelines: Default::default(),
                pictures: 0,
                sounds: 0,
                group: Group::default(),
                spacing: USUAL,
                last_key: None,
                seats: HashMap::new(),
                next_seat: 0,
                counts: Counts::default(),
            }),
        })
    }

    /// Microseconds on the server's clock.
    pub(super) fn now(&self) -> u64 {
        micros(self.began.elapsed())
    }

    /// A moment on the server's clock, in microseconds.
    pub(super) fn micros(&self, at: Instant) -> u64 {
        micros(at.saturating_duration_since(self.began))
    }

    /// The delay until a viewer chooses one.
    pub(super) fn delay(&self) -> Duration {
        self.delay
    }

    /// Counters so far.
    pub(super) fn counts(&self) -> Counts {
        let state = lock(&self.state);
        let mut counts = state.counts;
        counts.viewers = state.seats.len() as u64;
        let waiting = state
            .seats
            .values()
            .map(|seat| lock(&seat.outbox).dropped());
        counts.dropped_frames += waiting.sum::<u64>();
        counts
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Counts)) {
        change(&mut lock(&self.state).counts);
    }

    /// Hands a unit of this source, 0 or 1, to all viewers.
    pub(super) fn publish(&self, source: usize, unit: &Unit) {
        let now = Instant::now();
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let age = self.now().saturating_sub(unit.came);
        let wall = micros(wall).saturating_sub(age);
        let state = &mut *lock(&self.state);
        let show = match unit.kind {
            Kind::Gap => {
                state.counts.source_gaps += 1;
                state.group.is_incomplete = true;
                return;
            }
            _ => state.timelines[source % SOURCES].show(unit.pts, unit.came),
        };
        let (track, number) = match &unit.kind {
            Kind::Key(codec) => {
                state.begin(now);
                (
                    Track::Key {
                        codec: codec.clone(),
                    },
                    count(&mut state.pictures),
                )
            }
            Kind::Sound { channels } => {
                let channels = *channels;
                (Track::Sound { channels }, count(&mut state.sounds))
            }
            _ => {
                let Some(key) = state.group.frames.first() else {
                    return;
                };
                (Track::Delta { key: key.number }, count(&mut state.pictures))
            }
        };
        let frame = Arc::new(Frame::new(track, number, show, unit.came, wall, &unit.data));
        state.add(&frame, unit.data.len());
        for seat in state.seats.values() {
            lock(&seat.outbox).push(&frame, state.spacing, now);
            seat.wake.notify_one();
        }
    }

    /// A place for a viewer, who begins with the newest group; `None`: all are taken.
    pub(super) fn join(self: &Arc<Self>) -> Option<Seat> {
        let state = &mut *lock(&self.state);
        if state.seats.len() >= self.most {
            state.counts.refused_viewers += 1;
            return None;
        }
        let mut outbox = Outbox::new(self.delay);
        if let Some(group) = state.group.whole() {
            outbox.repeat(group, Repeat::All, state.spacing, Instant::now());
        }
        let inner = Arc::new(Inner {
            outbox: Mutex::new(outbox),
            wake: Notify::new(),
        });
        inner.wake.notify_one();
        let id = state.next_seat;
        state.next_seat += 1;
        state.counts.sessions += 1;
        state.seats.insert(id, inner.clone());
        Some(Seat {
            hub: self.clone(),
            id,
            inner,
        })
    }

    /// Whether any frame waits to be sent.
    pub(super) fn is_drained(&self) -> bool {
        let state = lock(&self.state);
        state
            .seats
            .values()
            .all(|seat| lock(&seat.outbox).is_empty())
    }
}

impl Seat {
    /// Waits until there is something new to send.
    pub(super) async fn woken(&self) {
        self.inner.wake.notified().await;
    }

    pub(super) fn outbox(&self) -> MutexGuard<'_, Outbox> {
        lock(&self.inner.outbox)
    }

    /// Sends pictures of the newest group once more, if it is kept.
    pub(super) fn repeat(&self, what: Repeat) {
        let state = lock(&self.hub.state);
        if let Some(group) = state.group.whole() {
            lock(&self.inner.outbox).repeat(group, what, state.spacing, Instant::now());
            self.inner.wake.notify_one();
        }
    }

    pub(super) fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let state = &mut *lock(&self.hub.state);
        state.seats.remove(&self.id);
        state.counts.dropped_frames += lock(&self.inner.outbox).dropped();
    }
}

impl State {
    /// A key frame begins a group.
    fn begin(&mut self, now: Instant) {
        if let Some(last) = self.last_key.replace(now) {
            self.spacing = (now - last).clamp(SHORTEST, LONGEST);
        }
        self.group = Group::default();
    }

    fn add(&mut self, frame: &Arc<Frame>, bytes: usize) {
        let counts = &mut self.counts;
        if let Track::Sound { .. } = frame.track {
            counts.sound_packets += 1;
            counts.sound_bytes += bytes as u64;
            return;
        }
        counts.frames += 1;
        counts.frame_bytes += bytes as u64;
        counts.key_frames += u64::from(matches!(frame.track, Track::Key { .. }));
        let group = &mut self.group;
        if group.frames.len() >= MOST_PICTURES || group.bytes + bytes > MOST_BYTES {
            group.is_incomplete = true;
            // The first one is kept: it names the group.
            group.frames.truncate(1);
        }
        if !group.is_incomplete || group.frames.is_empty() {
            group.bytes += bytes;
            group.frames.push(frame.clone());
        }
    }
}

impl Group {
    fn whole(&self) -> Option<&[Arc<Frame>]> {
        (!self.is_incomplete).then_some(&self.frames)
    }
}

/// The next number.
fn count(counter: &mut u32) -> u32 {
    let number = *counter;
    *counter = counter.wrapping_add(1);
    number
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
