//! Figs 3, 4 and 5: decoded matrices, acknowledgements and estimates over time.

use super::super::picture::{Picture, Plot, Source};
use super::super::{Rule, Verdict};
use super::runs::{
    BURST_LOSS, Both, ENGINE_END, Loss, Mean, Options, Over, engine, first_run, lines, model,
    points,
};
use super::table::streams;
use super::{Check, Figure, Missing, Paper, Scale, Shown, Values, over_runs};

const TIME: &str = "time, s";

/// Matrices, and the acknowledgements' sequence number, over time.
fn decoding(
    values: &Values,
    both: &Both,
    part: &str,
    stream: &str,
) -> Result<[Picture; 2], Missing> {
    let plot = |what: &str, y: &str, over| {
        Ok(
            Plot::new(format!("{part} {stream}: {what}."), TIME, y).with(lines(
                values,
                both,
                over,
                "",
                [0, 2],
            )?),
        )
    };
    let matrices = plot(
        "matrix of each decoding",
        "matrix size, packets",
        Over::Matrices,
    )?;
    let acks = plot(
        "sequence number of acknowledgements at the sender",
        "ACK sequence number, packets",
        Over::Acknowledged,
    )?;
    Ok([matrices.into(), acks.into()])
}

/// Estimated loss and inline redundancy, and k, over time.
fn adapting(
    values: &Values,
    both: &Both,
    part: &str,
    stream: &str,
) -> Result<[Picture; 2], Missing> {
    let shares = Plot::new(
        format!("{part} {stream}: estimated loss and inline redundancy."),
        TIME,
        "share, %",
    )
    .with(lines(values, both, Over::Loss, "estimated loss", [0, 2])?)
    .with(lines(
        values,
        both,
        Over::Redundancy,
        "redundancy R",
        [1, 3],
    )?);
    let spacing = Plot::new(
        format!("{part} {stream}: k; 100 is infinite."),
        TIME,
        "k, data packets between repairs",
    )
    .with(lines(values, both, Over::Spacing, "", [0, 2])?);
    Ok([shares.into(), spacing.into()])
}

/// Model and engine's value of a key.
fn two(values: &Values, both: &Both, key: &str) -> Result<(Mean, Mean), Missing> {
    Ok((
        model(values, &both.model, key)?,
        engine(values, &both.engine, key)?,
    ))
}

/// Model and engine's ratio of a key in two streams.
fn ratio(values: &Values, top: &Both, bottom: &Both, key: &str) -> Result<(Mean, Mean), Missing> {
    let (top, bottom) = (two(values, top, key)?, two(values, bottom, key)?);
    Ok((top.0.over(bottom.0), top.1.over(bottom.1)))
}

/// Why the engine's largest decoding is smaller.
const BOUNDED: &str = "A repair of the engine covers 1024 packets at most, so that the losses of 2331 \
    packets are decoded in three parts: the model with W = 1024 has largest matrices of 160 packets, \
    as the engine does, where the unbounded model has 350 (R 0) and 282 (R 15 %).";

