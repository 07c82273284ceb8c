//! What became of each source symbol with data.

use std::collections::{BTreeMap, HashMap, VecDeque};

use weftline_proto::{HoldReason, LogEntry, LogEvent, PathId};

use super::carried::{Name, micros};

/// How a symbol became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// This transmission of it arrived.
    Arrived(Name),
    /// It was decoded from repair symbols.
    Decoded,
}

/// A source symbol. Times are microseconds on the sender's clock.
#[derive(Clone, Debug)]
pub(super) struct Journey {
    /// When the application wrote the oldest byte in it; when it left, if the log does not tell.
    pub(super) written: i64,
    /// When it first left, or entered the encoding window.
    pub(super) sent: i64,
    /// Its first transmission; `None`: it was sent in repair symbols alone.
    pub(super) first: Option<Name>,
    /// Streams of which data is in it; `None`: not told, so that it counts as in order with all others
    /// of which nothing is told.
    streams: Option<Vec<u64>>,
    pub(super) known: Option<(i64, How)>,
    /// When the application could read it, and the symbol that it then had waited for: itself, or an
    /// earlier one of the same stream.
    pub(super) ready: Option<(i64, u64)>,
}

/// Why data waited on a path, and from when on.
pub(super) type Holds = HashMap<PathId, Vec<(i64, Option<HoldReason>)>>;

/// What the application wrote and no symbol has taken yet.
#[derive(Default)]
struct Unsent {
    streams: HashMap<u64, VecDeque<(u64, i64)>>,
    messages: HashMap<u64, i64>,
}

impl Unsent {
    /// What was written before the log began has to be in it too: what was sent more than was written.
    fn new(from: &[LogEntry]) -> Self {
        let mut more: HashMap<u64, i64> = HashMap::new();
        for entry in from {
            match &entry.event {
                LogEvent::Written {
                    stream: Some(stream),
                    bytes,
                    ..
                } => *more.entry(*stream).or_default() -= *bytes as i64,
                LogEvent::SourceSent { streams, .. } => {
                    for (stream, bytes) in streams {
                        *more.entry(*stream).or_default() += *bytes as i64;
                    }
                }
                _ => {}
            }
        }
        let began = from.first().map_or(0, micros);
        let before = more.into_iter().filter(|(_, bytes)| *bytes > 0);
        let streams = before.map(|(stream, bytes)| (stream, [(bytes as u64, began)].into()));
        Unsent {
            streams: streams.collect(),
            messages: HashMap::new(),
        }
    }

    /// Takes these bytes of a stream; when the first of them was written.
    fn take(&mut self, stream: u64, mut bytes: u64) -> Option<i64> {
        let parts = self.streams.get_mut(&stream)?;
        let oldest = parts.front()?.1;
        while bytes > 0 {
            let Some((left, _)) = parts.front_mut() else {
                break;
            };
            let taken = bytes.min(*left);
            (*left, bytes) = (*left - taken, bytes - taken);
            if *left == 0 {
                parts.pop_front();
            }
        }
        Some(oldest)
    }
}

/// The symbols with data that were sent, by their ESIs, and what held them back.
pub(super) fn sent(from: &[LogEntry]) -> (BTreeMap<u64, Journey>, Holds) {
    let (mut journeys, mut holds) = (BTreeMap::new(), Holds::new());
    let mut unsent = Unsent::new(from);
    for entry in from {
        let now = micros(entry);
        match &entry.event {
            LogEvent::Written {
                stream: Some(stream),
                bytes,
                ..
            } => {
                let parts = unsent.streams.entry(*stream).or_default();
                parts.push_back((*bytes, now));
            }
            LogEvent::Written {
                message: Some(message),
                ..
            } => {
                unsent.messages.insert(*message, now);
            }
            LogEvent::Held { by } => holds.entry(entry.path).or_default().push((now, *by)),
            LogEvent::SourceSent {
                number,
                esi,
                again: false,
                streams,
                messages,
                ..
            } if !(streams.is_empty() && messages.is_empty()) => {
                let of_streams = streams.iter();
                let of_streams = of_streams.filter_map(|(id, bytes)| unsent.take(*id, *bytes));
                let oldest = of_streams.min();
                let of_messages = messages.iter().filter_map(|id| unsent.messages.get(id));
                let oldest = oldest.into_iter().chain(of_messages.copied()).min();
                let journey = Journey {
                    written: oldest.unwrap_or(now),
                    sent: now,
                    first: Some((entry.path, *number)),
                    streams: Some(streams.iter().map(|(id, _)| *id).collect()),
                    known: None,
                    ready: None,
                };
                journeys.insert(*esi, journey);
            }
            LogEvent::Filled { first, count, .. } => {
                let journey = Journey {
                    written: now,
                    sent: now,
                    first: None,
                    streams: None,
                    known: None,
                    ready: None,
                };
                journeys.extend((*first..first + count).map(|esi| (esi, journey.clone())));
            }
            _ => {}
        }
    }
    (journeys, holds)
}

/// Adds when each symbol became known, and could be read. `ahead` is by how much the receiver's clock is.
pub(super) fn receive(
    journeys: &mut BTreeMap<u64, Journey>,
    to: &[LogEntry],
    paths: &HashMap<PathId, PathId>,
    ahead: i64,
) {
    for entry in to {
        let now = micros(entry) - ahead;
        let mut know = |esi: u64, how| {
            if let Some(journey) = journeys.get_mut(&esi) {
                journey.known.get_or_insert((now, how));
            }
        };
        match &entry.event {
            LogEvent::SourceReceived {
                number,
                esi,
                useful: true,
                ..
            } => {
                if let Some(path) = paths.get(&entry.path) {
                    know(*esi, How::Arrived((*path, *number)));
                }
            }
            LogEvent::Decoded { symbols, .. } => {
                for (first, count) in symbols {
                    (*first..first + count).for_each(|esi| know(esi, How::Decoded));
                }
            }
            _ => {}
        }
    }
    // By stream: when all symbols so far were known, and the one that was known last; `None` after one that
    // never was.
    let mut in_order: HashMap<Option<u64>, Option<(i64, u64)>> = HashMap::new();
    for (esi, journey) in journeys {
        let own = journey.known.map(|(at, _)| (at, *esi));
        let streams: Vec<Option<u64>> = match &journey.streams {
            Some(streams) => streams.iter().copied().map(Some).collect(),
            None => vec![None],
        };
        let mut ready = own;
        for stream in streams {
            let last = in_order.entry(stream).or_insert(own);
            *last = match (*last, own) {
                (Some(last), Some(own)) => Some(if own.0 > last.0 { own } else { last }),
                _ => None,
            };
            ready = match (ready, *last) {
                (Some(ready), Some(last)) => Some(if last.0 > ready.0 { last } else { ready }),
                _ => None,
            };
        }
        journey.ready = ready;
    }
}
