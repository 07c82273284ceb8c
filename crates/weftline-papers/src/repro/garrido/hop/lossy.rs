//! Fig. 6: throughput over the frame error rate.

use super::super::stations::{Runs, greatest, least, maybe, ratio};
use super::super::{model, slots};
use super::{carried, engine, engine_reason, like_engine, ns3, rlc, throughput};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values};

/// The code of the figure.
const CODE: (u32, u32) = (64, 1);

/// A curve of ns-3: its name, colour, and points by frame error rate.
struct Curve {
    name: String,
    colour: usize,
    points: Vec<Point>,
}

/// Its values; `None` if ns-3 is not here.
fn dots(values: &Values, curve: &Curve, fers: &[f64]) -> Result<Option<Vec<Dot>>, Missing> {
    let pairs = fers.iter().zip(&curve.points);
    let dots = pairs.map(|(fer, point)| maybe(values, point, *fer, "throughput_mbit/total"));
    dots.collect()
}

fn curves(fers: &[f64], scale: Scale) -> Vec<Curve> {
    let rlc_runs = Runs {
        runs: scale.pick(2, 20),
        seconds: scale.pick(2, 3),
        pace: 0.06,
    };
    let tcp_runs = Runs {
        runs: scale.pick(2, 20),
        seconds: scale.pick(3, 6),
        pace: 0.05,
    };
    let (k, q) = CODE;
    let code = rlc(k, q, "short");
    let of = |name: String, colour: usize, options: String, runs: Runs| Curve {
        name,
        colour,
        points: fers
            .iter()
            .map(|fer| ns3(&options, *fer, runs, scale))
            .collect(),
    };
    let mut all = Vec::new();
    for n in 1..=4 {
        let options = format!("{code} --transmissions={n}");
        all.push(of(format!("RLC, MAC {n}"), n - 1, options, rlc_runs));
    }
    for n in 1..=4 {
        let options = format!("--protocol=newreno --transmissions={n}");
        all.push(of(format!("NewReno, MAC {n}"), n + 3, options, tcp_runs));
    }
    let options = "--protocol=westwood --transmissions=4".to_owned();
    all.push(of("Westwood, MAC 4".to_owned(), 8, options, tcp_runs));
    let options = format!(
        "--protocol=session --preset=rlc-block,k={k},field={} --transmissions=1",
        1 << q
    );
    all.push(of("engine in ns-3".to_owned(), 10, options, rlc_runs));
    all
}

