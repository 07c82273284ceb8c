//! Figs 1 and 8: drawings.

use serde_json::Value;
use weftline_plot::{Anchor, Canvas, Ink};

use super::stations::{Runs, mean};
use crate::repro::picture::Drawing;
use crate::repro::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values};

/// The code whose headers are drawn: that of Fig. 6.
const CODE: (u32, u32) = (64, 1);

/// Fig. 1.
pub(super) fn stack(scale: Scale) -> Figure {
    let (k, q) = CODE;
    let real = Point::lab(&format!(
        "sim rlc-block --k {k} --q {q} --datagrams --seed {}",
        scale.seed
    ));
    let sizes = Point::lab(&format!("theory rlnc --q {q} --symbols {k}"));
    Figure {
        id: "garrido-1",
        paper: Paper::Garrido,
        title: "where the code's header is in a packet",
        shows: "The notes do not say what this figure shows; a drawing of the code's place between UDP and the \
                application is assumed. Here: the headers of the paper and those of the first repairs that the engine \
                sends with preset rlc-block, each with a seed and with the coding vector, for K 64 and q 1.",
        points: vec![real.clone(), sizes.clone()],
        show: Box::new(move |values| {
            let mut checks = Vec::new();
            let mut bars = Vec::new();
            for (kind, key) in [
                ("seed", "seed_header_bytes"),
                ("vector", "vector_header_bytes"),
            ] {
                let paper = values.number(&sizes, key)?;
                let engine = parts(values, &real, kind)?;
                let own: f64 = engine.iter().map(|(_, bytes)| bytes).sum();
                let own = own - engine.last().map_or(0.0, |last| last.1);
                checks.push(
                    Check::of(format!("bytes of the header with the {kind}, K {k}, q {q}"))
                        .theory(paper)
                        .engine(own, 0.0),
                );
                let plain = vec![
                    ("IP".to_owned(), 20.0),
                    ("UDP".to_owned(), 8.0),
                    ("header".to_owned(), 9.0),
                    (kind.to_owned(), paper - 9.0),
                    ("combination".to_owned(), 1500.0 - 28.0 - paper),
                ];
                bars.push((format!("the paper, with the {kind}"), plain));
                let lower = [("IP".to_owned(), 20.0), ("UDP".to_owned(), 8.0)];
                let engine = lower.into_iter().chain(engine).collect();
                bars.push((format!("the engine, with the {kind}"), engine));
            }
            let drawing = Drawing {
                caption: "Headers of a coded packet and their bytes; widths are not to scale."
                    .to_owned(),
                svg: headers(&bars),
            };
            let notes = vec![
                "The engine's header also has the transmission number, the time and the encoding window. Reports on \
                 losses, the round trip and the rate control need them."
                    .to_owned(),
            ];
            Ok(Shown {
                pictures: vec![drawing.into()],
                checks,
                notes,
            })
        }),
    }
}

/// The parts of a datagram and their bytes.
fn parts(values: &Values, point: &Point, kind: &str) -> Result<Vec<(String, f64)>, Missing> {
    let missing = || Missing::Key {
        point: point.to_string(),
        key: kind.to_owned(),
    };
    let parts = values.object(point)?.get(kind).and_then(Value::as_array);
    let parts = parts.ok_or_else(missing)?.iter().map(|part| {
        let name = part.get("name").and_then(Value::as_str);
        let bytes = part.get("bytes").and_then(Value::as_f64);
        let (name, bytes) = name.zip(bytes).ok_or_else(missing)?;
        Ok((name.to_owned(), bytes))
    });
    parts.collect()
}

fn headers(bars: &[(String, Vec<(String, f64)>)]) -> String {
    const HEIGHT: f64 = 92.0;
    let mut canvas = Canvas::new(720.0, HEIGHT * bars.len() as f64);
    for (index, (name, parts)) in bars.iter().enumerate() {
        let top = HEIGHT * index as f64;
        canvas.text((0.0, top + 14.0), name, Anchor::Start);
        let width = 718.0 / parts.len() as f64;
        for (place, (part, bytes)) in parts.iter().enumerate() {
            let x = 1.0 + width * place as f64;
            let ink = match part.as_str() {
                "IP" | "UDP" => Ink::Faint,
                "seed" | "vector" => Ink::Colour(2),
                "combination" | "coded symbol" => Ink::Axis,
                _ => Ink::Colour(1),
            };
            // Long names of narrow boxes are on two levels.
            let level = if place % 2 == 0 || width > 100.0 {
                32.0
            } else {
                46.0
            };
            let middle = x + width / 2.0;
            if place + 1 == parts.len() {
                canvas.text((718.0, top + level), part, Anchor::End);
            } else {
                canvas.text((middle, top + level), part, Anchor::Middle);
            }
            canvas.block((x, top + 52.0), (width - 2.0, 6.0), ink);
            canvas.frame((x, top + 52.0), (width - 2.0, 28.0), Ink::Axis);
            canvas.text((middle, top + 74.0), &bytes.to_string(), Anchor::Middle);
        }
    }
    canvas.svg("Headers of a coded packet")
}

