//! Table I: operations for each packet.

use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Paper, Point, Scale, Shown};

/// The paper's values: loss, then spacing and operations for each packet.
// 3.14 is a value of the table.
#[allow(clippy::approx_constant)]
const TABLE: [(f64, [(u32, f64); 5]); 2] = [
    (
        0.02,
        [
            (25, 0.68),
            (30, 1.93),
            (35, 7.11),
            (40, 41.74),
            (45, 769.58),
        ],
    ),
    (
        0.1,
        [(5, 3.14), (6, 8.87), (7, 32.56), (8, 190.97), (9, 3525.0)],
    ),
];
/// E S^3 at loss 0.05 and l = 10 by equation 8 as printed.
const PRINTED_THIRD_MOMENT: f64 = 11.829;

/// Table I.
pub(super) fn table_1(scale: Scale) -> Figure {
    let theory = |loss: f64, spacing: u32| {
        Point::lab(&format!(
            "theory streaming --loss {loss} --spacing {spacing} --terms 2 --delays 1"
        ))
    };
    let rows = TABLE.map(|(loss, row)| (loss, row.map(|(l, paper)| (l, paper, theory(loss, l)))));
    let third = theory(0.05, 10);
    let slots: u64 = scale.pick(4_000_000, 40_000_000);
    let runs: Vec<Point> = (0..scale.pick(4, 16))
        .map(|n| {
            let seed = scale.seed.wrapping_add(n);
            Point::lab(&format!(
                "sim streaming --loss 0.05 --spacing 10 --slots {slots} --seed {seed}"
            ))
            .about_secs(slots as f64 / 8e7)
        })
        .collect();
    let mut points: Vec<Point> = rows
        .iter()
        .flat_map(|(_, row)| row.iter().map(|(_, _, point)| point.clone()))
        .collect();
    points.push(third.clone());
    points.extend(runs.iter().cloned());
    Figure {
        id: "karzand-table-1",
        paper: Paper::Karzand,
        title: "operations of elimination for each information packet",
        shows: "Theorem 4: the mean work of the decoder by loss and spacing. The paper's ten values follow \
                from its equations 7 and 8 as printed, that is, with a factor of 3/2 and a third moment that \
                is wrong. The correct values have the text's 2/3 k^3 operations for an elimination and the \
                correct moment.",
        points,
        show: Box::new(move |values| {
            let (mut lines, mut checks) = (Vec::new(), Vec::new());
            let mut differ = Vec::new();
            for (index, (loss, row)) in rows.iter().enumerate() {
                let (mut paper, mut printed, mut honest) = (Vec::new(), Vec::new(), Vec::new());
                for (l, value, point) in row {
                    let x = f64::from(*l) * loss;
                    let (as_printed, right) = (
                        values.number(point, "printed/operations_per_packet")?,
                        values.number(point, "operations_per_packet")?,
                    );
                    paper.push(Dot::new(x, *value));
                    printed.push(Dot::new(x, as_printed));
                    honest.push(Dot::new(x, right));
                    let what = format!("operations a packet at loss {loss}, l {l}");
                    checks.push(
                        Check::of(what.clone() + ", by the printed equations")
                            .stated(*value, 0.01)
                            .theory(as_printed),
                    );
                    if *l == row[row.len() - 1].0 {
                        let honest = Check::of(what + ", correct")
                            .stated(*value, 0.05)
                            .theory(right);
                        differ.push(honest.because(
                            "the printed factor is 3/2 where 2 k^3 / 3 operations need 2/3, and \
                             equation 8 for the third moment is wrong: all ten entries are 2.25 to 2.5 \
                             times too large",
                        ));
                    }
                }
                let name = format!("loss {loss}");
                lines.extend([
                    Line::new(
                        name.clone() + ", the paper",
                        Source::Paper,
                        3 * index,
                        paper,
                    ),
                    Line::new(
                        name.clone() + ", as printed",
                        Source::Theory,
                        3 * index,
                        printed,
                    ),
                    Line::new(name + ", correct", Source::Theory, 3 * index + 2, honest),
                ]);
            }
            checks.append(&mut differ);
            let found = runs
                .iter()
                .map(|run| values.number(run, "third_moment_busy"))
                .collect::<Result<Vec<_>, _>>()?;
            let (mean, stderr) = super::super::over_runs(&found);
            checks.push(
                Check::of("E S^3 at loss 0.05, l 10")
                    .stated(PRINTED_THIRD_MOMENT, 0.01)
                    .theory(values.number(&third, "third_moment_busy")?)
                    .simulated(mean, stderr)
                    .because(
                        "equation 8 is wrong: the sum of s^3 p(s) and the simulation show this",
                    ),
            );
            let plot = Plot::new(
                "Operations for each information packet by l times the loss.",
                "l e, the share of repair capacity that losses use",
                "operations",
            )
            .with(lines)
            .log_y()
            .x_range(0.45, 0.95);
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
