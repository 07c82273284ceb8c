//! What one viewer gets next, and what it does not get: no I/O, and time is an argument.
//!
//! Sound goes first, then key frames, then the other pictures in order. A picture that depends on one that
//! the viewer will not get is not sent. What was lost may be sent once more: the rest of the group then
//! makes sense again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::wire::{Frame, Track};

/// Most pictures that wait, and their bytes.
const MOST_PICTURES: usize = 1024;
const MOST_BYTES: usize = 16 << 20;
/// Most packets of sound that wait.
const MOST_SOUND: usize = 512;
/// A picture helps to decode the next ones after its own time has passed, for this long.
const GRACE: Duration = Duration::from_secs(1);
/// Times that the lost pictures of one group are sent again.
const REPEATS: u32 = 3;

/// The frames that wait for a viewer.
#[derive(Debug)]
pub(super) struct Outbox {
    delay: Duration,
    /// The path's own delay.
    path: Duration,
    sound: VecDeque<Waiting>,
    pictures: VecDeque<Waiting>,
    bytes: usize,
    chain: Chain,
    /// Of the newest group, pictures that the viewer has, and how many copies of others are on their way.
    arrived: BTreeSet<u32>,
    under_way: BTreeMap<u32, u32>,
    repeats: u32,
    dropped: u64,
}

/// A frame that waits.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    pub(super) frame: Arc<Frame>,
    /// It is worth nothing later.
    pub(super) due: Instant,
}

/// The newest group: a key frame, by its number, and the pictures that depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chain {
    /// There was no key frame yet.
    None,
    /// The viewer gets all of it.
    Whole(u32),
    /// The viewer does not get one of its pictures: lost on the way, or never sent.
    Lost(u32),
    Unsent(u32),
}

impl Chain {
    fn key(self) -> Option<u32> {
        match self {
            Chain::None => None,
            Chain::Whole(key) | Chain::Lost(key) | Chain::Unsent(key) => Some(key),
        }
    }
}

/// The key frame of a picture's group.
fn key_of(frame: &Frame) -> u32 {
    match frame.track {
        Track::Delta { key } => key,
        Track::Key { .. } | Track::Sound { .. } => frame.number,
    }
}

impl Outbox {
    /// Nothing waits. Frames are worth something for `delay` after the path's own delay.
    pub(super) fn new(delay: Duration) -> Self {
        Outbox {
            delay,
            path: Duration::ZERO,
            sound: VecDeque::new(),
            pictures: VecDeque::new(),
            bytes: 0,
            chain: Chain::None,
            arrived: BTreeSet::new(),
            under_way: BTreeMap::new(),
            repeats: 0,
            dropped: 0,
        }
    }

    /// The viewer chose this delay, for frames from now on.
    pub(super) fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// The smallest round-trip time of the path.
    pub(super) fn set_rtt(&mut self, rtt: Duration) {
        self.path = rtt / 2;
    }

