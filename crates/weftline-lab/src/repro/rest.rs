//! Brulatout et al.: REST.

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
/// Figs 4 to 8: after a packet, with a chance of 1 %, 1 to 20 packets are lost.
const BURSTS: &str = "--loss burst:0.01,20";
/// Why not at the link's pace.
const PACE: &str = "The notes give a link of 10 Mbit/s; the source keeps Table III's pace, a packet each 8 ms, \
                    because at the link's pace a window of 100 packets is over long before the first of them can \
                    be acknowledged (RTT 300 ms).";

/// All of the paper's figures that are run again.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![
        uniform(scale),
        bursts(
            "rest-4",
            "bursts, repairs over all that is not acknowledged",
            "",
            scale,
        ),
        bursts(
            "rest-5",
            "bursts, repairs over at most 100 packets",
            " --window 100",
            scale,
        ),
        windows(scale),
        acks(
            "rest-7",
            "repairs sent over the interval of acknowledgements",
            "overhead",
            "repairs for each data packet",
            scale,
        ),
        acks(
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
    let (runs, seed) = (scale.pick(100, 4_000), scale.seed);
    Point::weftline(&format!("sim rest {options} --runs {runs} --seed {seed}"))
        .about_secs(f64::from(runs) * 1.5e-3)
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
    let theory = Point::weftline("theory rest --loss 0.15");
    let mut all: Vec<Point> = points.iter().map(|(_, point)| point.clone()).collect();
    all.extend([adaptive.clone(), theory.clone()]);
    Figure {
        id: "rest-3",
        paper: Paper::Rest,
        title: "delay and duration over the redundancy, uniform losses",
        shows: "We take it to show what Table III sums up: 2^20 bytes in 450-byte packets, RTT 300 ms, 15 % of \
                packets lost independently, by the redundancy R. Diamonds are Table III's one run; ours are means. \
                The redundancy that REST adapts to is 1 / (1-p) - 1.",
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
                    .range(0.9 * needed, 1.1 * needed)
                    .simulated(inline.y, inline.stderr)
                    .because("R is 0.176, and k = 5 gives 0.2; the first 3 s have no estimate yet and no repairs"),
                Check::of("mean delay at R = 0.3 over that at R = 0")
                    .claim("less delay with more repairs", at(&delay, 0.3) < 0.15 * at(&delay, 0.0))
                    .simulated(at(&delay, 0.3) / at(&delay, 0.0), 0.0),
            ];
            let delays = Plot::new(
                "Delays of packets, each by itself.",
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
                "Time until everything is there.",
                "R, repairs for each packet",
                "s",
            )
            .with([duration, paper("the paper", 0, 0)])
            .y_range(20.0, 32.0);
            Ok(Shown {
                plots: vec![delays, durations],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Figs 4 and 5.
fn bursts(id: &'static str, title: &'static str, window: &'static str, scale: Scale) -> Figure {
    let points: Vec<(f64, Point)> = redundancies(scale)
        .iter()
        .map(|r| {
            (
                *r,
                run(&format!("{BURSTS} --redundancy {r}{window}"), scale),
            )
        })
        .collect();
    // What the window changes, at R = 0.1.
    let pair = ["", " --window 100"].map(|w| run(&format!("{BURSTS} --redundancy 0.1{w}"), scale));
    let fast = run(
        &format!("{BURSTS} --redundancy 0.2 --window 100 --packet-ms 0.36"),
        Scale {
            quick: true,
            ..scale
        },
    );
    let mut all: Vec<Point> = points.iter().map(|(_, point)| point.clone()).collect();
    all.extend(pair.iter().cloned());
    all.push(fast.clone());
    Figure {
        id,
        paper: Paper::Rest,
        title,
        shows: if window.is_empty() {
            "Bursts: after a packet, with a chance of 1 %, the next 1 to 20 are lost (9.5 % of all). We take it to \
             show delays by redundancy when a repair covers all that is not acknowledged. The paper's curve is not \
             given as numbers."
        } else {
            "The same with a window of at most W = 100 packets, the oldest not acknowledged: the paper says that \
             data are delivered more uniformly. The paper's curve is not given as numbers."
        },
        points: all,
        show: Box::new(move |values| {
            let delay = line("mean delay", 2, &points, KEYS[1], values)?;
            let spread = line("standard deviation of delays", 1, &points, KEYS[2], values)?;
            let duration = line("duration", 0, &points, KEYS[0], values)?;
            let [open, bounded] = [0, 1].map(|i| dot(values, &pair[i], 0.1, KEYS[2]));
            let (open, bounded) = (open?, bounded?);
            let overhead = dot(values, &fast, 0.0, "overhead")?;
            let checks = vec![
                Check::of(format!(
                    "deviation of delays at R = 0.1 with W = 100, s (all packets: {:.3})",
                    open.y
                ))
                .claim("more uniform with the window", bounded.y < open.y)
                .simulated(bounded.y, bounded.stderr),
                Check::of("at the link's pace of 10 Mbit/s, W = 100, R = 0.2: repairs for each packet")
                    .simulated(overhead.y, overhead.stderr)
                    .because("a round trip is 830 packets long there: repairs over the oldest 100 come too late"),
            ];
            let delays = Plot::new(
                "Delays of packets, each by itself; a packet each 8 ms.",
                "R, repairs for each packet",
                "s",
            )
            .with([delay, spread])
            .log_y();
            let durations = Plot::new(
                "Time until everything is there.",
                "R, repairs for each packet",
                "s",
            )
            .with([duration])
            .y_range(18.0, 32.0);
            Ok(Shown {
                plots: vec![delays, durations],
                checks,
                notes: vec![PACE.to_owned()],
            })
        }),
    }
}

/// Fig. 6.
fn windows(scale: Scale) -> Figure {
    let sizes: &'static [u32] = scale.pick(&[25, 100, 400], &[25, 50, 75, 100, 150, 200, 400, 800]);
    let shares = [0.1, 0.2];
    let all = shares.map(|r| {
        let point = |w: &u32| {
            let options = format!("{BURSTS} --redundancy {r} --window {w}");
            (f64::from(*w), run(&options, scale))
        };
        sizes.iter().map(point).collect::<Vec<_>>()
    });
    let points = all
        .iter()
        .flatten()
        .map(|(_, point)| point.clone())
        .collect();
    Figure {
        id: "rest-6",
        paper: Paper::Rest,
        title: "delay and size of the linear system over the window, bursts",
        shows: "We take it to show what a bounded window costs and saves: delays, duration and the largest number \
                of packets missing at a time (the size of decoding matrices) by W. The paper's curve is not given \
                as numbers.",
        points,
        show: Box::new(move |values| {
            let (mut delays, mut systems, mut durations) = (Vec::new(), Vec::new(), Vec::new());
            for (colour, (r, points)) in shares.iter().zip(&all).enumerate() {
                let name = format!("R {r}");
                delays.push(line(name.clone(), 2 * colour, points, KEYS[1], values)?);
                systems.push(line(
                    name.clone(),
                    2 * colour,
                    points,
                    "largest_system",
                    values,
                )?);
                durations.push(line(name, 2 * colour, points, KEYS[0], values)?);
            }
            let ends = |line: &Line| match (line.dots.first(), line.dots.last()) {
                (Some(first), Some(last)) => (first.y, *last),
                _ => (f64::NAN, Dot::new(0.0, f64::NAN)),
            };
            let (first, last) = ends(&durations[0]);
            let checks = vec![
                Check::of(format!(
                    "duration at R = 0.1, W = {}, s (W = {}: {first:.2})",
                    last.x, sizes[0]
                ))
                .simulated(last.y, last.stderr),
            ];
            let axis = "W, packets that a repair covers at most";
            let plots = vec![
                Plot::new("Mean delay.", axis, "s").with(delays).log_x(),
                Plot::new("Most packets missing at a time.", axis, "packets")
                    .with(systems)
                    .log_x(),
                Plot::new("Time until everything is there.", axis, "s")
                    .with(durations)
                    .log_x()
                    .y_range(18.0, 30.0),
            ];
            Ok(Shown {
                plots,
                checks,
                notes: vec![PACE.to_owned()],
            })
        }),
    }
}

/// Figs 7 and 8.
fn acks(
    id: &'static str,
    title: &'static str,
    key: &'static str,
    label: &'static str,
    scale: Scale,
) -> Figure {
    let intervals: &'static [u32] = scale.pick(
        &[50, 200, 2000],
        &[20, 50, 100, 200, 300, 500, 1000, 2000, 4000],
    );
    let codes = [
        ("R 0.1, W 100", "--redundancy 0.1 --window 100"),
        ("R 0.2", "--redundancy 0.2"),
    ];
    let all = codes.map(|(name, options)| {
        let point = |ms: &u32| {
            (
                f64::from(*ms) / 1e3,
                run(&format!("{BURSTS} {options} --ack-ms {ms}"), scale),
            )
        };
        (name, intervals.iter().map(point).collect::<Vec<_>>())
    });
    let points = all
        .iter()
        .flat_map(|(_, points)| points.iter().map(|(_, p)| p.clone()))
        .collect();
    Figure {
        id,
        paper: Paper::Rest,
        title,
        shows: "The paper's abstract: an acknowledgement frequency can be chosen that keeps overhead low while \
                delay and computing stay within bounds. We take Figs 7 and 8 to show overhead and the size of the \
                receiver's system by the interval of acknowledgements, with bursts. The paper's curve is not given \
                as numbers.",
        points,
        show: Box::new(move |values| {
            let (mut lines, mut delays) = (Vec::new(), Vec::new());
            for (colour, (name, points)) in all.iter().enumerate() {
                lines.push(line(*name, 2 * colour, points, key, values)?);
                delays.push(line(*name, 2 * colour, points, KEYS[1], values)?);
            }
            let ends = |line: &Line| match (line.dots.first(), line.dots.last()) {
                (Some(first), Some(last)) => (first.y, *last),
                _ => (f64::NAN, Dot::new(0.0, f64::NAN)),
            };
            let (first, last) = ends(&lines[0]);
            let check = Check::of(format!(
                "{label} with {}, an acknowledgement each {} s (each {} s: {first:.3})",
                all[0].0,
                last.x,
                f64::from(intervals[0]) / 1e3
            ))
            .claim("rare acknowledgements cost", last.y > first)
            .simulated(last.y, last.stderr);
            let checks = vec![check];
            let axis = "interval of acknowledgements, s";
            let plots = vec![
                Plot::new(title, axis, label).with(lines).log_x(),
                Plot::new("Mean delay.", axis, "s").with(delays).log_x(),
            ];
            Ok(Shown {
                plots,
                checks,
                notes: vec![PACE.to_owned()],
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
        shows: "One run for each redundancy; acknowledgements each 0.2 s. Ours: means over many runs. A value agrees \
                if the paper's lies within twice the spread of one run, or 2 %.",
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
                            .paper(*value, (2.0 * spread / value).max(0.02))
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
                plots: vec![plot],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
