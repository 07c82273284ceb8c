//! Brulatout et al.: REST.

mod bursts;

use super::picture::{Dot, Line, Plot, Source};
use super::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values};

/// Table III: R, then duration, mean delay and standard deviation of delays, s.
const TABLE: [(f64, [f64; 3]); 4] = [
    (0.0, [21.96, 2.00, 4.91]),
    (0.15, [21.96, 0.89, 2.12]),
    (0.2, [22.53, 0.23, 0.32]),
    (0.3, [25.01, 0.16, 0.06]),
];
const KEYS: [&str; 3] = ["duration_s", "mean_delay_s", "std_delay_s"];
/// All figures of the paper that are run.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![
        uniform(scale),
        bursts::bursts(
            "rest-4",
            "bursts, repairs over all unacknowledged packets",
            "",
            scale,
        ),
        bursts::bursts(
            "rest-5",
            "bursts, repairs over at most 100 packets",
            " --window 100",
            scale,
        ),
        bursts::windows(scale),
        bursts::acks(
            "rest-7",
            "repairs sent over the interval of acknowledgements",
            "overhead",
            "repairs for each data packet",
            scale,
        ),
        bursts::acks(
            "rest-8",
            "largest linear system over the interval of acknowledgements",
            "largest_system",
            "packets missing at a time",
            scale,
        ),
        table_3(scale),
    ]
}

fn run(options: &str, scale: Scale) -> Point {
    let (runs, seed) = (scale.pick(100, 1_000), scale.seed);
    Point::lab(&format!("sim rest {options} --runs {runs} --seed {seed}"))
        .about_secs(f64::from(runs) * 2e-3)
}

fn dot(values: &Values, point: &Point, x: f64, key: &str) -> Result<Dot, Missing> {
    Ok(Dot {
        x,
        y: values.number(point, &format!("{key}/mean"))?,
        stderr: values.number(point, &format!("{key}/stderr"))?,
    })
}

/// A line of one key over points.
fn line(
    name: impl Into<String>,
    colour: usize,
    points: &[(f64, Point)],
    key: &str,
    values: &Values,
) -> Result<Line, Missing> {
    let dots = points.iter().map(|(x, point)| dot(values, point, *x, key));
    let dots = dots.collect::<Result<_, _>>()?;
    Ok(Line::new(name, Source::Simulation, colour, dots))
}

fn redundancies(scale: Scale) -> &'static [f64] {
    scale.pick(
        &[0.0, 0.15, 0.2, 0.3],
        &[0.0, 0.05, 0.1, 0.12, 0.15, 0.17, 0.2, 0.25, 0.3, 0.4, 0.5],
    )
}

/// The value of a curve at x, which is one of its dots.
fn at(line: &Line, x: f64) -> f64 {
    let found = line.dots.iter().find(|dot| (dot.x - x).abs() < 1e-9);
    found.map_or(f64::NAN, |dot| dot.y)
}

/// Fig. 3.
fn uniform(scale: Scale) -> Figure {
    let shares = redundancies(scale);
    let points: Vec<(f64, Point)> = shares
        .iter()
        .map(|r| (*r, run(&format!("--redundancy {r}"), scale)))
        .collect();
    let adaptive = run("--adaptive", scale);
    let theory = Point::lab("theory rest --loss 0.15");
    let mut all: Vec<Point> = points.iter().map(|(_, point)| point.clone()).collect();
    all.extend([adaptive.clone(), theory.clone()]);
    Figure {
        id: "rest-3",
        paper: Paper::Rest,
        title: "delay and duration over the redundancy, uniform losses",
        shows: "Assumed to show the data of Table III: 2^20 bytes in 450-byte packets, RTT 300 ms, \
                15 % of packets lost independently, by the redundancy R. Diamonds are Table III's \
                one run; lines are means. The redundancy that REST adapts to is 1 / (1-p) - 1.",
        points: all,
        show: Box::new(move |values| {
            let delay = line("mean delay", 2, &points, KEYS[1], values)?;
            let spread = line("standard deviation of delays", 1, &points, KEYS[2], values)?;
            let duration = line("duration", 0, &points, KEYS[0], values)?;
            let paper = |name: &str, colour, of: usize| {
                let dots = TABLE.iter().map(|(r, row)| Dot::new(*r, row[of]));
                Line::new(name, Source::Paper, colour, dots.collect())
            };
            let needed = values.number(&theory, "redundancy")?;
            let inline = dot(values, &adaptive, 0.0, "inline_overhead")?;
            let checks = vec![
                Check::of("redundancy for 15 % loss, repairs a packet: R = 1/(1-p) - 1; adaptive runs, before the end")
                    .between(0.9 * needed, 1.1 * needed)
                    .simulated(inline.y, inline.stderr)
                    .because("R is 0.176, and k = 5 gives 0.2; the first 3 s have no estimate yet and no repairs"),
                Check::of("mean delay at R = 0.3 over that at R = 0")
                    .holding("less delay with more repairs", at(&delay, 0.3) < 0.15 * at(&delay, 0.0))
                    .simulated(at(&delay, 0.3) / at(&delay, 0.0), 0.0),
            ];
            let delays = Plot::new(
                "Delays of single packets.",
                "R, repairs for each packet",
                "s",
            )
            .with([
                delay,
                spread,
                paper("mean, the paper", 2, 1),
                paper("deviation, the paper", 1, 2),
            ]);
            let durations = Plot::new(
                "Time until everything has arrived.",
                "R, repairs for each packet",
                "s",
            )
            .with([duration, paper("the paper", 0, 0)])
            .y_range(20.0, 32.0);
            Ok(Shown {
                pictures: vec![delays.into(), durations.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Table III.
fn table_3(scale: Scale) -> Figure {
    let points = TABLE.map(|(r, _)| run(&format!("--redundancy {r}"), scale));
    let all = points.to_vec();
    Figure {
        id: "rest-table-3",
        paper: Paper::Rest,
        title: "duration and delays of a stream of 2^20 bytes, 15 % loss",
        shows: "One run for each redundancy; acknowledgements each 0.2 s. Here: means over many \
                runs. A value agrees if the paper's lies within twice the spread of one run, or 2 \
                %.",
        points: all,
        show: Box::new(move |values| {
            let mut checks = Vec::new();
            let names = ["duration", "mean delay", "standard deviation of delays"];
            let (mut ours, mut paper) = (Vec::new(), Vec::new());
            for ((r, row), point) in TABLE.iter().zip(&points) {
                for ((key, name), value) in KEYS.iter().zip(names).zip(row) {
                    let mean = dot(values, point, *r, key)?;
                    let spread = values.number(point, &format!("{key}/spread"))?;
                    let check =
                        Check::of(format!("R {r}: {name}, s (spread of one run {spread:.3})"))
                            .stated(*value, (2.0 * spread / value).max(0.02))
                            .simulated(mean.y, mean.stderr);
                    checks.push(check);
                    if *key == KEYS[1] {
                        ours.push(mean);
                        paper.push(Dot::new(*r, *value));
                    }
                }
            }
            let plot = Plot::new("Mean delay.", "R, repairs for each packet", "s")
                .with([
                    Line::new("ours", Source::Simulation, 2, ours),
                    Line::new("the paper", Source::Paper, 6, paper),
                ])
                .log_y();
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
