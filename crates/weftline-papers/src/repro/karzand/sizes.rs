//! Figs 2 and 9: delays over the block size.

use super::points::{
    arq, block, engine, engine_mean, lab, lab_mean, largest, least, lossless, mean, ratio,
    streaming,
};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values};

/// Repairs of 15 % of all packets, for each source packet.
const REDUNDANCY: f64 = 0.17647;

/// Block sizes of a scope.
fn sizes(scale: Scale) -> &'static [u32] {
    scale.pick(
        &[8, 32, 64, 256],
        &[4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384],
    )
}

/// Block sizes for the engine.
fn engine_sizes(scale: Scale) -> &'static [u32] {
    scale.pick(&[32, 128], &[8, 16, 32, 64, 128, 256])
}

/// Block codes over their sizes, in slots and by the engine.
struct Sweep {
    slots: Vec<(u32, Point)>,
    engines: Vec<(u32, Point)>,
}

impl Sweep {
    fn new(loss: f64, share: f64, scale: Scale) -> Self {
        let text = loss.to_string();
        let link = format!("iid:{}%", 100.0 * loss);
        let slots = |k: &u32| (*k, block(&text, *k, share, "", scale));
        let engine = |k: &u32| {
            let settings = format!("preset=block k={k} share={share:.5}");
            (*k, engine(&settings, &link, "", scale))
        };
        Sweep {
            slots: sizes(scale).iter().map(slots).collect(),
            engines: engine_sizes(scale).iter().map(engine).collect(),
        }
    }

    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let all = self.slots.iter().chain(&self.engines);
        all.map(|(_, point)| point.clone())
    }

    fn slots(&self, values: &Values) -> Result<Vec<Dot>, Missing> {
        let dot = |(k, point): &(u32, Point)| mean(values, point, f64::from(*k));
        self.slots.iter().map(dot).collect()
    }

    fn engines(&self, values: &Values, lossless: &Point) -> Result<Vec<Dot>, Missing> {
        let dot = |(k, point): &(u32, Point)| engine_mean(values, point, lossless, f64::from(*k));
        self.engines.iter().map(dot).collect()
    }
}

/// A level line over all block sizes.
fn level(dot: Dot, scale: Scale) -> Vec<Dot> {
    let ks = sizes(scale);
    let at = |k: u32| Dot { x: f64::from(k), ..dot };
    vec![at(ks[0]), at(ks[ks.len() - 1])]
}

fn plot(caption: &str, lines: Vec<Line>) -> Plot {
    let (x, y) = ("block size k, packets", "mean in-order delay less the RTT, ms");
    Plot::new(caption, x, y).with(lines).log_x().log_y()
}

/// Fig. 2.
pub(super) fn over_block_size(scale: Scale) -> Figure {
    let losses = [0.05, 0.1, 0.2];
    let all = losses.map(|loss| {
        let share = loss / (1.0 - loss);
        let engine_arq = engine("preset=arq", &format!("iid:{}%", 100.0 * loss), "", scale);
        (loss, arq(loss, "", scale), engine_arq, Sweep::new(loss, share, scale))
    });
    let lossless = lossless(scale);
    let mut points = vec![lossless.clone()];
    for (_, alone, engine, sweep) in &all {
        points.extend([alone.clone(), engine.clone()]);
        points.extend(sweep.points());
    }
    Figure {
        id: "karzand-2",
        paper: Paper::Karzand,
        title: "in-order delay over block size, for several loss rates",
        shows: "The testbed of Fig. 1 (25 Mbit/s, RTT 60 ms) at several loss rates, 20 % among them: the \
                in-order delay on a logarithmic axis over the block size, solid for ARQ alone, dashed with the \
                block code, whose share of repairs is the loss rate. Here: loss rates of 5, 10 and 20 %; lines \
                are ideal models in slots, dots the engine's presets. ARQ alone has no block size: its lines \
                are level.",
        points,
        show: Box::new(move |values| {
            let mut lines = Vec::new();
            let (mut ratios, mut engine_ratios, mut depths) = (vec![], vec![], vec![]);
            let (mut engine_depths, mut places) = (vec![], vec![]);
            let colours = [(0, 1, 10), (2, 4, 6), (3, 7, 8)];
            for ((loss, alone, engine_alone, sweep), colour) in all.iter().zip(colours) {
                let percent = 100.0 * loss;
                let alone = mean(values, alone, 0.0)?;
                let engine_alone = engine_mean(values, engine_alone, &lossless, 0.0)?;
                let slots = sweep.slots(values)?;
                let engines = sweep.engines(values, &lossless)?;
                ratios.extend(slots.iter().map(|dot| ratio(*dot, alone)));
                engine_ratios.extend(engines.iter().map(|dot| ratio(*dot, engine_alone)));
                let depth = |dots: &[Dot]| {
                    let ends = [dots.first(), dots.last()].into_iter().flatten();
                    largest(ends.map(|end| ratio(least(dots), *end)))
                };
                depths.extend(depth(&slots));
                engine_depths.extend(depth(&engines));
                places.push(least(&slots).x);
                let level = level(alone, scale);
                lines.extend([
                    Line::new(format!("{percent} %, ARQ"), Source::Simulation, colour.0, level)
                        .smooth(),
                    Line::new(format!("{percent} %, blocks"), Source::Simulation, colour.1, slots)
                        .smooth(),
                    Line::new(format!("{percent} %, blocks, engine"), Source::Engine, colour.2, engines)
                        .apart(),
                ]);
            }
            let (ratio, engine_ratio) = (largest(ratios), largest(engine_ratios));
            let (depth, engine_depth) = (largest(depths), largest(engine_depths));
            let worst = |what: &str, ours: Option<(f64, f64)>, engine: Option<(f64, f64)>| {
                let ours = ours.unwrap_or((f64::NAN, 0.0));
                let engine = engine.unwrap_or((f64::NAN, 0.0));
                Check::of(what)
                    .simulated(ours.0, ours.1)
                    .engine(engine.0, engine.1)
            };
            let checks = vec![
                worst(
                    "delay with the block code for that of ARQ alone, worst of all sizes and loss rates",
                    ratio,
                    engine_ratio,
                )
                .claims("dashed strictly below solid", Rule::AtMost(1.0))
                .engine_because("the engine was run with other block sizes than the slot model"),
                worst(
                    "least delay for that at the nearer end of the block sizes, worst of the loss rates",
                    depth,
                    engine_depth,
                )
                .claims("a clear minimum", Rule::AtMost(1.0))
                .engine_because("the engine was run with other block sizes than the slot model"),
                Check::of("best block size at 5 % loss less that at 20 %")
                    .claims("the minimum moves with the loss rate", Rule::AtLeast(1.0))
                    .simulated((places[0] - places[2]).abs(), 0.0),
            ];
            let caption = "In-order delay over block size; dots: the engine.";
            Ok(Shown {
                pictures: vec![plot(caption, lines).into()],
                checks,
                notes: vec![format!(
                    "Best block sizes in slots: {} at 5 %, {} at 10 %, {} at 20 %.",
                    places[0], places[1], places[2]
                )],
            })
        }),
    }
}

