//! Counters of a path, and whether they can be trusted.

use std::time::Duration;

use serde::Serialize;
use weftline_netem::{Histogram, LinkConfig};

use super::direction::Direction;
use crate::links::Links;

/// Lateness above which a run does not represent the path.
const MAX_LATENESS: Duration = Duration::from_millis(1);

/// Counters of the path since it was opened.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// Whether the emulator kept up: see `problems`.
    pub valid: bool,
    /// Why the run is not valid.
    pub problems: Vec<String>,
    /// The seed.
    pub seed: u64,
    /// How long the emulator ran.
    pub seconds: f64,
    /// Share of one processor that the emulator used, 0 to 1.
    pub emulator_cpu: f64,
    /// From side A to side B, on the first link.
    pub a_to_b: DirectionReport,
    /// From side B to side A, on the first link.
    pub b_to_a: DirectionReport,
    /// The other links, if there are any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<LinkReport>,
    /// Packets missing from the capture file because the disk was slow.
    pub capture_missed: u64,
}

/// Counters of a further link.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct LinkReport {
    /// From side A to side B.
    pub a_to_b: DirectionReport,
    /// From side B to side A.
    pub b_to_a: DirectionReport,
}

/// Counters of one direction.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct DirectionReport {
    /// The link's text form.
    pub link: String,
    /// Packets that entered the link, IP headers included in `bytes`.
    pub packets: u64,
    /// Bytes that entered the link.
    pub bytes: u64,
    /// Packets that leave the link, without second copies, with those still in flight.
    pub delivered_packets: u64,
    /// Bytes of these packets.
    pub delivered_bytes: u64,
    /// Packets dropped by a full queue.
    pub queue_drops: u64,
    /// Packets dropped by the loss model.
    pub losses: u64,
    /// Share of lost packets among those that passed the queue.
    pub loss_rate: f64,
    /// Mean length of a run of losses, in packets.
    pub mean_loss_run: f64,
    /// Packets longer than the link's MTU.
    pub too_big: u64,
    /// Packets delivered twice.
    pub duplicates: u64,
    /// Packets that a later one overtook.
    pub reordered: u64,
    /// Packets marked Congestion Experienced here.
    pub marked: u64,
    /// Packets still in flight.
    pub in_flight: u64,
    /// Wait for the transmitter.
    pub queue_delay_ms: Delay,
    /// How much later than due packets were written.
    pub lateness_ms: Delay,
    /// Upper bound of the time packets waited before they were read, by which they entered the
    /// link too late.
    pub unread_ms: Delay,
    /// Packets lost because memory was full; the link does not ask for this.
    pub overflow: u64,
    /// Packets dropped by the devices of the sending side; the link does not ask for this.
    pub device_drops: u64,
    /// Packets that the far device refused.
    pub write_errors: u64,
}

/// A delay in ms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Delay {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Longest.
    pub max: f64,
}

impl Report {
    /// Summarises the first link and the others after `elapsed`, of which the emulator was busy for
    /// `busy`.
    pub(crate) fn new(
        seed: u64,
        elapsed: Duration,
        busy: Duration,
        first: LinkReport,
        more: Vec<LinkReport>,
    ) -> Self {
        let LinkReport { a_to_b, b_to_a } = first;
        Self {
            valid: true,
            problems: Vec::new(),
            seed,
            seconds: elapsed.as_secs_f64(),
            emulator_cpu: busy.as_secs_f64() / elapsed.as_secs_f64().max(1e-9),
            a_to_b,
            b_to_a,
            more,
            capture_missed: 0,
        }
    }

    /// The directions of every link, from A to B first, by their names.
    fn directions(&self) -> impl Iterator<Item = (String, &DirectionReport)> {
        let first = [(&self.a_to_b, &self.b_to_a)].into_iter();
        let links = first.chain(self.more.iter().map(|link| (&link.a_to_b, &link.b_to_a)));
        let names = move |n: usize, name: &str| match self.more.is_empty() {
            true => name.to_owned(),
            false => format!("link {}, {name}", n + 1),
        };
        links
            .enumerate()
            .flat_map(move |(n, (to, back))| [(names(n, "a to b"), to), (names(n, "b to a"), back)])
    }

    /// The directions of every link, to count what the emulator does not see.
    pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = [&mut DirectionReport; 2]> {
        let first = [[&mut self.a_to_b, &mut self.b_to_a]].into_iter();
        first.chain(
            self.more
                .iter_mut()
                .map(|link| [&mut link.a_to_b, &mut link.b_to_a]),
        )
    }

    /// Judges whether the emulator kept up. Devices that go down drop packets in any case.
    pub(crate) fn judge(&mut self, devices_go_down: bool) {
        let limit = MAX_LATENESS.as_secs_f64() * 1e3;
        let mut problems = Vec::new();
        for (name, d) in self.directions() {
            let mut problem = |is: bool, text: String| {
                if is {
                    problems.push(format!("{name}: {text}"));
                }
            };
            let late = d.lateness_ms.p99;
            problem(
                late > limit,
                format!("1 in 100 packets was written {late} ms late or later"),
            );
            let unread = d.unread_ms.p99;
            problem(
                unread > limit,
                format!("1 in 100 packets may have waited {unread} ms unread"),
            );
            problem(
                d.overflow > 0,
                format!(
                    "{} packets were dropped because memory was full",
                    d.overflow
                ),
            );
            problem(
                d.device_drops > 0 && !devices_go_down,
                format!("{} packets were dropped by a device", d.device_drops),
            );
        }
        self.valid = problems.is_empty();
        self.problems = problems;
    }
}

