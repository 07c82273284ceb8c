//! Fig. 10: delays over the packets sent for each information packet.

use super::points::{
    ENGINE_RULE, Engine, as_engine, between, block, engine, lab, lab_mean, lab_value, largest,
    least, mean, ratio, streaming, wide_engine,
};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values};

/// Repairs for each source packet in the lab; the first as in Fig. 9.
const LAB: [f64; 3] = [0.17647, 0.25, 0.5];
/// The block sizes between which the paper's best ones are.
const BEST: std::ops::RangeInclusive<u32> = 32..=64;

/// Delays over packets for each information packet: of the streaming code, or of blocks of k.
type Curve = (Option<u32>, Vec<Dot>);

/// One code.
struct Code {
    k: Option<u32>,
    slots: Vec<Point>,
    engines: Vec<Engine>,
    /// In slots with the engine's rule, at the engine's shares of repairs.
    by_rule: Vec<Point>,
    lab: Vec<Point>,
}

/// Dots of slot models.
fn in_slots(values: &Values, points: &[Point]) -> Result<Vec<Dot>, Missing> {
    let dot = |point: &Point| mean(values, point, 1.0 / values.number(point, "effective_rate")?);
    points.iter().map(dot).collect()
}

/// Dots of engines.
fn by_engine(values: &Values, engines: &[Engine]) -> Result<Vec<Dot>, Missing> {
    let dot = |engine: &Engine| engine.mean(values, engine.packets(values)?);
    engines.iter().map(dot).collect()
}

/// The largest ratio of the streaming code's delay to that of any block code.
fn below(all: &[Curve]) -> Option<(f64, f64)> {
    let stream = &all.iter().find(|(k, _)| k.is_none())?.1;
    let blocks = all.iter().filter(|(k, _)| k.is_some());
    let dots = blocks.flat_map(|(_, dots)| dots.iter());
    largest(dots.filter_map(|dot| Some(ratio(between(stream, dot.x)?, *dot))))
}

/// The largest ratio, over the rates, of the best delay of blocks of 32 and 64 to the best of others.
fn envelope(all: &[Curve]) -> Option<(f64, f64)> {
    let is_best = |k: &Option<u32>, inside: bool| k.is_some_and(|k| BEST.contains(&k) == inside);
    let best = |x: f64, inside: bool| {
        let own = all.iter().filter(|(k, _)| is_best(k, inside));
        let dots: Vec<Dot> = own.filter_map(|(_, dots)| between(dots, x)).collect();
        (!dots.is_empty()).then(|| least(&dots))
    };
    let xs = all.iter().filter(|(k, _)| is_best(k, true));
    let xs = xs.flat_map(|(_, dots)| dots.iter().map(|dot| dot.x));
    largest(xs.filter_map(|x| Some(ratio(best(x, true)?, best(x, false)?))))
}

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
    let by_rule = |k: Option<u32>| {
        let one = |share: &f64| match k {
            None => as_engine::streaming("0.1", *share, scale),
            Some(k) => as_engine::block("0.1", k, *share, "", scale),
        };
        engine_shares.iter().map(one).collect::<Vec<_>>()
    };
    let all = [None, Some(8), Some(16), Some(32), Some(64), Some(128)].map(|k| {
        let is_run = k.is_none_or(|k| k == 16 || BEST.contains(&k));
        let lab = match k {
            None => lab("10 %", &LAB.map(|s| format!("streaming,share={s}")), scale),
            Some(k @ (32 | 64)) => {
                let schemes = LAB.map(|s| format!("block,k={k},share={s}"));
                lab("10 %", &schemes, scale)
            }
            _ => Vec::new(),
        };
        Code {
            k,
            slots: slots(k),
            engines: if is_run { engines(k) } else { Vec::new() },
            by_rule: if is_run { by_rule(k) } else { Vec::new() },
            lab,
        }
    });
    let wide = engine_shares
        .iter()
        .map(|share| wide_engine("iid:10%", *share, scale));
    let wide: Vec<Engine> = wide.collect();
    let mut points: Vec<Point> = wide.iter().flat_map(Engine::points).collect();
    for code in &all {
        points.extend(
            [&code.slots, &code.by_rule, &code.lab]
                .into_iter()
                .flatten()
                .cloned(),
        );
        points.extend(code.engines.iter().flat_map(Engine::points));
    }
    Figure {
        id: "karzand-10",
        paper: Paper::Karzand,
        title: "in-order delay over packets sent for each information packet, 10 % loss",
        shows: "Measured on the testbed (25 Mbit/s, RTT 60 ms) at 10 % loss: mean in-order delay over the packets \
                sent for each information packet, of block codes of several k and rates and of the streaming code. \
                Here: ideal models in slots, answered as in Fig. 8 (a block gets what it lacks, the streaming code \
                also repairs for the losses expected among the packets in flight), the engine's presets, and the \
                lab.",
        points,
        show: Box::new(move |values| {
            let (mut lines, mut slots, mut engine, mut measured) = (vec![], vec![], vec![], vec![]);
            let mut rule: Vec<Curve> = Vec::new();
            let colours = [2, 9, 10, 3, 1, 6];
            let engine_colours = [7, 0, 10, 11, 8, 0];
            let lab_colours = [4, 0, 0, 5, 0, 0];
            for (index, code) in all.iter().enumerate() {
                let k = code.k;
                let name = k.map_or("streaming".to_owned(), |k| format!("blocks of {k}"));
                let line = |with: &str, source, colour: usize, dots: &[Dot]| {
                    Line::new(format!("{name}, {with}"), source, colour, dots.to_vec())
                };
                let dots = in_slots(values, &code.slots)?;
                lines.push(line("slots", Source::Simulation, colours[index], &dots).smooth());
                slots.push((k, dots));
                if !code.engines.is_empty() {
                    let dots = by_engine(values, &code.engines)?;
                    lines
                        .push(line("engine", Source::Engine, engine_colours[index], &dots).apart());
                    engine.push((k, dots));
                    rule.push((k, in_slots(values, &code.by_rule)?));
                }
                let dots = code.lab.iter().filter_map(|point| {
                    lab_mean(values, point, lab_value(values, point, "packets")?.0)
                });
                let dots: Vec<Dot> = dots.collect();
                if !dots.is_empty() {
                    lines.push(line("lab", Source::Measured, lab_colours[index], &dots));
                    measured.push((k, dots));
                }
            }
            let mut wider = engine.clone();
            wider.retain(|(k, _)| k.is_some());
            wider.push((None, by_engine(values, &wide)?));
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
            let of = |found: Option<(f64, f64)>| found.map_or(f64::NAN, |(value, _)| value);
            lower = lower.engine_because(format!(
                "{ENGINE_RULE}, and the preset's encoding window of 256 symbols ends before the oldest loss in long \
                 stalls. The models with this rule, at the engine's sizes and shares of repairs: {:.3}; the \
                 engine with a window of 1024: {:.3}",
                of(below(&rule)),
                of(below(&wider)),
            ));
            best = best.engine_because(format!(
                "The engine was run with blocks of 16, 32 and 64 and fewer shares of repairs. The models with the \
                 same sizes and shares, and with its rule: {:.3}",
                of(envelope(&rule)),
            ));
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
