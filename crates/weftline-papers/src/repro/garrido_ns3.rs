//! Garrido et al., Figs 9 to 11: several stations, by the ns-3 model (`ns3/`,
//! `docs/reference/ns3.md`).

use super::garrido::stations::{Runs, each, least, mean, ratio};
use super::picture::{Dot, Line, Plot, Source};
use super::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values, over_runs};

/// All figures of the paper that are run with ns-3.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![fairness(scale), sharing(scale), mesh(scale)]
}

/// The code of the cross: that of Fig. 6.
const RLC: &str = "--protocol=rlc --q=1 --k=64 --header=short";
/// The engine with the same code; each frame is sent once, as RLC's.
const ENGINE: &str = "--protocol=session --preset=rlc-block,k=64,field=2 --transmissions=1";

/// The same without the engine's rate control.
const UNCONTROLLED: &str =
    "--protocol=session --preset=rlc-block,k=64,field=2,control=off --transmissions=1";

/// A protocol's name, the source of its numbers, and its points by frame error rate.
struct Curve {
    name: &'static str,
    source: Source,
    points: Vec<(f64, Point)>,
}

impl Curve {
    /// A number's means over runs.
    fn dots(&self, values: &Values, key: &str) -> Result<Vec<Dot>, Missing> {
        let points = self.points.iter();
        points
            .map(|(fer, point)| mean(values, point, *fer, key))
            .collect()
    }
}

fn cross_runs(scale: Scale) -> Runs {
    Runs {
        runs: scale.pick(2, 10),
        // A block of the slower flow takes three seconds at an FER of 0.6.
        seconds: scale.pick(4, 10),
        pace: 0.13,
    }
}

/// The cross with errors on both hops of the second flow.
fn cross(options: &str, fer: f64, scale: Scale) -> Point {
    cross_runs(scale).of(&format!("cross {options} --fer={fer}"), scale)
}

fn crossings(scale: Scale) -> Vec<Curve> {
    let fers: &'static [f64] = scale.pick(&[0.0, 0.3, 0.6], &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
    let of = |name, source, options: &str| Curve {
        name,
        source,
        points: fers
            .iter()
            .map(|fer| (*fer, cross(options, *fer, scale)))
            .collect(),
    };
    vec![
        of("RLC, short header", Source::Simulation, RLC),
        of("TCP NewReno", Source::Simulation, "--protocol=newreno"),
        of("TCP Westwood", Source::Simulation, "--protocol=westwood"),
        of("engine, preset rlc-block", Source::Engine, ENGINE),
    ]
}

/// What was tried to share fairly at an FER of 0.6: words, and options.
const TRIED: [(&str, &str); 5] = [
    (
        "relays that drop no packets of decoded blocks",
        "--relay-drop=0",
    ),
    (
        "the same with a queue of 400 packets",
        "--relay-drop=0 --queue=400",
    ),
    (
        "sources that do not wait for the signal that a packet was sent, but keep 50 of their own queued",
        "--ahead=50",
    ),
    ("four MAC transmissions of a frame", "--transmissions=4"),
    ("errors on the second flow's first hop only", "--lossy=hop2"),
];

