//! Figs 4 to 8: losses in bursts.

use super::{KEYS, dot, line, redundancies, run};
use crate::repro::picture::{Dot, Line, Plot};
use crate::repro::{Check, Figure, Paper, Point, Scale, Shown};

/// Figs 4 to 8: after a packet, with a probability of 1 %, 1 to 20 packets are lost.
const BURSTS: &str = "--loss burst:0.01,20";
/// The reason for a rate below the link's.
const PACE: &str = "The notes give a link of 10 Mbit/s; the source keeps Table III's rate, a packet each 8 ms, \
                    because at the link's rate a window of 100 packets ends long before the first of them can \
                    be acknowledged (RTT 300 ms).";

/// Figs 4 and 5.
pub(super) fn bursts(
    id: &'static str,
    title: &'static str,
    window: &'static str,
    scale: Scale,
) -> Figure {
    let points: Vec<(f64, Point)> = redundancies(scale)
        .iter()
        .map(|r| {
            (
                *r,
                run(&format!("{BURSTS} --redundancy {r}{window}"), scale),
            )
        })
        .collect();
    // The effect of the window, at R = 0.1.
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
            "Bursts: after a packet, with a probability of 1 %, the next 1 to 20 are lost (9.5 % \
             of all). Assumed to show delays by redundancy when a repair covers all unacknowledged \
             packets. The paper's curve is not given as numbers."
        } else {
            "The same with a window of at most W = 100 packets, the oldest unacknowledged ones: \
             the paper says that data are delivered more uniformly. The paper's curve is not given \
             as numbers."
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
                .holding("more uniform with the window", bounded.y < open.y)
                .simulated(bounded.y, bounded.stderr),
                Check::of(
                    "at the link's rate of 10 Mbit/s, W = 100, R = 0.2: repairs for each packet",
                )
                .simulated(overhead.y, overhead.stderr)
                .because(
                    "a round trip has 830 packets there: repairs over the oldest 100 come too late",
                ),
            ];
            let delays = Plot::new(
                "Delays of single packets; a packet each 8 ms.",
                "R, repairs for each packet",
                "s",
            )
            .with([delay, spread])
            .log_y();
            let durations = Plot::new(
                "Time until everything has arrived.",
                "R, repairs for each packet",
                "s",
            )
            .with([duration])
            .y_range(18.0, 32.0);
            Ok(Shown {
                pictures: vec![delays.into(), durations.into()],
                checks,
                notes: vec![PACE.to_owned()],
            })
        }),
    }
}

/// Fig. 6.
pub(super) fn windows(scale: Scale) -> Figure {
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
        shows: "Assumed to show the costs and savings of a bounded window: delays, duration and \
                the largest number of packets missing at a time (the size of decoding matrices) by \
                W. The paper's curve is not given as numbers.",
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
            let axis = "W, most packets that a repair covers";
            let plots = vec![
                Plot::new("Mean delay.", axis, "s").with(delays).log_x(),
                Plot::new("Most packets missing at a time.", axis, "packets")
                    .with(systems)
                    .log_x(),
                Plot::new("Time until everything has arrived.", axis, "s")
                    .with(durations)
                    .log_x()
                    .y_range(18.0, 30.0),
            ];
            Ok(Shown {
                pictures: plots.into_iter().map(Into::into).collect(),
                checks,
                notes: vec![PACE.to_owned()],
            })
        }),
    }
}

/// Figs 7 and 8.
pub(super) fn acks(
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
        shows: "The paper's abstract: the acknowledgement frequency can be chosen so that overhead \
                is low while delay and computing stay within bounds. Figs 7 and 8 are assumed to \
                show overhead and the size of the receiver's system by the interval of \
                acknowledgements, with bursts. The paper's curve is not given as numbers.",
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
            .holding("rare acknowledgements cost", last.y > first)
            .simulated(last.y, last.stderr);
            let checks = vec![check];
            let axis = "interval of acknowledgements, s";
            let plots = vec![
                Plot::new(title, axis, label).with(lines).log_x(),
                Plot::new("Mean delay.", axis, "s").with(delays).log_x(),
            ];
            Ok(Shown {
                pictures: plots.into_iter().map(Into::into).collect(),
                checks,
                notes: vec![PACE.to_owned()],
            })
        }),
    }
}