    /// Pictures that this viewer did not get.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.sound.is_empty() && self.pictures.is_empty()
    }

    /// A frame came from the source, which has a key frame about every `spacing`.
    pub(super) fn push(&mut self, frame: &Arc<Frame>, spacing: Duration, now: Instant) {
        match frame.track {
            Track::Sound { .. } => {
                if self.sound.len() >= MOST_SOUND {
                    self.sound.pop_front();
                }
                let due = now + self.path + self.delay;
                self.sound.push_back(Waiting {
                    frame: frame.clone(),
                    due,
                });
            }
            Track::Key { .. } => {
                self.begin(frame.number);
                self.add(frame, spacing, now);
            }
            Track::Delta { key } if self.chain == Chain::Whole(key) => {
                self.add(frame, spacing, now)
            }
            Track::Delta { .. } => self.dropped += 1,
        }
    }

    fn begin(&mut self, key: u32) {
        self.chain = Chain::Whole(key);
        self.arrived.clear();
        self.under_way.clear();
        self.repeats = 0;
    }

    fn add(&mut self, frame: &Arc<Frame>, spacing: Duration, now: Instant) {
        let longer = match frame.track {
            // The next key frame makes it worthless.
            Track::Key { .. } => spacing.max(GRACE),
            _ => GRACE,
        };
        let waiting = Waiting {
            frame: frame.clone(),
            due: now + self.path + self.delay + longer,
        };
        self.bytes += frame.message.len();
        self.pictures.push_back(waiting);
        if self.pictures.len() > MOST_PICTURES || self.bytes > MOST_BYTES {
            self.cut(key_of(frame), frame.number, false);
        }
    }

    /// The viewer does not get this picture: those after it in its group are worth nothing.
    fn cut(&mut self, key: u32, number: u32, was_sent: bool) {
        let before = self.pictures.len();
        let bytes = &mut self.bytes;
        self.pictures.retain(|waiting| {
            let frame = &waiting.frame;
            let keep = key_of(frame) != key || frame.number.wrapping_sub(number) > u32::MAX / 2;
            if !keep {
                *bytes -= frame.message.len();
            }
            keep
        });
        self.dropped += (before - self.pictures.len()) as u64;
        if self.chain == Chain::Whole(key) {
            self.chain = if was_sent {
                Chain::Lost(key)
            } else {
                Chain::Unsent(key)
            };
        }
    }

    /// The frame to send now.
    pub(super) fn take(&mut self, now: Instant) -> Option<Waiting> {
        self.sound.retain(|waiting| now < waiting.due);
        while let Some(late) = self.pictures.iter().find(|waiting| waiting.due <= now) {
            let (key, number) = (key_of(&late.frame), late.frame.number);
            self.cut(key, number, false);
        }
        if let Some(sound) = self.sound.pop_front() {
            return Some(sound);
        }
        let is_key = |waiting: &Waiting| matches!(waiting.frame.track, Track::Key { .. });
        let first = self.pictures.iter().position(is_key).unwrap_or(0);
        let picture = self.pictures.remove(first)?;
        self.bytes -= picture.frame.message.len();
        if self.chain.key() == Some(key_of(&picture.frame)) {
            *self.under_way.entry(picture.frame.number).or_default() += 1;
        }
        Some(picture)
    }

    /// There was no room for what [`take`](Self::take) returned.
    pub(super) fn put_back(&mut self, waiting: Waiting) {
        if let Track::Sound { .. } = waiting.frame.track {
            return self.sound.push_front(waiting);
        }
        self.copy_ended(waiting.frame.number);
        self.bytes += waiting.frame.message.len();
        self.pictures.push_front(waiting);
    }

    /// One copy less is on its way. Whether no other one is, nor waits.
    fn copy_ended(&mut self, number: u32) -> bool {
        if let Some(copies @ 2..) = self.under_way.get_mut(&number) {
            *copies -= 1;
            return false;
        }
        self.under_way.remove(&number);
        let mut waiting = self.pictures.iter();
        !waiting.any(|waiting| waiting.frame.number == number)
    }

    /// A picture that was sent has arrived, or is lost.
    pub(super) fn on_fate(&mut self, frame: &Frame, arrived: bool) {
        let key = key_of(frame);
        let is_newest = self.chain.key() == Some(key);
        let is_last = !is_newest || self.copy_ended(frame.number);
        match arrived {
            true if is_newest => drop(self.arrived.insert(frame.number)),
            true => {}
            // Sent twice, it may have arrived or arrive the other time.
            false if !is_last || is_newest && self.arrived.contains(&frame.number) => {}
            false => {
                self.dropped += 1;
                self.cut(key, frame.number, true);
            }
        }
    }

    /// The viewer takes no frame of this length.
    pub(super) fn on_unsendable(&mut self, frame: &Frame) {
        if !matches!(frame.track, Track::Sound { .. }) {
            self.dropped += 1;
            self.copy_ended(frame.number);
            self.cut(key_of(frame), frame.number, false);
        }
    }

    /// Whether pictures of the newest group were lost on the way, and may be sent once more.
    pub(super) fn may_repeat(&self) -> bool {
        matches!(self.chain, Chain::Lost(_)) && self.repeats < REPEATS
    }

    /// Sends pictures of the newest group, which is this one, once more.
    pub(super) fn repeat(
        &mut self,
        group: &[Arc<Frame>],
        what: Repeat,
        spacing: Duration,
        now: Instant,
    ) {
        let Some(key) = group.first().map(|frame| frame.number) else {
            return;
        };
        if self.chain.key() != Some(key) {
            self.begin(key);
        }
        match what {
            Repeat::Lost => self.repeats += 1,
            Repeat::Silent => {}
            Repeat::All => self.arrived.clear(),
        }
        self.chain = Chain::Whole(key);
        let bytes = &mut self.bytes;
        self.pictures.retain(|waiting| {
            let keep = key_of(&waiting.frame) != key;
            if !keep {
                *bytes -= waiting.frame.message.len();
            }
            keep
        });
        for frame in group {
            let comes = what == Repeat::Lost && self.under_way.contains_key(&frame.number);
            let has = comes || self.arrived.contains(&frame.number);
            if !has && self.chain == Chain::Whole(key) {
                self.add(frame, spacing, now);
            }
        }
    }
}

/// Which pictures of the newest group are sent once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Those that are known to be lost, and those that were not sent.
    Lost,
    /// Those of which nothing is known too: the path was silent.
    Silent,
    /// All: the viewer's decoder begins anew.
    All,
}