/// Fig. 9.
fn fairness(scale: Scale) -> Figure {
    let all = crossings(scale);
    let tried = TRIED.map(|(words, options)| {
        let options = format!("{RLC} {options}");
        (words, cross(&options, 0.6, scale))
    });
    let mut points: Vec<Point> = all
        .iter()
        .flat_map(|curve| curve.points.iter().map(|(_, point)| point.clone()))
        .collect();
    points.extend(tried.iter().map(|(_, point)| point.clone()));
    let uncontrolled = cross(UNCONTROLLED, 0.6, scale);
    points.push(uncontrolled.clone());
    Figure {
        id: "garrido-9",
        paper: Paper::Garrido,
        title: "two flows crossing at a relay: fairness over the frame error rate",
        shows: "Jain's index of the throughputs of two flows across a relay (garrido-8), over the FER of the second \
                flow's two hops; the first flow has no errors. Here: ns-3, 802.11b ad hoc, with the project's codec, \
                q 1, K 64, and the engine with preset rlc-block.",
        points,
        show: Box::new(move |values| {
            let mut lines = Vec::new();
            for (colour, curve) in all.iter().enumerate() {
                let dots = curve.dots(values, "jain")?;
                lines.push(Line::new(curve.name, curve.source, colour, dots));
            }
            let lowest = |index: usize| {
                least(lines[index].dots.iter().copied()).unwrap_or(Dot::new(0.0, f64::NAN))
            };
            let (rlc, engine) = (lowest(0), lowest(3));
            let mut reasons = Vec::new();
            for (words, point) in &tried {
                let dot = mean(values, point, 0.6, "jain")?;
                reasons.push(format!("{words} {:.2}", dot.y));
            }
            // Packets that arrive across both hops, of equal shares of the medium.
            let share = (1.0 - rlc.x) * (1.0 - rlc.x);
            let equal = (1.0 + share).powi(2) / (2.0 * (1.0 + share * share));
            let why = format!(
                "the signal that a packet was sent keeps each source's MAC busy, so S1, S2 and R1 send nearly as \
                 many frames (garrido-8), and the relay's queue serves each flow in proportion to what reaches it: with \
                 equal shares a flow that loses packets on both hops delivers (1-FER)^2 of the other's, an index of \
                 {equal:.2}. Tried, with the index at an FER of 0.6: {}",
                reasons.join("; ")
            );
            let drops = |point: &Point| mean(values, point, 0.6, "queue_drops");
            let last = |index: usize| all[index].points.last().map(|(_, point)| point);
            let (Some(plain), Some(real)) = (last(0), last(3)) else {
                return Ok(Shown::default());
            };
            let engine_why = format!(
                "its rate control slows the flow that loses packets. At the highest FER queues drop {:.0} packets in a \
                 run with it and {:.0} without it (`control=off`), where the index is {:.2}; of RLC's packets they drop \
                 {:.0}",
                drops(real)?.y,
                drops(&uncontrolled)?.y,
                mean(values, &uncontrolled, 0.6, "jain")?.y,
                drops(plain)?.y
            );
            let checks = vec![
                Check::of(format!(
                    "RLC's least Jain index (simulation at FER {}, engine at {})",
                    rlc.x, engine.x
                ))
                .claims("above 0.9 everywhere", Rule::AtLeast(0.9))
                .simulated(rlc.y, rlc.stderr)
                .engine(engine.y, engine.stderr)
                .because(why)
                .engine_because(engine_why),
                tcp(&lines[1].name, lowest(1)),
                tcp(&lines[2].name, lowest(2)),
            ];
            let plot = Plot::new(
                "Fairness of two flows, the second with errors on both hops.",
                "frame error rate of the second flow's hops",
                "Jain's index",
            )
            .with(lines)
            .y_range(0.4, 1.05);
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

fn tcp(name: &str, least: Dot) -> Check {
    Check::of(format!("{name}'s least Jain index (FER {})", least.x))
        .claims("towards 0.5", Rule::About(0.5))
        .simulated(least.y, least.stderr)
}

/// Fig. 10.
fn sharing(scale: Scale) -> Figure {
    let all = crossings(scale);
    let points = all
        .iter()
        .flat_map(|curve| curve.points.iter().map(|(_, point)| point.clone()))
        .collect();
    Figure {
        id: "garrido-10",
        paper: Paper::Garrido,
        title: "two flows crossing at a relay: throughput of each and the sum",
        shows: "Throughput of each flow and their sum over the FER of the second flow's two hops, (a) TCP NewReno, (b) \
                RLC. Here: the runs of garrido-9, and (c) the engine with preset rlc-block.",
        points,
        show: Box::new(move |values| {
            let panel = |index: usize, caption: &str| -> Result<Plot, Missing> {
                let curve = &all[index];
                let keys = [
                    ("sum", "throughput_mbit/total"),
                    ("flow 1, no errors", "throughput_mbit/flows/0"),
                    ("flow 2, errors on both hops", "throughput_mbit/flows/1"),
                ];
                let mut lines = Vec::new();
                for (colour, (name, key)) in keys.into_iter().enumerate() {
                    let dots = curve.dots(values, key)?;
                    lines.push(Line::new(name, curve.source, colour, dots));
                }
                let x = "frame error rate of the second flow's hops";
                Ok(Plot::new(caption, x, "throughput, Mbit/s of payload").with(lines))
            };
            let ends = |index: usize, key: &str| -> Result<(Dot, Dot), Missing> {
                let dots = all[index].dots(values, key)?;
                let absent = Dot::new(0.0, f64::NAN);
                let first = dots.first().copied().unwrap_or(absent);
                Ok((first, dots.last().copied().unwrap_or(absent)))
            };
            let (before, after) = ends(1, "throughput_mbit/flows/0")?;
            let doubled = ratio(after, before);
            let share = |index: usize| -> Result<Dot, Missing> {
                let of = |(fer, point): &(f64, Point)| -> Result<Dot, Missing> {
                    let first = each(values, point, "throughput_mbit/flows/0")?;
                    let both = each(values, point, "throughput_mbit/total")?;
                    let shares: Vec<f64> = first.iter().zip(&both).map(|(a, b)| a / b).collect();
                    let (y, stderr) = over_runs(&shares);
                    Ok(Dot { x: *fer, y, stderr })
                };
                let points = &all[index].points;
                let (Some(first), Some(last)) = (points.first(), points.last()) else {
                    return Ok(Dot::new(0.0, f64::NAN));
                };
                Ok(ratio(of(last)?, of(first)?))
            };
            let (rlc, engine) = (share(0)?, share(3)?);
            let (_, slow) = ends(0, "throughput_mbit/flows/1")?;
            let (_, starved) = ends(1, "throughput_mbit/flows/1")?;
            let checks = vec![
                Check::of("TCP NewReno: flow 1 at the highest FER over FER 0")
                    .claims("nearly doubles", Rule::About(2.0))
                    .simulated(doubled.y, doubled.stderr),
                Check::of("RLC: flow 1's share of both at the highest FER over that at FER 0")
                    .claims("the same sharing", Rule::About(1.0))
                    .simulated(rlc.y, rlc.stderr)
                    .engine(engine.y, engine.stderr)
                    .because(
                        "flow 2 delivers what crosses both of its hops, (1-FER)^2 of flow 1's; garrido-9 lists what was \
                         tried and the index for each",
                    )
                    .engine_because("see garrido-9: the engine's rate control slows the flow that loses packets"),
                Check::of("flow 2 at the highest FER: RLC, Mbit/s").simulated(slow.y, slow.stderr),
                Check::of("flow 2 at the highest FER: TCP NewReno, Mbit/s")
                    .simulated(starved.y, starved.stderr),
            ];
            let pictures = vec![
                panel(1, "(a) TCP NewReno.")?.into(),
                panel(0, "(b) RLC.")?.into(),
                panel(3, "(c) The engine with preset rlc-block.")?.into(),
            ];
            Ok(Shown {
                pictures,
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Protocols of the mesh.
const MESH: [(&str, Source, &str); 4] = [
    (
        "RLC, short header",
        Source::Simulation,
        "--protocol=rlc --q=8 --k=256 --header=short",
    ),
    (
        "RLC, long header",
        Source::Simulation,
        "--protocol=rlc --q=8 --k=256 --header=long",
    ),
    ("TCP NewReno", Source::Simulation, "--protocol=newreno"),
    (
        "engine, preset rlc-block",
        Source::Engine,
        "--protocol=session --preset=rlc-block,k=256,field=256,send_buffer=1000000 --transmissions=1",
    ),
];

/// Fig. 11.
fn mesh(scale: Scale) -> Figure {
    let of = |options: &str, runs: u32| {
        let runs = Runs {
            runs,
            seconds: scale.pick(3, 5),
            pace: 0.3,
        };
        let base = "mesh --routing=static --warmup=0.1 --range=20 --fer=0.6";
        runs.of(&format!("{base} {options}"), scale)
    };
    let runs = scale.pick(3, 50);
    let all = MESH.map(|(name, source, options)| (name, source, of(options, runs)));
    // Why the engine is slow there: fewer runs.
    let engines = ["", ",control=off"].map(|control| {
        let options = MESH[3]
            .2
            .replace(" --transmissions", &format!("{control} --transmissions"));
        of(&format!("{options} --acks=lossless"), scale.pick(2, 10))
    });
    let lossless = [0, 2].map(|index| of(&format!("{} --acks=lossless", MESH[index].2), runs));
    let mut points: Vec<Point> = all.iter().map(|(.., point)| point.clone()).collect();
    points.extend(lossless.iter().chain(&engines).cloned());
    Figure {
        id: "garrido-11",
        paper: Paper::Garrido,
        title: "random meshes of 32 nodes: distribution of the throughput",
        shows: "Throughput over random connected meshes of 32 nodes in 100 m x 100 m whose radios reach 20 m, each link \
                with an FER drawn from 0 to 0.6: RLC with the short and the long header (q 8, K 256), TCP NewReno, and \
                the engine with preset rlc-block. Here: ns-3, one flow in each mesh between two stations that are two \
                hops or more apart, on the shortest path; acknowledgements are lost as data are.",
        points,
        show: Box::new(move |values| {
            const KEY: &str = "throughput_mbit/total";
            let mut lines = Vec::new();
            for (colour, (name, source, point)) in all.iter().enumerate() {
                let mut rates = each(values, point, KEY)?;
                rates.sort_by(f64::total_cmp);
                let n = rates.len() as f64;
                let steps = rates
                    .iter()
                    .zip(1..)
                    .map(|(rate, i)| Dot::new(*rate, f64::from(i) / n));
                let dots = std::iter::once(Dot::new(0.0, 0.0)).chain(steps).collect();
                lines.push(Line::new(*name, *source, colour, dots).steps());
            }
            let gain = |a: &Point, b: &Point| -> Result<Dot, Missing> {
                Ok(paired(&each(values, a, KEY)?, &each(values, b, KEY)?))
            };
            let [short, long, reno, engine] = all.each_ref().map(|(.., point)| point);
            let header = gain(short, long)?;
            let (over, real) = (gain(short, reno)?, gain(engine, reno)?);
            let spared = gain(&lossless[0], &lossless[1])?;
            let hops = each(values, short, "hops/0")?;
            let (hops, longest) = (over_runs(&hops).0, hops.iter().copied().fold(0.0, f64::max));
            let far = |least: f64| -> Result<Dot, Missing> {
                let hops = each(values, short, "hops/0")?;
                let keep = |rates: Vec<f64>| -> Vec<f64> {
                    let pairs = rates.into_iter().zip(&hops);
                    pairs
                        .filter(|(_, hops)| **hops <= least)
                        .map(|(rate, _)| rate)
                        .collect()
                };
                let (a, b) = (
                    keep(each(values, short, KEY)?),
                    keep(each(values, reno, KEY)?),
                );
                Ok(paired(&a, &b))
            };
            let near = far(3.0)?;
            let why = format!(
                "the ratio depends on what the notes leave open: with acknowledgements that are not lost it is {:.2} ± \
                 {:.2}, over flows of at most 3 hops {:.2} ± {:.2}; flows here have {hops:.1} hops on average and up to \
                 {longest}",
                spared.y, spared.stderr, near.y, near.stderr
            );
            let engine_why = format!(
                "over several hops that lose most packets the engine's rate control slows down, and its reports are \
                 lost too: mean throughput {:.3} Mbit/s, {:.3} with acknowledgements that are not lost, {:.3} then \
                 without rate control (`control=off`); and it counts what the application has read, RLC the rank of an \
                 unfinished block",
                over_runs(&each(values, engine, KEY)?).0,
                over_runs(&each(values, &engines[0], KEY)?).0,
                over_runs(&each(values, &engines[1], KEY)?).0,
            );
            let open = "the loss of acknowledgements in meshes is not in the notes; see the comparison above";
            let checks = vec![
                Check::of("short header over TCP NewReno, paired meshes")
                    .about(1.7)
                    .simulated(over.y, over.stderr)
                    .engine(real.y, real.stderr)
                    .because(why)
                    .engine_because(engine_why),
                Check::of("the same, acknowledgements not lost, as in garrido-6")
                    .about(1.7)
                    .simulated(spared.y, spared.stderr)
                    .because(open),
                Check::of("short header over long header, paired meshes")
                    .about(1.16)
                    .simulated(header.y, header.stderr),
            ];
            let plot = Plot::new(
                "Share of meshes with at most this throughput.",
                "throughput of the flow, Mbit/s of payload",
                "share of meshes",
            )
            .with(lines)
            .y_range(0.0, 1.02);
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// The quotient of the means of paired runs, with its standard error.
fn paired(a: &[f64], b: &[f64]) -> Dot {
    let (top, bottom) = (over_runs(a).0, over_runs(b).0);
    let y = top / bottom;
    let rest: Vec<f64> = a.iter().zip(b).map(|(a, b)| a - y * b).collect();
    let stderr = over_runs(&rest).1 / bottom;
    let x = 0.0;
    Dot {
        x,
        y,
        stderr: if stderr.is_finite() { stderr } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paired_runs_that_keep_their_ratio_have_no_error() {
        let got = paired(&[2.0, 4.0, 20.0], &[1.0, 2.0, 10.0]);
        assert!((got.y - 2.0).abs() < 1e-12 && got.stderr < 1e-12);
        assert!(paired(&[2.0, 5.0], &[1.0, 2.0]).stderr > 0.0);
    }
}
