//! Figs 4 to 6: distributions of added latency.

use super::code::{Decoder, LONG, SHORT, Sizes};
use super::sessions::{Estimate, Sessions, difference, least_above, means};
use crate::repro::picture::{Dot, Line, Picture, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values, over_runs};

/// Loss rates of the figures, percent: the paper has several.
const LOSSES: [u32; 4] = [5, 15, 25, 30];
/// Losses at which all blocks are decoded, or so nearly all that the closed form holds.
const ALL_DECODED: u32 = 15;
/// Styles of RLC, which are solid lines, and of RS, which are broken ones.
const SOLID: [usize; 4] = [2, 3, 5, 0];
const BROKEN: [usize; 4] = [1, 4, 6, 11];

/// The points of one loss.
#[derive(Clone)]
struct Loss {
    percent: u32,
    rlc: Point,
    discarding: Point,
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
            discarding: at(Decoder::Discarding),
            rs: at(Decoder::Blocks),
            ideal: at(Decoder::Ideal),
            theory: sizes.theory(percent),
        }
    }

    fn points(&self) -> [Point; 5] {
        [
            &self.rlc,
            &self.discarding,
            &self.rs,
            &self.ideal,
            &self.theory,
        ]
        .map(Point::clone)
    }
}

/// Fig. 4.
pub(super) fn short(scale: Scale) -> Figure {
    figure(
        "roca-4",
        "CDF of added latency, RS and RLC, small blocks",
        "The paper: the distribution of the latency of RS (k 38) and RLC (ew 19, ls 200, dw 38) for several loss \
         rates, 100,000 source symbols; RLC is above RS everywhere, at once. Here: in-order delivery, as a share \
         of all source symbols, so that a curve ends at what was recovered. The loss rates are our choice.",
        SHORT,
        scale,
    )
}

/// Fig. 5.
pub(super) fn medium(scale: Scale) -> Figure {
    figure(
        "roca-5",
        "CDF and histograms of added latency, RS and RLC, medium blocks",
        "The paper: as Fig. 4, with k 167, ew 83, ls 400 and dw 167, and with the histograms. The loss rates \
         are our choice.",
        LONG,
        scale,
    )
}

fn figure(
    id: &'static str,
    title: &'static str,
    shows: &'static str,
    sizes: Sizes,
    scale: Scale,
) -> Figure {
    let losses = LOSSES.map(|percent| Loss::new(sizes, percent, scale));
    Figure {
        id,
        paper: Paper::Roca,
        title,
        shows,
        points: losses.iter().flat_map(Loss::points).collect(),
        show: Box::new(move |values| {
            let mut pictures = vec![cdfs(values, sizes, &losses)?];
            if sizes.dw == LONG.dw {
                let of = |rs: bool| histogram(values, &losses, rs);
                pictures.extend([of(true)?, of(false)?]);
            }
            let mut checks = Vec::new();
            for loss in &losses {
                checks.push(above(values, sizes, loss)?);
            }
            for loss in losses.iter().filter(|loss| loss.percent <= ALL_DECODED) {
                checks.push(at_once(values, loss)?);
            }
            Ok(Shown {
                pictures,
                checks,
                notes: vec![same_for_both_decoders(values, sizes, &losses)?],
            })
        }),
    }
}

/// Distributions of all codes at all losses.
fn cdfs(values: &Values, sizes: Sizes, losses: &[Loss]) -> Result<Picture, Missing> {
    let mut lines = Vec::new();
    let styles = SOLID.iter().zip(BROKEN);
    for (loss, (solid, broken)) in losses.iter().zip(styles) {
        for (name, colour, point) in [("RLC", *solid, &loss.rlc), ("RS", broken, &loss.rs)] {
            let all = Sessions::of(values, point)?.in_order(sizes.dw as usize)?;
            let cdf = means(&all);
            let dots = cdf.iter().enumerate().map(|(ticks, (share, stderr))| Dot {
                x: ticks as f64,
                y: 100.0 * share,
                // Bars at some places only, so that they can be told apart.
                stderr: match (ticks + 2 * colour).is_multiple_of(sizes.dw as usize / 4) {
                    true => 100.0 * stderr,
                    false => 0.0,
                },
            });
            let name = format!("{name}, {} %", loss.percent);
            lines.push(Line::new(name, Source::Engine, colour, dots.collect()).smooth());
        }
    }
    let letter = if sizes.dw == LONG.dw { "(a) " } else { "" };
    let caption = format!(
        "{letter}Share of all source symbols delivered in order within an added latency, by loss rate. RLC: solid; \
         RS, k {}: broken.",
        sizes.dw
    );
    let (x, y) = ("added latency, ticks", "symbols delivered by then, %");
    Ok(Plot::new(caption, x, y)
        .with(lines)
        .y_range(0.0, 100.0)
        .into())
}