impl LinkReport {
    pub(crate) fn new(links: &Links, directions: &[Direction]) -> Self {
        Self {
            a_to_b: DirectionReport::new(&links.forward, &directions[0]),
            b_to_a: DirectionReport::new(&links.back, &directions[1]),
        }
    }
}

impl DirectionReport {
    pub(crate) fn new(link: &LinkConfig, direction: &Direction) -> Self {
        let counters = direction.counters();
        let tally = direction.tally();
        Self {
            link: link.to_string(),
            packets: counters.offered_packets,
            bytes: counters.offered_bytes,
            delivered_packets: counters.delivered_packets,
            delivered_bytes: counters.delivered_bytes,
            queue_drops: counters.queue_drops,
            losses: counters.lost,
            loss_rate: counters.loss_rate(),
            mean_loss_run: counters.mean_loss_run(),
            too_big: counters.too_big,
            duplicates: counters.duplicated,
            reordered: counters.reordered,
            marked: counters.marked,
            in_flight: direction.in_flight() as u64,
            queue_delay_ms: Delay::of(&counters.queue_delay),
            lateness_ms: Delay::of(&tally.lateness),
            unread_ms: Delay::of(&tally.unread),
            overflow: tally.overflow,
            device_drops: 0,
            write_errors: tally.write_errors,
        }
    }
}

impl Delay {
    fn of(histogram: &Histogram) -> Self {
        // Nanoseconds as ms, without the noise of binary fractions.
        let ms = |d: Duration| d.as_nanos() as f64 / 1e6;
        Self {
            mean: ms(histogram.mean()),
            p50: ms(histogram.quantile(0.5)),
            p95: ms(histogram.quantile(0.95)),
            p99: ms(histogram.quantile(0.99)),
            max: ms(histogram.max()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A link whose packets from A to B were so late, in us.
    fn link(lateness: &[u64]) -> LinkReport {
        let link = LinkConfig::default();
        let mut late = Direction::new(link.clone(), 1);
        for us in lateness {
            late.wrote(Duration::ZERO, Duration::from_micros(*us), true);
        }
        let links = Links {
            forward: link.clone(),
            back: link.clone(),
        };
        LinkReport::new(&links, &[late, Direction::new(link, 1)])
    }

    fn report_of(first: LinkReport, more: Vec<LinkReport>) -> Report {
        let mut report = Report::new(1, Duration::from_secs(1), Duration::ZERO, first, more);
        report.judge(false);
        report
    }

    fn report(lateness: &[u64]) -> Report {
        report_of(link(lateness), Vec::new())
    }

    #[test]
    fn every_link_is_judged_and_named() {
        let report = report_of(link(&[50; 100]), vec![link(&[2000; 100])]);
        assert!(!report.valid);
        assert!(
            report.problems[0].starts_with("link 2, a to b: 1 in 100"),
            "{:?}",
            report.problems
        );
        let json = serde_json::to_value(report).unwrap();
        assert_eq!(json["more"][0]["a_to_b"]["lateness_ms"]["p99"], 2.0);
        let json = serde_json::to_value(self::report(&[])).unwrap();
        assert_eq!(json.get("more"), None);
    }

    #[test]
    fn a_run_is_invalid_when_the_emulator_was_late_for_more_than_one_in_a_hundred() {
        let mut lateness = vec![50; 1000];
        assert!(report(&lateness).valid);
        lateness[..10].fill(9000);
        assert!(report(&lateness).valid, "one in a hundred is not more");
        lateness[..11].fill(9000);
        let report = report(&lateness);
        assert!(!report.valid && report.problems[0].starts_with("a to b: 1 in 100"));
        assert_eq!(report.a_to_b.lateness_ms.max, 9.0);
    }

    #[test]
    fn a_run_is_invalid_when_the_emulator_itself_lost_packets() {
        let mut report = report(&[]);
        report.b_to_a.device_drops = 3;
        report.judge(false);
        assert_eq!(
            report.problems,
            ["b to a: 3 packets were dropped by a device"]
        );
        assert!(!report.valid);
        report.judge(true);
        assert!(report.valid, "what a device drops that goes down");
    }

    #[test]
    fn the_json_form_has_the_names_that_scripts_look_for() {
        let json = serde_json::to_value(report(&[2000])).unwrap();
        assert_eq!(json["valid"], false);
        assert_eq!(json["a_to_b"]["lateness_ms"]["p99"], 2.0);
        for name in [
            "packets",
            "bytes",
            "queue_drops",
            "losses",
            "mean_loss_run",
            "marked",
        ] {
            assert_eq!(json["b_to_a"][name].as_f64(), Some(0.0), "{name}");
        }
    }
}
