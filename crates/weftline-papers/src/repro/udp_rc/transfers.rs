//! Times of transfers, from the engine and from the lab.

use serde_json::Value;

use super::super::picture::Dot;
use super::super::{Missing, Point, Values, over_runs};

/// Times of transfers that followed each other, in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Transfers(Vec<f64>);

impl Transfers {
    /// Those of the engine, one in each run.
    pub(super) fn engine(values: &Values, point: &Point) -> Result<Self, Missing> {
        let runs = values.object(point)?.pointer("/runs");
        let runs = runs.and_then(Value::as_array).map_or(0, Vec::len);
        let times =
            (0..runs).map(|n| values.number(point, &format!("runs/{n}/result/completion_s")));
        Ok(Self(times.collect::<Result<_, _>>()?))
    }

    /// Mean and its standard error.
    pub(super) fn mean(&self) -> (f64, f64) {
        let (mean, stderr) = over_runs(&self.0);
        // Equal times differ from their mean by rounding only.
        (mean, if stderr < 1e-12 * mean { 0.0 } else { stderr })
    }

    /// Standard deviation, and its standard error, which is that of a normal distribution.
    pub(super) fn deviation(&self) -> (f64, f64) {
        let n = self.0.len() as f64;
        let deviation = self.mean().1 * n.sqrt();
        (deviation, deviation / (2.0 * (n - 1.0)).max(1.0).sqrt())
    }

    /// Mean throughput of a message of these bytes, in the unit of `bits` bits/s, with its error.
    pub(super) fn throughput(&self, bytes: u32, bits: f64) -> (f64, f64) {
        let (mean, stderr) = self.mean();
        let throughput = 8.0 * f64::from(bytes) / bits / mean;
        (throughput, throughput * stderr / mean)
    }

    /// Throughput of each transfer at the time of its end. The next transfer starts when the answer
    /// has come back, `answer` seconds after the end.
    pub(super) fn over_time(&self, bytes: u32, bits: f64, answer: f64) -> Vec<Dot> {
        let mut start = 0.0;
        let dot = |time: &f64| {
            let end = start + time;
            start = end + answer;
            Dot::new(end, 8.0 * f64::from(bytes) / bits / time)
        };
        self.0.iter().map(dot).collect()
    }

    /// The same transfers, each shorter by this much.
    pub(super) fn without(&self, seconds: f64) -> Self {
        Self(self.0.iter().map(|time| time - seconds).collect())
    }
}

/// What one command of the lab measured.
#[derive(Clone, Debug)]
pub(super) struct Lab {
    kernel: String,
    rows: Vec<Value>,
    /// The emulator's lateness, the worst run's 99th percentile in ms.
    late: Option<f64>,
    /// Share of the time in which some process waited for a processor, the median of the runs.
    waiting: Option<f64>,
    runs: u64,
    good: u64,
}

impl Lab {
    /// `None` where the lab was not run.
    pub(super) fn of(values: &Values, point: Option<&Point>) -> Option<Self> {
        let results = values.object(point?).ok()?;
        let kernel = results
            .get("kernel")
            .and_then(Value::as_str)
            .unwrap_or("Linux");
        let suite = results.pointer("/suites/0")?;
        let rows = suite.pointer("/cases/0/rows")?.as_array()?;
        let count = |name: &str| suite.get(name).and_then(Value::as_u64).unwrap_or(0);
        Some(Self {
            kernel: short(kernel),
            rows: rows.clone(),
            late: suite.pointer("/late/max").and_then(Value::as_f64),
            waiting: suite.pointer("/waiting/median").and_then(Value::as_f64),
            runs: count("runs"),
            good: count("good"),
        })
    }

    fn row(&self, peer: &str) -> Option<&Value> {
        self.rows
            .iter()
            .find(|row| row.get("peer").and_then(Value::as_str) == Some(peer))
    }

    /// A peer's transfers; `None` if it had none. Transfers that failed are left out.
    pub(super) fn transfers(&self, peer: &str) -> Option<Transfers> {
        let runs = self.row(peer)?.get("transfers")?.as_array()?;
        let times = runs.iter().filter_map(Value::as_array).flatten();
        let times: Vec<f64> = times.filter_map(Value::as_f64).map(|ms| ms / 1e3).collect();
        (!times.is_empty()).then_some(Transfers(times))
    }

