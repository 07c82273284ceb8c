//! Causes compared with what the simulated links did.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use weftline_proto::LogEvent;

use super::cause::{Cause, Late, split};
use super::{Explanation, Logs};
use weftline_sim::engine::{DatagramKind, PathEntry, PathEvent, Place};

/// What the links did in an outage: so many datagrams in a row were not delivered, for this long
/// (microseconds).
const RUN: usize = 5;
const LONG: i64 = 100_000;

/// How many causes are right.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Checked {
    /// Late symbols.
    pub late: u64,
    /// Those whose cause agrees with what the links did.
    pub right: u64,
    /// The others, and what the links did with the datagram that matters.
    pub wrong: Vec<(Late, Truth)>,
}

/// What made a symbol late, as the links know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Truth {
    /// It left late.
    AtSender,
    /// The link lost it, and what made it known was a repair symbol.
    LostAndRepaired,
    /// The link lost it, and delivered it when it was sent again.
    LostAndSentAgain,
    /// The link delivered nothing for a long time.
    Outage,
    /// The link delivered it late, in order.
    Queue,
    /// The link delivered it late, after datagrams that were sent later.
    Reordered,
    /// The link delivered it as fast as it could, but another one is faster.
    SlowerPath,
    /// It was never sent as it is.
    Coded,
}

/// A transmission of the writer, as its link tells of it.
#[derive(Clone, Copy)]
struct Fate {
    sent: i64,
    arrives: Option<i64>,
    is_source: bool,
}

/// What one link did.
#[derive(Default)]
struct Link {
    fates: BTreeMap<u64, Fate>,
    base: i64,
    /// For each number delivered: the earliest arrival of it and later ones.
    earliest: BTreeMap<u64, i64>,
    down: Vec<Run>,
}

/// Transmissions in a row that were not delivered, for a long time.
struct Run {
    numbers: std::ops::Range<u64>,
    /// From the first one until the next delivered one is acknowledged.
    time: (i64, i64),
}

impl Link {
    fn complete(&mut self) {
        let delays = self
            .fates
            .values()
            .filter_map(|f| Some(f.arrives? - f.sent));
        self.base = delays.min().unwrap_or(0);
        let mut earliest = i64::MAX;
        for (number, fate) in self.fates.iter().rev() {
            if let Some(arrives) = fate.arrives {
                earliest = earliest.min(arrives);
                self.earliest.insert(*number, earliest);
            }
        }
        let mut lost: Vec<(u64, i64)> = Vec::new();
        for (number, fate) in &self.fates {
            let Some(arrives) = fate.arrives else {
                lost.push((*number, fate.sent));
                continue;
            };
            if let Some((first, since)) = lost.first().copied()
                && lost.len() >= RUN
                && fate.sent - since >= LONG
            {
                self.down.push(Run {
                    numbers: first..*number,
                    time: (since, arrives + self.base),
                });
            }
            lost.clear();
        }
    }

    /// Whether this transmission is one of many in a row that were not delivered.
    fn is_down(&self, number: u64) -> bool {
        self.down.iter().any(|run| run.numbers.contains(&number))
    }

    /// How much of this time passed until what followed such a run was acknowledged.
    fn down_within(&self, from: i64, until: i64) -> i64 {
        let overlap = self.down.iter().map(|run| {
            let (begin, end) = run.time;
            end.min(until) - begin.max(from)
        });
        overlap.map(|time| time.max(0)).sum()
    }
}

fn link(entry: &PathEntry) -> Option<(usize, u64, Fate)> {
    let datagram = &entry.datagram;
    let counts = matches!(
        datagram.kind,
        DatagramKind::Source | DatagramKind::Repair | DatagramKind::Probe
    );
    if datagram.from != Place::Writer || !counts {
        return None;
    }
    let delivered = entry.event == PathEvent::PathDelivered;
    let fate = Fate {
        sent: (entry.time * 1e3).round() as i64,
        arrives: datagram
            .arrives_us
            .filter(|_| delivered)
            .map(|at| at as i64),
        is_source: datagram.kind == DatagramKind::Source,
    };
    Some((entry.path.unwrap_or(0), datagram.number?, fate))
}

