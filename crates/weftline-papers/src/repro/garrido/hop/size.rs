//! Fig. 5: throughput over the block size.

use super::super::stations::{Runs, greatest, least, maybe, ratio};
use super::super::{FIELDS, model, sizes, slots};
use super::{carried, engine, engine_reason, like_engine, ns3, rlc, throughput};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values};

/// Headers in the words of the commands, and of ns-3.
const HEADERS: [(&str, &str); 2] = [("vector", "long"), ("seed", "short")];
/// Why the gain is not the same at every K.
const GROWS: &str = "with q 8 the vector grows by a byte for each packet of the block, and the gain of leaving it out \
                     with it; formula, slots, ns-3 and engine give the same, and the rows of this table have it for \
                     each K above 128";

/// Fields of the engine's curves.
const ENDS: [u32; 2] = [1, 8];

/// The points of a field and a header, by block size.
struct Curve {
    q: u32,
    model: Vec<Point>,
    slots: Vec<Point>,
    ns3: Vec<Point>,
}

impl Curve {
    fn new(q: u32, (header, word): (&str, &str), scale: Scale) -> Self {
        let ks = sizes(scale).iter();
        let runs = hop_runs(scale);
        Self {
            q,
            model: ks.clone().map(|k| model(*k, q, header, 0.0)).collect(),
            slots: ks
                .clone()
                .map(|k| slots(*k, q, header, 0.0, scale))
                .collect(),
            ns3: ks
                .map(|k| ns3(&rlc(*k, q, word), 0.0, runs, scale))
                .collect(),
        }
    }

    fn points(&self) -> impl Iterator<Item = Point> {
        let all = self.model.iter().chain(&self.slots).chain(&self.ns3);
        all.cloned()
    }
}

/// Runs without losses, which differ little.
fn hop_runs(scale: Scale) -> Runs {
    Runs {
        runs: scale.pick(2, 4),
        seconds: scale.pick(2, 5),
        pace: 0.06,
    }
}