/// Histograms of one code at all losses.
fn histogram(values: &Values, losses: &[Loss], rs: bool) -> Result<Picture, Missing> {
    let mut lines = Vec::new();
    for (loss, style) in losses.iter().zip([3, 1, 2, 4]) {
        let point = if rs { &loss.rs } else { &loss.rlc };
        let name = format!("{} % loss", loss.percent);
        lines.push(steps(values, name, style, point)?);
    }
    let caption = match rs {
        true => "(b) RS: share of source symbols with each added latency.",
        false => "(c) RLC: share of source symbols with each added latency.",
    };
    let (x, y) = ("added latency, ticks", "symbols, %");
    Ok(Plot::new(caption, x, y)
        .with(lines)
        .log_y()
        .x_range(0.0, f64::from(LONG.dw))
        .y_range(1e-4, 100.0)
        .into())
}

fn steps(values: &Values, name: String, style: usize, point: &Point) -> Result<Line, Missing> {
    let shares = means(&Sessions::of(values, point)?.histograms()?);
    let shares = shares.iter().enumerate();
    let dots = shares
        .filter(|(_, (share, _))| *share > 0.0)
        .map(|(ticks, (share, _))| Dot::new(ticks as f64, 100.0 * share));
    Ok(Line::new(name, Source::Engine, style, dots.collect()).steps())
}

/// RLC's distribution less that of RS, at the latency below k where it is least above 0.
fn least_gain(values: &Values, sizes: Sizes, rlc: &Point, rs: &Point) -> Result<Estimate, Missing> {
    // Within k ticks, both have delivered all that they recover.
    let most = sizes.dw as usize - 1;
    let of = |point| Sessions::of(values, point)?.in_order(most);
    let (rlc, rs): (Vec<_>, Vec<_>) = (of(rlc)?, of(rs)?);
    let at = |all: &[Vec<f64>], ticks: usize| -> Vec<f64> {
        all.iter().map(|cdf| 100.0 * cdf[ticks]).collect()
    };
    let gains = (0..=most).map(|ticks| difference(&at(&rlc, ticks), &at(&rs, ticks)));
    Ok(least_above(gains).unwrap_or((f64::NAN, 0.0)))
}

fn above(values: &Values, sizes: Sizes, loss: &Loss) -> Result<Check, Missing> {
    let model = least_gain(values, sizes, &loss.discarding, &loss.ideal)?;
    let engine = least_gain(values, sizes, &loss.rlc, &loss.rs)?;
    let check = Check::of(format!(
        "least lead of RLC's CDF over RS's below {} ticks, {} % loss, % of symbols",
        sizes.dw, loss.percent
    ))
    .claims("RLC above RS everywhere, at once", Rule::AtLeast(0.0))
    .simulated(model.0, model.1)
    .engine(engine.0, engine.1);
    let left =
        |point| Ok::<_, Missing>(100.0 * over_runs(&Sessions::of(values, point)?.residual()?).0);
    Ok(match loss.percent > ALL_DECODED {
        true => check
            .because(
                "the lead is least near the longest latency, where both curves end at what was recovered: the \
                 residual losses decide there (Fig. 7 has them for k 167)",
            )
            .engine_because(format!(
                "with the same losses the engine's decoder, which keeps equations with symbols that leave, misses \
                 {:.2} % of symbols, the simulation's, which discards them, {:.2} % (Fig. 3)",
                left(&loss.rlc)?,
                left(&loss.discarding)?
            )),
        false => check,
    })
}