/// Fig. 6.
pub(in crate::repro::garrido) fn over_fer(scale: Scale) -> Figure {
    let fers: &'static [f64] = scale.pick(&[0.0, 0.3, 0.6], &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
    let (k, q) = CODE;
    let all = curves(fers, scale);
    type Beside = (Point, Point, Point, Point);
    let beside: Vec<Beside> = fers
        .iter()
        .map(|fer| {
            (
                model(k, q, "seed", *fer),
                slots(k, q, "seed", *fer, scale),
                engine(k, q, "seed", *fer, scale),
                like_engine(k, q, "seed", *fer, scale),
            )
        })
        .collect();
    let mut points: Vec<Point> = all.iter().flat_map(|curve| curve.points.clone()).collect();
    for (a, b, c, d) in &beside {
        points.extend([a.clone(), b.clone(), c.clone(), d.clone()]);
    }
    Figure {
        id: "garrido-6",
        paper: Paper::Garrido,
        title: "throughput over the frame error rate with several MAC transmissions",
        shows: "One hop of 802.11b, 11 Mbit/s: RLC with the short header, q 1, K 64, and TCP NewReno, each with at most \
                1 to 4 MAC transmissions of a frame, and TCP Westwood with 4; acknowledgements are not lost. Here: \
                ns-3 for (a); (b) RLC sent once by the model, in slots, in ns-3, and the engine with preset rlc-block \
                in virtual time and in ns-3.",
        points,
        show: Box::new(move |values| {
            let (mut checks, mut lines, mut once) = (Vec::new(), Vec::new(), Vec::new());
            let mut stations = Vec::new();
            for curve in &all {
                stations.push(dots(values, curve, fers)?);
            }
            let simulated: Option<Vec<Vec<Dot>>> = stations.iter().cloned().collect();
            for (curve, dots) in all.iter().zip(&stations) {
                let Some(dots) = dots else { continue };
                let line = |name: &str, source: Source| {
                    Line::new(name, source, curve.colour, dots.clone())
                };
                match curve.colour {
                    0 => once.push(line("ns-3", Source::Simulation)),
                    10 => once.push(line("engine in ns-3", Source::Engine).coloured(6)),
                    _ => {}
                }
                if curve.colour != 10 {
                    lines.push(line(&curve.name, Source::Simulation));
                }
            }
            if let Some(simulated) = &simulated {
                checks.extend(claims(simulated));
            }
            let (mut theory, mut sixth, mut counted) = (Vec::new(), Vec::new(), Vec::new());
            let (mut real, mut like) = (Vec::new(), Vec::new());
            for (fer, (formula, model, engine, equal)) in fers.iter().zip(&beside) {
                theory.push(Dot::new(*fer, values.number(formula, "block_mbit")?));
                sixth.push(Dot::new(*fer, values.number(formula, "goodput_mbit")?));
                counted.push(throughput(values, model, *fer)?);
                real.push(carried(values, engine, *fer)?);
                like.push(throughput(values, equal, *fer)?);
            }
            let each = fers.iter().enumerate().map(|(index, fer)| {
                Check::of(format!("RLC's throughput, sent once, FER {fer}, Mbit/s"))
                    .theory(theory[index].y)
                    .simulated(counted[index].y, counted[index].stderr)
            });
            checks.extend(Check::worst(each.collect()));
            let far = |index: &usize| (real[*index].y / like[*index].y).ln().abs();
            let worst = (0..fers.len()).max_by(|a, b| far(a).total_cmp(&far(b)));
            if let Some(index) = worst {
                let (.., engine, equal) = &beside[index];
                checks.push(
                    Check::of(format!(
                        "RLC's throughput, sent once, FER {}, Mbit/s, packets as the engine's, where engine and model \
                         differ most",
                        fers[index]
                    ))
                    .simulated(like[index].y, like[index].stderr)
                    .engine(real[index].y, real[index].stderr)
                    .engine_because(engine_reason(values, engine, equal, k)?),
                );
            }
            once.push(Line::new("equation 6", Source::Theory, 1, sixth));
            once.push(Line::new("slots", Source::Simulation, 2, counted).apart());
            once.push(Line::new(
                "engine in virtual time, packets of 1440 bytes",
                Source::Engine,
                3,
                real,
            ));
            once.push(
                Line::new("slots, packets of 1440 bytes", Source::Simulation, 4, like).smooth(),
            );
            let plot = |caption: &str, lines: Vec<Line>| {
                Plot::new(caption, "frame error rate", "throughput, Mbit/s of payload").with(lines)
            };
            let mut pictures = Vec::new();
            if !lines.is_empty() {
                let caption = "(a) Short header (q 1, K 64) and TCP by MAC transmissions of a frame, in ns-3.";
                pictures.push(plot(caption, lines).into());
            }
            pictures.push(plot("(b) RLC sent once: model, simulations, engine.", once).into());
            Ok(Shown {
                pictures,
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// The paper's claims; curves in the order of [`curves`].
fn claims(all: &[Vec<Dot>]) -> Vec<Check> {
    let ratios = |a: &[Dot], b: &[Dot]| -> Vec<Dot> {
        a.iter().zip(b).map(|(a, b)| ratio(*a, *b)).collect()
    };
    let by_fer = |curves: &[Vec<Dot>]| -> Vec<Dot> {
        let columns = 0..curves[0].len();
        columns
            .filter_map(|index| greatest(curves.iter().map(|curve| curve[index])))
            .collect()
    };
    let reno = by_fer(&all[4..8]);
    let mut checks = Vec::new();
    let mut add = |what: &str, words: &str, rule: Rule, worst: Option<Dot>| {
        if let Some(worst) = worst {
            checks.push(
                Check::of(format!("{what} (FER {})", worst.x))
                    .claims(words, rule)
                    .simulated(worst.y, worst.stderr),
            );
        }
    };
    add(
        "RLC, MAC 1, over the best of NewReno, where it is least",
        "RLC above TCP everywhere",
        Rule::AtLeast(1.0),
        least(ratios(&all[0], &reno)),
    );
    let lossy = |dots: Vec<Dot>| dots.into_iter().filter(|dot| dot.x > 0.0);
    add(
        "RLC, MAC 4, over MAC 1 with errors, where it is largest",
        "harmed by MAC retransmissions",
        Rule::AtMost(1.0),
        greatest(lossy(ratios(&all[3], &all[0]))),
    );
    add(
        "Westwood, MAC 4, over NewReno, MAC 4, with errors, where it is least",
        "Westwood between TCP NewReno and RLC",
        Rule::AtLeast(1.0),
        least(lossy(ratios(&all[8], &all[7]))),
    );
    add(
        "Westwood, MAC 4, over RLC, MAC 1, with errors, where it is largest",
        "Westwood between TCP NewReno and RLC",
        Rule::AtMost(1.0),
        greatest(lossy(ratios(&all[8], &all[0]))),
    );
    checks
}
