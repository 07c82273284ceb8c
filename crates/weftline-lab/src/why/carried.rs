//! What the paths did with each transmission, as far as both ends tell it.

use std::collections::{BTreeMap, HashMap};

use weftline_proto::{LogEntry, LogEvent, PathId};

/// Nothing arrives for this long, although datagrams were sent: the path is down. Microseconds.
const OUTAGE: i64 = 100_000;
/// So many datagrams should have arrived in that time: fewer may be lost by chance.
const OUTAGE_DATAGRAMS: usize = 5;

/// A datagram with a source symbol, a repair symbol or a probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    /// Microseconds, on the sender's clock.
    pub(super) sent: i64,
    /// On the same clock; `None`: it did not.
    pub(super) arrived: Option<i64>,
}

/// One path, in one direction.
#[derive(Debug, Default)]
pub(super) struct Carried {
    /// By their numbers.
    pub(super) all: BTreeMap<u64, Transmission>,
    /// The smallest time from one end to the other.
    pub(super) base: i64,
    /// For each arrived number, in their order: the earliest arrival of it and those after it.
    earliest: BTreeMap<u64, i64>,
    /// Times in which nothing arrived, although it should have.
    outages: Vec<(i64, i64)>,
}

/// Names a transmission: the path, as its sender counts paths, and its number.
pub(super) type Name = (PathId, u64);

/// A transmission and what is in it, which tells two of the same number apart.
type Content = (u64, u32, u64);

fn sent(entry: &LogEntry) -> Option<Content> {
    Some(match entry.event {
        LogEvent::SourceSent {
            number, size, esi, ..
        } => (number, size, esi),
        LogEvent::RepairSent {
            number,
            size,
            first,
            ..
        } => (number, size, first),
        LogEvent::ProbeSent {
            number, size, next, ..
        } => (number, size, next),
        _ => return None,
    })
}

fn received(entry: &LogEntry) -> Option<Content> {
    Some(match entry.event {
        LogEvent::SourceReceived {
            number, size, esi, ..
        } => (number, size, esi),
        LogEvent::RepairReceived {
            number,
            size,
            first,
            ..
        } => (number, size, first),
        LogEvent::ProbeReceived { number, size, next } => (number, size, next),
        _ => return None,
    })
}

pub(super) fn micros(entry: &LogEntry) -> i64 {
    entry.time.as_micros() as i64
}

/// The paths of the receiver, by those of the sender: each end counts its own. Those of which the most
/// datagrams agree belong together.
pub(super) fn pair_paths(from: &[LogEntry], to: &[LogEntry]) -> HashMap<PathId, PathId> {
    let mut contents: HashMap<Content, Vec<PathId>> = HashMap::new();
    for entry in from {
        if let Some(content) = sent(entry) {
            contents.entry(content).or_default().push(entry.path);
        }
    }
    let mut agree: BTreeMap<(PathId, PathId), u64> = BTreeMap::new();
    for entry in to {
        for path in received(entry)
            .and_then(|c| contents.get(&c))
            .into_iter()
            .flatten()
        {
            *agree.entry((entry.path, *path)).or_default() += 1;
        }
    }
    let mut agree: Vec<_> = agree.into_iter().collect();
    agree.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut pairs: HashMap<PathId, PathId> = HashMap::new();
    for ((theirs, ours), _) in agree {
        if !pairs.values().any(|path| *path == ours) {
            pairs.entry(theirs).or_insert(ours);
        }
    }
    pairs
}

