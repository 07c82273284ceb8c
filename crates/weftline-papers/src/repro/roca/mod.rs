//! Roca et al.: block against sliding-window codes.

mod latency;
mod recovery;
mod speed;

use super::picture::{Dot, Line, Source};
use super::{Figure, Missing, Point, Scale, Values};

/// Independent losses of the figures, percent.
fn losses(scale: Scale) -> &'static [u32] {
    scale.pick(&[5, 15, 25, 30], &[1, 5, 10, 15, 20, 25, 30, 33, 35])
}

/// A code of the paper, for its decoding window of 167 or 38.
#[derive(Clone, Copy)]
enum Code {
    /// RLC: ew, dw, ls, and whether the decoder discards equations.
    Rlc(u32, u32, u32, bool),
    /// Reed-Solomon: k.
    Rs(u32),
}

const RLC_LONG: Code = Code::Rlc(83, 167, 400, false);
const RLC_SHORT: Code = Code::Rlc(19, 38, 200, false);

impl Code {
    fn options(self) -> String {
        match self {
            Code::Rlc(ew, dw, ls, discarding) => {
                let decoder = if discarding { "discarding" } else { "keeping" };
                format!("--ew {ew} --dw {dw} --ls {ls} --decoder {decoder}")
            }
            Code::Rs(k) => format!("--code rs --k {k}"),
        }
    }

    fn name(self) -> String {
        match self {
            Code::Rlc(_, dw, _, true) => format!("RLC, dw {dw}, discarding"),
            Code::Rlc(_, dw, _, false) => format!("RLC, dw {dw}"),
            Code::Rs(k) => format!("RS, k {k}"),
        }
    }

    /// At this independent loss in percent; real codecs, 100,000 symbols a run.
    fn at(self, loss: u32, scale: Scale) -> Point {
        let (symbols, runs) = scale.pick((40_000, 1), (100_000, 10));
        let (options, seed) = (self.options(), scale.seed);
        Point::lab(&format!(
            "sim fecframe {options} --loss iid:{loss}% --symbols {symbols} --seeds {runs} --symbol-size 16 \
             --seed {seed}"
        ))
        .about_secs(f64::from(symbols * runs) * 2.5e-6)
    }
}

/// Mean added latency of blocks that are all decoded.
fn block_theory(k: u32, loss: u32) -> Point {
    let loss = f64::from(loss) / 100.0;
    Point::lab(&format!(
        "theory fecframe --max-latency-ms {k} --bitrate 8mbit --symbol-size 1000 --code-rate 2/3 --loss {loss}"
    ))
}

/// Losses in percent and their points.
type Points = Vec<(u32, Point)>;

/// Codes over losses: a point for each.
struct Sweep(Vec<(Code, Points)>);

impl Sweep {
    fn new(codes: &[Code], losses: &[u32], scale: Scale) -> Self {
        let over = |code: &Code| {
            // If the loss exceeds the repairs, a decoder of raw equations takes minutes for a
            // point.
            let most = match code {
                Code::Rlc(_, _, _, true) => 30,
                _ => 100,
            };
            let fits = losses.iter().filter(|loss| **loss <= most);
            let points = fits.map(|loss| (*loss, code.at(*loss, scale)));
            (*code, points.collect())
        };
        Self(codes.iter().map(over).collect())
    }

    fn points(&self) -> Vec<Point> {
        let all = self.0.iter().flat_map(|(_, points)| points);
        all.map(|(_, point)| point.clone()).collect()
    }

    /// A line for each code: `value` over the loss.
    fn lines(
        &self,
        values: &Values,
        suffix: &str,
        value: impl Fn(&Values, &Point) -> Result<(f64, f64), Missing>,
    ) -> Result<Vec<Line>, Missing> {
        let line = |(colour, (code, points)): (usize, &(Code, Points))| {
            let dots = points.iter().map(|(loss, point)| {
                let (y, stderr) = value(values, point)?;
                let x = f64::from(*loss);
                Ok(Dot { x, y, stderr })
            });
            let dots = dots.collect::<Result<Vec<_>, _>>()?;
            let name = code.name() + suffix;
            Ok(Line::new(name, Source::Simulation, colour, dots))
        };
        self.0.iter().enumerate().map(line).collect()
    }
}

fn with_error(values: &Values, point: &Point, key: &str) -> Result<(f64, f64), Missing> {
    Ok((
        values.number(point, &format!("results/0/{key}/mean"))?,
        values.number(point, &format!("results/0/{key}/stderr"))?,
    ))
}

/// All figures of the paper that are run.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![
        recovery::on_time(scale),
        recovery::residual(scale),
        latency::latency(
            "roca-5",
            "added latency over the loss, windows and blocks of 167",
            RLC_LONG,
            167,
            scale,
        ),
        latency::distribution(
            "roca-6",
            "distribution of added latency at 15 % loss",
            false,
            scale,
        ),
        latency::distribution(
            "roca-7",
            "added latency at 15 % loss, cumulative",
            true,
            scale,
        ),
        latency::latency(
            "roca-8",
            "added latency over the loss, windows and blocks of 38",
            RLC_SHORT,
            38,
            scale,
        ),
        speed::speed(scale),
    ]
}
