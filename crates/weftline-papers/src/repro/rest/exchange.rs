//! Fig. 2: a complete exchange, packet by packet, from the engine's event log.

use std::collections::HashMap;

use serde_json::Value;
use weftline_plot::{Anchor, Canvas, Ink};

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
fn names(events: &[Value]) -> (HashMap<(String, u64), String>, Option<u64>) {
    let mut names = HashMap::new();
    let mut end = None;
    for event in events {
        let of = |key: &str| event.get(key).and_then(Value::as_u64);
        let name = event["event"].as_str().unwrap_or_default();
        let at_writer = event["end"] == "writer";
        match (name, of("number"), of("esi"), of("first"), of("count")) {
            ("source_sent", Some(number), Some(esi), _, _) => {
                let flag = if event["fin"] == true { " F" } else { "" };
                if event["fin"] == true {
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
            ("end_of_data", _, Some(esi), _, _) if at_writer => end = Some(esi + 1),
            _ => {}
        }
    }
    for event in events
        .iter()
        .filter(|event| event["event"] == "report_sent")
    {
        let of = |key: &str| event.get(key).and_then(Value::as_u64);
        if let (Some(report), Some(next)) = (of("report"), of("next")) {
            let flag = if Some(next) == end { " F" } else { "" };
            names.insert(("report".to_owned(), report), format!("ACK {next}{flag}"));
        }
    }
    (names, end)
}

fn drawing(values: &Values, point: &Point) -> Result<String, Missing> {
    let missing = || Missing::Key {
        point: point.to_string(),
        key: "runs/0/events".to_owned(),
    };
    let object = values.object(point)?;
    let events = object.pointer("/runs/0/events").and_then(Value::as_array);
    let events = events.ok_or_else(missing)?;
    let (names, _) = names(events);
    let micros = |event: &Value, key: &str| event.get(key).and_then(Value::as_u64);
    let millis = |micros: u64| micros as f64 / 1e3;
    let of_path: Vec<&Value> = events
        .iter()
        .filter(|event| event["end"] == "path")
        .filter(|event| !matches!(event["kind"].as_str(), Some("hello" | "close" | "piece")))
        .collect();
    let begin = of_path.first().and_then(|event| micros(event, "time_us"));
    let begin = millis(begin.ok_or_else(missing)?);
    let last = of_path
        .iter()
        .filter_map(|event| micros(event, "arrives_us").or(micros(event, "time_us")))
        .max();
    let height = TOP + MILLISECOND * (millis(last.unwrap_or(0)) - begin) + 24.0;
    let y = |micros: u64| TOP + MILLISECOND * (millis(micros) - begin);

    let mut canvas = Canvas::new(720.0, height);
    canvas.text((SENDER, 20.0), "sender", Anchor::Middle);
    canvas.text((RECEIVER, 20.0), "receiver", Anchor::Middle);
    for x in [SENDER, RECEIVER] {
        canvas.line((x, TOP - 14.0), (x, height - 8.0), Ink::Axis);
    }
    for event in &of_path {
        packet(&mut canvas, event, &y);
    }
    write_names(&mut canvas, &of_path, &names, &y);
    plans(&mut canvas, events, &y);
    decodings(&mut canvas, events, &y);
    Ok(canvas.svg("An exchange of preset rest with a window of four packets"))
}

/// The arrow of a packet.
fn packet(canvas: &mut Canvas, event: &Value, y: &dyn Fn(u64) -> f64) {
    let of = |key: &str| event.get(key).and_then(Value::as_u64);
    let (Some(sent), Some(kind)) = (of("time_us"), event["kind"].as_str()) else {
        return;
    };
    let forward = event["from"] == "writer";
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
    match of("arrives_us") {
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
    events: &[&Value],
    names: &HashMap<(String, u64), String>,
    y: &dyn Fn(u64) -> f64,
) {
    const APART: f64 = 11.0;
    for (from, x, anchor) in [
        ("writer", SENDER - 8.0, Anchor::End),
        ("reader", RECEIVER + 8.0, Anchor::Start),
    ] {
        let mut texts: Vec<(f64, Vec<String>)> = Vec::new();
        for event in events.iter().filter(|event| event["from"] == from) {
            let of = |key: &str| event.get(key).and_then(Value::as_u64);
            let (Some(sent), Some(kind)) = (of("time_us"), event["kind"].as_str()) else {
                continue;
            };
            let name = names.get(&(kind.to_owned(), of("number").unwrap_or(0)));
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
fn plans(canvas: &mut Canvas, events: &[Value], y: &dyn Fn(u64) -> f64) {
    let mut shown = None;
    for event in events.iter().filter(|event| event["event"] == "estimates") {
        let (Some(time), Some(apart)) = (event["time_us"].as_u64(), event["apart"].as_f64()) else {
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
fn decodings(canvas: &mut Canvas, events: &[Value], y: &dyn Fn(u64) -> f64) {
    for event in events
        .iter()
        .filter(|event| event["event"] == "decoded" && event["end"] == "reader")
    {
        let (Some(time), Some(runs)) = (event["time_us"].as_u64(), event["symbols"].as_array())
        else {
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
