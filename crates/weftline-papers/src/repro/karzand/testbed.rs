//! The testbed, 25 Mbit/s and RTT 60 ms; Figs 1 and 2.

use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values};

/// Milliseconds of a slot: 1500 bytes at 25 Mbit/s.
pub(super) const SLOT_MS: f64 = 0.48;
/// Slots of a round trip of 60 ms.
const RTT: u32 = 125;
/// Milliseconds of the forward path, which shown delays do not include.
const WAY_MS: f64 = 30.0;

fn slots(scale: Scale) -> u64 {
    scale.pick(1_000_000, 20_000_000)
}

fn arq(loss: f64, scale: Scale) -> Point {
    let (slots, seed) = (slots(scale), scale.seed);
    Point::lab(&format!(
        "sim arq --loss {loss} --rtt {RTT} --slots {slots} --percentiles --seed {seed}"
    ))
    .about_secs(slots as f64 / 3e7)
}

pub(super) fn block_code(loss: f64, k: u32, n: u32, scale: Scale) -> Point {
    let (slots, seed) = (slots(scale), scale.seed);
    Point::lab(&format!(
        "sim block --loss {loss} --k {k} --n {n} --rtt {RTT} --slots {slots} --percentiles --seed {seed}"
    ))
    .about_secs(slots as f64 / 3e7)
}

pub(super) fn streaming(loss: f64, l: u32, scale: Scale) -> Point {
    let (slots, seed) = (slots(scale), scale.seed);
    Point::lab(&format!(
        "sim streaming --loss {loss} --spacing {l} --slots {slots} --percentiles --seed {seed}"
    ))
    .about_secs(slots as f64 / 8e7)
}

/// The engine with one bandwidth-delay product in flight, 15 Mbit/s of messages.
pub(super) fn engine(settings: &str, loss: &str, scale: Scale) -> Point {
    let (secs, seed) = (scale.pick(10, 30), scale.seed);
    Point::lab(&format!(
        "sim engine {settings} fixed_window=187500 feedback=datagram:0 \
         --link 'rate=25mbit delay=30ms queue=100ms loss=iid:{loss}' --app cbr:15mbit,1200 \
         --secs {secs} --skip 2 --seed {seed}"
    ))
    .about_secs(f64::from(secs) / 30.0)
}

/// The mean delay of a slot model, ms.
pub(super) fn mean(values: &Values, point: &Point, x: f64) -> Result<Dot, Missing> {
    Ok(Dot {
        x,
        y: SLOT_MS * values.number(point, "mean_delay_slots")?,
        stderr: SLOT_MS * values.number(point, "stderr")?,
    })
}

/// The mean delay of the engine, without the path's.
pub(super) fn engine_mean(values: &Values, point: &Point) -> Result<f64, Missing> {
    Ok(values.number(point, "runs/0/result/mean")? - WAY_MS)
}

/// The distribution of delays in ms, from percentiles.
fn distribution_of(values: &Values, point: &Point) -> Result<Vec<Dot>, Missing> {
    let percentiles = values.numbers(point, "delay_percentiles_slots")?;
    let dots = percentiles.iter().enumerate();
    Ok(dots
        .map(|(percent, slots)| Dot::new(SLOT_MS * slots, percent as f64))
        .collect())
}

/// Share of delays up to this many ms.
fn share(dots: &[Dot], ms: f64) -> f64 {
    dots.iter().filter(|dot| dot.x <= ms).count() as f64 / dots.len().max(1) as f64
}

fn engine_quantiles(values: &Values, point: &Point) -> Result<Vec<Dot>, Missing> {
    let named = [("p50", 50.0), ("p95", 95.0), ("p99", 99.0)];
    let dot = |(name, percent): (&str, f64)| {
        let ms = values.number(point, &format!("runs/0/result/{name}"))?;
        Ok(Dot::new(ms - WAY_MS, percent))
    };
    named.into_iter().map(dot).collect()
}

