//! Figs 2 and 9: delays over the block size.

use super::points::{
    ENGINE_RULE, Engine, RTT, SLOT_MS, arq, as_engine, block, engine, lab, lab_mean, largest,
    least, mean, ratio, streaming,
};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values};

/// Repairs of 15 % of all packets, for each source packet.
const REDUNDANCY: f64 = 0.17647;

/// Block sizes of a scope.
fn sizes(scale: Scale) -> &'static [u32] {
    scale.pick(&[8, 16, 32, 64, 256], &[4, 8, 16, 32, 48, 64, 128, 256])
}

/// Block codes over their sizes, in slots and by the engine.
struct Sweep {
    slots: Vec<(u32, Point)>,
    /// In slots with the engine's rule.
    by_rule: Vec<(u32, Point)>,
    engines: Vec<(u32, Engine)>,
}

impl Sweep {
    fn new(loss: f64, share: f64, scale: Scale) -> Self {
        let text = loss.to_string();
        let link = format!("iid:{}%", 100.0 * loss);
        let slots = |k: &u32| (*k, block(&text, *k, share, "", scale));
        let by_rule = |k: &u32| (*k, as_engine::block(&text, *k, share, "", scale));
        let engine = |k: &u32| {
            let settings = format!("preset=block k={k} share={share:.5}");
            (*k, engine(&settings, &link, "", scale))
        };
        Sweep {
            slots: sizes(scale).iter().map(slots).collect(),
            by_rule: sizes(scale).iter().map(by_rule).collect(),
            engines: sizes(scale).iter().map(engine).collect(),
        }
    }

    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let slots = self.slots.iter().chain(&self.by_rule);
        let slots = slots.map(|(_, point)| point.clone());
        slots.chain(self.engines.iter().flat_map(|(_, engine)| engine.points()))
    }

    fn slots(&self, values: &Values) -> Result<Vec<Dot>, Missing> {
        Self::means(values, &self.slots)
    }

    fn by_rule(&self, values: &Values) -> Result<Vec<Dot>, Missing> {
        Self::means(values, &self.by_rule)
    }

    fn means(values: &Values, points: &[(u32, Point)]) -> Result<Vec<Dot>, Missing> {
        let dot = |(k, point): &(u32, Point)| mean(values, point, f64::from(*k));
        points.iter().map(dot).collect()
    }

    fn engines(&self, values: &Values) -> Result<Vec<Dot>, Missing> {
        let dot = |(k, engine): &(u32, Engine)| engine.mean(values, f64::from(*k));
        self.engines.iter().map(dot).collect()
    }
}

/// A level line over all block sizes.
fn level(dot: Dot, scale: Scale) -> Vec<Dot> {
    let ks = sizes(scale);
    let at = |k: u32| Dot {
        x: f64::from(k),
        ..dot
    };
    vec![at(ks[0]), at(ks[ks.len() - 1])]
}

fn plot(caption: &str, lines: Vec<Line>) -> Plot {
    let (x, y) = (
        "block size k, packets",
        "mean in-order delay less the RTT, ms",
    );
    Plot::new(caption, x, y).with(lines).log_x().log_y()
}

/// One reading of Fig. 2: ARQ and block codes at each loss rate.
struct Reading {
    caption: &'static str,
    /// Loss rates with the block codes.
    sweeps: Vec<(f64, Sweep)>,
}

/// Loss rates of Fig. 2.
const LOSSES: [f64; 3] = [0.05, 0.1, 0.2];
/// Repairs of Fig. 1's code for each source packet.
const FIG_1: f64 = 0.25;

/// What Fig. 2's claims are about, in one reading.
#[derive(Default)]
struct Found {
    /// Delays with the code for those without.
    ratios: Vec<(f64, f64)>,
    /// Least delays for those at the nearer end of the sizes.
    depths: Vec<(f64, f64)>,
    /// Best sizes.
    places: Vec<f64>,
    /// Sizes whose delay is above that of ARQ, by loss rate.
    above: Vec<String>,
}

