//! Garrido et al., Figs 9 to 11: several stations, by the ns-3 model (`ns3/`,
//! `docs/reference/ns3.md`).

use super::picture::{Dot, Line, Plot, Source};
use super::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values, over_runs};

/// Seconds of traffic in each run.
const SECONDS: u32 = 20;

/// All figures of the paper that are run with ns-3.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![
        crossing(
            "garrido-9",
            "two flows crossing at a relay: throughput over the frame error rate",
            scale,
        ),
        crossing(
            "garrido-10",
            "two flows crossing at a relay: fairness over the frame error rate",
            scale,
        ),
        mesh(scale),
    ]
}

/// A protocol's name, and its runs by frame error rate.
type Curve = (&'static str, Vec<(f64, Vec<Point>)>);

/// Runs of a scenario with consecutive seeds.
fn runs(scenario: &str, protocol: &str, fer: f64, seeds: u64, scale: Scale) -> Vec<Point> {
    let run = |n: u64| {
        let seed = scale.seed.wrapping_add(n);
        Point::ns3(&format!(
            "{scenario} {protocol} --fer={fer} --seconds={SECONDS} --seed={seed}"
        ))
        .about_secs(if scenario.starts_with("mesh") {
            5.0
        } else {
            2.5
        })
    };
    (0..seeds).map(run).collect()
}

/// Mean of a number over runs. If nothing was delivered, there is no index of fairness: such runs
/// count as runs in which one flow gets everything.
fn mean(values: &Values, runs: &[Point], x: f64, key: &str) -> Result<Dot, Missing> {
    let found = runs.iter().map(|run| match values.number(run, key) {
        Err(Missing::Key { .. }) if key == "jain" => Ok(0.5),
        found => found,
    });
    let (y, stderr) = over_runs(&found.collect::<Result<Vec<_>, _>>()?);
    Ok(Dot { x, y, stderr })
}

const PROTOCOLS: [(&str, &str); 3] = [
    (
        "RLC, short header",
        "--protocol=rlc --header=short --q=8 --k=128",
    ),
    ("TCP NewReno", "--protocol=newreno"),
    ("TCP Westwood", "--protocol=westwood"),
];

/// Figs 9 and 10.
fn crossing(id: &'static str, title: &'static str, scale: Scale) -> Figure {
    let fers: &'static [f64] = scale.pick(&[0.0, 0.4], &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
    let seeds = scale.pick(1, 4);
    let all = PROTOCOLS.map(|(name, options)| {
        let points = fers.iter().map(|fer| {
            (
                *fer,
                runs("cross --lossy=first", options, *fer, seeds, scale),
            )
        });
        (name, points.collect::<Vec<_>>())
    });
    let points = all
        .iter()
        .flat_map(|(_, points)| points.iter().flat_map(|(_, runs)| runs.clone()))
        .collect();
    let fairness = id == "garrido-10";
    Figure {
        id,
        paper: Paper::Garrido,
        title,
        shows: if fairness {
            "Jain's index of the two flows: RLC's stays above 0.9 where TCP's falls towards 0.5. \
             Here: the ns-3 model, 802.11b ad hoc, with the project's codec; errors on the first \
             flow's first hop, because the shared notes do not say where, and TCP's index falls \
             this far only if the flows differ."
        } else {
            "Throughput of the flows. Here: the ns-3 model, 802.11b ad hoc, with the project's codec; \
             errors on the first flow's first hop. The paper's curve is not given as numbers."
        },
        points,
        show: Box::new(move |values| {
            let lines = |key: &str| {
                let line = |(colour, (name, points)): (usize, &Curve)| {
                    let dots = points
                        .iter()
                        .map(|(fer, runs)| mean(values, runs, *fer, key));
                    let dots = dots.collect::<Result<Vec<_>, _>>()?;
                    Ok(Line::new(*name, Source::Simulation, colour, dots))
                };
                all.iter()
                    .enumerate()
                    .map(line)
                    .collect::<Result<Vec<_>, Missing>>()
            };
            let plot = |caption: &str, label: &str, lines: &[Line]| {
                Plot::new(caption, "frame error rate", label).with(lines.iter().cloned())
            };
            let least = |line: &Line| {
                let least = |a: Dot, b: &Dot| if b.y < a.y { *b } else { a };
                line.dots.iter().fold(Dot::new(0.0, f64::INFINITY), least)
            };
            let last = |line: &Line| line.dots.last().copied().unwrap_or(Dot::new(0.0, 0.0));
            let (checks, plots) = if fairness {
                let lines = lines("jain")?;
                let (rlc, reno) = (least(&lines[0]), least(&lines[1]));
                let checks = vec![
                    Check::of("RLC's least Jain index")
                        .holding("above 0.9", rlc.y > 0.9)
                        .simulated(rlc.y, rlc.stderr)
                        .because(
                            "beyond an FER of about 0.4 the clean flow's packets outnumber the other's in the \
                             relay's one queue, which serves each in proportion",
                        ),
                    Check::of("TCP NewReno's least Jain index")
                        .holding("falls towards 0.5", reno.y < 0.6)
                        .simulated(reno.y, reno.stderr)
                        .because(
                            "with errors on all links (`--lossy=all`) both of TCP's flows starve, \
                             and its index stays above 0.9 too",
                        ),
                ];
                (checks, vec![plot("Fairness.", "Jain's index", &lines)])
            } else {
                let both = lines("throughput_mbit/total")?;
                let lossy = lines("throughput_mbit/flows/0")?;
                let (rlc, reno) = (last(&lossy[0]), last(&lossy[1]));
                let checks = vec![
                    Check::of("the lossy flow at the highest FER: RLC, Mbit/s")
                        .holding("more than TCP", rlc.y > reno.y)
                        .simulated(rlc.y, rlc.stderr),
                    Check::of("the same: TCP NewReno, Mbit/s").simulated(reno.y, reno.stderr),
                ];
                let label = "throughput, Mbit/s";
                let plots = vec![
                    plot("Both flows together.", label, &both),
                    plot("The flow with errors.", label, &lossy),
                ];
                (checks, plots)
            };
            Ok(Shown {
                pictures: plots.into_iter().map(Into::into).collect(),
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Fig. 11.
fn mesh(scale: Scale) -> Figure {
    let protocols = [
        (
            "RLC, short header",
            "--protocol=rlc --header=short --q=8 --k=256",
        ),
        (
            "RLC, long header",
            "--protocol=rlc --header=long --q=8 --k=256",
        ),
        PROTOCOLS[1],
    ];
    let fers: &'static [f64] = scale.pick(&[0.6], &[0.3, 0.6]);
    let seeds = scale.pick(2, 8);
    let all = protocols.map(|(name, options)| {
        let points = fers
            .iter()
            .map(|fer| (*fer, runs("mesh --warmup=12", options, *fer, seeds, scale)));
        (name, points.collect::<Vec<_>>())
    });
    let points = all
        .iter()
        .flat_map(|(_, points)| points.iter().flat_map(|(_, runs)| runs.clone()))
        .collect();
    Figure {
        id: "garrido-11",
        paper: Paper::Garrido,
        title: "random meshes of 32 nodes",
        shows: "Throughput in random 32-node meshes: 1.7 times TCP's, and 16 % more with the short \
                header than with the long one. Here: the ns-3 model with OLSR, each link with a \
                different FER between 0 and that of the worst, one flow between any two stations \
                that are at least two hops apart.",
        points,
        show: Box::new(move |values| {
            let mut lines = Vec::new();
            for (colour, (name, points)) in all.iter().enumerate() {
                let dots = points
                    .iter()
                    .map(|(fer, runs)| mean(values, runs, *fer, "throughput_mbit/total"));
                let dots = dots.collect::<Result<Vec<_>, _>>()?;
                lines.push(Line::new(*name, Source::Simulation, colour, dots));
            }
            let ratio = |a: &Dot, b: &Dot| {
                let ratio = a.y / b.y;
                (ratio, ratio * (a.stderr / a.y).hypot(b.stderr / b.y))
            };
            let mut checks = Vec::new();
            for (index, fer) in fers.iter().enumerate() {
                let dots = [0, 1, 2].map(|line: usize| lines[line].dots[index]);
                let (tcp, header) = (ratio(&dots[0], &dots[2]), ratio(&dots[0], &dots[1]));
                checks.push(
                    Check::of(format!("throughput over TCP's, links' FER up to {fer}"))
                        .stated(1.7, 0.25)
                        .simulated(tcp.0, tcp.1)
                        .because(
                            "the gain grows with the links' FER, which the shared notes do not \
                             give: it is small where links are good, and many times the paper's \
                             where TCP starves",
                        ),
                );
                checks.push(
                    Check::of(format!("short header over long, links' FER up to {fer}"))
                        .stated(1.16, 0.06)
                        .simulated(header.0, header.1)
                        .because(
                            "21 % less header at K = 256 and q = 8, in a packet of 1500 bytes",
                        ),
                );
            }
            let plot = Plot::new(
                "Mean throughput of a flow over 2 hops or more.",
                "frame error rate of the worst link",
                "throughput, Mbit/s",
            )
            .with(lines);
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
