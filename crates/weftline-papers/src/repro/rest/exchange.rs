//! Fig. 2: a complete exchange, packet by packet, from the engine's event log.

use std::collections::HashMap;

use serde_json::Value;
use weftline_plot::{Anchor, Canvas, Ink};

use super::super::log::Entry;
use super::super::picture::Drawing;
use super::{Figure, Missing, Paper, Point, Scale, Shown, Values};

/// Places of the sender's and the receiver's line, and of the top.
const SENDER: f64 = 210.0;
const RECEIVER: f64 = 510.0;
const TOP: f64 = 46.0;
/// Height of a millisecond.
const MILLISECOND: f64 = 4.8;

pub(super) fn figure(scale: Scale) -> Figure {
    let point = Point::lab(&format!(
        "sim engine preset=rest topup=atend encoding=mobile:4 symbol=460 feedback=periodic:32 ewma=0.1 \
         --app cbr:450kbit,450 --secs 0.16 --link 'rate=10mbit delay=20ms loss=trace:{LOSSES}' \
         --back 'rate=10mbit delay=20ms' --with-events --seed {}",
        scale.seed
    ));
    let points = vec![point.clone()];
    Figure {
        id: "rest-2",
        paper: Paper::Rest,
        title: "a complete exchange with a window of 4, packet by packet",
        shows: "The paper draws one exchange with W = 4 and k of 2, then 1, then 4. Here is one of the \
                engine, from its event log: data packets P, repairs R with the packets that they \
                cover, acknowledgements with the next packet that is missing, and the flags F: no \
                more data, and everything has arrived. k is the sender's after each acknowledgement.",
        points,
        show: Box::new(move |values| {
            let svg = drawing(values, &point)?;
            Ok(Shown {
                pictures: vec![
                    Drawing {
                        caption: "An exchange of preset rest with W = 4; time runs down, a cross is a loss.".to_owned(),
                        svg,
                    }
                    .into(),
                ],
                checks: Vec::new(),
                notes: vec![
                    "The losses are a written pattern, so that a few packets show everything.".to_owned(),
                ],
            })
        }),
    }
}

/// Losses of the forward path, packet by packet.
const LOSSES: &str = "0001010001000000000000000";

