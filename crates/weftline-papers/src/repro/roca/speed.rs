//! Table II and Fig. 8: the speed of receivers, measured alone on this machine.

use super::code::{Decoder, LONG, Sizes};
use super::sessions::{Estimate, Sessions};
use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values};
use crate::sim::fecframe::{TABLE_LOSSES, TABLE_SPEEDS};

/// Losses of Table II, percent.
const LOSSES: [u32; 3] = [1, 5, 24];
/// "Good and medium conditions": up to half of the losses that the code rate allows, a third.
const MEDIUM: u32 = 15;
/// The loss nearest to that limit.
const LIMIT: u32 = 30;

/// Bytes of a symbol in the paper.
const SYMBOL: u32 = 256;

fn point(sizes: Sizes, decoder: Decoder, loss: u32, symbol: u32, scale: Scale) -> Point {
    let (symbols, sessions) = scale.pick((20_000, 3), (100_000, 5));
    let (options, seed) = (sizes.options(decoder), scale.seed);
    Point::lab(&format!(
        "sim fecframe {options} --loss iid:{loss}% --symbols {symbols} --seeds {sessions} --symbol-size {symbol} \
         --seed {seed}"
    ))
    .about_secs(f64::from(symbols * sessions) * 3e-6)
    .alone()
}

/// Source bits for each second of the receiver's processor time, Mbit/s.
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
        let points = LOSSES.map(|loss| (loss, point(sizes, Decoder::Keeping, loss, SYMBOL, scale)));
        (ls, stated, points)
    });
    let points = rows.iter().flat_map(|(_, _, points)| points);
    Figure {
        id: "roca-table-2",
        paper: Paper::Roca,
        title: "decoding speed of RLC over ls and loss",
        shows: "The paper: decoding speed of RLC on its machine, ew 83, dw 167, by ls and loss. Here: everything a \
                receiver of weftline-fecframe does, packets in and ADUs out, in source bits for each second of \
                processor time of one core, symbols of 256 bytes as in Fig. 8. Speeds of different machines and \
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

/// The ratio of two speeds.
fn ratio(values: &Values, above: &Point, below: &Point) -> Result<Estimate, Missing> {
    let (above, below) = (decoding(values, above)?, decoding(values, below)?);
    let ratio = above.0 / below.0;
    Ok((ratio, ratio * (above.1 / above.0).hypot(below.1 / below.0)))
}

/// What else is tried near the decoding limit.
struct Tried {
    rs: Point,
    /// ls = dw.
    smaller: Point,
    /// Symbols five times as long.
    longer: (Point, Point),
    /// RS where every block is decoded.
    decoded: Point,
}

impl Tried {
    fn new(scale: Scale) -> Self {
        let sizes = Sizes {
            ls: LONG.dw,
            ..LONG
        };
        let long = |decoder| point(LONG, decoder, LIMIT, 5 * SYMBOL, scale);
        Self {
            rs: point(LONG, Decoder::Blocks, LIMIT, SYMBOL, scale),
            smaller: point(sizes, Decoder::Keeping, LIMIT, SYMBOL, scale),
            longer: (long(Decoder::Keeping), long(Decoder::Blocks)),
            decoded: point(LONG, Decoder::Blocks, MEDIUM, SYMBOL, scale),
        }
    }

    fn points(&self) -> [&Point; 5] {
        let (rlc, rs) = &self.longer;
        [&self.rs, &self.smaller, rlc, rs, &self.decoded]
    }

    fn words(&self, values: &Values) -> Result<String, Missing> {
        let (rlc, rs) = &self.longer;
        Ok(format!(
            "tried: with ls = dw the ratio is {:.2}, with symbols of 1280 bytes {:.2}; so it is work with coefficients more \
             than with symbols that slows RLC near the limit. Blocks that cannot be decoded cost RS nothing: its speed at \
             {LIMIT} % is {:.2} times that at {MEDIUM} %",
            ratio(values, &self.smaller, &self.rs)?.0,
            ratio(values, rlc, rs)?.0,
            ratio(values, &self.rs, &self.decoded)?.0,
        ))
    }
}

/// Fig. 8.
pub(super) fn over_loss(scale: Scale) -> Figure {
    let losses: &[u32] = scale.pick(&[5, 15, 30], &[1, 5, 10, 15, 20, 25, 30]);
    let of = |decoder| {
        let points = losses
            .iter()
            .map(|loss| (*loss, point(LONG, decoder, *loss, SYMBOL, scale)));
        points.collect::<Vec<_>>()
    };
    let (rlc, rs) = (of(Decoder::Keeping), of(Decoder::Blocks));
    let tried = Tried::new(scale);
    let both = rlc.iter().chain(&rs).map(|(_, point)| point);
    Figure {
        id: "roca-8",
        paper: Paper::Roca,
        title: "decoding speed over the loss rate, RS and RLC",
        shows: "The paper: decoding speed over the loss rate, k 167, ew 83, ls 400, dw 167, symbols of 256 bytes. RS \
                and RLC are equal near the decoding limit, and RLC is faster in good and medium conditions. Here: \
                as Table II; good and medium is up to 15 % loss, half of the losses that code rate 2/3 allows, and \
                30 % is near the limit.",
        points: both.chain(tried.points()).cloned().collect(),
        show: Box::new(move |values| {
            let caption = "Decoding speed over the loss rate on this machine: source bits for each second of processor \
                           time of the receiver.";
            let plot = Plot::new(caption, "independent loss, %", "decoding speed, Mbit/s")
                .with([
                    line(values, "RLC, ls 400", 2, &rlc)?,
                    line(values, "RS, k 167", 0, &rs)?,
                ])
                .x_range(0.0, 32.0);
            let mut checks = Vec::new();
            for ((loss, rlc), (_, rs)) in rlc.iter().zip(&rs) {
                let (ratio, stderr) = ratio(values, rlc, rs)?;
                let check = Check::of(format!("decoding speed, RLC / RS, {loss} % loss"));
                checks.push(match *loss {
                    0..=MEDIUM => check
                        .claims(
                            "RLC faster in good and medium conditions",
                            Rule::AtLeast(1.0),
                        )
                        .lab(ratio, stderr),
                    LIMIT => check
                        .claims("equal near the decoding limit", Rule::About(1.0))
                        .lab(ratio, stderr)
                        .because(tried.words(values)?),
                    _ => check.lab(ratio, stderr),
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