/// Fig. 1.
pub(super) fn distribution(scale: Scale) -> Figure {
    let (arq, block) = (arq(0.2, scale), block_code(0.2, 32, 40, scale));
    let engines = ["preset=arq", "preset=block k=32 share=0.25"].map(|s| engine(s, "20%", scale));
    // Enough repairs that few packets wait for ARQ.
    let more = block_code(0.2, 32, 46, scale);
    let points = vec![
        arq.clone(),
        block.clone(),
        more.clone(),
        engines[0].clone(),
        engines[1].clone(),
    ];
    Figure {
        id: "karzand-1",
        paper: Paper::Karzand,
        title: "in-order delay of ARQ and of a block code at 20 % loss",
        shows: "The paper measures the distribution of in-order delays over 25 Mbit/s with RTT 60 ms and \
                20 % loss, one bandwidth-delay product in flight: (a) ARQ, (b) a block code of k = 32 whose \
                share of repairs is the loss rate, with ARQ for packets still missing. Here: the ideal \
                models in slots of 0.48 ms, and the engine over such a link with 15 Mbit/s of messages.",
        points,
        show: Box::new(move |values| {
            let (a, b) = (
                distribution_of(values, &arq)?,
                distribution_of(values, &block)?,
            );
            let more = distribution_of(values, &more)?;
            let above_46 = 1.0 - share(&more, 50.0);
            let (low, high) = (share(&a, 50.0), share(&a, 250.0) - share(&a, 100.0));
            let (zero, above) = (share(&b, 5.0), 1.0 - share(&b, 50.0));
            let checks = vec![
                Check::of("ARQ (Fig. 1a): share of packets below 50 ms")
                    .holding("rarely", low < 0.15)
                    .simulated(low, 0.0),
                Check::of("ARQ (Fig. 1a): share from 100 to 250 ms")
                    .holding("most", high > 0.5)
                    .simulated(high, 0.0),
                Check::of("block code (Fig. 1b): share above 50 ms")
                    .holding("few", above < 0.2)
                    .simulated(above, 0.0)
                    .because(
                        "with as many repairs as losses on average, two of five blocks lack \
                         packets and wait a round trip of 60 ms, and in-order delivery delays the \
                         blocks behind them too; the engine and the lab (mean 78 ms) show the \
                         same. The paper's figure corresponds to more repairs than its text: see n \
                         = 46",
                    ),
                Check::of("block code (Fig. 1b): share below 5 ms")
                    .holding("about half", (0.35..0.65).contains(&zero))
                    .simulated(zero, 0.0)
                    .because("for the same reason, and because a source that always has a packet fills the slots after a loss"),
                Check::of("with 46 packets for 32, not 40: share above 50 ms").simulated(above_46, 0.0),
            ];
            let plot = Plot::new(
                "Share of packets delivered in order within a delay. The paper's curves are \
                 not given as numbers.",
                "in-order delay without the path's, ms",
                "packets, %",
            )
            .with([
                Line::new("ARQ, slots", Source::Simulation, 0, a).smooth(),
                Line::new("block k 32, n 40, slots", Source::Simulation, 2, b).smooth(),
                Line::new("n 46, slots", Source::Simulation, 4, more).smooth(),
                Line::new(
                    "ARQ, engine",
                    Source::Engine,
                    0,
                    engine_quantiles(values, &engines[0])?,
                )
                .apart(),
                Line::new(
                    "block, engine",
                    Source::Engine,
                    2,
                    engine_quantiles(values, &engines[1])?,
                )
                .apart(),
            ])
            .x_range(0.0, 450.0);
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Block sizes, and mean delays measured in the lab (docs/results/compare/karzand.html), ms, at 20
/// and 10 % loss.
pub(super) const LAB: [(u32, f64, f64); 7] = [
    (4, 130.0, 81.8),
    (8, 123.0, 63.3),
    (16, 94.5, 47.3),
    (32, 78.4, 30.2),
    (64, 70.9, 23.6),
    (128, 80.8, 37.1),
    (256, 117.0, 72.9),
];

/// A chart of mean delays over block sizes.
pub(super) fn sizes_plot(caption: &str, lines: Vec<Line>) -> Plot {
    Plot::new(
        caption,
        "k, information packets of a block",
        "mean in-order delay without the path's, ms",
    )
    .with(lines)
    .log_x()
}

pub(super) fn least(dots: &[Dot]) -> Dot {
    let least = dots.iter().min_by(|a, b| a.y.total_cmp(&b.y));
    least.copied().unwrap_or(Dot::new(f64::NAN, f64::NAN))
}

/// Fig. 2.
pub(super) fn block_size(scale: Scale) -> Figure {
    let ks: &'static [u32] =
        scale.pick(&[8, 32, 64, 256], &[4, 8, 16, 24, 32, 48, 64, 96, 128, 256]);
    let blocks: Vec<Point> = ks
        .iter()
        .map(|k| block_code(0.2, *k, k + k / 4, scale))
        .collect();
    let engines: Vec<Point> = ks
        .iter()
        .map(|k| engine(&format!("preset=block k={k} share=0.25"), "20%", scale))
        .collect();
    let points = blocks.iter().chain(&engines).cloned().collect();
    Figure {
        id: "karzand-2",
        paper: Paper::Karzand,
        title: "mean in-order delay of block codes over the block size",
        shows: "The same testbed at 20 % loss, repairs 20 % of all packets: the mean in-order delay has a \
                minimum in the block size. Here: the ideal block code in slots, the engine's preset block, and \
                the lab's measurements. The paper's curve is not given as numbers.",
        points,
        show: Box::new(move |values| {
            let xs = || ks.iter().map(|k| f64::from(*k));
            let model = xs().zip(&blocks).map(|(x, point)| mean(values, point, x));
            let model = model.collect::<Result<Vec<_>, _>>()?;
            let engine = xs()
                .zip(&engines)
                .map(|(x, point)| Ok(Dot::new(x, engine_mean(values, point)?)));
            let engine = engine.collect::<Result<Vec<_>, Missing>>()?;
            let lab: Vec<Dot> = LAB
                .iter()
                .map(|(k, at_20, _)| Dot::new(f64::from(*k), *at_20))
                .collect();
            let best = least(&model);
            let ends = (model.first(), model.last());
            let inside = matches!(ends, (Some(a), Some(b)) if a.y > best.y && b.y > best.y);
            let checks = vec![
                Check::of("best block size at 20 % loss; lab: 64 of 4, 8, ... 256")
                    .holding("a minimum in between", inside)
                    .simulated(best.x, 0.0)
                    .lab(least(&lab).x, 0.0),
                Check::of("mean delay of the best block code, ms")
                    .simulated(best.y, best.stderr)
                    .lab(least(&lab).y, 0.0),
            ];
            let plot = sizes_plot(
                "Mean in-order delay at 20 % loss, four information packets for each repair.",
                vec![
                    Line::new("ideal, slots", Source::Simulation, 0, model),
                    Line::new("engine, 15 Mbit/s", Source::Engine, 1, engine),
                    Line::new("lab", Source::Measured, 2, lab),
                ],
            );
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_the_least_are_of_the_dots() {
        let dots = [Dot::new(2.0, 20.0), Dot::new(1.0, 10.0)];
        assert_eq!(share(&dots, 1.0), 0.5);
        assert_eq!(least(&dots).x, 1.0);
    }
}