    /// A peer's goodput in Mbit/s over two runs, and its standard error.
    pub(super) fn goodput(&self, peer: &str) -> Option<(f64, f64)> {
        let goodput = self.row(peer)?.pointer("/values/goodput")?;
        let at = |name: &str| goodput.get(name)?.as_f64();
        Some(over_runs(&[at("min")?, at("max")?]))
    }

    /// The kernel, in legends.
    pub(super) fn kernel(&self) -> &str {
        &self.kernel
    }

    /// How far the machine kept up, for a note.
    pub(super) fn quality(&self) -> String {
        let late = self.late.map_or_else(String::new, |late| {
            format!("; the emulator was late by at most {late:.2} ms (99th percentile of a run)")
        });
        let waited = self.waited();
        format!(
            "{} of {} runs in the lab are valid{late}; {waited}",
            self.good, self.runs
        )
    }

    /// How busy the machine was with other things, in words.
    pub(super) fn waited(&self) -> String {
        self.waiting.map_or_else(
            || "the kernel does not tell how long processes waited for a processor".to_owned(),
            |share| {
                let percent = 100.0 * share;
                format!("some process waited for a processor in {percent:.0} % of the time")
            },
        )
    }
}

/// `Linux 6.1` of `Linux 6.1.0-13-amd64`.
fn short(kernel: &str) -> String {
    let mut parts = kernel.splitn(3, '.');
    match (parts.next(), parts.next()) {
        (Some(major), Some(minor)) => format!("{major}.{minor}"),
        _ => kernel.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::quotient;
    use super::*;
    use serde_json::json;

    #[test]
    fn means_deviations_and_ratios_have_errors() {
        let all = Transfers(vec![1.0, 2.0, 3.0]);
        assert_eq!(all.mean(), (2.0, (1.0f64 / 3.0).sqrt()));
        let (deviation, error) = all.deviation();
        assert!((deviation - 1.0).abs() < 1e-12 && (error - 0.5).abs() < 1e-12);
        let (mbit, error) = all.throughput(250_000, 1e6);
        assert!((mbit - 1.0).abs() < 1e-12 && (error - all.mean().1 / 2.0).abs() < 1e-12);
        let (half, error) = quotient((1.0, 0.3), (2.0, 0.8));
        assert!((half - 0.5).abs() < 1e-12 && (error - 0.25).abs() < 1e-12);
    }

    #[test]
    fn files_follow_each_other_when_the_answer_is_here() {
        let dots = Transfers(vec![1.0, 0.5]).over_time(125, 1000.0, 0.25);
        let at: Vec<(f64, f64)> = dots.iter().map(|dot| (dot.x, dot.y)).collect();
        assert_eq!(at, [(1.0, 1.0), (1.75, 2.0)]);
    }

    #[test]
    fn the_labs_peers_are_found_and_failed_transfers_left_out() {
        let point = Point::lab("compare own");
        let mut values = Values::default();
        assert!(Lab::of(&values, Some(&point)).is_none() && Lab::of(&values, None).is_none());
        let rows = json!([{ "peer": "tcp/reno", "values": { "goodput": { "min": 7.0, "max": 8.0 } },
            "transfers": [[500.0, null], [1500.0]] }, { "peer": "udt", "transfers": [] }]);
        let suite = json!({ "runs": 3, "good": 2, "late": { "max": 0.25 }, "waiting": { "median": 0.5 }, "cases": [{ "rows": rows }] });
        values.insert(
            point.to_string(),
            json!({ "kernel": "Linux 6.1.0-13-amd64", "suites": [suite] }),
        );
        let lab = Lab::of(&values, Some(&point)).unwrap();
        assert_eq!(lab.transfers("tcp/reno"), Some(Transfers(vec![0.5, 1.5])));
        assert_eq!(
            (lab.transfers("udt"), lab.transfers("tcp/bbr")),
            (None, None)
        );
        assert_eq!(lab.goodput("tcp/reno"), Some((7.5, 0.5)));
        assert_eq!(lab.kernel(), "Linux 6.1");
        assert!(
            lab.quality().starts_with("2 of 3 runs")
                && lab.quality().contains("0.25 ms")
                && lab.waited().contains(" 50 %")
        );
    }
}