/// For a field and a header: the engine, and the model with its headers, over K.
type Engines = (u32, &'static str, Vec<(Point, Point)>);

/// Fig. 5.
pub(in crate::repro::garrido) fn over_size(scale: Scale) -> Figure {
    let ks = sizes(scale);
    let fields: &'static [u32] = scale.pick(&ENDS, &FIELDS);
    let panels = HEADERS.map(|header| {
        let curves = FIELDS.iter().map(|q| {
            let mut curve = Curve::new(*q, header, scale);
            if !fields.contains(q) {
                curve.ns3.clear();
            }
            curve
        });
        curves.collect::<Vec<_>>()
    });
    let tcp = ns3("--protocol=newreno", 0.0, hop_runs(scale), scale);
    let engines: Vec<Engines> = HEADERS
        .iter()
        .flat_map(|(header, _)| ENDS.map(|q| (q, *header)))
        .map(|(q, header)| {
            let pair = |k: &u32| {
                (
                    engine(*k, q, header, 0.0, scale),
                    like_engine(*k, q, header, 0.0, scale),
                )
            };
            (q, header, ks.iter().map(pair).collect())
        })
        .collect();
    let mut points: Vec<Point> = panels.iter().flatten().flat_map(Curve::points).collect();
    points.push(tcp.clone());
    points.extend(
        engines
            .iter()
            .flat_map(|(.., pairs)| pairs.iter().flat_map(|(a, b)| [a.clone(), b.clone()])),
    );
    Figure {
        id: "garrido-5",
        paper: Paper::Garrido,
        title: "throughput over the block size for each field, long and short header",
        shows: "One hop of 802.11b, 11 Mbit/s, IP packets of 1500 bytes, no errors: payload over K for each q, with \
                (a) the long header (coding vector) and (b) the short one (seed); TCP NewReno as reference. Here: \
                the model (lines; triangles in the paper), ns-3 (dots), and (c) the engine with preset rlc-block in \
                virtual time on a link with the hop's pace, beside the model in slots with the engine's headers.",
        points,
        show: Box::new(move |values| {
            let mut drawn = Vec::new();
            for (curves, caption) in panels.iter().zip([
                "(a) Long header: the coding vector.",
                "(b) Short header: a seed.",
            ]) {
                drawn.push(Panel::new(values, ks, curves, &tcp, caption)?);
            }
            let [long, short] = &drawn[..] else {
                return Ok(Shown::default());
            };
            let mut checks = Vec::new();
            let last = FIELDS.len() - 1;
            for (index, k) in ks.iter().enumerate().filter(|(_, k)| **k > 128) {
                let theory = short.theory[last][index].y / long.theory[last][index].y;
                let slots = ratio(short.slots[last][index], long.slots[last][index]);
                let made = |place: usize| carried(values, &engines[place].2[index].0, 0.0);
                let engine = ratio(made(3)?, made(1)?);
                let equal = |place: usize| throughput(values, &engines[place].2[index].1, 0.0);
                let like = ratio(equal(3)?, equal(1)?);
                let percent = |y: f64| 100.0 * (y - 1.0);
                let what = format!("gain of the short header at K {k}, q 8, %");
                checks.push(
                    Check::of(&what)
                        .about(18.0)
                        .because(GROWS)
                        .theory(percent(theory))
                        .simulated(percent(slots.y), 100.0 * slots.stderr)
                        .engine(percent(engine.y), 100.0 * engine.stderr)
                        .engine_because(format!(
                            "its packets have 1440 bytes and headers 11 bytes longer: in the model with such packets \
                             the gain is {:.1} %",
                            percent(like.y)
                        )),
                );
                if let (Some(a), Some(b)) = (&short.ns3[last], &long.ns3[last]) {
                    let gain = ratio(a[index], b[index]);
                    checks.push(
                        Check::of(format!("the same in ns-3, K {k}"))
                            .about(18.0)
                            .because(GROWS)
                            .simulated(percent(gain.y), 100.0 * gain.stderr),
                    );
                }
            }
            let best = |dots: &[Dot]| greatest(dots.iter().copied()).map_or(f64::NAN, |dot| dot.x);
            checks.push(
                Check::of("long header: K of the maximum with q 8 as a share of that with q 1")
                    .claims("the maximum comes sooner for larger q", Rule::AtMost(1.0))
                    .theory(best(&long.theory[last]) / best(&long.theory[0])),
            );
            let fall = |dots: &[Dot]| {
                let best = greatest(dots.iter().copied()).unwrap_or(Dot::new(0.0, f64::NAN));
                ratio(dots[dots.len() - 1], best)
            };
            let fallen = fall(&long.slots[last]);
            checks.push(
                Check::of("long header, q 8: throughput at K 256 as a share of the maximum")
                    .claims("a maximum, then falling", Rule::AtMost(1.0))
                    .theory(fall(&long.theory[last]).y)
                    .simulated(fallen.y, fallen.stderr),
            );
            let flat = |curves: &[Vec<Dot>]| {
                let all: Vec<Dot> = curves.iter().flatten().copied().collect();
                let (low, high) = (least(all.clone()), greatest(all));
                low.zip(high)
                    .map_or(Dot::new(0.0, f64::NAN), |(a, b)| ratio(a, b))
            };
            let (theory, slots) = (flat(&short.theory), flat(&short.slots));
            checks.push(
                Check::of(
                    "short header: least throughput of all K and q as a share of the largest",
                )
                .claims("flat", Rule::About(1.0))
                .theory(theory.y)
                .simulated(slots.y, slots.stderr),
            );
            let far = |dot: &Dot| dot.y.ln().abs();
            let apart = [long, short].into_iter().flat_map(Panel::ns3_over_model);
            if let Some(worst) = apart.max_by(|a, b| far(a).total_cmp(&far(b))) {
                checks.push(
                    Check::of(
                        "ns-3 over the model, where they differ most, of all K, q and headers",
                    )
                    .claims("model and simulation match", Rule::About(1.0))
                    .simulated(worst.y, worst.stderr),
                );
            }
            let each = [("long", long), ("short", short)].map(|(name, panel)| panel.checks(name));
            checks.extend(Check::worst(each.concat()));
            let (mut lines, mut beside) = (Vec::new(), Vec::new());
            for (colour, (q, header, pairs)) in engines.iter().enumerate() {
                let (mut real, mut counted) = (Vec::new(), Vec::new());
                for (k, (engine, slots)) in ks.iter().zip(pairs) {
                    real.push(carried(values, engine, f64::from(*k))?);
                    counted.push(throughput(values, slots, f64::from(*k))?);
                }
                let name = match *header {
                    "seed" => format!("short, q {q}"),
                    _ => format!("long, q {q}"),
                };
                for (index, (engine, slots)) in pairs.iter().enumerate() {
                    beside.push(Beside {
                        name: name.clone(),
                        k: ks[index],
                        engine: (real[index], engine),
                        slots: (counted[index], slots),
                    });
                }
                let engine = Line::new(format!("{name}, engine"), Source::Engine, colour, real);
                let slots = Line::new(
                    format!("{name}, slots"),
                    Source::Simulation,
                    colour,
                    counted,
                );
                lines.extend([engine.apart(), slots.smooth()]);
            }
            let worst = beside.iter().max_by(|a, b| a.apart().total_cmp(&b.apart()));
            if let Some(worst) = worst {
                checks.push(worst.check(values)?);
            }
            let engine = Plot::new(
                "(c) The engine with preset rlc-block, and the model in slots with the engine's headers.",
                "K, packets of a block",
                "throughput, Mbit/s of payload",
            )
            .with(lines);
            let mut pictures: Vec<_> = drawn.into_iter().map(|panel| panel.plot.into()).collect();
            pictures.push(engine.into());
            Ok(Shown {
                pictures,
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// The engine beside the model in slots.
struct Beside<'a> {
    name: String,
    k: u32,
    engine: (Dot, &'a Point),
    slots: (Dot, &'a Point),
}

impl Beside<'_> {
    fn apart(&self) -> f64 {
        (self.engine.0.y / self.slots.0.y).ln().abs()
    }

    fn check(&self, values: &Values) -> Result<Check, Missing> {
        let Self {
            name,
            k,
            engine,
            slots,
        } = self;
        Ok(Check::of(format!(
            "throughput, {name}, K {k}, Mbit/s, packets as the engine's, where engine and model differ most"
        ))
        .simulated(slots.0.y, slots.0.stderr)
        .engine(engine.0.y, engine.0.stderr)
        .engine_because(engine_reason(values, engine.1, slots.1, *k)?))
    }
}

/// One panel: curves by field, dots by block size.
struct Panel {
    plot: Plot,
    theory: Vec<Vec<Dot>>,
    slots: Vec<Vec<Dot>>,
    ns3: Vec<Option<Vec<Dot>>>,
}

impl Panel {
    fn new(
        values: &Values,
        ks: &[u32],
        curves: &[Curve],
        tcp: &Point,
        caption: &str,
    ) -> Result<Self, Missing> {
        let (mut theory, mut counted, mut simulated) = (Vec::new(), Vec::new(), Vec::new());
        let mut lines = Vec::new();
        for (colour, curve) in curves.iter().enumerate() {
            let (mut model, mut slots) = (Vec::new(), Vec::new());
            for (index, k) in ks.iter().enumerate() {
                let x = f64::from(*k);
                model.push(Dot::new(
                    x,
                    values.number(&curve.model[index], "block_mbit")?,
                ));
                slots.push(throughput(values, &curve.slots[index], x)?);
            }
            let pairs = ks.iter().zip(&curve.ns3);
            let ns3 = pairs
                .map(|(k, point)| maybe(values, point, f64::from(*k), "throughput_mbit/total"));
            let ns3 = ns3.collect::<Result<Option<Vec<Dot>>, Missing>>()?;
            let ns3 = ns3.filter(|dots| !dots.is_empty());
            let q = curve.q;
            lines.push(Line::new(
                format!("q {q}, model"),
                Source::Theory,
                colour,
                model.clone(),
            ));
            if let Some(dots) = &ns3 {
                let name = format!("q {q}, ns-3");
                lines.push(Line::new(name, Source::Simulation, colour, dots.clone()).apart());
            }
            theory.push(model);
            counted.push(slots);
            simulated.push(ns3);
        }
        if let Some(reno) = maybe(values, tcp, 0.0, "throughput_mbit/total")? {
            let dots = ks
                .iter()
                .map(|k| Dot {
                    x: f64::from(*k),
                    ..reno
                })
                .collect();
            lines.push(Line::new("TCP NewReno, ns-3", Source::Simulation, 4, dots).smooth());
        }
        let plot = Plot::new(
            caption,
            "K, packets of a block",
            "throughput, Mbit/s of payload",
        )
        .with(lines);
        Ok(Self {
            plot,
            theory,
            slots: counted,
            ns3: simulated,
        })
    }

    fn ns3_over_model(&self) -> Vec<Dot> {
        let curves = self.ns3.iter().zip(&self.theory);
        let curves = curves.filter_map(|(ns3, theory)| Some((ns3.as_ref()?, theory)));
        curves
            .flat_map(|(ns3, theory)| ns3.iter().zip(theory).map(|(a, b)| ratio(*a, *b)))
            .collect()
    }

    fn checks(&self, header: &str) -> Vec<Check> {
        let curves = FIELDS.iter().zip(self.theory.iter().zip(&self.slots));
        let each = curves.flat_map(|(q, (theory, slots))| {
            theory.iter().zip(slots).map(move |(model, slots)| {
                let k = model.x;
                Check::of(format!("throughput, {header} header, q {q}, K {k}, Mbit/s"))
                    .theory(model.y)
                    .simulated(slots.y, slots.stderr)
            })
        });
        each.collect()
    }
}
