//! The rate of the path itself, measured with trains of packets.
//!
//! The arrivals of a round show only the flow's share. A train that leaves much faster than the path
//! can carry has few packets of other flows between its own (Dovrolis et al. 2001), so that its
//! spacing at the receiver shows the rate of the path. Where it leaves hardly faster, its spacing and
//! the rate at which it left show that rate together.

use std::collections::VecDeque;

use core::time::Duration;

use super::round::Point;

/// A train has at least this many packets, and takes at least this long to arrive.
const PACKETS: f64 = 12.0;
const TIME: Duration = Duration::from_millis(4);
/// Reports that are remembered.
const POINTS: usize = 128;
/// The rate is the median of this many trains.
const TRAINS: usize = 3;

/// A path is taken to be faster than a train arrives by this factor at most.
const MOST_BETWEEN: f64 = 2.0;

/// A train that left while other flows filled the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Among {
    /// Bytes a second at which it left, and those that the flow has otherwise.
    pub(super) left: f64,
    pub(super) own: f64,
}

impl Among {
    /// The path's rate if the train arrived at this one. The others send what the path carries less
    /// the flow's own part, `path - own`, so that `arrived / left = path / (left + path - own)`.
    fn path(self, arrived: f64) -> f64 {
        let Among { left, own } = self;
        match own < arrived && arrived < left {
            true => (arrived * (left - own) / (left - arrived)).min(MOST_BETWEEN * arrived),
            false => arrived,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Trains {
    points: VecDeque<Point>,
    /// The highest rate seen in the train under way.
    best: f64,
    /// The rates of the last trains.
    rates: VecDeque<f64>,
}

impl Trains {
    /// Adds a report on the train under way.
    pub(super) fn add(&mut self, point: Point, packet: f64) {
        self.points.truncate(POINTS - 1);
        let rate = self
            .points
            .iter()
            .find_map(|first| point.rate_since(first, PACKETS * packet, TIME));
        self.best = self.best.max(rate.unwrap_or(0.0));
        self.points.push_front(point);
    }

    /// The highest rate seen in the train under way, or 0.
    pub(super) fn best(&self) -> f64 {
        self.best
    }

    /// Ends the train; `among`: other flows fill the queue.
    pub(super) fn end(&mut self, among: Option<Among>) {
        self.points.clear();
        let best = core::mem::take(&mut self.best);
        if best > 0.0 {
            self.rates.truncate(TRAINS - 1);
            self.rates
                .push_front(among.map_or(best, |among| among.path(best)));
        }
    }

    /// Bytes a second that the path can carry, or 0 if no train has measured it.
    pub(super) fn rate(&self) -> f64 {
        let mut sorted = Vec::from_iter(self.rates.iter().copied());
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::progress::Progress;
    use super::*;
    use crate::time::Time;

    /// Sends packets of 1,000 bytes with this spacing.
    fn train(trains: &mut Trains, packets: u64, spacing: Duration) {
        for i in 0..packets {
            let progress = Progress {
                newest: None,
                count: 1,
                waited: Duration::ZERO,
                rtt: Duration::from_millis(50),
                queue: spacing * i as u32,
                arrived: 1000 * (i + 1),
                lost: 0,
                burst: 1.0,
                next: packets,
            };
            trains.add(Point::new(Time::ZERO, &progress, progress.queue), 1000.0);
        }
    }

    #[test]
    fn a_train_that_leaves_hardly_faster_than_the_path_shows_it_among_others() {
        // The path carries 2 MB/s, of which the flow has 0.4. A train at 1.6 has as many bytes of others
        // between its own.
        let mut trains = Trains::default();
        let (left, own) = (1.6e6, 0.4e6);
        train(&mut trains, 20, Duration::from_micros(1000));
        trains.end(Some(Among { left, own }));
        assert_eq!(trains.rate(), 2e6);
        // One that arrives as it left says nothing of others, and one in which errors add up not too much.
        for (left, shown) in [(0.9e6, 1e6), (1.01e6, MOST_BETWEEN * 1e6)] {
            let mut trains = Trains::default();
            train(&mut trains, 20, Duration::from_micros(1000));
            trains.end(Some(Among { left, own }));
            assert_eq!(trains.rate(), shown);
        }
    }

    #[test]
    fn a_train_shows_the_rate_at_which_it_arrives() {
        let mut trains = Trains::default();
        train(&mut trains, 20, Duration::from_micros(500));
        trains.end(None);
        assert_eq!(trains.rate(), 2e6);
    }

    #[test]
    fn too_few_packets_or_too_short_a_time_show_nothing() {
        let mut trains = Trains::default();
        for (packets, spacing) in [(12, 500), (100, 10)] {
            train(&mut trains, packets, Duration::from_micros(spacing));
            trains.end(None);
        }
        assert_eq!(trains.rate(), 0.0);
    }

    #[test]
    fn one_train_that_a_busy_machine_compressed_does_not_count() {
        let mut trains = Trains::default();
        for spacing in [500, 400, 500] {
            train(&mut trains, 20, Duration::from_micros(spacing));
            trains.end(None);
        }
        assert_eq!(trains.rate(), 2e6);
    }
}