fn at_once(values: &Values, loss: &Loss) -> Result<Check, Missing> {
    let share = |point| {
        let all = means(&Sessions::of(values, point)?.histograms()?);
        let (share, stderr) = all.first().copied().unwrap_or((f64::NAN, 0.0));
        Ok::<_, Missing>((100.0 * share, 100.0 * stderr))
    };
    let (model, engine) = (share(&loss.ideal)?, share(&loss.rs)?);
    let theory = values.number(&loss.theory, "block_latency_cdf/0")?;
    Ok(Check::of(format!(
        "RS, share delivered without added latency, {} % loss, %",
        loss.percent
    ))
    .theory(100.0 * theory)
    .simulated(model.0, model.1)
    .engine(engine.0, engine.1))
}

/// Whether the two decoders of RLC differ here.
fn same_for_both_decoders(
    values: &Values,
    sizes: Sizes,
    losses: &[Loss],
) -> Result<String, Missing> {
    let mut most = 0.0f64;
    for loss in losses {
        let of = |point| Sessions::of(values, point)?.in_order(sizes.dw as usize);
        let (keeps, discards): (Vec<_>, Vec<_>) = (of(&loss.rlc)?, of(&loss.discarding)?);
        let (keeps, discards) = (means(&keeps), means(&discards));
        let apart = keeps.iter().zip(&discards).map(|(a, b)| (a.0 - b.0).abs());
        most = apart.fold(most, f64::max);
    }
    Ok(format!(
        "The curves of the decoder that discards equations are at most {:.2} points of percent away from \
         Weftline's with this ls, and are not drawn.",
        100.0 * most
    ))
}

/// Fig. 6.
pub(super) fn histograms(scale: Scale) -> Figure {
    let loss = Loss::new(SHORT, 15, scale);
    Figure {
        id: "roca-6",
        paper: Paper::Roca,
        title: "histograms of added latency, k 38, 15 % loss",
        shows: "The paper: how many symbols have each latency, RS (k 38) and RLC (ew 19, ls 200, dw 38), at 15 % \
                loss; RS is spread up to 38 ticks, RLC mostly below 10. Here: in-order delivery, as a share of \
                all source symbols, on a logarithmic axis.",
        points: loss.points().to_vec(),
        show: Box::new(move |values| {
            let cdf = values.numbers(&loss.theory, "block_latency_cdf")?;
            let share = |at: usize| cdf[at] - at.checked_sub(1).map_or(0.0, |before| cdf[before]);
            let theory = (0..cdf.len()).map(|at| Dot::new(at as f64, 100.0 * share(at)));
            let theory = Line::new("RS, closed form", Source::Theory, 4, theory.collect());
            let lines = [
                steps(values, "RLC, ew 19".to_owned(), 2, &loss.rlc)?,
                steps(values, "RS, k 38".to_owned(), 0, &loss.rs)?,
                theory,
            ];
            let (x, y) = ("added latency, ticks", "symbols, %");
            let plot = Plot::new("Share of source symbols with each added latency.", x, y)
                .with(lines)
                .log_y()
                .x_range(0.0, 40.0)
                .y_range(1e-4, 100.0);
            let largest = |point| values.number(point, "results/0/latency_quantiles/5");
            let early = |point| {
                let share = |all: Vec<Vec<f64>>| {
                    let each = all.iter().map(|session| {
                        let below: f64 = session.iter().skip(1).take(9).sum();
                        below / session.iter().skip(1).sum::<f64>()
                    });
                    crate::repro::over_runs(&each.collect::<Vec<_>>())
                };
                Ok::<_, Missing>(share(Sessions::of(values, point)?.histograms()?))
            };
            let (model, engine) = (early(&loss.discarding)?, early(&loss.rlc)?);
            let checks = vec![
                Check::of("RS, largest added latency, ticks")
                    .equals(38.0, 1.0)
                    .theory((cdf.len() - 1) as f64)
                    .simulated(largest(&loss.ideal)?, 0.0)
                    .engine(largest(&loss.rs)?, 0.0),
                Check::of("RLC, share below 10 ticks of the symbols that wait at all")
                    .claims("mostly below 10 ticks", Rule::AtLeast(0.5))
                    .simulated(model.0, model.1)
                    .engine(engine.0, engine.1),
                Check::of("RLC, largest added latency, ticks")
                    .simulated(largest(&loss.discarding)?, 0.0)
                    .engine(largest(&loss.rlc)?, 0.0),
            ];
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