impl Checked {
    /// The share of right causes; 1 if nothing was late.
    pub fn share(&self) -> f64 {
        match self.late {
            0 => 1.0,
            late => self.right as f64 / late as f64,
        }
    }
}

impl Explanation {
    /// Compares the causes with what the links of the simulation did. `None`: the logs are not of one.
    pub fn check(&self, logs: &Logs) -> Option<Checked> {
        let direction = self.directions.iter().find(|one| one.from == "writer")?;
        if logs.path.is_empty() {
            return None;
        }
        let mut links: HashMap<usize, Link> = HashMap::new();
        for (path, number, fate) in logs.path.iter().filter_map(link) {
            links.entry(path).or_default().fates.insert(number, fate);
        }
        links.values_mut().for_each(Link::complete);
        // Transmissions of each symbol, the first one first.
        let mut of_symbol: HashMap<u64, Vec<(usize, u64)>> = HashMap::new();
        for entry in &logs.ends[0].entries {
            if let LogEvent::SourceSent { esi, number, .. } = entry.event {
                let all = of_symbol.entry(esi).or_default();
                all.push((entry.path.index(), number));
            }
        }
        let truth = |late: &Late| {
            let symbol = late.behind.unwrap_or(late.esi);
            let known = late.written_us + late.delay_us;
            let transmissions = of_symbol.get(&symbol).map_or(&[][..], Vec::as_slice);
            what_happened(&links, transmissions, late, known, direction.smallest_us)
        };
        let mut checked = Checked::default();
        for late in &direction.late {
            let truth = truth(late);
            checked.late += 1;
            match agrees(late.cause, truth) {
                true => checked.right += 1,
                false => checked.wrong.push((*late, truth)),
            }
        }
        Some(checked)
    }
}

fn what_happened(
    links: &HashMap<usize, Link>,
    transmissions: &[(usize, u64)],
    late: &Late,
    known: i64,
    smallest: i64,
) -> Truth {
    let fate = |(path, number): &(usize, u64)| Some((&links[path], links[path].fates.get(number)?));
    let Some((first, (link, sent))) = transmissions.first().and_then(|t| Some((t, fate(t)?)))
    else {
        return Truth::Coded;
    };
    let (at_sender, on_its_way) = split(late.written_us, sent.sent, known, smallest);
    if at_sender >= on_its_way {
        let down = link.down_within(late.written_us, sent.sent);
        return match 2 * down > sent.sent - late.written_us {
            true => Truth::Outage,
            false => Truth::AtSender,
        };
    }
    let Some(arrives) = sent.arrives else {
        let again = transmissions[1..].iter().filter_map(fate);
        let mut again = again.map(|(_, fate)| (fate.is_source, fate.arrives));
        return match link.is_down(first.1) {
            true => Truth::Outage,
            false if again.any(|one| one == (true, Some(known))) => Truth::LostAndSentAgain,
            false => Truth::LostAndRepaired,
        };
    };
    let fastest = links.values().map(|link| link.base).min();
    let slower = link.base - fastest.unwrap_or(link.base);
    let mut later = link.earliest.range(first.1 + 1..);
    if slower > arrives - sent.sent - link.base {
        Truth::SlowerPath
    } else if later
        .next()
        .is_some_and(|(_, earliest)| *earliest < arrives)
    {
        Truth::Reordered
    } else {
        Truth::Queue
    }
}

fn agrees(cause: Cause, truth: Truth) -> bool {
    let expected = match cause {
        Cause::Repaired => Truth::LostAndRepaired,
        Cause::SentAgain => Truth::LostAndSentAgain,
        Cause::Outage => Truth::Outage,
        Cause::Queue => Truth::Queue,
        Cause::Reordered => Truth::Reordered,
        Cause::SlowerPath => Truth::SlowerPath,
        Cause::Decoding => Truth::Coded,
        _ => Truth::AtSender,
    };
    expected == truth
}
