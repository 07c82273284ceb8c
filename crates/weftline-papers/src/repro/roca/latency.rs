//! Fig. 7: added latency and residual losses over the loss rate.

use super::code::{Decoder, LONG, Sizes};
use super::sessions::{Estimate, Sessions, difference, least_above, ratio};
use crate::repro::picture::{Dot, Line, Picture, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values, over_runs};
use crate::sim::fecframe::BLOCK_LATENCY;

/// Losses at which so nearly all blocks are decoded that the closed form of the mean holds.
const ALL_DECODED: u32 = 15;
/// The loss from which the paper's RS leaves less.
const FROM: u32 = 30;

/// The largest loss at which the decoder that discards equations is run.
const DISCARDING: u32 = 30;

/// The points of one loss.
struct Loss {
    percent: u32,
    rlc: Point,
    /// Up to `DISCARDING`.
    discarding: Option<Point>,
    rs: Point,
    ideal: Point,
    theory: Point,
}

impl Loss {
    fn new(sizes: Sizes, percent: u32, scale: Scale) -> Self {
        let at = |decoder| sizes.at(decoder, percent, scale);
        Self {
            percent,
            rlc: at(Decoder::Keeping),
            discarding: (percent <= DISCARDING).then(|| at(Decoder::Discarding)),
            rs: at(Decoder::Blocks),
            ideal: at(Decoder::Ideal),
            theory: sizes.theory(percent),
        }
    }

    fn points(&self) -> Vec<Point> {
        let all = [&self.rlc, &self.rs, &self.ideal, &self.theory];
        let all = all.into_iter().chain(&self.discarding);
        all.cloned().collect()
    }

    fn x(&self) -> f64 {
        f64::from(self.percent)
    }
}

/// A line over the loss rate, from a value of each loss that has one.
fn over(
    losses: &[Loss],
    name: &str,
    source: Source,
    colour: usize,
    value: impl Fn(&Loss) -> Result<Option<Estimate>, Missing>,
) -> Result<Line, Missing> {
    let mut dots = Vec::new();
    for loss in losses {
        if let Some((y, stderr)) = value(loss)? {
            let x = loss.x();
            dots.push(Dot { x, y, stderr });
        }
    }
    Ok(Line::new(name, source, colour, dots))
}

/// Fig. 7, or the same with other sizes.
pub(super) fn latency(id: &'static str, title: &'static str, sizes: Sizes, scale: Scale) -> Figure {
    let losses: &[u32] = scale.pick(&[5, 15, 25, 30, 33], &[1, 5, 10, 15, 20, 25, 30, 33, 35]);
    let losses = losses
        .iter()
        .map(|percent| Loss::new(sizes, *percent, scale));
    let losses: Vec<Loss> = losses.collect();
    let is_paper = sizes.dw == LONG.dw;
    Figure {
        id,
        paper: Paper::Roca,
        title,
        shows: if is_paper {
            "The paper: minimum, average and maximum added latency over the loss rate, several sessions, and \
             residual losses; k 167, ew 83, ls 400, dw 167. RS is flat at 83.5 ticks, RLC grows slowly; residual \
             losses are alike, and RS is better from 30 % on. Here: latency of in-order delivery; a symbol that is \
             not known after dw ticks is given up and left out."
        } else {
            "The same as Fig. 7 with the sizes of Figs 4 and 6: k 38, ew 19, ls 200, dw 38."
        },
        points: losses.iter().flat_map(Loss::points).collect(),
        show: Box::new(move |values| {
            let mut pictures = vec![
                extremes(values, sizes, &losses)?,
                averages(values, &losses)?,
            ];
            if is_paper {
                pictures.push(recovered(values, &losses)?);
            }
            let letter = if is_paper { "(d)" } else { "(c)" };
            pictures.push(residual(values, letter, &losses)?);
            let mut checks = Vec::new();
            for loss in &losses {
                checks.extend(rs_average(values, sizes, loss)?);
            }
            if is_paper {
                for loss in losses.iter().filter(|loss| loss.percent <= FROM) {
                    checks.extend(rs_recovered(values, loss)?);
                }
                checks.extend(rlc_claims(values, &losses)?);
                for loss in losses.iter().filter(|loss| loss.percent >= 25) {
                    checks.extend(residual_claims(values, loss)?);
                }
            }
            for loss in losses.iter().filter(|loss| loss.percent >= 25) {
                checks.push(rs_residual(values, loss)?);
            }
            Ok(Shown {
                pictures,
                checks,
                notes: vec![
                    "The decoder that discards equations is run up to 30 % loss: near the code's limit of a third \
                     it makes its equations again with nearly every packet, and takes minutes."
                        .to_owned(),
                ],
            })
        }),
    }
}

