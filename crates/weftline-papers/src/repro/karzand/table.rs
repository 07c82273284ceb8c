//! Table I: operations for each packet.

use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Paper, Point, Rule, Scale, Shown, over_runs};

/// The paper's values: loss, then spacing and operations for each packet.
const TABLE: [(f64, [(u32, f64); 5]); 2] = [
    (
        0.02,
        [
            (25, 0.67),
            (30, 1.93),
            (35, 7.11),
            (40, 41.74),
            (45, 769.58),
        ],
    ),
    (
        0.1,
        [(5, 3.13), (6, 8.87), (7, 32.56), (8, 190.96), (9, 3525.0)],
    ),
];

/// Table I.
pub(super) fn table_1(scale: Scale) -> Figure {
    let theory = |loss: f64, spacing: u32| {
        Point::lab(&format!(
            "theory streaming --loss {loss} --spacing {spacing} --terms 2 --delays 1"
        ))
    };
    let rows = TABLE.map(|(loss, row)| (loss, row.map(|(l, paper)| (l, paper, theory(loss, l)))));
    let third = theory(0.05, 10);
    let slots: u64 = scale.pick(4_000_000, 20_000_000);
    let runs: Vec<Point> = (0..scale.pick(4, 12))
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
            let (mut alike, mut entries) = (0, 0);
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
                    let digit = if *value < 1000.0 { 0.01 } else { 1.0 };
                    let short = cut(as_printed, digit);
                    alike += usize::from((short - value).abs() < 1e-6);
                    entries += 1;
                    checks.push(
                        Check::of(what.clone() + ", by the printed equations")
                            .equals(*value, digit)
                            .theory(as_printed)
                            .because(format!(
                                "the table cuts the digits after its last one: cut there, this is {short}",
                            )),
                    );
                    differ.push(
                        Check::of(what + ", correct")
                            .equals(*value, digit)
                            .theory(right)
                            .because(format!(
                                "the printed factor is 3/2 where the text's 2 k^3 / 3 operations need 2/3, and \
                                 equation 8 for the third moment is wrong (see E S^3): this entry is {:.2} \
                                 times too large",
                                as_printed / right
                            )),
                    );
                }
                let name = format!("loss {loss}");
                lines.extend([
                    Line::new(
                        name.clone() + ", the paper",
                        Source::Paper,
                        3 * index + 1,
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
            let (mean, stderr) = over_runs(&found);
            let (right, wrong) = (
                values.number(&third, "third_moment_busy")?,
                values.number(&third, "printed/third_moment_busy")?,
            );
            checks.push(
                Check::of("E S^3 at loss 0.05, l 10")
                    .theory(right)
                    .simulated(mean, stderr),
            );
            checks.push(
                Check::of("equation 8 as printed for E S^3, at loss 0.05, l 10")
                    .claims("equal", Rule::Equals { value: 1.0, digit: 0.0, spread: 0.0 })
                    .theory(wrong / right)
                    .simulated(wrong / mean, wrong / mean * stderr / mean)
                    .because(format!(
                        "equation 8 gives {wrong:.3}, the sum of s^3 p(s) {right:.3}, the simulation \
                         {mean:.3} ± {stderr:.3}: its brackets have a term l e (1-e) (1-le) too many",
                    )),
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
                notes: vec![format!(
                    "{alike} of {entries} entries are those of the printed equations, cut after the printed digits."
                )],
            })
        }),
    }
}

/// A number without what is below its last printed digit.
fn cut(value: f64, digit: f64) -> f64 {
    // To rounding: 0.29 / 0.01 is below 29.
    let steps = (1.0 / digit).round();
    (value * steps + 1e-9).floor() / steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_cut_and_not_rounded() {
        assert_eq!(
            (cut(0.6774, 0.01), cut(3525.9, 1.0), cut(0.29, 0.01)),
            (0.67, 3525.0, 0.29)
        );
    }
}
