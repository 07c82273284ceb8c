//! The runs as rows of text.

use super::run::Run;

/// Column titles.
pub(super) const TITLES: [&str; 14] = [
    "preset",
    "workload",
    "verified",
    "mean ms",
    "p50",
    "p95",
    "p99",
    "max",
    "Mbit/s",
    "wire/byte",
    "source",
    "repairs",
    "useful",
    "resent",
];

/// What the columns tell.
pub(super) const LEGEND: &str = "\
mean ms to max: what losses and queues added to the delay of a message, in ms
Mbit/s: what was delivered
wire/byte: bytes on the forward path, all headers included, for each byte delivered
source, repairs, resent: symbols sent
useful: repairs that told the receiver something new";

/// The cells of a run, one for each of [`TITLES`].
pub(super) fn row(run: &Run) -> [String; 14] {
    let delay = |pick: fn(&super::delay::DelaySummary) -> f64| {
        run.outcome
            .delays
            .summary()
            .map_or_else(|| "-".to_owned(), |d| format!("{:.1}", pick(&d)))
    };
    [
        run.preset.to_string(),
        run.workload.to_string(),
        if run.outcome.verified { "yes" } else { "NO" }.to_owned(),
        delay(|d| d.mean),
        delay(|d| d.p50),
        delay(|d| d.p95),
        delay(|d| d.p99),
        delay(|d| d.max),
        format!("{:.2}", run.goodput_mbps()),
        run.wire_bytes_per_byte()
            .map_or_else(|| "-".to_owned(), |w| format!("{w:.3}")),
        run.sender.sent.source_symbols.to_string(),
        run.sender.sent.repair_symbols.to_string(),
        run.receiver.received.useful_repairs.to_string(),
        run.sender.sent.retransmissions.to_string(),
    ]
}

/// All runs under their titles, columns aligned.
pub(super) fn text(runs: &[Run]) -> String {
    let rows: Vec<_> = runs.iter().map(row).collect();
    align(&TITLES.map(str::to_owned), &rows)
}

fn align<const N: usize>(titles: &[String; N], rows: &[[String; N]]) -> String {
    let all = || std::iter::once(titles).chain(rows);
    let widths: Vec<usize> = (0..N)
        .map(|column| {
            all()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let lines = all().map(|row| {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, &width))| {
                // Names are aligned to the left, numbers to the right.
                if column < 2 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
        cells.collect::<Vec<_>>().join("  ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let cells = |texts: [&str; 3]| texts.map(str::to_owned);
        let text = align(
            &cells(["name", "kind", "n"]),
            &[cells(["a", "stream", "10"]), cells(["long name", "x", "7"])],
        );
        assert_eq!(
            text,
            "name       kind     n\na          stream  10\nlong name  x        7"
        );
    }
}