/// Smallest, mean and largest latency of all symbols.
fn extremes(values: &Values, sizes: Sizes, losses: &[Loss]) -> Result<Picture, Missing> {
    let quantile = |point: &Point, at: usize| {
        let key = format!("results/0/latency_quantiles/{at}");
        Ok::<_, Missing>(Some((values.number(point, &key)?, 0.0)))
    };
    let mean =
        |point: &Point| Ok::<_, Missing>(Some(Sessions::of(values, point)?.mean("latency")?));
    let engine = Source::Engine;
    let mut lines = vec![
        over(losses, "RS, mean", engine, 0, |l| mean(&l.rs))?,
        over(losses, "RLC, mean", engine, 2, |l| mean(&l.rlc))?,
        over(losses, "RS, largest", engine, 4, |l| quantile(&l.rs, 5))?.smooth(),
        over(losses, "RLC, largest", engine, 1, |l| quantile(&l.rlc, 5))?.smooth(),
        over(losses, "both, smallest", engine, 6, |l| {
            let (rs, rlc) = (quantile(&l.rs, 0)?, quantile(&l.rlc, 0)?);
            // The larger of the two: it is 0 for both.
            let least = rs.zip(rlc).map(|(rs, rlc)| rs.0.max(rlc.0));
            Ok(least.map(|least| (least, 0.0)))
        })?
        .smooth(),
    ];
    if sizes.dw == LONG.dw {
        lines.push(over(
            losses,
            "paper, RS, average",
            Source::Paper,
            11,
            |_| Ok(Some((BLOCK_LATENCY, 0.0))),
        )?);
    }
    let caption = format!(
        "(a) Added latency of in-order delivery: smallest, mean and largest of all symbols of all sessions; RS with k {}.",
        sizes.dw
    );
    Ok(over_loss(caption, "added latency, ticks")
        .with(lines)
        .into())
}

fn over_loss(caption: impl Into<String>, y: &str) -> Plot {
    Plot::new(caption, "independent loss, %", y).x_range(0.0, 36.0)
}

/// Means of sessions, on a logarithmic axis.
fn averages(values: &Values, losses: &[Loss]) -> Result<Picture, Missing> {
    let edge = |point: &Point, largest: bool| {
        let each = Sessions::of(values, point)?.each("latency")?;
        let by = |a: f64, b: &f64| if largest { a.max(*b) } else { a.min(*b) };
        let first = if largest { f64::MIN } else { f64::MAX };
        Ok::<_, Missing>(Some((each.iter().fold(first, by), 0.0)))
    };
    let mean =
        |point: &Point| Ok::<_, Missing>(Some(Sessions::of(values, point)?.mean("latency")?));
    let (engine, model) = (Source::Engine, Source::Simulation);
    let lines = [
        over(losses, "RS", engine, 0, |l| mean(&l.rs))?,
        over(losses, "RS, closed form", Source::Theory, 1, |l| {
            Ok(Some((
                values.number(&l.theory, "block_latency_ticks")?,
                0.0,
            )))
        })?,
        over(losses, "RLC", engine, 2, |l| mean(&l.rlc))?,
        over(losses, "RLC, highest session", engine, 4, |l| {
            edge(&l.rlc, true)
        })?
        .smooth(),
        over(losses, "RLC, lowest session", engine, 6, |l| {
            edge(&l.rlc, false)
        })?
        .smooth(),
        over(losses, "RLC, discarding decoder", model, 3, |l| {
            match &l.discarding {
                Some(point) => mean(point),
                None => Ok(None),
            }
        })?
        .apart(),
    ];
    let caption = "(b) Mean added latency of in-order delivery: mean, lowest and highest session. The closed form is of \
                   blocks that all decode.";
    Ok(over_loss(caption, "mean added latency, ticks")
        .with(lines)
        .log_y()
        .into())
}

/// How long symbols wait that were lost and decoded.
fn recovered(values: &Values, losses: &[Loss]) -> Result<Picture, Missing> {
    let mean = |point: &Point| {
        let each = Sessions::of(values, point)?.each("mean_recovered_after");
        Ok::<_, Missing>(each.ok().map(|each| over_runs(&each)))
    };
    let engine = Source::Engine;
    let lines = [
        over(losses, "RS", engine, 0, |l| mean(&l.rs))?,
        over(losses, "RS, closed form", Source::Theory, 1, |l| {
            Ok(Some((
                values.number(&l.theory, "block_recovered_after_ticks")?,
                0.0,
            )))
        })?,
        over(losses, "RLC", engine, 2, |l| mean(&l.rlc))?,
        over(losses, "paper, RS, average", Source::Paper, 11, |_| {
            Ok(Some((BLOCK_LATENCY, 0.0)))
        })?,
    ];
    let caption = "(c) Mean time until a symbol that was lost is decoded, in any order, late ones too: another reading \
                   of the paper's latency.";
    Ok(over_loss(caption, "mean time to decoding, ticks")
        .with(lines)
        .into())
}

