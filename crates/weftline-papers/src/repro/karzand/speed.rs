//! The speed of the code.

use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Paper, Point, Scale, Shown};

/// The decoder's speed over the loss.
pub(super) fn speed(scale: Scale) -> Figure {
    let losses: &'static [u32] = scale.pick(&[1, 20], &[0, 1, 5, 10, 20]);
    let point = |loss: &u32| {
        let case = format!("stream/decode/window=64/repair=33/loss={loss}/size=1280");
        Point::lab(&format!("bench codec --full --filter {case}"))
            .about_secs(2.0)
            .alone()
    };
    let points: Vec<Point> = losses.iter().map(point).collect();
    let own = points.clone();
    Figure {
        id: "karzand-speed",
        paper: Paper::Karzand,
        title: "speed of the decoder over the loss",
        shows: "The text reports 600 to 800 Mbit/s of the transport up to 20 % loss with one 2006-class server \
                for each end, and 100 to 200 on a low-end handset. Here: the codec's decoder on one core of the \
                machine at hand, 1280-byte symbols, windows of 64, a repair for every third symbol; no network. \
                It says whether the code would limit such a transport, not how the machines compare.",
        points,
        show: Box::new(move |values| {
            let mut dots = Vec::new();
            for (loss, point) in losses.iter().zip(&own) {
                let speed = 8e3 * values.number(point, "results/0/gbps")?;
                dots.push(Dot::new(f64::from(*loss), speed));
            }
            let slowest = super::points::least(&dots);
            let check = Check::of(format!(
                "decoder's least speed, at {} % loss, Mbit/s",
                slowest.x
            ))
            .speed(600.0)
            .lab(slowest.y, 0.0);
            let range = |y| vec![Dot::new(0.0, y), Dot::new(20.0, y)];
            let plot = Plot::new(
                "Source data that the receiver's codec decodes in a second of one core.",
                "independent loss, %",
                "speed, Mbit/s",
            )
            .with([
                Line::new("decoder, this machine", Source::Measured, 2, dots),
                Line::new("the paper's transport, 600", Source::Paper, 0, range(600.0)),
                Line::new("the paper's transport, 800", Source::Paper, 3, range(800.0)),
            ])
            .log_y();
            Ok(Shown {
                pictures: vec![plot.into()],
                checks: vec![check],
                notes: Vec::new(),
            })
        }),
    }
}
