//! Fig. 1: the distribution of in-order delays of ARQ and of a block code.

use serde_json::Value;

use super::points::{
    ENGINE_RULE, Engine, SLOT_MS, arq, as_engine, block, engine, lab, lab_row, over_seeds, ratio,
};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values};

/// Milliseconds of a bin.
const BIN_MS: f64 = 10.0;
/// Bins that the pictures show.
const BINS: usize = 45;

/// The share of packets in each bin, with its standard error.
type Histogram = Vec<(f64, f64)>;

/// The histogram of a slot model.
fn of_slots(values: &Values, point: &Point) -> Result<Histogram, Missing> {
    let bin = |at: usize| {
        let number = |key| values.number(point, &format!("histogram/{at}/{key}"));
        Ok((number("mean")?, number("stderr")?))
    };
    let key = "histogram";
    let bins = values.object(point)?[key].as_array().map_or(0, Vec::len);
    (0..bins).map(bin).collect()
}

/// The histogram of pairs of a share and the ms that it does not exceed, less `base` ms.
fn of_cdf(cdf: &Value, base: f64) -> Option<Vec<f64>> {
    let mut bins = vec![0.0; BINS];
    let mut before = 0.0;
    for pair in cdf.as_array()? {
        let (share, ms) = (pair.get(0)?.as_f64()?, pair.get(1)?.as_f64()? - base);
        let bin = ((ms / BIN_MS).max(0.0) as usize).min(BINS - 1);
        bins[bin] += share - before;
        before = share;
    }
    Some(bins)
}

/// The engine's histogram over its runs.
fn of_engine(values: &Values, engine: &Engine) -> Result<Histogram, Missing> {
    let base = engine.base(values)?;
    let bin = |bin: usize| {
        let of = |result: &Value| Some(of_cdf(&result["cdf"], base)?[bin]);
        over_seeds(values, &engine.lossy, "runs/0/result/cdf", of)
    };
    (0..BINS).map(bin).collect()
}

/// The share of packets from one delay in ms to another.
fn share(histogram: &Histogram, from: f64, to: f64) -> Dot {
    let bins = (from / BIN_MS) as usize..(to / BIN_MS) as usize;
    let chosen = histogram
        .iter()
        .enumerate()
        .filter(|(at, _)| bins.contains(at));
    // Bins of one run depend on each other: their errors add up at most.
    let sum = chosen.fold((0.0, 0.0), |sum, (_, bin)| (sum.0 + bin.0, sum.1 + bin.1));
    Dot {
        x: from,
        y: sum.0,
        stderr: sum.1,
    }
}

/// The longest delay of a histogram, for shares of "above".
const ALL: f64 = 1e5;

fn line(name: &str, source: Source, colour: usize, histogram: &Histogram) -> Line {
    let dot = |at: usize| Dot {
        x: BIN_MS * at as f64,
        y: 100.0 * histogram.get(at).map_or(0.0, |bin| bin.0),
        stderr: 0.0,
    };
    Line::new(name, source, colour, (0..BINS).map(dot).collect()).steps()
}

/// The redundancies that were tried for Fig. 1(b): packets of a block of 32.
const TRIED: [u32; 5] = [40, 44, 48, 52, 56];