/// Fig. 3.
pub(super) fn fixed(scale: Scale) -> Figure {
    let all = streams(scale);
    let points = points(&all);
    Figure {
        id: "rest-3",
        paper: Paper::Rest,
        title: "decoded matrices and acknowledgements over time, fixed redundancy",
        shows: "Uniform losses of 15 %, R of 0, 15, 20 and 30 %: the size of each decoded matrix and \
                the sequence number of each acknowledgement over time, of one stream each. The \
                comparisons are means over many.",
        points,
        show: Box::new(move |values| {
            let names = [
                ("(a)", "R 0"),
                ("(b)", "R 15 %"),
                ("(c)", "R 20 %"),
                ("(d)", "R 30 %"),
            ];
            let mut pictures = Vec::new();
            for (both, (part, name)) in all.iter().zip(names) {
                pictures.extend(decoding(values, both, part, name)?);
            }
            let mut checks = Vec::new();
            for (both, name) in all.iter().zip(["0", "15 %"]) {
                let (slots, run) = two(values, both, "largest_share")?;
                checks.push(
                    Check::of(format!(
                        "R {name}: share of all decoded packets that the largest decoding gives"
                    ))
                    .claims("one huge decoding at the end", Rule::AtLeast(0.5))
                    .both(slots, run)
                    .explained(BOUNDED, BOUNDED),
                );
            }
            let (slots, run) = ratio(values, &all[2], &all[3], "std_matrix")?;
            checks.push(
                Check::of("standard deviation of matrix sizes at R 20 %, times that at 30 %")
                    .claims(
                        "several decodings of varying size at 20 %",
                        Rule::AtLeast(1.0),
                    )
                    .both(slots, run)
                    .explained("", ENGINE_END),
            );
            let (slots, run) = ratio(values, &all[3], &all[2], "largest_matrix")?;
            checks.push(
                Check::of("largest matrix at R 30 %, times that at 20 %")
                    .claims("small decodings at 30 %", Rule::AtMost(1.0))
                    .both(slots, run)
                    .explained("", ENGINE_END),
            );
            Ok(Shown {
                pictures,
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Seconds of a wave of the sinusoid: the paper does not give them.
const WAVES: [u32; 3] = [5, 10, 20];
/// The wave that is drawn.
const DRAWN: usize = 1;

/// Fig. 4.
pub(super) fn adaptive(scale: Scale) -> Figure {
    let of = |loss| {
        let options = Options {
            loss,
            ..Options::BURSTY
        };
        options.both(scale)
    };
    let all = [
        of(Loss::Uniform),
        of(Loss::Sine(WAVES[DRAWN])),
        of(Loss::Bursts(20)),
    ];
    // Streams whose series are counted, each a point of its own.
    let waves = WAVES.map(|period| {
        let options = Options {
            loss: Loss::Sine(period),
            ..Options::BURSTY
        };
        // Far from those of another seed.
        let first = scale.seed.wrapping_mul(1_000);
        let seeds = (0..scale.pick(4, 30)).map(|n| first.wrapping_add(n));
        let models: Vec<_> = seeds.map(|seed| options.model(1, seed)).collect();
        (period, models)
    });
    let mut points = points(&all);
    points.extend(waves.iter().flat_map(|(_, models)| models.clone()));
    Figure {
        id: "rest-4",
        paper: Paper::Rest,
        title: "adaptive redundancy and unbounded window over time",
        shows: "Losses uniform at 15 %, as a sinusoid from 0 to 20 % (mean 10 %), and in bursts (with \
                1 % chance a burst of 1 to 20): (a), (c), (e) matrices and acknowledgements over \
                time, (b), (d), (f) the receiver's estimate as the sender has it, the redundancy R \
                that follows (the engine's is 1/k), and k = floor(1/R), drawn as 100 where it is infinite. One stream \
                each; the comparisons are means over many.",
        points,
        show: Box::new(move |values| {
            let names = [
                "uniform losses, 15 %",
                "sinusoid, 0 to 20 %, wave of 10 s",
                "bursts of 1 to 20",
            ];
            let parts = [("(a)", "(b)"), ("(c)", "(d)"), ("(e)", "(f)")];
            let mut pictures = Vec::new();
            for ((both, name), (left, right)) in all.iter().zip(names).zip(parts) {
                pictures.extend(decoding(values, both, left, name)?);
                pictures.extend(adapting(values, both, right, name)?);
            }
            let (slots, run) = two(values, &all[0], "useless_inline_share")?;
            let spread = values.number(&all[0].model, "useless_inline_share/spread")?;
            let mut checks = vec![
                Check::of("uniform losses: useless repairs, share of the sender's packets, without those after the last data packet")
                    .between(0.005, 0.01)
                    .both(slots, run)
                    .explained(
                        &format!(
                            "The paper shows one run; here are means, and one run's standard deviation \
                             is {spread:.4}. Weights of the estimate from 0.2 to 1 and windows of 1 and \
                             10 s give 0.0102 to 0.0113."
                        ),
                        ENGINE_END,
                    ),
            ];
            let (slots, run) = two(values, &all[0], "useless_share")?;
            checks.push(
                Check::of("the same with those sent after the last data packet, until the sender hears that everything arrived")
                    .both(slots, run)
                    .explained("", ENGINE_END),
            );
            for (period, models) in &waves {
                let counts = models
                    .iter()
                    .map(|point| large_decodings(values, point, *period));
                let (mean, stderr) = over_runs(&counts.collect::<Result<Vec<_>, _>>()?);
                checks.push(
                    Check::of(format!(
                        "sinusoid of {period} s: decodings at least half as large as the stream's largest, for each descending half wave"
                    ))
                    .equals(2.0, 1.0)
                    .simulated(mean, stderr),
                );
            }
            explain_waves(&mut checks);
            Ok(Shown {
                pictures,
                checks,
                notes: vec![
                    "The paper does not give the period of its sinusoid: 10 s is drawn, and 5, 10 and 20 s are compared."
                        .to_owned(),
                ],
            })
        }),
    }
}

/// Large decodings of a stream, for each descending half wave that it has.
fn large_decodings(values: &Values, point: &super::Point, period: u32) -> Result<f64, Missing> {
    let dots = first_run(values, point, Source::Simulation, Over::Matrices)?;
    let largest = dots.iter().map(|dot| dot.y).fold(0.0, f64::max);
    let large = dots.iter().filter(|dot| dot.y >= largest / 2.0).count();
    // The loss rate rises first: it falls from a quarter of a wave to three quarters.
    let period = f64::from(period);
    let end = dots.last().map_or(0.0, |dot| dot.x);
    let waves = ((end - 0.25 * period) / period).ceil().max(1.0);
    Ok(large as f64 / waves)
}

/// What was tried about the two decodings.
fn explain_waves(checks: &mut [Check]) {
    for check in checks
        .iter_mut()
        .filter(|check| check.what.starts_with("sinusoid"))
    {
        if check.verdict() == Verdict::Differs {
            check.why = Some(
                "Waves of 5, 10 and 20 s were tried, and for 10 s weights of the estimate of 0.2 and 0.8, \
                 windows of 1, 3 and 6 s, ACK intervals of 0.1 and 0.2 s and RTTs of 0.1 and 0.3 s (0.95 \
                 to 0.98 such decodings). In the seeds looked at, the large decoding is at the end of \
                 the descending half wave, when R exceeds the losses for long enough: one in a wave."
                    .to_owned(),
            );
        }
    }
}

/// The window of Fig. 5.
const WINDOW: u32 = 100;

/// Fig. 5.
pub(super) fn mobile(scale: Scale) -> Figure {
    let bounded = Options {
        window: Some(WINDOW),
        ..Options::BURSTY
    };
    let scattered = Options {
        loss: Loss::Scattered,
        ..bounded
    };
    let scattered = scattered.both(scale);
    let (bounded, open) = (bounded.both(scale), Options::BURSTY.both(scale));
    let points = points(&[bounded.clone(), open.clone(), scattered.clone()]);
    Figure {
        id: "rest-5",
        paper: Paper::Rest,
        title: "adaptive redundancy and a mobile window of 100 packets over time",
        shows: "Bursty losses as in Fig. 4(e), and repairs over the 100 oldest unacknowledged packets \
                at most: (a) matrices and acknowledgements, (b) estimate, redundancy and k over \
                time. One stream; the comparisons are means over many.",
        points,
        show: Box::new(move |values| {
            let name = "W 100, bursts of 1 to 20";
            let mut pictures = decoding(values, &bounded, "(a)", name)?.to_vec();
            pictures.extend(adapting(values, &bounded, "(b)", name)?);
            let expected = f64::from(WINDOW) * BURST_LOSS;
            let (slots, run) = two(values, &bounded, "mean_matrix")?;
            let mut checks = vec![
                Check::of(format!(
                    "mean matrix of a decoding, packets (W p is {expected:.2}; p is the mean loss rate)"
                ))
                .about(expected)
                .both(slots, run)
                .explained(
                    "Losses of the same mean rate that are scattered give about W p (the next line): a \
                     repair then meets W p missing packets. In bursts, a decoding has whole bursts, \
                     10.5 packets on average, and often more than one. Weights of the estimate of 0.5 \
                     and 0.8, ACK intervals of 0.1 and 0.2 s and RTTs of 100 and 300 ms were tried: \
                     15.8 to 16.2 packets.",
                    ENGINE_END,
                ),
            ];
            let (slots, run) = two(values, &scattered, "mean_matrix")?;
            checks.push(
                Check::of("the same with independent losses of the same mean rate, packets")
                    .both(slots, run)
                    .explained("", ENGINE_END),
            );
            let (slots, run) = ratio(values, &bounded, &open, "std_matrix")?;
            checks.push(
                Check::of(
                    "standard deviation of matrix sizes with W 100, times that without a bound",
                )
                .claims("more uniform matrices", Rule::AtMost(1.0))
                .both(slots, run)
                .explained("", ENGINE_END),
            );
            let (slots, run) = ratio(values, &bounded, &open, "overhead")?;
            checks.push(
                Check::of("overhead with W 100, times that without a bound")
                    .claims("slight overhead", Rule::AtLeast(1.0))
                    .both(slots, run)
                    .explained("", ENGINE_END),
            );
            Ok(Shown {
                pictures,
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