/// Fig. 9.
pub(super) fn against_blocks(scale: Scale) -> Figure {
    let sweep = Sweep::new(0.1, REDUNDANCY, scale);
    let stream = streaming("0.1", REDUNDANCY, scale);
    let settings = format!("preset=streaming share={REDUNDANCY}");
    let engine_stream = engine(&settings, "iid:10%", "", scale);
    let lossless = lossless(scale);
    let ks: [u32; 5] = [16, 32, 64, 128, 256];
    let mut schemes = vec![format!("streaming,share={REDUNDANCY}")];
    schemes.extend(ks.map(|k| format!("block,k={k},share={REDUNDANCY}")));
    let measured = lab("10 %", &schemes, scale);
    let mut points = vec![stream.clone(), engine_stream.clone(), lossless.clone()];
    points.extend(sweep.points());
    points.extend(measured.iter().cloned());
    Figure {
        id: "karzand-9",
        paper: Paper::Karzand,
        title: "in-order delay over block size at 10 % loss, 15 % redundancy",
        shows: "Measured on the testbed (25 Mbit/s, RTT 60 ms) at 10 % loss and a redundancy of 15 %: the mean \
                in-order delay of the block code over its block size, and of the streaming code at the same \
                rate as a level line. Here: repairs of 15 % of all packets; ideal models in slots, in which \
                feedback adds repairs to both codes, the engine's presets, and the lab.",
        points,
        show: Box::new(move |values| {
            let slots = sweep.slots(values)?;
            let engines = sweep.engines(values, &lossless)?;
            let stream = mean(values, &stream, 0.0)?;
            let engine_stream = engine_mean(values, &engine_stream, &lossless, 0.0)?;
            let lab_stream = measured.first().and_then(|point| lab_mean(values, point, 0.0));
            let lab: Vec<Dot> = ks
                .iter()
                .zip(measured.iter().skip(1))
                .filter_map(|(k, point)| lab_mean(values, point, f64::from(*k)))
                .collect();
            let of = |stream: Dot, blocks: &[Dot]| ratio(stream, least(blocks));
            let ours = of(stream, &slots);
            let engine = of(engine_stream, &engines);
            let mut check = Check::of("streaming's delay for that of the best block size")
                .claims("about half", Rule::About(0.5))
                .simulated(ours.0, ours.1)
                .engine(engine.0, engine.1);
            let mut delay = Check::of("streaming, mean in-order delay, ms")
                .simulated(stream.y, stream.stderr)
                .engine(engine_stream.y, engine_stream.stderr);
            if let Some(one) = lab_stream {
                let of = of(one, &lab);
                check = check.lab(of.0, of.1);
                delay = delay.lab(one.y, one.stderr);
            }
            let mut lines = vec![
                Line::new("blocks, slots", Source::Simulation, 0, slots),
                Line::new("streaming, slots", Source::Simulation, 1, level(stream, scale)).smooth(),
                Line::new("blocks, engine", Source::Engine, 2, engines).apart(),
                Line::new("streaming, engine", Source::Engine, 7, level(engine_stream, scale))
                    .smooth(),
            ];
            if let Some(one) = lab_stream {
                lines.extend([
                    Line::new("blocks, lab", Source::Measured, 5, lab),
                    Line::new("streaming, lab", Source::Measured, 4, level(one, scale)).smooth(),
                ]);
            }
            let caption = "In-order delay at 10 % loss; the streaming code has no block size.";
            Ok(Shown {
                pictures: vec![plot(caption, lines).into()],
                checks: vec![check, delay],
                notes: Vec::new(),
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_engine_has_sizes_of_the_slot_model() {
        for quick in [true, false] {
            let scale = Scale { quick, seed: 1 };
            let level = level(Dot::new(0.0, 3.0), scale);
            assert!(engine_sizes(scale).iter().all(|k| f64::from(*k) <= level[1].x));
        }
    }
}
