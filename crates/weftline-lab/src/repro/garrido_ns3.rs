//! Garrido et al., Figs 9 to 11: several stations, by the ns-3 model.

use super::picture::{Dot, Line, Plot, Source};
use super::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values, over_runs};

/// Seconds that ns-3 simulates in each run.
const SECONDS: u32 = 10;

/// All of the paper's figures that ns-3 runs.
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

/// Runs of a scenario with one seed after the other.
fn runs(scenario: &str, protocol: &str, fer: f64, scale: Scale) -> Vec<Point> {
    let seeds = scale.pick(1, 5);
    let run = |n: u64| {
        let seed = scale.seed.wrapping_add(n);
        Point::ns3(&format!(
            "{scenario} {protocol} --fer={fer} --seconds={SECONDS} --seed={seed}"
        ))
        .about_secs(5.0)
    };
    (0..seeds).map(run).collect()
}

/// Mean over runs of a number.
fn mean(values: &Values, runs: &[Point], x: f64, key: &str) -> Result<Dot, Missing> {
    let found = runs.iter().map(|run| values.number(run, key));
    let (y, stderr) = over_runs(&found.collect::<Result<Vec<_>, _>>()?);
    Ok(Dot { x, y, stderr })
}

const PROTOCOLS: [(&str, &str); 3] = [
    (
        "RLC, short header",
        "--protocol=rlc --header=short --q=8 --k=256",
    ),
    ("TCP NewReno", "--protocol=newreno"),
    ("TCP Westwood", "--protocol=westwood"),
];

/// Figs 9 and 10.
fn crossing(id: &'static str, title: &'static str, scale: Scale) -> Figure {
    let fers: &'static [f64] = scale.pick(&[0.0, 0.4], &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]);
    let all = PROTOCOLS.map(|(name, options)| {
        let points = fers
            .iter()
            .map(|fer| (*fer, runs("cross", options, *fer, scale)));
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
            "Jain's index of the two flows: RLC's stays above 0.9 where TCP's falls towards 0.5. Ours: the ns-3 \
             model, 802.11b ad hoc, with the project's codec."
        } else {
            "Throughput of both flows together. Ours: the ns-3 model, 802.11b ad hoc, with the project's codec. \
             The paper's curve is not given as numbers."
        },
        points,
        show: Box::new(move |values| {
            let (key, label) = match fairness {
                true => ("jain", "Jain's index"),
                false => ("throughput_mbit/total", "throughput, Mbit/s"),
            };
            let mut lines = Vec::new();
            for (colour, (name, points)) in all.iter().enumerate() {
                let dots = points
                    .iter()
                    .map(|(fer, runs)| mean(values, runs, *fer, key));
                let dots = dots.collect::<Result<Vec<_>, _>>()?;
                lines.push(Line::new(*name, Source::Simulation, colour, dots));
            }
            let least = |line: &Line| {
                line.dots
                    .iter()
                    .map(|dot| dot.y)
                    .fold(f64::INFINITY, f64::min)
            };
            let checks = match fairness {
                true => vec![
                    Check::of("RLC's least Jain index")
                        .claim("above 0.9", least(&lines[0]) > 0.9)
                        .simulated(least(&lines[0]), 0.0),
                    Check::of("TCP NewReno's least Jain index")
                        .claim("falls towards 0.5", least(&lines[1]) < 0.75)
                        .simulated(least(&lines[1]), 0.0),
                ],
                false => Vec::new(),
            };
            let plot = Plot::new(title, "frame error rate", label).with(lines);
            Ok(Shown {
                plots: vec![plot],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Fig. 11.
fn mesh(scale: Scale) -> Figure {
    let protocols = [
        PROTOCOLS[0],
        (
            "RLC, long header",
            "--protocol=rlc --header=long --q=8 --k=256",
        ),
        PROTOCOLS[1],
    ];
    let all = protocols.map(|(name, options)| (name, runs("mesh", options, 0.0, scale)));
    let points = all.iter().flat_map(|(_, runs)| runs.clone()).collect();
    Figure {
        id: "garrido-11",
        paper: Paper::Garrido,
        title: "random meshes of 32 nodes",
        shows: "Throughput in random 32-node meshes: 1.7 times TCP's, and 16 % more with the short header than with \
                the long one. Ours: the ns-3 model with its routing.",
        points,
        show: Box::new(move |values| {
            let means = all
                .iter()
                .map(|(_, runs)| mean(values, runs, 0.0, "throughput_mbit/total"));
            let means = means.collect::<Result<Vec<_>, _>>()?;
            let ratio = |a: Dot, b: Dot| {
                (
                    a.y / b.y,
                    a.y / b.y * (a.stderr / a.y).hypot(b.stderr / b.y),
                )
            };
            let (tcp, header) = (ratio(means[0], means[2]), ratio(means[0], means[1]));
            let checks = vec![
                Check::of("throughput over TCP's")
                    .paper(1.7, 0.2)
                    .simulated(tcp.0, tcp.1),
                Check::of("short header over long")
                    .paper(1.16, 0.05)
                    .simulated(header.0, header.1),
            ];
            let lines = all
                .iter()
                .zip(&means)
                .enumerate()
                .map(|(colour, ((name, _), dot))| {
                    let dot = Dot {
                        x: colour as f64 + 1.0,
                        ..*dot
                    };
                    Line::new(*name, Source::Simulation, colour, vec![dot])
                });
            let plot = Plot::new(
                "Mean throughput.",
                "protocol, as in the legend",
                "throughput, Mbit/s",
            )
            .with(lines);
            Ok(Shown {
                plots: vec![plot],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
