//! Fig. 2: a worked example of coding and decoding, drawn from the real codec.

use serde_json::Value;
use weftline_plot::{Anchor, Canvas, Ink};

use crate::repro::picture::Drawing;
use crate::repro::{Check, Figure, Paper, Point, Scale, Shown};

/// Width of a coefficient's cell, and height of a row of text.
const CELL: f64 = 20.0;
const ROW: f64 = 20.0;
/// Left edges: coding vectors, coded packets, the channel, the receiver's system.
const VECTORS: f64 = 96.0;
const CHANNEL: f64 = 300.0;
const SYSTEM: f64 = 420.0;

/// Fig. 2.
pub(super) fn example(scale: Scale) -> Figure {
    let point = Point::lab(&format!(
        "sim rlc-block --k 3 --q 1 --fer 0.3 --example --seed {}",
        scale.seed
    ));
    Figure {
        id: "garrido-2",
        paper: Paper::Garrido,
        title: "a worked example of coding and decoding",
        shows: "A block of K packets, combined with random coding vectors; the receiver collects independent \
                combinations and eliminates. Here: the real codec, K 3 packets of 4 bytes in GF(2), a channel that \
                loses three in ten; numbers are hexadecimal, a coded symbol begins with its length (0004).",
        points: vec![point.clone()],
        show: Box::new(move |values| {
            let rank = values.number(&point, "k")?;
            let object = values.object(&point)?;
            let packets = list(object, "packets");
            let received = packets.iter().filter(|packet| flag(packet, "received"));
            let same = object.get("source") == object.get("decoded");
            let checks = vec![
                Check::of("packets sent until the block was decoded")
                    .simulated(packets.len() as f64, 0.0),
                Check::of("packets received until then; K is 3")
                    .simulated(received.count() as f64, 0.0),
                Check::of("packets decoded as they were encoded, of 3")
                    .theory(rank)
                    .simulated(if same { rank } else { 0.0 }, 0.0),
            ];
            let drawing = Drawing {
                caption: "A block of three packets, coded, lost in part, and decoded.".to_owned(),
                svg: draw(object),
            };
            Ok(Shown {
                pictures: vec![drawing.into()],
                checks,
                notes: vec![
                    "The paper's own example is not in the notes; this one is drawn anew for each seed.".to_owned(),
                ],
            })
        }),
    }
}

fn list<'a>(object: &'a Value, key: &str) -> &'a [Value] {
    object
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn flag(object: &Value, key: &str) -> bool {
    object.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A coding vector in cells, and the combination behind it; `foot` is the text's.
fn row(canvas: &mut Canvas, x: f64, foot: f64, row: &Value) -> f64 {
    let mut at = x;
    for coefficient in list(row, "vector").iter().filter_map(Value::as_u64) {
        if coefficient != 0 {
            canvas.block((at, foot - 14.0), (CELL - 2.0, 18.0), Ink::Faint);
        }
        canvas.frame((at, foot - 14.0), (CELL - 2.0, 18.0), Ink::Axis);
        let middle = (at + CELL / 2.0 - 1.0, foot);
        canvas.text(middle, &format!("{coefficient:x}"), Anchor::Middle);
        at += CELL;
    }
    canvas.text((at + 6.0, foot), text(row, "coded"), Anchor::Start);
    at
}

fn draw(object: &Value) -> String {
    let (source, packets) = (list(object, "source"), list(object, "packets"));
    let heights = packets.iter().map(|packet| {
        // What is known stands below the rank, beside at least two equations.
        let rows = match flag(packet, "innovative") {
            true => list(packet, "system").len().max(2) as f64,
            false => 1.0,
        };
        rows * ROW + 16.0
    });
    let heights: Vec<f64> = heights.collect();
    let top = 28.0 + ROW * source.len() as f64 + 34.0;
    let bottom = top + heights.iter().sum::<f64>();
    let mut canvas = Canvas::new(720.0, bottom + 30.0);
    canvas.text((0.0, 16.0), "The block:", Anchor::Start);
    for (index, packet) in source.iter().enumerate() {
        let foot = 16.0 + ROW * (index as f64 + 1.0);
        let words = format!(
            "packet {} is {}",
            index + 1,
            packet.as_str().unwrap_or_default()
        );
        canvas.text((24.0, foot), &words, Anchor::Start);
    }
    let head = top - 14.0;
    canvas.text((0.0, head), "seed", Anchor::Start);
    canvas.text((VECTORS, head), "vector and coded packet", Anchor::Start);
    canvas.text((CHANNEL, head), "channel", Anchor::Start);
    canvas.text(
        (SYSTEM, head),
        "the receiver's equations behind it",
        Anchor::Start,
    );
    let mut y = top;
    for (packet, height) in packets.iter().zip(&heights) {
        canvas.line((0.0, y - 6.0), (720.0, y - 6.0), Ink::Faint);
        let foot = y + 12.0;
        let key = packet.get("key").and_then(Value::as_u64).unwrap_or(0);
        canvas.text((0.0, foot), &format!("{key:08x}"), Anchor::Start);
        row(&mut canvas, VECTORS, foot, packet);
        let (from, to) = ((CHANNEL, foot - 5.0), (CHANNEL + 90.0, foot - 5.0));
        match (flag(packet, "received"), flag(packet, "innovative")) {
            (false, _) => {
                let middle = (CHANNEL + 45.0, foot - 5.0);
                canvas.line(from, middle, Ink::Dashed(0));
                canvas.cross(middle, Ink::Colour(0));
                canvas.text((SYSTEM, foot), "lost", Anchor::Start);
            }
            (true, false) => {
                canvas.arrow(from, to, Ink::Dashed(1));
                canvas.text(
                    (SYSTEM, foot),
                    "depends on those before: no use",
                    Anchor::Start,
                );
            }
            (true, true) => {
                canvas.arrow(from, to, Ink::Colour(2));
                for (index, equation) in list(packet, "system").iter().enumerate() {
                    row(&mut canvas, SYSTEM, foot + ROW * index as f64, equation);
                }
                let known = list(packet, "known").iter().filter_map(Value::as_u64);
                let known: Vec<String> = known.map(|index| (index + 1).to_string()).collect();
                let rank = packet.get("rank").and_then(Value::as_u64).unwrap_or(0);
                canvas.text((720.0, foot), &format!("rank {rank}"), Anchor::End);
                if !known.is_empty() {
                    let words = format!("known: {}", known.join(", "));
                    canvas.text((720.0, foot + 17.0), &words, Anchor::End);
                }
            }
        }
        y += height;
    }
    canvas.line((0.0, y - 6.0), (720.0, y - 6.0), Ink::Faint);
    let words = "The vectors are those of single packets: the block is decoded, and its acknowledgement is sent.";
    canvas.text((0.0, y + 14.0), words, Anchor::Start);
    canvas.svg("Coding and decoding of a block")
}
