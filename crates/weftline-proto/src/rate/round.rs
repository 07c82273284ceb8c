//! The measurements of one round trip.

use core::time::Duration;

use super::progress::Progress;
use crate::time::{Time, micros};

/// A train of packets shows a rate if it had at least this many packets and took at least this long.
const TRAIN_PACKETS: f64 = 12.0;
const TRAIN_TIME: Duration = Duration::from_millis(4);
/// On slow paths fewer packets show it, if they took this long. Wi-Fi holds packets back for less.
const SLOW_PACKETS: f64 = 3.0;
const SLOW_TIME: Duration = Duration::from_millis(100);
/// The queue is the shortest of this many reports, because the wait of a process for its processor
/// must not look like a queue.
const RECENT: usize = 4;

/// The state of the forward path when a datagram arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// When it arrived, on the sender's clock, less the path's own delay.
    pub(super) at: Time,
    /// Bytes that had arrived by then.
    pub(super) arrived: u64,
    lost: u64,
    queue: Duration,
    burst: f64,
}

impl Point {
    /// The datagram that left at `sent` is the newest that has arrived.
    pub(super) fn new(sent: Time, progress: &Progress, queue: Duration) -> Self {
        Point {
            at: sent + progress.queue,
            arrived: progress.arrived,
            lost: progress.lost,
            queue,
            burst: progress.burst,
        }
    }

    /// Bytes a second that arrived since `first`, if at least `bytes` arrived and took at least
    /// `time`.
    pub(super) fn rate_since(&self, first: &Point, bytes: f64, time: Duration) -> Option<f64> {
        let arrived = (self.arrived - first.arrived) as f64;
        let took = self.at.since(first.at);
        (arrived >= bytes && took >= time).then(|| arrived / took.as_secs_f64())
    }
}

/// The time from the departure of a datagram until it, or a later one, is reported.
#[derive(Clone, Debug)]
pub(super) struct Round {
    /// The round ends when this transmission, or a later one, is reported.
    pub(super) end: u64,
    first: Option<Point>,
    newest: Option<Point>,
    recent: [Duration; RECENT],
    reports: u32,
    total: Duration,
    /// The shortest queue seen.
    pub(super) queue: Option<Duration>,
    /// The longest queue that four reports in a row have all shown.
    pub(super) longest: Duration,
    /// The window or the pace held a datagram back.
    pub(super) limited: bool,
    /// The window did.
    pub(super) full: bool,
    /// There was nothing to send for a time.
    pub(super) idle: bool,
    /// The path has marked datagrams.
    pub(super) marked: bool,
    /// Since when the start loses too much.
    pub(super) lossy_since: Option<Time>,
}

impl Round {
    pub(super) fn new(end: u64, first: Option<Point>) -> Self {
        Round {
            end,
            first,
            newest: first,
            recent: [Duration::ZERO; RECENT],
            reports: 0,
            total: Duration::ZERO,
            queue: None,
            longest: Duration::ZERO,
            limited: false,
            full: false,
            idle: false,
            marked: false,
            lossy_since: None,
        }
    }

    /// Only the pace held datagrams back, and not all the time: the application sends bursts.
    pub(super) fn is_spread(&self) -> bool {
        self.idle && !self.full
    }

    pub(super) fn newest(&self) -> Option<Point> {
        self.newest
    }

    pub(super) fn add(&mut self, point: Point) {
        self.first.get_or_insert(point);
        self.newest = Some(point);
        self.recent[self.reports as usize % RECENT] = point.queue;
        self.reports = self.reports.saturating_add(1);
        self.total += point.queue;
        self.queue = Some(self.queue.map_or(point.queue, |q| q.min(point.queue)));
        self.longest = self.longest.max(self.recent_queue());
    }

    /// The shortest queue of the newest reports; zero before there were enough.
    pub(super) fn recent_queue(&self) -> Duration {
        self.recent.into_iter().min().unwrap_or_default()
    }

    /// The queue in the newest report.
    pub(super) fn newest_queue(&self) -> Duration {
        self.newest.map_or(Duration::ZERO, |newest| newest.queue)
    }

    pub(super) fn mean_queue(&self) -> Duration {
        self.total / self.reports.max(1)
    }

    fn span(&self) -> Option<(u64, u64, Duration)> {
        let (first, newest) = (self.first?, self.newest?);
        let arrived = newest.arrived - first.arrived;
        // What counted as lost may have arrived since.
        let lost = newest.lost.saturating_sub(first.lost);
        Some((arrived, lost, newest.at.since(first.at)))
    }

    /// Mean length of a run of losses.
    pub(super) fn burst(&self) -> f64 {
        self.newest.map_or(1.0, |newest| newest.burst).max(1.0)
    }

    /// Bytes that arrived.
    pub(super) fn arrived(&self) -> f64 {
        self.span().map_or(0.0, |(arrived, _, _)| arrived as f64)
    }

    /// Share of bytes lost.
    pub(super) fn loss(&self) -> f64 {
        let Some((arrived, lost, _)) = self.span() else {
            return 0.0;
        };
        lost as f64 / (arrived + lost).max(1) as f64
    }

    /// Packets of this size whose fate became known in this round.
    pub(super) fn packets(&self, packet: f64) -> f64 {
        self.span()
            .map_or(0.0, |(arrived, lost, _)| (arrived + lost) as f64 / packet)
    }

    /// Bytes a second that arrived, if enough arrived for a measurement.
    pub(super) fn rate(&self, packet: f64) -> Option<f64> {
        self.newest?
            .rate_since(&self.first?, TRAIN_PACKETS * packet, TRAIN_TIME)
    }

    /// The same; on a slow path few packets are enough.
    pub(super) fn rate_of_few(&self, packet: f64) -> Option<f64> {
        let (first, newest) = (self.first?, self.newest?);
        let slow = newest.rate_since(&first, SLOW_PACKETS * packet, SLOW_TIME);
        self.rate(packet).or(slow)
    }

    /// Bytes a second that arrived, even if few did.
    pub(super) fn mean_rate(&self) -> Option<f64> {
        let (arrived, _, took) = self.span()?;
        (micros(took) > 0).then(|| arrived as f64 / took.as_secs_f64())
    }
}