/// Residual losses.
fn residual(values: &Values, letter: &str, losses: &[Loss]) -> Result<Picture, Missing> {
    let left = |point: &Point| {
        let (mean, stderr) = over_runs(&Sessions::of(values, point)?.residual()?);
        // A logarithmic axis has no place for 0, nor for the lower end of a bar below it.
        let stderr = if stderr < mean { stderr } else { 0.0 };
        Ok::<_, Missing>((mean > 1e-12).then_some((100.0 * mean, 100.0 * stderr)))
    };
    let (engine, model) = (Source::Engine, Source::Simulation);
    let lines = [
        over(losses, "RS", engine, 0, |l| left(&l.rs))?,
        over(losses, "RS, closed form", Source::Theory, 1, |l| {
            let left = 100.0 * values.number(&l.theory, "block_residual_loss")?;
            Ok((left > 1e-5).then_some((left, 0.0)))
        })?,
        over(losses, "RLC", engine, 2, |l| left(&l.rlc))?,
        over(losses, "RLC, discarding decoder", model, 3, |l| {
            match &l.discarding {
                Some(point) => left(point),
                None => Ok(None),
            }
        })?
        .apart(),
    ];
    let caption = format!(
        "{letter} Residual loss: source symbols not known within dw ticks. To the left of a line, none was left."
    );
    Ok(over_loss(caption, "residual loss, %")
        .with(lines)
        .log_y()
        .into())
}

/// RS's mean latency of in-order delivery.
fn rs_average(values: &Values, sizes: Sizes, loss: &Loss) -> Result<Option<Check>, Missing> {
    if loss.percent > ALL_DECODED || loss.percent < 5 {
        return Ok(None);
    }
    let (model, engine) = (
        Sessions::of(values, &loss.ideal)?.mean("latency")?,
        Sessions::of(values, &loss.rs)?.mean("latency")?,
    );
    let check = Check::of(format!(
        "RS, mean added latency of in-order delivery at {} % loss, ticks",
        loss.percent
    ))
    .theory(values.number(&loss.theory, "block_latency_ticks")?)
    .simulated(model.0, model.1)
    .engine(engine.0, engine.1);
    Ok(Some(match sizes.dw == LONG.dw {
        true => check.equals(BLOCK_LATENCY, 0.1).because(
            "two readings were run. Of in-order delivery the mean is over all symbols, and depends on the loss: \
             symbols before the first lost one of a block do not wait. Of the lost symbols alone the mean is \
             (k + 1)/2 = 84 ticks at every loss (the rows below), which is flat as the paper says, and half a tick from \
             its k/2 = 83.5",
        ),
        false => check,
    }))
}

/// How long RS's lost symbols wait.
fn rs_recovered(values: &Values, loss: &Loss) -> Result<Option<Check>, Missing> {
    if ![5, 25].contains(&loss.percent) {
        return Ok(None);
    }
    let (model, engine) = (
        Sessions::of(values, &loss.ideal)?.mean("mean_recovered_after")?,
        Sessions::of(values, &loss.rs)?.mean("mean_recovered_after")?,
    );
    let check = Check::of(format!(
        "RS, mean time until a lost symbol is decoded at {} % loss, ticks",
        loss.percent
    ))
    .equals(BLOCK_LATENCY, 0.1)
    .theory(values.number(&loss.theory, "block_recovered_after_ticks")?)
    .simulated(model.0, model.1)
    .engine(engine.0, engine.1)
    .because(
        "the formula has no error, so half a tick counts: symbol i of k, from 0, waits k - i ticks if repairs come a \
         tick after the block's last symbol, (k + 1)/2 in the mean; if they came in that tick it would be (k - 1)/2 = 83. \
         The paper's 83.5 is between the two",
    );
    Ok(Some(check))
}

