//! Fig. 10: delays over the packets sent for each information packet.

use super::points::{
    Engine, between, block, engine, lab, lab_mean, lab_value, largest, least, mean, ratio,
    streaming,
};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown};

/// Repairs for each source packet in the lab; the first as in Fig. 9.
const LAB: [f64; 3] = [0.17647, 0.25, 0.5];
/// The block sizes between which the paper's best ones are.
const BEST: std::ops::RangeInclusive<u32> = 32..=64;

/// Fig. 10.
pub(super) fn over_packets(scale: Scale) -> Figure {
    let shares: &'static [f64] = scale.pick(
        &[0.0, 0.15, 0.35],
        &[0.0, 0.06, 0.11, 0.15, 0.2, 0.25, 0.35, 0.5],
    );
    let engine_shares: &[f64] = scale.pick(&[0.15], &[0.06, 0.15, 0.25, 0.5]);
    let slots = |k: Option<u32>| match k {
        None => shares.iter().map(|s| streaming("0.1", *s, scale)).collect(),
        Some(k) => shares
            .iter()
            .map(|s| block("0.1", k, *s, "", scale))
            .collect::<Vec<_>>(),
    };
    let engines = |k: Option<u32>| {
        let one = |share: &f64| match k {
            None => engine(
                &format!("preset=streaming share={share}"),
                "iid:10%",
                "",
                scale,
            ),
            Some(k) => engine(
                &format!("preset=block k={k} share={share}"),
                "iid:10%",
                "",
                scale,
            ),
        };
        engine_shares.iter().map(one).collect::<Vec<_>>()
    };
    let all = [None, Some(8), Some(16), Some(32), Some(64), Some(128)].map(|k| {
        let is_run = k.is_none_or(|k| k == 16 || BEST.contains(&k));
        let engines = if is_run { engines(k) } else { Vec::new() };
        let measured = match k {
            None => lab("10 %", &LAB.map(|s| format!("streaming,share={s}")), scale),
            Some(k @ (32 | 64)) => {
                let schemes = LAB.map(|s| format!("block,k={k},share={s}"));
                lab("10 %", &schemes, scale)
            }
            _ => Vec::new(),
        };
        (k, slots(k), engines, measured)
    });
    let mut points: Vec<Point> = Vec::new();
    for (_, slots, engines, measured) in &all {
        points.extend(slots.iter().chain(measured).cloned());
        points.extend(engines.iter().flat_map(Engine::points));
    }
    Figure {
        id: "karzand-10",
        paper: Paper::Karzand,
        title: "in-order delay over packets sent for each information packet, 10 % loss",
        shows: "Measured on the testbed (25 Mbit/s, RTT 60 ms) at 10 % loss: mean in-order delay over the packets \
                sent for each information packet, of block codes of several k and rates and of the streaming code. \
                Here: ideal models in slots, in which feedback adds repairs to both codes, the engine's presets, \
                and the lab.",
        points,
        show: Box::new(move |values| {
            let (mut lines, mut slots, mut engine, mut measured) = (vec![], vec![], vec![], vec![]);
            let colours = [2, 9, 10, 3, 1, 6];
            let engine_colours = [7, 0, 10, 11, 8, 0];
            let lab_colours = [4, 0, 0, 5, 0, 0];
            for (index, (k, own, engines, lab)) in all.iter().enumerate() {
                let name = k.map_or("streaming".to_owned(), |k| format!("blocks of {k}"));
                let dots = own.iter().map(|point| {
                    mean(values, point, 1.0 / values.number(point, "effective_rate")?)
                });
                let dots = dots.collect::<Result<Vec<_>, Missing>>()?;
                lines.push(
                    Line::new(
                        format!("{name}, slots"),
                        Source::Simulation,
                        colours[index],
                        dots.clone(),
                    )
                    .smooth(),
                );
                slots.push((*k, dots));
                let dots = engines
                    .iter()
                    .map(|engine| engine.mean(values, engine.packets(values)?));
                let dots = dots.collect::<Result<Vec<_>, Missing>>()?;
                if !dots.is_empty() {
                    let colour = engine_colours[index];
                    lines.push(
                        Line::new(
                            format!("{name}, engine"),
                            Source::Engine,
                            colour,
                            dots.clone(),
                        )
                        .apart(),
                    );
                    engine.push((*k, dots));
                }
                let dots = lab.iter().filter_map(|point| {
                    lab_mean(values, point, lab_value(values, point, "packets")?.0)
                });
                let dots: Vec<Dot> = dots.collect();
                if !dots.is_empty() {
                    let colour = lab_colours[index];
                    lines.push(Line::new(
                        format!("{name}, lab"),
                        Source::Measured,
                        colour,
                        dots.clone(),
                    ));
                    measured.push((*k, dots));
                }
            }
            let below = |all: &[(Option<u32>, Vec<Dot>)]| {
                let stream = &all.iter().find(|(k, _)| k.is_none())?.1;
                let blocks = all.iter().filter(|(k, _)| k.is_some());
                let dots = blocks.flat_map(|(_, dots)| dots.iter());
                largest(dots.filter_map(|dot| Some(ratio(between(stream, dot.x)?, *dot))))
            };
            // At each rate the best of 32 and 64 for the best of all others.
            let envelope = |all: &[(Option<u32>, Vec<Dot>)]| {
                let best = |x: f64, inside: bool| {
                    let own = all
                        .iter()
                        .filter(|(k, _)| k.is_some_and(|k| BEST.contains(&k) == inside));
                    let dots: Vec<Dot> = own.filter_map(|(_, dots)| between(dots, x)).collect();
                    (!dots.is_empty()).then(|| least(&dots))
                };
                let xs = all
                    .iter()
                    .filter(|(k, _)| k.is_some_and(|k| BEST.contains(&k)));
                let xs = xs.flat_map(|(_, dots)| dots.iter().map(|dot| dot.x));
                largest(xs.filter_map(|x| Some(ratio(best(x, true)?, best(x, false)?))))
            };
            // The best block size in slots at some numbers of packets.
            let told = [1.13, 1.15, 1.2, 1.25, 1.35].map(|x| {
                let own = slots
                    .iter()
                    .filter_map(|(k, dots)| Some(((*k)?, between(dots, x)?.y)));
                let best = own.min_by(|a, b| a.1.total_cmp(&b.1));
                best.map_or(String::new(), |(k, ms)| format!("{k} at {x} ({ms:.1} ms)"))
            });
            let mut lower = Check::of(
                "streaming's delay for blocks' at the same number of packets, largest of all block codes",
            )
            .claims("below the blocks at every rate", Rule::AtMost(1.0));
            let mut best = Check::of(
                "best delay of blocks of 32 and 64 for the best of other sizes, largest of all rates",
            )
            .claims("lower envelope of blocks at k 32 to 64", Rule::AtMost(1.0))
            .because(format!(
                "the best size of ideal blocks falls as repairs are added; in slots, of 8, 16, 32, 64 and 128: {}",
                told.join(", ")
            ));
            if let Some((value, error)) = below(&slots) {
                lower = lower.simulated(value, error);
            }
            if let Some((value, error)) = below(&engine) {
                lower = lower.engine(value, error);
            }
            if let Some((value, error)) = below(&measured) {
                lower = lower.lab(value, error);
            }
            if let Some((value, error)) = envelope(&slots) {
                best = best.simulated(value, error);
            }
            if let Some((value, error)) = envelope(&engine) {
                best = best.engine(value, error);
            }
            let plot = Plot::new(
                "Mean in-order delay at 10 % loss; circles: the engine; squares: the lab.",
                "packets sent for each information packet",
                "mean in-order delay less the RTT, ms",
            )
            .with(lines)
            .x_range(1.1, 1.55)
            .log_y();
            Ok(Shown {
                pictures: vec![plot.into()],
                checks: vec![lower, best],
                notes: Vec::new(),
            })
        }),
    }
}
