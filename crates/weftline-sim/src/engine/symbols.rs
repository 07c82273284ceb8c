//! What became of each source symbol, computed from an experiment's event log: delays without
//! waiting for earlier symbols, decodings, and what was sent in vain.

use std::collections::HashMap;

use serde::Serialize;
use weftline_proto::LogEvent;

use super::events::{Entry, LogLine, Place};

/// Most reports, and most decodings, that a series has: what comes later is left out.
const LONGEST_SERIES: usize = 10_000;

/// The symbols of a run. Shares are of the datagrams with symbols that the writer sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Symbols {
    /// Source symbols that the writer sent.
    pub sources: u64,
    /// Those that the reader knows at the end.
    pub known: u64,
    /// Seconds from the first until the reader knew the last.
    pub duration_s: f64,
    /// Mean time from when a symbol was sent first until it was received or decoded, s.
    pub mean_delay_s: f64,
    /// Standard deviation of the same, s.
    pub std_delay_s: f64,
    /// Source symbols sent again, for each source symbol.
    pub again: f64,
    /// Repair symbols sent, for each source symbol.
    pub repairs: f64,
    /// The same before the last source symbol was sent first.
    pub inline_repairs: f64,
    /// Share of repair symbols that arrived and did not raise the rank.
    pub useless_share: f64,
    /// The same for those that were sent before the last source symbol was sent first.
    pub useless_inline_share: f64,
    /// Reports that the reader sent until the writer knew that everything had arrived.
    pub reports: u64,
    /// Useless repair symbols and reports, of all datagrams of both directions that carry either
    /// symbols or a report.
    pub overhead: f64,
    /// Decodings: times at which symbols became known from repair symbols.
    pub decodings: u64,
    /// Symbols of a decoding, mean.
    pub mean_matrix: f64,
    /// Standard deviation of the same.
    pub std_matrix: f64,
    /// Symbols of the largest decoding.
    pub largest_matrix: u64,
    /// Its share of all decoded symbols.
    pub largest_share: f64,
    /// The run over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<SymbolSeries>,
}

/// A run over time. Lists that belong together have the same length.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SymbolSeries {
    /// When each report with news reached the writer, s.
    pub ack_s: Vec<f64>,
    /// The symbols below this one are known to the reader.
    pub acknowledged: Vec<u64>,
    /// The loss rate that the scheme plans with then; `null` for schemes that measure none.
    pub estimated_loss: Vec<Option<f64>>,
    /// Repair symbols for each source symbol then; `null` for schemes that plan no share.
    pub redundancy: Vec<Option<f64>>,
    /// Source symbols between two repair symbols then.
    pub spacing: Vec<Option<f64>>,
    /// When each decoding took place, s.
    pub decoded_s: Vec<f64>,
    /// Its symbols.
    pub matrix: Vec<u64>,
}

#[derive(Default)]
struct Reading {
    /// When each source symbol was sent first, and the delay until it was known.
    sent: HashMap<u64, u64>,
    delays: Vec<f64>,
    last_known: u64,
    last_new: u64,
    again: u64,
    /// When each repair symbol in a datagram of its own was sent, by its transmission number.
    repairs: HashMap<u64, u64>,
    /// Repair symbols in datagrams of source symbols.
    riders: u64,
    /// When each useless repair symbol was sent.
    useless: Vec<u64>,
    reports: u64,
    /// The writer knows that everything has arrived.
    ended: bool,
    matrices: Vec<u64>,
    /// The newest edge in a report that the writer has.
    edge: u64,
    series: SymbolSeries,
}

fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

impl Reading {
    fn know(&mut self, esi: u64, now: u64) {
        if let Some(sent) = self.sent.get(&esi) {
            self.delays.push(seconds(now.saturating_sub(*sent)));
            self.last_known = now;
        }
    }

    fn on_writer(&mut self, now: u64, event: &LogEvent) {
        match event {
            LogEvent::SourceSent {
                esi,
                again: false,
                riders,
                ..
            } => {
                self.riders += u64::from(*riders);
                self.sent.insert(*esi, now);
                self.last_new = now;
            }
            LogEvent::SourceSent { .. } => self.again += 1,
            LogEvent::Filled { first, count, .. } => {
                self.sent
                    .extend((*first..first + count).map(|esi| (esi, now)));
                self.last_new = now;
            }
            LogEvent::RepairSent { number, .. } => {
                self.repairs.insert(*number, now);
            }
            LogEvent::ReportReceived { report, news: true } => {
                self.edge = self.edge.max(report.next);
            }
            LogEvent::Estimates {
                planned_loss,
                share,
                apart,
                ..
            } if self.series.ack_s.len() < LONGEST_SERIES => {
                self.series.ack_s.push(seconds(now));
                self.series.acknowledged.push(self.edge);
                self.series.estimated_loss.push(*planned_loss);
                self.series.redundancy.push(*share);
                self.series.spacing.push(*apart);
            }
            LogEvent::AllAcknowledged { .. } => self.ended = true,
            _ => {}
        }
    }

    fn on_reader(&mut self, now: u64, event: &LogEvent) {
        match event {
            LogEvent::SourceReceived {
                esi, useful: true, ..
            } => self.know(*esi, now),
            LogEvent::RepairReceived {
                number,
                useful: false,
                ..
            } => {
                let sent = self.repairs.get(number).copied();
                self.useless.push(sent.unwrap_or(now));
            }
            LogEvent::Decoded { symbols, count, .. } => {
                self.matrices.push(*count);
                if self.series.decoded_s.len() < LONGEST_SERIES {
                    self.series.decoded_s.push(seconds(now));
                    self.series.matrix.push(*count);
                }
                for (first, count) in symbols {
                    (*first..first + count).for_each(|esi| self.know(esi, now));
                }
            }
            LogEvent::ReportSent(_) if !self.ended => self.reports += 1,
            _ => {}
        }
    }

