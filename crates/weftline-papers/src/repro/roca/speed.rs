//! Table II and Fig. 8: the speed of receivers, measured alone on this machine.

use super::code::{Decoder, LONG, Sizes};
use super::sessions::{Estimate, Sessions, ratio};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values, over_runs};
use crate::sim::fecframe::{TABLE_LOSSES, TABLE_SPEEDS};

/// Losses of Table II, percent.
const LOSSES: [u32; 3] = [1, 5, 24];
/// "Good and medium conditions": up to half of the losses that the code rate allows, a third.
const MEDIUM: u32 = 15;
/// The loss nearest to that limit.
const LIMIT: u32 = 30;

/// Bytes of a symbol in the paper.
const SYMBOL: u32 = 256;

fn point(sizes: Sizes, loss: u32, scale: Scale) -> Point {
    let (symbols, sessions) = scale.pick((20_000, 3), (100_000, 5));
    let (options, seed) = (sizes.options(Decoder::Keeping), scale.seed);
    Point::lab(&format!(
        "sim fecframe {options} --loss iid:{loss}% --symbols {symbols} --seeds {sessions} --symbol-size {SYMBOL} \
         --seed {seed}"
    ))
    .about_secs(f64::from(symbols * sessions) * 1e-6)
    .alone()
}

/// The source bits that the receiver delivers in a second of its processor time, Mbit/s.
fn decoding(values: &Values, point: &Point) -> Result<Estimate, Missing> {
    Sessions::of(values, point)?.mean("speed/decode_mbit")
}

fn line(
    values: &Values,
    name: impl Into<String>,
    colour: usize,
    points: &[(u32, Point)],
) -> Result<Line, Missing> {
    let dots = points.iter().map(|(loss, point)| {
        let (y, stderr) = decoding(values, point)?;
        let x = f64::from(*loss);
        Ok(Dot { x, y, stderr })
    });
    let dots = dots.collect::<Result<Vec<_>, Missing>>()?;
    Ok(Line::new(name, Source::Measured, colour, dots))
}