/// The smallest differences between the receiver's and the sender's time, each on its own clock: of
/// transmissions and of reports.
pub(super) fn smallest_difference(
    from: &[LogEntry],
    to: &[LogEntry],
    paths: &HashMap<PathId, PathId>,
) -> Option<i64> {
    let mut times: HashMap<(PathId, bool, u64), i64> = HashMap::new();
    for entry in from {
        let name = match (sent(entry), &entry.event) {
            (Some((number, ..)), _) => (entry.path, false, number),
            (None, LogEvent::ReportSent(report)) => (PathId::FIRST, true, report.report),
            _ => continue,
        };
        times.insert(name, micros(entry));
    }
    let differences = to.iter().filter_map(|entry| {
        let name = match (received(entry), &entry.event) {
            (Some((number, ..)), _) => (*paths.get(&entry.path)?, false, number),
            (None, LogEvent::ReportReceived { report, .. }) => (PathId::FIRST, true, report.report),
            _ => return None,
        };
        Some(micros(entry) - times.get(&name)?)
    });
    differences.min()
}

/// What each path of the sender carried. `ahead` is by how much the receiver's clock is ahead.
pub(super) fn carried(
    from: &[LogEntry],
    to: &[LogEntry],
    paths: &HashMap<PathId, PathId>,
    ahead: i64,
) -> HashMap<PathId, Carried> {
    let mut all: HashMap<PathId, Carried> = HashMap::new();
    for entry in from {
        if let Some((number, ..)) = sent(entry) {
            let transmission = Transmission {
                sent: micros(entry),
                arrived: None,
            };
            all.entry(entry.path)
                .or_default()
                .all
                .insert(number, transmission);
        }
    }
    for entry in to {
        let of = received(entry).and_then(|(number, ..)| {
            let path = all.get_mut(paths.get(&entry.path)?)?;
            path.all.get_mut(&number)
        });
        if let Some(transmission) = of {
            transmission.arrived.get_or_insert(micros(entry) - ahead);
        }
    }
    all.values_mut().for_each(Carried::complete);
    all
}

impl Carried {
    fn complete(&mut self) {
        let delays = self.all.values().filter_map(|t| Some(t.arrived? - t.sent));
        self.base = delays.min().unwrap_or(0);
        let mut earliest = i64::MAX;
        for (number, transmission) in self.all.iter().rev() {
            if let Some(arrived) = transmission.arrived {
                earliest = earliest.min(arrived);
                self.earliest.insert(*number, earliest);
            }
        }
        let mut arrivals: Vec<i64> = self.all.values().filter_map(|t| t.arrived).collect();
        arrivals.sort_unstable();
        let mut expected: Vec<i64> = self.all.values().map(|t| t.sent + self.base).collect();
        expected.sort_unstable();
        for pair in arrivals.windows(2) {
            let (before, after) = (pair[0], pair[1]);
            let begin = expected.partition_point(|at| *at <= before);
            let end = expected.partition_point(|at| *at < after);
            if end.saturating_sub(begin) >= OUTAGE_DATAGRAMS && after - expected[begin] >= OUTAGE {
                self.outages.push((before, after));
            }
        }
    }

    /// A datagram that should have arrived at a time when nothing did.
    pub(super) fn is_in_outage(&self, transmission: &Transmission) -> bool {
        let expected = transmission.sent + self.base;
        let after = self.outages.partition_point(|(_, end)| *end <= expected);
        let outage = self.outages.get(after);
        outage.is_some_and(|(begin, _)| *begin < expected)
    }

    /// How much of this time passed in outages: until what is sent after one is acknowledged, all that waits
    /// for acknowledgements waits because of it.
    pub(super) fn down_within(&self, from: i64, until: i64) -> i64 {
        let outages = self.outages.iter();
        let overlap = outages.map(|(begin, end)| {
            let (begin, end) = (begin - self.base, end + self.base);
            end.min(until) - begin.max(from)
        });
        overlap.map(|time| time.max(0)).sum()
    }

    /// Whether one that was sent later arrived earlier.
    pub(super) fn is_overtaken(&self, number: u64, arrived: i64) -> bool {
        let mut later = self.earliest.range(number + 1..);
        later
            .next()
            .is_some_and(|(_, earliest)| *earliest < arrived)
    }
}