    fn end(self, with_series: bool) -> Symbols {
        let sources = self.sent.len() as u64;
        let first = self.sent.values().min().copied().unwrap_or(0);
        let (mean_delay_s, std_delay_s) = moments(&self.delays);
        let matrices: Vec<f64> = self.matrices.iter().map(|n| *n as f64).collect();
        let (mean_matrix, std_matrix) = moments(&matrices);
        let largest = self.matrices.iter().copied().max().unwrap_or(0);
        let repairs = self.repairs.len() as u64 + self.riders;
        let inline = |sent: &&u64| **sent <= self.last_new;
        let each = |count: u64| count as f64 / (sources as f64).max(1.0);
        let sent = sources + self.again + repairs;
        let share = |count: usize| count as f64 / (sent as f64).max(1.0);
        let vain = self.useless.len() as u64 + self.reports;
        Symbols {
            sources,
            known: self.delays.len() as u64,
            duration_s: seconds(self.last_known.saturating_sub(first)),
            mean_delay_s,
            std_delay_s,
            again: each(self.again),
            repairs: each(repairs),
            inline_repairs: each(self.riders + self.repairs.values().filter(inline).count() as u64),
            useless_share: share(self.useless.len()),
            useless_inline_share: share(self.useless.iter().filter(inline).count()),
            reports: self.reports,
            overhead: vain as f64 / ((sent + self.reports) as f64).max(1.0),
            decodings: self.matrices.len() as u64,
            mean_matrix,
            std_matrix,
            largest_matrix: largest,
            largest_share: largest as f64 / matrices.iter().sum::<f64>().max(1.0),
            series: with_series.then_some(self.series),
        }
    }
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = (values.len() as f64).max(1.0);
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>();
    (mean, (squares / n).sqrt())
}

/// Reads a log.
pub fn symbols(log: &[LogLine], with_series: bool) -> Symbols {
    let mut reading = Reading::default();
    for line in log {
        let Entry::Session(entry) = &line.entry else {
            continue;
        };
        let now = entry.time.as_micros();
        match line.end {
            Place::Writer => reading.on_writer(now, &entry.event),
            Place::Reader => reading.on_reader(now, &entry.event),
            Place::Path => {}
        }
    }
    reading.end(with_series)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Two sources, of which the second is lost; a repair that decodes it, and one of no use.
    fn log() -> Vec<LogLine> {
        let entry = |time: u64, name: &str, data: serde_json::Value| json!({"time": time, "name": format!("weftline:{name}"), "data": data});
        let sent = |time, number: u64, esi: u64| {
            entry(
                time,
                "source_sent",
                json!({"number": number, "size": 480, "esi": esi, "edge": 0,
                "again": false, "fin": false}),
            )
        };
        let repair = |time, number: u64| {
            entry(
                time,
                "repair_sent",
                json!({"number": number, "size": 480, "first": 0, "count": 2,
                "edge": 0, "reason": "scheduled", "vector": "key", "key": 1, "field_bits": 8}),
            )
        };
        let arrived = |time, number: u64, useful: bool| {
            entry(
                time,
                "repair_received",
                json!({"number": number, "size": 480, "first": 0,
                "count": 2, "useful": useful, "unknowns": 0, "rank": 0}),
            )
        };
        let writer = [sent(0, 0, 0), sent(8, 1, 1), repair(16, 2), repair(24, 3)];
        let reader = [
            entry(
                150,
                "source_received",
                json!({"number": 0, "size": 480, "esi": 0, "useful": true}),
            ),
            arrived(166, 2, true),
            entry(
                166,
                "decoded",
                json!({"symbols": [[1, 1]], "count": 1, "unknowns": 0, "rank": 0}),
            ),
            arrived(174, 3, false),
            entry(
                200,
                "report_sent",
                json!({"report": 0, "size": 60, "largest": 3, "next": 2,
                "extent": 0, "missing": [], "rank": 0, "credit": 100, "delay_us": 0, "queue_us": 0}),
            ),
        ];
        let line = |end, value: &serde_json::Value| LogLine {
            end,
            entry: Entry::Session(serde_json::from_value(value.clone()).unwrap()),
        };
        let lines = writer.iter().map(|value| line(Place::Writer, value));
        lines
            .chain(reader.iter().map(|value| line(Place::Reader, value)))
            .collect()
    }

    #[test]
    fn a_log_gives_delays_decodings_and_what_was_sent_in_vain() {
        let got = symbols(&log(), true);
        assert_eq!((got.sources, got.known), (2, 2));
        assert!((got.duration_s - 0.166).abs() < 1e-12, "{got:?}");
        // 150 ms, and 158 ms for the symbol that was decoded.
        assert!((got.mean_delay_s - 0.154).abs() < 1e-12);
        assert!((got.std_delay_s - 0.004).abs() < 1e-12);
        assert_eq!(
            (got.repairs, got.inline_repairs, got.again),
            (1.0, 0.0, 0.0)
        );
        assert_eq!((got.useless_share, got.useless_inline_share), (0.25, 0.0));
        assert_eq!((got.reports, got.overhead), (1, 2.0 / 5.0));
        assert_eq!((got.decodings, got.largest_matrix), (1, 1));
        let series = got.series.unwrap();
        assert_eq!((series.decoded_s, series.matrix), (vec![0.166], vec![1]));
        assert!(symbols(&log(), false).series.is_none());
    }
}
