//! Fig. 7: latency and payload per block.

use super::super::stations::{Runs, maybe, ratio};
use super::super::{FIELDS, model, sizes, slots};
use super::{FILE, engine, engine_reason, ns3, rlc, symbol};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values, over_runs};

/// The points of a field, by block size.
struct Curve {
    q: u32,
    model: Vec<Point>,
    long: Vec<Point>,
    slots: Vec<Point>,
    engine: Vec<Point>,
    ns3: Vec<Point>,
}

impl Curve {
    fn new(q: u32, scale: Scale) -> Self {
        let ks = sizes(scale);
        let runs = Runs {
            runs: scale.pick(2, 4),
            seconds: scale.pick(2, 5),
            pace: 0.06,
        };
        let all = |of: &dyn Fn(u32) -> Point| ks.iter().map(|k| of(*k)).collect::<Vec<_>>();
        // The same points as those of Fig. 5.
        let ends = q == 1 || q == 8;
        let some = |of: &dyn Fn(u32) -> Point| if ends { all(of) } else { Vec::new() };
        Self {
            q,
            model: all(&|k| model(k, q, "seed", 0.0)),
            long: all(&|k| model(k, q, "vector", 0.0)),
            slots: all(&|k| slots(k, q, "seed", 0.0, scale)),
            engine: some(&|k| engine(k, q, "seed", 0.0, scale)),
            ns3: some(&|k| ns3(&rlc(k, q, "short"), 0.0, runs, scale)),
        }
    }

    fn points(&self) -> impl Iterator<Item = Point> {
        let all = [
            &self.model,
            &self.long,
            &self.slots,
            &self.engine,
            &self.ns3,
        ];
        all.into_iter().flatten().cloned()
    }
}

/// Milliseconds that the engine takes for a block of the file.
fn block_time(values: &Values, point: &Point, k: u32, q: u32) -> Result<Dot, Missing> {
    let missing = || Missing::Key {
        point: point.to_string(),
        key: "runs/N/result/completion_s".to_owned(),
    };
    let blocks = FILE / f64::from(k * symbol(k, q, "seed"));
    let runs = values.object(point)?.get("runs");
    let runs = runs.and_then(|runs| runs.as_array()).into_iter().flatten();
    let times = runs.map(|run| {
        let seconds = run.pointer("/result/completion_s").and_then(|s| s.as_f64());
        Ok(1e3 * seconds.ok_or_else(missing)? / blocks)
    });
    let (y, stderr) = over_runs(&times.collect::<Result<Vec<f64>, Missing>>()?);
    let x = f64::from(k);
    Ok(Dot { x, y, stderr })
}

/// Fig. 7.
pub(in crate::repro::garrido) fn blocks(scale: Scale) -> Figure {
    let ks = sizes(scale);
    let curves = FIELDS.map(|q| Curve::new(q, scale));
    let points = curves.iter().flat_map(Curve::points).collect();
    Figure {
        id: "garrido-7",
        paper: Paper::Garrido,
        title: "latency and payload of a block over its size and the field",
        shows: "One hop without errors: (a) the time from one decoded block to the next, (b) the payload that a block \
                brings, over K for each q. Here: the formulas, simulated blocks, ns-3, and the engine with preset \
                rlc-block in virtual time, for q 1 and 8.",
        points,
        show: Box::new(move |values| {
            let (mut times, mut loads) = (Vec::new(), Vec::new());
            let mut checks = Vec::new();
            let (mut compared, mut first) = (Vec::new(), Vec::new());
            for (colour, curve) in curves.iter().enumerate() {
                let q = curve.q;
                let (mut theory, mut simulated) = (Vec::new(), Vec::new());
                let (mut real, mut stations) = (Vec::new(), Vec::new());
                let (mut short, mut long) = (Vec::new(), Vec::new());
                for (index, k) in ks.iter().enumerate() {
                    let x = f64::from(*k);
                    let formula = values.number(&curve.model[index], "block_ms")?;
                    let slots = Dot {
                        x,
                        y: values.number(&curve.slots[index], "latency_ms/mean")?,
                        stderr: values.number(&curve.slots[index], "latency_ms/stderr")?,
                    };
                    theory.push(Dot::new(x, formula));
                    simulated.push(slots);
                    let kilobytes =
                        |point: &Point| values.number(point, "block_bytes").map(|b| b / 1e3);
                    short.push(Dot::new(x, kilobytes(&curve.model[index])?));
                    long.push(Dot::new(x, kilobytes(&curve.long[index])?));
                    if let Some(point) = curve.engine.get(index) {
                        real.push(block_time(values, point, *k, q)?);
                    }
                    if let Some(point) = curve.ns3.get(index) {
                        stations.extend(maybe(values, point, x, "delay_ms_mean")?);
                    }
                    let what = format!("time from block to block, q {q}, K {k}, ms");
                    let check = Check::of(&what)
                        .theory(formula)
                        .simulated(slots.y, slots.stderr);
                    compared.push(check);
                }
                let last = ks.len() - 1;
                let mut check =
                    Check::of(format!("from block to block at K {}, q {q}, ms", ks[last]))
                        .about(500.0)
                        .theory(theory[last].y)
                        .simulated(simulated[last].y, simulated[last].stderr);
                if let Some(dot) = real.get(last) {
                    let why =
                        engine_reason(values, &curve.engine[last], &curve.slots[last], ks[last])?;
                    let why = format!("its packets have 1440 bytes instead of 1500, and {why}");
                    check = check.engine(dot.y, dot.stderr).engine_because(why);
                }
                checks.push(check);
                if let Some(dot) = stations.get(last) {
                    checks.push(
                        Check::of(format!("the same in ns-3, first packet to decoding, q {q}"))
                            .about(500.0)
                            .simulated(dot.y, dot.stderr),
                    );
                }
                first.push((theory[0], simulated[0]));
                times.push(Line::new(format!("q {q}"), Source::Theory, colour, theory));
                let name = format!("q {q}, simulated");
                times.push(Line::new(name, Source::Simulation, colour, simulated).apart());
                if !stations.is_empty() {
                    let name = format!("q {q}, ns-3");
                    times.push(Line::new(name, Source::Simulation, colour + 4, stations).apart());
                }
                if !real.is_empty() {
                    let name = format!("q {q}, engine");
                    times.push(Line::new(name, Source::Engine, colour + 8, real).apart());
                }
                if colour == 0 {
                    loads.push(Line::new("short header, every q", Source::Theory, 5, short));
                }
                loads.push(Line::new(
                    format!("long header, q {q}"),
                    Source::Theory,
                    colour,
                    long,
                ));
            }
            let ((one, one_simulated), (eight, eight_simulated)) =
                (first[0], first[first.len() - 1]);
            let apart = ratio(one_simulated, eight_simulated);
            checks.push(
                Check::of(format!(
                    "time of q 1 over that of q 8 at K {}, where they differ most",
                    one.x
                ))
                .claims("little dependence on q", Rule::About(1.0))
                .theory(one.y / eight.y)
                .simulated(apart.y, apart.stderr),
            );
            checks.extend(Check::worst(compared));
            times.push(Line::new(
                "the paper",
                Source::Paper,
                6,
                vec![Dot::new(256.0, 500.0)],
            ));
            let k = "K, packets of a block";
            let waits = Plot::new(
                "(a) Time from block to block, short header.",
                k,
                "latency, ms",
            )
            .with(times);
            let loads =
                Plot::new("(b) Payload of a block.", k, "payload of a block, kB").with(loads);
            Ok(Shown {
                pictures: vec![waits.into(), loads.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