/// Names of the packets, by kind and number.
fn names(log: &[Entry<'_>]) -> HashMap<(String, u64), String> {
    let mut names = HashMap::new();
    let mut end = None;
    for entry in log {
        let of = |key: &str| entry.number(key);
        match (
            entry.name(),
            of("number"),
            of("esi"),
            of("first"),
            of("count"),
        ) {
            ("source_sent", Some(number), Some(esi), _, _) => {
                let fin = entry.value("fin") == true;
                let flag = if fin { " F" } else { "" };
                if fin {
                    end = Some(esi + 1);
                }
                names.insert(("source".to_owned(), number), format!("P{esi}{flag}"));
            }
            ("repair_sent", Some(number), _, Some(first), Some(count)) => {
                let last = (first + count).saturating_sub(1);
                let covered = if count == 1 {
                    format!("R({first})")
                } else {
                    format!("R({first}-{last})")
                };
                names.insert(("repair".to_owned(), number), covered);
            }
            ("end_of_data", _, Some(esi), _, _) if entry.end() == "writer" => {
                end = Some(esi + 1);
            }
            _ => {}
        }
    }
    for entry in log.iter().filter(|entry| entry.name() == "report_sent") {
        if let (Some(report), Some(next)) = (entry.number("report"), entry.number("next")) {
            let flag = if Some(next) == end { " F" } else { "" };
            names.insert(("report".to_owned(), report), format!("ACK {next}{flag}"));
        }
    }
    names
}

fn drawing(values: &Values, point: &Point) -> Result<String, Missing> {
    let log = Entry::all(values, point)?;
    let names = names(&log);
    let millis = |micros: u64| micros as f64 / 1e3;
    let of_path = log.iter().copied().filter(|entry| {
        entry.end() == "path" && !["hello", "close", "piece"].contains(&entry.word("kind"))
    });
    let of_path: Vec<Entry<'_>> = of_path.collect();
    let begin = of_path.first().ok_or_else(|| Missing::Key {
        point: point.to_string(),
        key: "runs/0/events".to_owned(),
    })?;
    let begin = millis(begin.micros());
    let last = of_path
        .iter()
        .map(|entry| entry.number("arrives_us").unwrap_or(entry.micros()))
        .max();
    let height = TOP + MILLISECOND * (millis(last.unwrap_or(0)) - begin) + 24.0;
    let y = |micros: u64| TOP + MILLISECOND * (millis(micros) - begin);

    let mut canvas = Canvas::new(720.0, height);
    canvas.text((SENDER, 20.0), "sender", Anchor::Middle);
    canvas.text((RECEIVER, 20.0), "receiver", Anchor::Middle);
    for x in [SENDER, RECEIVER] {
        canvas.line((x, TOP - 14.0), (x, height - 8.0), Ink::Axis);
    }
    for entry in &of_path {
        packet(&mut canvas, *entry, &y);
    }
    write_names(&mut canvas, &of_path, &names, &y);
    plans(&mut canvas, &log, &y);
    decodings(&mut canvas, &log, &y);
    Ok(canvas.svg("An exchange of preset rest with a window of four packets"))
}

/// The arrow of a packet.
fn packet(canvas: &mut Canvas, entry: Entry<'_>, y: &dyn Fn(u64) -> f64) {
    let (sent, kind) = (entry.micros(), entry.word("kind"));
    let forward = entry.word("from") == "writer";
    let (from, to) = if forward {
        (SENDER, RECEIVER)
    } else {
        (RECEIVER, SENDER)
    };
    let ink = match kind {
        "repair" => Ink::Colour(1),
        "report" => Ink::Dashed(2),
        "probe" => Ink::Dashed(3),
        _ => Ink::Colour(0),
    };
    let start = (from, y(sent));
    match entry.number("arrives_us") {
        Some(arrives) => canvas.arrow(start, (to, y(arrives)), ink),
        None => {
            // Lost: it ends between the lines, as far down as a packet takes for that.
            let end = (from + 0.6 * (to - from), y(sent + 12_000));
            canvas.line(start, end, ink);
            canvas.cross(end, ink);
        }
    }
}

/// The names of the packets beside the line on which they leave. Packets that leave together share a
/// text.
fn write_names(
    canvas: &mut Canvas,
    log: &[Entry<'_>],
    names: &HashMap<(String, u64), String>,
    y: &dyn Fn(u64) -> f64,
) {
    const APART: f64 = 11.0;
    for (from, x, anchor) in [
        ("writer", SENDER - 8.0, Anchor::End),
        ("reader", RECEIVER + 8.0, Anchor::Start),
    ] {
        let mut texts: Vec<(f64, Vec<String>)> = Vec::new();
        for entry in log.iter().filter(|entry| entry.word("from") == from) {
            let (sent, kind) = (entry.micros(), entry.word("kind"));
            let name = names.get(&(kind.to_owned(), entry.number("number").unwrap_or(0)));
            let name = name.map_or(kind, String::as_str).to_owned();
            match texts.last_mut() {
                Some((at, together)) if y(sent) - *at < APART => together.push(name),
                _ => texts.push((y(sent), vec![name])),
            }
        }
        for (at, together) in texts {
            canvas.text((x, at + 4.5), &together.join(", "), anchor);
        }
    }
}

/// k, where the sender changes it.
fn plans(canvas: &mut Canvas, log: &[Entry<'_>], y: &dyn Fn(u64) -> f64) {
    let mut shown = None;
    for entry in log.iter().filter(|entry| entry.name() == "estimates") {
        let (time, Some(apart)) = (entry.micros(), entry.value("apart").as_f64()) else {
            continue;
        };
        let k = apart.round();
        if shown != Some(k) {
            shown = Some(k);
            canvas.text(
                (SENDER - 118.0, y(time) + 4.5),
                &format!("k = {k}"),
                Anchor::End,
            );
        }
    }
}

/// What the receiver decodes.
fn decodings(canvas: &mut Canvas, log: &[Entry<'_>], y: &dyn Fn(u64) -> f64) {
    for entry in log.iter().filter(|entry| entry.is("decoded", "reader")) {
        let (time, Some(runs)) = (entry.micros(), entry.value("symbols").as_array()) else {
            continue;
        };
        let run = |run: &Value| {
            let (first, count) = (run[0].as_u64()?, run[1].as_u64()?);
            let all = first..first + count;
            Some(
                all.map(|esi| format!("P{esi}"))
                    .collect::<Vec<_>>()
                    .join(" "),
            )
        };
        let names: Vec<String> = runs.iter().filter_map(run).collect();
        let text = format!("decodes {}", names.join(" "));
        canvas.disc((RECEIVER, y(time)), 4.0, Ink::Colour(1));
        canvas.text((RECEIVER + 92.0, y(time) + 4.5), &text, Anchor::Start);
    }
}