/// "RLC grows slowly": it grows, and stays below RS.
fn rlc_claims(values: &Values, losses: &[Loss]) -> Result<Vec<Check>, Missing> {
    let below: Vec<&Loss> = losses.iter().filter(|l| l.percent <= FROM).collect();
    let each = |point: &Point| Sessions::of(values, point)?.each("latency");
    let (mut ratios, mut models) = (Vec::new(), Vec::new());
    let (mut engine, mut model) = (Vec::new(), Vec::new());
    for loss in &below {
        ratios.push(ratio(&each(&loss.rlc)?, &each(&loss.rs)?));
        engine.push(each(&loss.rlc)?);
        if let Some(point) = &loss.discarding {
            models.push(ratio(&each(point)?, &each(&loss.ideal)?));
            model.push(each(point)?);
        }
    }
    // The point with the least distance to the bound, in its own errors.
    let worst = |ratios: &[Estimate]| {
        let left = ratios.iter().map(|(ratio, stderr)| (1.0 - ratio, *stderr));
        least_above(left).map_or((f64::NAN, 0.0), |(left, stderr)| (1.0 - left, stderr))
    };
    let growth = |all: &[Vec<f64>]| {
        let steps = all.windows(2).map(|pair| difference(&pair[1], &pair[0]));
        let least = steps.min_by(|a, b| a.0.total_cmp(&b.0));
        least.unwrap_or((f64::NAN, 0.0))
    };
    let checks = [
        (
            "mean added latency, RLC / RS, at the loss up to 30 % where RLC is least below",
            "RLC grows slowly, and RS is flat above it",
            Rule::AtMost(1.0),
            worst(&models),
            worst(&ratios),
        ),
        (
            "RLC, growth of the mean added latency from one loss rate to the next up to 30 %, the least, ticks",
            "RLC grows",
            Rule::AtLeast(0.0),
            growth(&model),
            growth(&engine),
        ),
    ];
    let check = checks.map(|(what, words, rule, model, engine)| {
        Check::of(what)
            .claims(words, rule)
            .simulated(model.0, model.1)
            .engine(engine.0, engine.1)
    });
    Ok(check.into())
}

/// Residual losses of RLC over those of RS.
fn residual_claims(values: &Values, loss: &Loss) -> Result<Option<Check>, Missing> {
    let left = |point: &Point| Sessions::of(values, point)?.residual();
    let over = |rlc: &Point, rs: &Point| {
        let (rlc, rs) = (left(rlc)?, left(rs)?);
        Ok::<_, Missing>(
            (over_runs(&rlc).0 > 0.0 && over_runs(&rs).0 > 0.0).then(|| ratio(&rlc, &rs)),
        )
    };
    let engine = over(&loss.rlc, &loss.rs)?;
    let model = match &loss.discarding {
        Some(point) => over(point, &loss.ideal)?,
        None => None,
    };
    if engine.is_none() && model.is_none() {
        return Ok(None);
    }
    let (words, rule) = match loss.percent < FROM {
        true => ("residual losses alike", Rule::About(1.0)),
        false => ("RS better from 30 % on", Rule::AtLeast(1.0)),
    };
    let mut check = Check::of(format!(
        "residual loss, RLC / RS, at {} % loss",
        loss.percent
    ))
    .claims(words, rule);
    if let Some((value, stderr)) = model {
        check = check.simulated(value, stderr);
    }
    if let Some((value, stderr)) = engine {
        check = check.engine(value, stderr);
    }
    let percent = |point: &Point| Ok::<_, Missing>(100.0 * over_runs(&left(point)?).0);
    let why = match loss.percent < FROM {
        true => format!(
            "RLC leaves {:.3} % and RS {:.3} %: a ratio tells them apart, an axis that holds the residual losses at 33 % \
             does not. Tried: both decoders of RLC leave the same here, and RS leaves what its closed form says",
            percent(&loss.rlc)?,
            percent(&loss.rs)?
        ),
        false => "tried: both decoders of RLC, with the losses that RS has. The engine's keeps equations with symbols \
                  that leave, and leaves fewer symbols lost than the simulation's, which discards them as the paper's \
                  seems to (Fig. 3); so RLC stays better than RS up to a higher loss. At 33 % RS is better"
            .to_owned(),
    };
    let check = check.because(why);
    Ok(Some(match loss.percent < FROM {
        true => check,
        false => check.engine_because(
            "the engine's decoder keeps equations that the simulation's discards (Fig. 3), so that it leaves \
             fewer symbols lost",
        ),
    }))
}

/// RS's residual loss.
fn rs_residual(values: &Values, loss: &Loss) -> Result<Check, Missing> {
    let left = |point| Ok::<_, Missing>(over_runs(&Sessions::of(values, point)?.residual()?));
    let (model, engine) = (left(&loss.ideal)?, left(&loss.rs)?);
    Ok(
        Check::of(format!("RS, residual loss at {} % loss, %", loss.percent))
            .theory(100.0 * values.number(&loss.theory, "block_residual_loss")?)
            .simulated(100.0 * model.0, 100.0 * model.1)
            .engine(100.0 * engine.0, 100.0 * engine.1),
    )
}
