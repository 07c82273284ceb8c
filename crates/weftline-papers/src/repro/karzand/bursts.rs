//! No figure of the paper: the streaming code's mean delay over the mean run of losses.

use super::pairs::{Pair, simulated_line, theory_line};
use crate::repro::picture::Plot;
use crate::repro::{Check, Figure, Paper, Scale, Shown};

/// The delay over the mean run of losses.
pub(super) fn bursts(scale: Scale) -> Figure {
    let codes: [(f64, u32); 3] = [(0.05, 10), (0.1, 5), (0.05, 5)];
    let runs: &[f64] = scale.pick(&[1.0, 4.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0]);
    let all = codes.map(|(share, spacing)| {
        let pairs = runs
            .iter()
            .map(|run| Pair::new(*run, &format!("markov:{share},{run}"), spacing, scale));
        (share, spacing, pairs.collect::<Vec<_>>())
    });
    let pairs = all.iter().flat_map(|(_, _, pairs)| pairs);
    let points = pairs.flat_map(Pair::points).collect();
    Figure {
        id: "karzand-delay-over-bursts",
        paper: Paper::Karzand,
        title: "mean in-order delay of the streaming code over the mean run of losses",
        shows: "The streaming code on the paper's two-state channel (equation 9: the bad state always erases, \
                the good one never) at the same share of lost packets. The exact values are Weftline's; the paper \
                has none for this channel.",
        points,
        show: Box::new(move |values| {
            let (mut lines, mut checks) = (Vec::new(), Vec::new());
            for (index, (share, spacing, pairs)) in all.iter().enumerate() {
                let name = format!("loss {share}, l {spacing}");
                let own: Vec<&Pair> = pairs.iter().collect();
                lines.extend([
                    theory_line(
                        name.clone() + ", exact",
                        2 * index,
                        &own,
                        values,
                        "mean_delay_slots",
                    )?,
                    simulated_line(name.clone() + ", simulated", 2 * index + 1, &own, values)?,
                ]);
                for pair in pairs {
                    let what = format!("mean delay, {name}, runs of {}, slots", pair.x);
                    checks.push(pair.check(what, values)?);
                }
            }
            let plot = Plot::new(
                "Mean in-order delay by the mean run of losses.",
                "mean run of lost packets E(L), slots",
                "mean in-order delay, slots",
            )
            .with(lines)
            .log_y();
            Ok(Shown {
                pictures: vec![plot.into()],
                checks: Check::worst(checks).into_iter().collect(),
                notes: Vec::new(),
            })
        }),
    }
}