/// Table II.
pub(super) fn table(scale: Scale) -> Figure {
    let rows = TABLE_SPEEDS.map(|(ls, stated)| {
        let sizes = Sizes { ls, ..LONG };
        let points = LOSSES.map(|loss| (loss, point(sizes, loss, scale)));
        (ls, stated, points)
    });
    let points = rows.iter().flat_map(|(_, _, points)| points);
    Figure {
        id: "roca-table-2",
        paper: Paper::Roca,
        title: "decoding speed of RLC over ls and loss",
        shows: "The paper: decoding speed of RLC on its machine, ew 83, dw 167, by ls and loss. Here: the source \
                bits that a receiver of weftline-fecframe delivers in a second of one core, with everything that it \
                does between the packet and the ADU; symbols of 256 bytes as in Fig. 8. Speeds of different machines and \
                codecs do not agree or disagree; the comparison says only whether this one is slower.",
        points: points.map(|(_, point)| point.clone()).collect(),
        show: Box::new(move |values| {
            let (mut lines, mut checks) = (Vec::new(), Vec::new());
            for ((ls, stated, points), colour) in rows.iter().zip([0, 1, 2]) {
                lines.push(line(
                    values,
                    format!("ls {ls}, this machine"),
                    colour,
                    points,
                )?);
                for ((loss, point), stated) in points.iter().zip(stated) {
                    let (speed, stderr) = decoding(values, point)?;
                    let what = format!("RLC decoding, ls {ls}, {loss} % loss, Mbit/s");
                    checks.push(Check::of(what).speed(*stated).lab(speed, stderr));
                }
            }
            for ((ls, stated, _), colour) in rows.iter().zip([0, 1, 2]) {
                let dots = TABLE_LOSSES.iter().zip(stated);
                let dots = dots.map(|(loss, speed)| Dot::new(100.0 * loss, *speed));
                let name = format!("ls {ls}, paper's machine");
                lines.push(Line::new(name, Source::Paper, colour, dots.collect()));
            }
            let caption = "Decoding speed over the loss rate: squares are this machine, diamonds the paper's.";
            let plot = Plot::new(caption, "independent loss, %", "decoding speed, Mbit/s")
                .with(lines)
                .log_y()
                .x_range(0.0, 26.0);
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// RLC and RS at several losses, measured in turns: the machine's other work hits both alike.
struct Both {
    losses: Vec<u32>,
    point: Point,
}

impl Both {
    fn new(sizes: Sizes, losses: &[u32], symbol: u32, scale: Scale) -> Self {
        let (symbols, sessions) = scale.pick((20_000, 8), (100_000, 20));
        let options = sizes.options(Decoder::Keeping);
        let each: Vec<String> = losses
            .iter()
            .map(|loss| format!("--loss iid:{loss}%"))
            .collect();
        let point = Point::lab(&format!(
            "sim fecframe {options} --with-blocks {} --symbols {symbols} --seeds {sessions} --symbol-size {symbol} \
             --seed {}",
            each.join(" "),
            scale.seed
        ));
        let runs = f64::from(symbols * sessions) * 2.0 * losses.len() as f64;
        Self {
            losses: losses.to_vec(),
            point: point.about_secs(runs * 1e-6).alone(),
        }
    }

    fn place(&self, loss: u32) -> usize {
        let place = self.losses.iter().position(|of| *of == loss);
        place.unwrap_or(self.losses.len())
    }

    /// Speeds of RLC and of RS in each session at this loss.
    fn speeds(&self, values: &Values, loss: u32) -> Result<[Vec<f64>; 2], Missing> {
        let place = self.place(loss);
        let of = |result| Sessions::at(values, &self.point, result)?.each("speed/decode_mbit");
        Ok([of(2 * place)?, of(2 * place + 1)?])
    }

    /// RLC's speed over that of RS.
    fn ratio(&self, values: &Values, loss: u32) -> Result<Estimate, Missing> {
        let [rlc, rs] = self.speeds(values, loss)?;
        Ok(ratio(&rlc, &rs))
    }

    fn line(&self, values: &Values, name: &str, colour: usize, of: usize) -> Result<Line, Missing> {
        let dots = self.losses.iter().map(|loss| {
            let (y, stderr) = over_runs(&self.speeds(values, *loss)?[of]);
            let x = f64::from(*loss);
            Ok(Dot { x, y, stderr })
        });
        let dots = dots.collect::<Result<Vec<_>, Missing>>()?;
        Ok(Line::new(name, Source::Measured, colour, dots))
    }
}

/// What else is tried at the losses that the paper speaks of.
struct Tried {
    /// ls = dw.
    smaller: Both,
    /// Symbols five times as long.
    longer: Both,
}

impl Tried {
    fn new(scale: Scale) -> Self {
        let sizes = Sizes {
            ls: LONG.dw,
            ..LONG
        };
        let losses: &[u32] = scale.pick(&[5, MEDIUM, LIMIT], &[1, 5, 10, MEDIUM, LIMIT]);
        Self {
            smaller: Both::new(sizes, losses, SYMBOL, scale),
            longer: Both::new(LONG, losses, 5 * SYMBOL, scale),
        }
    }

    fn words(&self, values: &Values, both: &Both, loss: u32) -> Result<String, Missing> {
        let rs = |loss| Ok::<_, Missing>(over_runs(&both.speeds(values, loss)?[1]).0);
        let tried = format!(
            "tried at {loss} % loss: with ls = dw the ratio is {:.2}, with symbols of 1280 bytes {:.2}",
            self.smaller.ratio(values, loss)?.0,
            self.longer.ratio(values, loss)?.0,
        );
        Ok(match loss {
            LIMIT => format!(
                "{tried}, so neither explains all of it. From {MEDIUM} to {LIMIT} % the speed of RS falls to {:.2} of itself, \
                 and that of RLC to {:.2}",
                rs(LIMIT)? / rs(MEDIUM)?,
                over_runs(&both.speeds(values, LIMIT)?[0]).0
                    / over_runs(&both.speeds(values, MEDIUM)?[0]).0,
            ),
            _ => tried,
        })
    }
}

/// Fig. 8.
pub(super) fn over_loss(scale: Scale) -> Figure {
    let losses: &[u32] = scale.pick(&[5, 15, 30], &[1, 5, 10, 15, 20, 25, 30]);
    let both = Both::new(LONG, losses, SYMBOL, scale);
    let tried = Tried::new(scale);
    let points = [&both.point, &tried.smaller.point, &tried.longer.point];
    let points = points.map(Point::clone).to_vec();
    Figure {
        id: "roca-8",
        paper: Paper::Roca,
        title: "decoding speed over the loss rate, RS and RLC",
        shows: "The paper: decoding speed over the loss rate, k 167, ew 83, ls 400, dw 167, symbols of 256 bytes. RS \
                and RLC are equal near the decoding limit, and RLC is faster in good and medium conditions. Here: \
                as Table II; good and medium is up to 15 % loss, half of the losses that code rate 2/3 allows, and \
                30 % is near the limit.",
        points,
        show: Box::new(move |values| {
            let caption = "Decoding speed over the loss rate on this machine: the source bits that the \
                           receiver delivers in a second of its processor time.";
            let plot = Plot::new(caption, "independent loss, %", "decoding speed, Mbit/s")
                .with([
                    both.line(values, "RLC, ls 400", 2, 0)?,
                    both.line(values, "RS, k 167", 0, 1)?,
                ])
                .x_range(0.0, 32.0);
            let mut checks = Vec::new();
            for loss in &both.losses {
                let (ratio, stderr) = both.ratio(values, *loss)?;
                let check = Check::of(format!("decoding speed, RLC / RS, {loss} % loss"));
                let check = check.lab(ratio, stderr);
                checks.push(match *loss {
                    0..=MEDIUM => check
                        .claims(
                            "RLC faster in good and medium conditions",
                            Rule::AtLeast(1.0),
                        )
                        .because(tried.words(values, &both, *loss)?),
                    LIMIT => check
                        .claims("equal near the decoding limit", Rule::About(1.0))
                        .because(tried.words(values, &both, *loss)?),
                    _ => check,
                });
            }
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