impl Found {
    fn add(&mut self, loss: f64, dots: &[Dot], alone: Dot) {
        self.ratios
            .extend(dots.iter().map(|dot| ratio(*dot, alone)));
        let ends = [dots.first(), dots.last()].into_iter().flatten();
        self.depths
            .extend(largest(ends.map(|end| ratio(least(dots), *end))));
        self.places.push(least(dots).x);
        let above = dots.iter().filter(|dot| dot.y >= alone.y);
        let above: Vec<String> = above.map(|dot| dot.x.to_string()).collect();
        if !above.is_empty() {
            self.above
                .push(format!("{} at {} %", above.join(", "), 100.0 * loss));
        }
    }

    /// By how much the best sizes at the least and at the highest loss rate differ.
    fn moves(&self) -> f64 {
        match (self.places.first(), self.places.last()) {
            (Some(low), Some(high)) => (high - low).abs(),
            _ => f64::NAN,
        }
    }
}

/// Fig. 2.
pub(super) fn over_block_size(scale: Scale) -> Figure {
    let alone = LOSSES.map(|loss| {
        let engine = engine("preset=arq", &format!("iid:{}%", 100.0 * loss), "", scale);
        (arq(loss, "", scale), engine, as_engine::arq(loss, scale))
    });
    let sweeps = |share: &dyn Fn(f64) -> f64| {
        let one = |loss: f64| (loss, Sweep::new(loss, share(loss), scale));
        LOSSES.map(one).into()
    };
    let readings = [
        Reading {
            caption: "(a) The same code rate at each loss rate, that of Fig. 1 (a repair for four packets).",
            sweeps: sweeps(&|_| FIG_1),
        },
        Reading {
            caption: "(b) A code rate equal to the loss rate.",
            sweeps: sweeps(&|loss| loss / (1.0 - loss)),
        },
    ];
    let mut points = Vec::new();
    for (alone, engine, by_rule) in &alone {
        points.extend([alone.clone(), by_rule.clone()]);
        points.extend(engine.points());
    }
    let all = readings.iter().flat_map(|reading| &reading.sweeps);
    points.extend(all.flat_map(|(_, sweep)| sweep.points()));
    Figure {
        id: "karzand-2",
        paper: Paper::Karzand,
        title: "in-order delay over block size, for several loss rates",
        shows: "The testbed of Fig. 1 (25 Mbit/s, RTT 60 ms) at several loss rates, 20 % among them: the \
                in-order delay on a logarithmic axis over the block size, solid for ARQ alone, dashed with the \
                block code. Here: loss rates of 5, 10 and 20 %, and, as the figure's code rates are not given, two \
                readings of them; lines are ideal models in slots, dots the engine's presets. ARQ alone has no \
                block size: its lines are level.",
        points,
        show: Box::new(move |values| {
            let (mut pictures, mut checks, mut notes) = (vec![], vec![], vec![]);
            for reading in &readings {
                let [mut slots, mut engine, mut by_rule] = [(); 3].map(|()| Found::default());
                let mut lines = Vec::new();
                let colours = [(0, 1, 10), (2, 4, 6), (3, 7, 8)];
                for (((loss, sweep), (alone, engine_alone, alone_by_rule)), colour) in
                    reading.sweeps.iter().zip(&alone).zip(colours)
                {
                    let percent = 100.0 * loss;
                    let alone = mean(values, alone, 0.0)?;
                    let dots = sweep.slots(values)?;
                    let engines = sweep.engines(values)?;
                    slots.add(*loss, &dots, alone);
                    engine.add(*loss, &engines, engine_alone.mean(values, 0.0)?);
                    let alone_by_rule = mean(values, alone_by_rule, 0.0)?;
                    by_rule.add(*loss, &sweep.by_rule(values)?, alone_by_rule);
                    let line = |name: &str, colour, dots| {
                        Line::new(
                            format!("{percent} %, {name}"),
                            Source::Simulation,
                            colour,
                            dots,
                        )
                        .smooth()
                    };
                    let name = format!("{percent} %, blocks, engine");
                    lines.extend([
                        line("ARQ", colour.0, level(alone, scale)),
                        line("blocks", colour.1, dots),
                        Line::new(name, Source::Engine, colour.2, engines).apart(),
                    ]);
                }
                let of = |what: &str, of: &dyn Fn(&Found) -> Vec<(f64, f64)>| {
                    let worst = |found| largest(of(found)).unwrap_or((f64::NAN, 0.0));
                    let (ours, theirs) = (worst(&slots), worst(&engine));
                    Check::of(format!("{} {what}", &reading.caption[..3]))
                        .simulated(ours.0, ours.1)
                        .engine(theirs.0, theirs.1)
                        .engine_because(format!(
                            "{ENGINE_RULE}. The model with this rule: {:.3}",
                            worst(&by_rule).0
                        ))
                };
                let told = |found: &Found| {
                    let places: Vec<String> = found.places.iter().map(f64::to_string).collect();
                    format!("{} at 5, 10 and 20 % loss", places.join(", "))
                };
                checks.extend([
                    of(
                        "delay with the block code for that of ARQ alone, worst of all sizes and loss rates",
                        &|found| found.ratios.clone(),
                    )
                    .claims("dashed strictly below solid", Rule::AtMost(1.0))
                    .because(format!(
                        "a block whose packets take longer than an RTT of {RTT} slots delays them more than ARQ \
                         does. Sizes above ARQ in slots: {}; engine: {}. The sizes that the paper draws are not known",
                        list(&slots.above),
                        list(&engine.above)
                    )),
                    of(
                        "least delay for that at the nearer end of the block sizes, worst of the loss rates",
                        &|found| found.depths.clone(),
                    )
                    .claims("a clear minimum", Rule::AtMost(1.0)),
                    of("distance of the best block sizes at 5 and 20 % loss, packets", &|found| {
                        vec![(found.moves(), 0.0)]
                    })
                    .claims("the minimum moves with the loss rate", Rule::AtLeast(1.0))
                    .because(format!(
                        "best sizes in slots: {}; engine: {}. Compared: the same code rate at every loss rate (a), and \
                         a code rate equal to each loss rate (b), where the share of blocks that wait for a round trip \
                         hardly depends on the loss rate",
                        told(&slots),
                        told(&engine)
                    )),
                ]);
                notes.push(format!(
                    "{} Best block sizes in slots {}, by the engine {}.",
                    &reading.caption[..3],
                    told(&slots),
                    told(&engine)
                ));
                pictures.push(plot(reading.caption, lines).into());
            }
            notes.push(
                "The paper gives no code rate for this figure. (b) was drawn first, as Fig. 1 reads; (a) was added \
                 after the minimum did not move in (b). An agreement of (a) is that of a reading, not a test of it."
                    .to_owned(),
            );
            Ok(Shown {
                pictures,
                checks,
                notes,
            })
        }),
    }
}

