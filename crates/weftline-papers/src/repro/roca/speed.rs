//! Table II: the speed of receivers.

use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Scale, Shown};
use crate::sim::fecframe::RLC_SPEED;

/// Table II.
pub(super) fn speed(scale: Scale) -> Figure {
    let symbols = scale.pick(30_000, 100_000);
    let point = |code: &str, loss: u32| {
        Point::lab(&format!(
            "sim fecframe {code} --loss iid:{loss}% --symbols {symbols} --seeds 3 --symbol-size 256 --seed {}",
            scale.seed
        ))
        .about_secs(f64::from(symbols) * 8e-6)
        .alone()
    };
    let losses = [1, 5, 24];
    let rlc = losses.map(|loss| point("--ew 83 --dw 167 --ls 200", loss));
    let rs = losses.map(|loss| point("--code rs --k 167", loss));
    let points = rlc.iter().chain(&rs).cloned().collect();
    Figure {
        id: "roca-table-2",
        paper: Paper::Roca,
        title: "speed of receivers, symbols of 256 octets, ls 200",
        shows: "The paper's RLC decoder gives 1714, 726 and 187 Mbit/s at 1, 5 and 24 % loss. \
                Here: everything a receiver does, packets in and ADUs out, source bits for each \
                second of processor time on the machine at hand. Speeds of different machines and \
                codecs are not comparable; their decrease with the loss is.",
        points,
        show: Box::new(move |values| {
            let speeds = |points: &[Point; 3]| {
                let speed = |(loss, point): (u32, &Point)| {
                    let y = values.number(point, "results/0/speed/decode_mbit")?;
                    Ok(Dot::new(f64::from(loss), y))
                };
                losses
                    .into_iter()
                    .zip(points)
                    .map(speed)
                    .collect::<Result<Vec<_>, Missing>>()
            };
            let (rlc, rs) = (speeds(&rlc)?, speeds(&rs)?);
            let paper: Vec<Dot> = RLC_SPEED
                .iter()
                .map(|(loss, y)| Dot::new(100.0 * loss, *y))
                .collect();
            let mut checks: Vec<Check> = rlc
                .iter()
                .zip(&paper)
                .map(|(own, paper)| {
                    Check::of(format!("RLC receiver at {} % loss, Mbit/s", own.x))
                        .holding(format!("{}", paper.y), own.y >= paper.y)
                        .lab(own.y, 0.0)
                        .because("machines differ: the claim is only that this one is no slower")
                })
                .collect();
            let fall = |dots: &[Dot]| match (dots.first(), dots.last()) {
                (Some(first), Some(last)) => first.y / last.y,
                _ => f64::NAN,
            };
            checks.push(
                Check::of("RLC: speed at 1 % over that at 24 %")
                    .holding(format!("{:.1}", fall(&paper)), fall(&rlc) <= fall(&paper))
                    .lab(fall(&rlc), 0.0)
                    .because("it falls less here, because the decoder eliminates with vector instructions"),
            );
            let plot = Plot::new("Receiver's speed by loss.", "independent loss, %", "Mbit/s")
                .with([
                    Line::new("RLC, this machine", Source::Measured, 0, rlc),
                    Line::new("RS, k 167, this machine", Source::Measured, 2, rs),
                    Line::new("RLC, the paper's machine", Source::Paper, 6, paper),
                ])
                .log_y();
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