/// Fig. 1.
pub(super) fn distribution(scale: Scale) -> Figure {
    let bin = format!(" --bin {:.4}", BIN_MS / SLOT_MS);
    let slots = [arq(0.2, &bin, scale), block("0.2", 32, 0.25, &bin, scale)];
    let schemes = ["arq", "block,k=32,share=0.25"];
    let engines = ["preset=arq", "preset=block k=32 share=0.25"]
        .map(|settings| engine(settings, "iid:20%", " --cdf", scale));
    let measured = lab("20 %", &schemes.map(str::to_owned), scale);
    let tried = TRIED.map(|n| {
        let share = f64::from(n - 32) / 32.0;
        (n, block("0.2", 32, share, &bin, scale))
    });
    let as_engine = as_engine::block("0.2", 32, 0.25, &bin, scale);
    let more = block("0.2", 32, 0.25, &(bin + " --answer expected"), scale);
    let mut points = [slots.to_vec(), measured.clone()].concat();
    points.extend(engines.iter().flat_map(Engine::points));
    points.extend(tried.iter().map(|(_, point)| point.clone()));
    points.extend([more.clone(), as_engine.clone()]);
    Figure {
        id: "karzand-1",
        paper: Paper::Karzand,
        title: "distribution of in-order delays at 20 % loss: ARQ, and a block code with ARQ behind it",
        shows: "The paper measures a file of 25 MB over 25 Mbit/s with an RTT of 60 ms and 20 % loss, one \
                bandwidth-delay product in flight, and shows the distribution of in-order delays less the \
                RTT: (a) ARQ, (b) a block code of k = 32 whose coding rate is equal to the loss rate, with \
                ARQ for packets still missing. Here: ideal models in slots of 0.48 ms, the engine's presets \
                arq and block with a saturating source in virtual time, and the lab.",
        points,
        show: Box::new(move |values| {
            let model = [of_slots(values, &slots[0])?, of_slots(values, &slots[1])?];
            let engine = [
                of_engine(values, &engines[0])?,
                of_engine(values, &engines[1])?,
            ];
            let lab = [0, 1].map(|at| {
                let row = lab_row(values, measured.get(at)?)?;
                let bins = of_cdf(&row["cdf"], 0.0)?;
                Some(
                    bins.into_iter()
                        .map(|share| (share, 0.0))
                        .collect::<Histogram>(),
                )
            });
            let mut pictures = Vec::new();
            for (at, caption) in [
                "(a) ARQ: the share of packets in each 10 ms of in-order delay.",
                "(b) Block code, k = 32 and n = 40, with ARQ behind it.",
            ]
            .into_iter()
            .enumerate()
            {
                let mut lines = vec![
                    line("slots", Source::Simulation, 0, &model[at]),
                    line("engine", Source::Engine, 7, &engine[at]),
                ];
                lines.extend(
                    lab[at]
                        .iter()
                        .map(|lab| line("lab", Source::Measured, 4, lab)),
                );
                if at == 1 {
                    let stated = vec![Dot::new(BIN_MS / 2.0, 50.0)];
                    let name = "the paper: almost half near zero";
                    lines.push(Line::new(name, Source::Paper, 2, stated));
                }
                let plot = Plot::new(caption, "in-order delay less the RTT, ms", "packets, %");
                pictures.push(plot.with(lines).x_range(0.0, BIN_MS * BINS as f64).into());
            }
            let mut fewer = [0.0; 2];
            for at in [0, 1] {
                let packets = values.number(&slots[at], "packets")?;
                fewer[at] = (packets / engines[at].count(values)?).sqrt();
            }
            let compare = |what: &str, of: &dyn Fn(&Histogram) -> (f64, f64), at: usize| {
                let (value, error) = of(&model[at]);
                let check = Check::of(what).simulated(value, error);
                // What is rare may be in none of the engine's runs, whose spread then says nothing.
                let least = error * fewer[at];
                let (value, error) = of(&engine[at]);
                let check = check.engine(value, error.max(least));
                match &lab[at] {
                    Some(lab) => check.lab(of(lab).0, 0.0),
                    None => check,
                }
            };
            let plain = |dot: Dot| (dot.y, dot.stderr);
            let early = |h: &Histogram| ratio(share(h, 0.0, 50.0), share(h, 100.0, 250.0));
            let often = |h: &Histogram| plain(share(h, 100.0, 250.0));
            let zero = |h: &Histogram| plain(share(h, 0.0, BIN_MS));
            let late = |h: &Histogram| ratio(share(h, 50.0, ALL), share(h, 0.0, 50.0));
            let mut found = Vec::new();
            for (n, point) in &tried {
                let histogram = of_slots(values, point)?;
                found.push((
                    *n,
                    zero(&histogram).0,
                    plain(share(&histogram, 50.0, ALL)).0,
                ));
            }
            let told = found.iter().map(|(n, zero, late)| {
                format!("n {n}: {:.0} % and {:.0} %", 100.0 * zero, 100.0 * late)
            });
            let told = told.collect::<Vec<_>>().join(", ");
            let histogram = of_slots(values, &more)?;
            let why = format!(
                "With n = 40 the mean number of losses is all that a block can repair, so two of five blocks \
                 wait for a round trip, and in order the blocks behind them too. Tried in slots, share of \
                 packets below 10 ms and above 50 ms: {told}; n 40 with ARQ that sends as many repairs as \
                 must be sent for the missing number to arrive: {:.0} % and {:.0} %. The paper's picture is \
                 that of more repairs than the loss rate",
                100.0 * zero(&histogram).0,
                100.0 * plain(share(&histogram, 50.0, ALL)).0,
            );
            let by_rule = of_slots(values, &as_engine)?;
            let engine_why = |of: &dyn Fn(&Histogram) -> (f64, f64)| {
                format!(
                    "{ENGINE_RULE}. The model with this rule: {:.3}",
                    of(&by_rule).0
                )
            };
            let checks = vec![
                compare(
                    "(a) ARQ: packets below 50 ms for each from 100 to 250 ms",
                    &early,
                    0,
                )
                .claims("rarely below 50 ms, often 100 to 250 ms", Rule::AtMost(1.0)),
                compare("(a) ARQ: share of packets from 100 to 250 ms", &often, 0),
                compare("(b) block code: share of packets below 10 ms", &zero, 1)
                    .claims("almost half near zero", Rule::About(0.5))
                    .because(why.clone())
                    .engine_because(engine_why(&zero)),
                compare(
                    "(b) block code: packets above 50 ms for each below",
                    &late,
                    1,
                )
                .claims("few above 50 ms", Rule::AtMost(1.0))
                .because(why)
                .engine_because(engine_why(&late)),
            ];
            Ok(Shown {
                pictures,
                checks,
                notes: vec![
                    "The engine's delays are less the mean delay of the same path without losses; those of the \
                     lab less the path's 30 ms, so that its send buffer (4 kB) adds about a millisecond."
                        .to_owned(),
                ],
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_becomes_a_histogram_of_all_packets() {
        let cdf = serde_json::json!([[0.0, 30.0], [0.5, 35.0], [0.75, 41.0], [1.0, 9000.0]]);
        let bins = of_cdf(&cdf, 30.0).unwrap();
        assert_eq!((bins[0], bins[1], bins[BINS - 1]), (0.5, 0.25, 0.25));
        let histogram: Histogram = bins.into_iter().map(|share| (share, 0.01)).collect();
        let early = share(&histogram, 0.0, 50.0);
        assert!((early.y - 0.75).abs() < 1e-12 && (early.stderr - 0.05).abs() < 1e-12);
        assert_eq!(of_cdf(&serde_json::json!(null), 0.0), None);
    }
}