/// Fig. 8.
pub(super) fn cross(scale: Scale) -> Figure {
    let runs = Runs {
        runs: 1,
        seconds: scale.pick(2, 10),
        pace: 0.13,
    };
    let point = runs.of(
        "cross --lossy=flow2 --protocol=rlc --q=1 --k=64 --fer=0.6",
        scale,
    );
    Figure {
        id: "garrido-8",
        paper: Paper::Garrido,
        title: "the cross: two flows across a relay",
        shows: "S1 sends to D1 and S2 to D2, both across R1; errors on both hops of the second flow. Here: the stations \
                and links of a run of ns-3, with the frames that each station sent.",
        points: vec![point.clone()],
        show: Box::new(move |values| {
            let run = values.object(&point)?.pointer("/runs/0");
            let missing = || Missing::Key {
                point: point.to_string(),
                key: "runs/0".to_owned(),
            };
            let svg = topology(run.ok_or_else(missing)?);
            let flows = ["throughput_mbit/flows/0", "throughput_mbit/flows/1"];
            let names = ["S1 to D1", "S2 to D2"];
            let mut checks = Vec::new();
            for (name, key) in names.iter().zip(flows) {
                let carried = mean(values, &point, 0.0, key)?;
                checks.push(
                    Check::of(format!("{name} in this run, Mbit/s")).simulated(carried.y, 0.0),
                );
            }
            let drawing = Drawing {
                caption: "The cross. Beside each station: data frames that it sent in this run."
                    .to_owned(),
                svg,
            };
            Ok(Shown {
                pictures: vec![drawing.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

const NAMES: [&str; 5] = ["R1", "S1", "D1", "S2", "D2"];

fn topology(run: &Value) -> String {
    let number = |object: &Value, key: &str| object.get(key).and_then(Value::as_f64).unwrap_or(0.0);
    let list = |key: &str| {
        run.get(key)
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice)
    };
    let (stations, links) = (list("stations"), list("links"));
    let far = stations
        .iter()
        .map(|one| number(one, "x").abs().max(number(one, "y").abs()));
    let far = far.fold(1.0, f64::max);
    let place = |one: &Value| {
        let (x, y) = (number(one, "x") / far, number(one, "y") / far);
        (360.0 + 250.0 * x, 170.0 + 125.0 * y)
    };
    let mut canvas = Canvas::new(720.0, 340.0);
    for (index, link) in links.iter().enumerate() {
        let end = |key: &str| stations.get(number(link, key) as usize).map(place);
        let (Some(from), Some(to)) = (end("from"), end("to")) else {
            continue;
        };
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy).max(1.0);
        let (ux, uy) = (22.0 * dx / length, 22.0 * dy / length);
        let fer = number(link, "fer");
        let colour = if index < 2 { 1 } else { 0 };
        let ink = if fer > 0.0 {
            Ink::Dashed(colour)
        } else {
            Ink::Colour(colour)
        };
        canvas.arrow((from.0 + ux, from.1 + uy), (to.0 - ux, to.1 - uy), ink);
        let middle = (from.0 + dx / 2.0, from.1 + dy / 2.0);
        if dx.abs() > dy.abs() {
            canvas.text(
                (middle.0, middle.1 - 8.0),
                &format!("FER {fer}"),
                Anchor::Middle,
            );
        } else {
            canvas.text(
                (middle.0 + 10.0, middle.1 + 4.0),
                &format!("FER {fer}"),
                Anchor::Start,
            );
        }
    }
    for (name, station) in NAMES.iter().zip(stations) {
        let (x, y) = place(station);
        canvas.disc((x, y), 18.0, Ink::Faint);
        canvas.text((x, y + 5.0), name, Anchor::Middle);
        let frames = format!("{} frames", number(station, "frames"));
        canvas.text((x + 24.0, y + 24.0), &frames, Anchor::Start);
    }
    canvas.svg("The cross topology")
}