/// Some texts, or that there are none.
fn list(texts: &[String]) -> String {
    match texts {
        [] => "none".to_owned(),
        texts => texts.join("; "),
    }
}

/// Fig. 9.
pub(super) fn against_blocks(scale: Scale) -> Figure {
    let sweep = Sweep::new(0.1, REDUNDANCY, scale);
    let stream = streaming("0.1", REDUNDANCY, scale);
    let settings = format!("preset=streaming share={REDUNDANCY}");
    let engine_stream = engine(&settings, "iid:10%", "", scale);
    let ks: [u32; 4] = [16, 32, 64, 128];
    let mut schemes = vec![format!("streaming,share={REDUNDANCY}")];
    schemes.extend(ks.map(|k| format!("block,k={k},share={REDUNDANCY}")));
    let measured = lab("10 %", &schemes, scale);
    // 15 % of information packets, not of all.
    let less = sizes(scale)
        .iter()
        .map(|k| (*k, block("0.1", *k, 0.15, "", scale)));
    let less: Vec<(u32, Point)> = less.collect();
    let less_stream = streaming("0.1", 0.15, scale);
    let open = Point::lab("theory streaming --loss 0.1 --spacing 7 --terms 2 --delays 1");
    let mut points = vec![stream.clone(), less_stream.clone(), open.clone()];
    points.extend(less.iter().map(|(_, point)| point.clone()));
    points.extend(engine_stream.points());
    points.extend(sweep.points());
    points.extend(measured.iter().cloned());
    Figure {
        id: "karzand-9",
        paper: Paper::Karzand,
        title: "in-order delay over block size at 10 % loss, 15 % redundancy",
        shows: "Measured on the testbed (25 Mbit/s, RTT 60 ms) at 10 % loss and a redundancy of 15 %: the mean \
                in-order delay of the block code over its block size, and of the streaming code at the same \
                rate as a level line. Here: repairs of 15 % of all packets; ideal models in slots, answered as in \
                Fig. 8 (a block gets what it lacks, the streaming code also repairs for the losses expected among the \
                packets in flight), the engine's presets, and the lab.",
        points,
        show: Box::new(move |values| {
            let slots = sweep.slots(values)?;
            let engines = sweep.engines(values)?;
            let stream = mean(values, &stream, 0.0)?;
            let engine_stream = engine_stream.mean(values, 0.0)?;
            let lab_stream = measured
                .first()
                .and_then(|point| lab_mean(values, point, 0.0));
            let lab: Vec<Dot> = ks
                .iter()
                .zip(measured.iter().skip(1))
                .filter_map(|(k, point)| lab_mean(values, point, f64::from(*k)))
                .collect();
            let of = |stream: Dot, blocks: &[Dot]| ratio(stream, least(blocks));
            let ours = of(stream, &slots);
            let engine = of(engine_stream, &engines);
            let less = less
                .iter()
                .map(|(k, point)| mean(values, point, f64::from(*k)));
            let less = least(&less.collect::<Result<Vec<_>, _>>()?);
            let less = ratio(mean(values, &less_stream, 0.0)?, less).0;
            let alone = SLOT_MS * values.number(&open, "mean_delay_slots")? / least(&slots).y;
            let mut check = Check::of("streaming's delay for that of the best block size")
                .because(format!(
                    "better than the paper's. Tried in slots: repairs for 15 % of information packets instead of all \
                     packets, ratio {less:.2}; the streaming code without answers to feedback at l = 7, exactly, \
                     ratio {alone:.2}",
                ))
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
                Line::new(
                    "streaming, slots",
                    Source::Simulation,
                    1,
                    level(stream, scale),
                )
                .smooth(),
                Line::new("blocks, engine", Source::Engine, 2, engines).apart(),
                Line::new(
                    "streaming, engine",
                    Source::Engine,
                    7,
                    level(engine_stream, scale),
                )
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
    fn what_the_claims_are_about_is_found() {
        let dots = [(4.0, 30.0), (8.0, 10.0), (16.0, 20.0)].map(|(x, y)| Dot::new(x, y));
        let mut found = Found::default();
        found.add(0.05, &dots, Dot::new(0.0, 25.0));
        assert_eq!(largest(found.ratios.clone()), Some((1.2, 0.0)));
        assert_eq!(found.depths, [(0.5, 0.0)]);
        assert_eq!(
            (list(&found.above).as_str(), list(&[]).as_str()),
            ("4 at 5 %", "none")
        );
        found.add(0.2, &dots[1..], Dot::new(0.0, 25.0));
        assert_eq!(found.moves(), 0.0);
    }
}
