//! Figs 1 and 2: a receiver's windows, drawn from a run of the real one.

use serde::Deserialize;
use serde_json::Value;
use weftline_plot::{Anchor, Canvas, Ink};

use crate::repro::picture::Drawing;
use crate::repro::{Figure, Missing, Paper, Point, Scale, Shown, Values};

/// Windows small enough to be drawn.
const EW: u64 = 6;
const DW: u64 = 12;
const LS: u64 = 24;
const LOSS: u32 = 30;
/// Packets of a drawing.
const ROWS: usize = 12;

/// A packet sent, and the receiver after it, as `sim fecframe --with-events` prints it.
#[derive(Clone, Debug, Deserialize)]
struct Step {
    packet: Kind,
    /// Of a source packet.
    symbol: Option<u64>,
    /// Of a repair packet, with `symbols`.
    first: Option<u64>,
    symbols: Option<u64>,
    lost: bool,
    useful: bool,
    decoded: Vec<u64>,
    late: Vec<u64>,
    windows: Windows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Source,
    Repair,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Windows {
    end: u64,
    in_time: u64,
    first: u64,
    unknowns: u64,
    equations: u64,
}

fn point(scale: Scale) -> Point {
    Point::lab(&format!(
        "sim fecframe --ew {EW} --dw {DW} --ls {LS} --loss iid:{LOSS}% --symbols 1000 --seeds 1 --symbol-size 16 \
         --seed {} --with-events",
        scale.seed
    ))
    .about_secs(0.05)
}

fn steps(values: &Values, point: &Point) -> Result<Vec<Step>, Missing> {
    let missing = || Missing::Key {
        point: point.to_string(),
        key: "events".to_owned(),
    };
    let events = values.object(point)?.get("events").ok_or_else(missing)?;
    let steps = events.as_array().ok_or_else(missing)?.iter();
    let read = |event: &Value| Step::deserialize(event).ok();
    steps.map(read).collect::<Option<_>>().ok_or_else(missing)
}

/// Fig. 1.
pub(super) fn edges(scale: Scale) -> Figure {
    let point = point(scale);
    Figure {
        id: "roca-1",
        paper: Paper::Roca,
        title: "windows at the receiver",
        shows: "The paper: a drawing of the encoding window ew, the decoding window dw and the linear system ls at the \
                receiver. Here: the same from a run of the receiver of weftline-fecframe, with windows small enough \
                to be drawn, up to the first repair that decodes several symbols at once.",
        points: vec![point.clone()],
        show: Box::new(move |values| {
            let steps = steps(values, &point)?;
            let is_full = |step: &Step| step.windows.first > 0;
            let several =
                |step: &Step| is_full(step) && step.decoded.len() > 1 && step.late.is_empty();
            let caption = format!(
                "Each row is a packet, and the symbols that the receiver then knows. Its windows end at the newest symbol: dw \
                 {DW} symbols are in time, ls {LS} may be in equations. A line below symbols is the encoding window of \
                 the repair, ew {EW}."
            );
            Ok(shown(
                &steps,
                several,
                caption,
                "no repair decoded several symbols in this run",
            ))
        }),
    }
}

/// Fig. 2.
pub(super) fn late(scale: Scale) -> Figure {
    let point = point(scale);
    Figure {
        id: "roca-2",
        paper: Paper::Roca,
        title: "late symbols",
        shows: "The paper: a drawing of symbols that are decoded after their maximum latency: the application no longer \
                wants them, but they stay in the linear system and help to decode others. Here: from the run of \
                Fig. 1, the first repair that decodes late symbols together with symbols in time.",
        points: vec![point.clone()],
        show: Box::new(move |values| {
            let steps = steps(values, &point)?;
            let both = |step: &Step| {
                step.windows.first > 0 && !step.late.is_empty() && !step.decoded.is_empty()
            };
            let caption = format!(
                "Symbols between the edges of ls and dw are late: the receiver does not hand them on, but they stay in \
                 its equations. The last rows show what a larger ls is for: with ls = dw {DW} the late symbols' equations \
                 would have left."
            );
            let mut shown = shown(
                &steps,
                both,
                caption,
                "no late symbol was decoded with others in this run",
            );
            let count = |of: fn(&Step) -> usize| steps.iter().map(of).sum::<usize>();
            shown.notes.push(format!(
                "In this run of 1000 symbols at {LOSS} % loss, {} were decoded in time and {} late.",
                count(|step| step.decoded.len()),
                count(|step| step.late.len())
            ));
            Ok(shown)
        }),
    }
}

/// The drawing of the packets up to the first step that `is_it`.
fn shown(steps: &[Step], is_it: impl Fn(&Step) -> bool, caption: String, none: &str) -> Shown {
    let Some(at) = steps.iter().position(is_it) else {
        return Shown {
            notes: vec![format!("Nothing to draw: {none}.")],
            ..Shown::default()
        };
    };
    let end = (at + 2).min(steps.len());
    let from = end.saturating_sub(ROWS);
    let drawing = Drawing {
        svg: draw(steps, from..end, &caption),
        caption,
    };
    Shown {
        pictures: vec![drawing.into()],
        ..Shown::default()
    }
}

/// What the receiver knows of a symbol.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unknown,
    Received,
    Decoded,
    Late,
}

impl State {
    const KNOWN: [(State, Ink, &'static str); 3] = [
        (State::Received, Ink::Axis, "received"),
        (State::Decoded, Ink::Colour(2), "decoded in time"),
        (State::Late, Ink::Colour(0), "decoded late"),
    ];
}

/// Place of the first symbol, and widths and heights.
const LEFT: f64 = 196.0;
const RIGHT: f64 = 710.0;
const TOP: f64 = 78.0;
const ROW: f64 = 34.0;
const CELL: f64 = 17.0;

fn draw(steps: &[Step], rows: std::ops::Range<usize>, title: &str) -> String {
    let chosen = &steps[rows.clone()];
    let low = chosen.iter().map(|step| step.windows.first).min();
    let (low, high) = (
        low.unwrap_or(0),
        chosen
            .iter()
            .map(|step| step.windows.end)
            .max()
            .unwrap_or(0),
    );
    let width = (RIGHT - LEFT) / (high - low).max(1) as f64;
    let x = |symbol: u64| LEFT + symbol.saturating_sub(low) as f64 * width;
    let height = TOP + ROW * chosen.len() as f64 + 34.0;
    let mut canvas = Canvas::new(720.0, height);
    legend(&mut canvas);
    let mut states = vec![State::Unknown; high as usize];
    let learn = |step: &Step, states: &mut Vec<State>| {
        if let (Some(symbol), false) = (step.symbol, step.lost)
            && let Some(state) = states.get_mut(symbol as usize)
        {
            *state = State::Received;
        }
        for (symbols, known) in [(&step.decoded, State::Decoded), (&step.late, State::Late)] {
            for symbol in symbols {
                states[*symbol as usize] = known;
            }
        }
    };
    for step in &steps[..rows.start] {
        learn(step, &mut states);
    }
    let (mut in_time, mut first) = (Vec::new(), Vec::new());
    for (index, step) in chosen.iter().enumerate() {
        learn(step, &mut states);
        let top = TOP + ROW * index as f64;
        canvas.text((LEFT - 10.0, top + 13.0), &label(step), Anchor::End);
        let windows = step.windows;
        for symbol in windows.first..windows.end {
            let (at, size) = ((x(symbol) + 1.0, top), (width - 2.0, CELL));
            let known = State::KNOWN
                .iter()
                .find(|(state, ..)| *state == states[symbol as usize]);
            match known {
                Some((_, ink, _)) => canvas.block(at, size, *ink),
                None => canvas.frame(at, size, Ink::Axis),
            }
        }
        if let (Some(from), Some(symbols)) = (step.first, step.symbols) {
            let below = top + CELL + 5.0;
            let ink = if step.lost {
                Ink::Dashed(1)
            } else {
                Ink::Colour(1)
            };
            canvas.line((x(from), below), (x(from + symbols), below), ink);
        }
        if step.lost {
            canvas.cross((x(windows.end) + 7.0, top + 8.0), Ink::Colour(8));
        }
        for (edge, path) in [(windows.in_time, &mut in_time), (windows.first, &mut first)] {
            path.extend([(x(edge), top - 6.0), (x(edge), top + ROW - 6.0)]);
        }
    }
    canvas.path(&first, Ink::Dashed(7));
    canvas.path(&in_time, Ink::Colour(3));
    let foot = TOP + ROW * chosen.len() as f64 + 22.0;
    let end = chosen.last().map(|step| step.windows);
    if let Some(Windows {
        end,
        in_time,
        first,
        ..
    }) = end
    {
        let numbers = [first, in_time, end.saturating_sub(1)];
        for symbol in numbers {
            let middle = x(symbol) + width / 2.0;
            canvas.text((middle, foot), &symbol.to_string(), Anchor::Middle);
        }
        canvas.text((LEFT - 10.0, foot), "symbol", Anchor::End);
    }
    canvas.svg(title)
}

/// The words of a row.
fn label(step: &Step) -> String {
    let Windows {
        unknowns,
        equations,
        ..
    } = step.windows;
    let packet = match (step.packet, step.symbol, step.first, step.symbols) {
        (Kind::Source, Some(symbol), ..) => format!("source {symbol}"),
        (Kind::Repair, _, Some(first), Some(symbols)) => {
            format!("repair {first}-{}", first + symbols.max(1) - 1)
        }
        _ => "packet".to_owned(),
    };
    let fate = match (step.lost, step.useful, step.packet) {
        (true, ..) => ", lost".to_owned(),
        (_, false, Kind::Repair) => ", no use".to_owned(),
        _ => String::new(),
    };
    format!("{packet}{fate}: {equations} of {unknowns}")
}

fn legend(canvas: &mut Canvas) {
    let mut at = 10.0;
    for (_, ink, name) in State::KNOWN {
        canvas.block((at, 8.0), (16.0, 14.0), ink);
        canvas.text((at + 22.0, 20.0), name, Anchor::Start);
        at += 48.0 + 7.0 * name.len() as f64;
    }
    canvas.frame((at, 8.0), (16.0, 14.0), Ink::Axis);
    canvas.text((at + 22.0, 20.0), "unknown", Anchor::Start);
    let mut at = 10.0;
    for (ink, name) in [
        (Ink::Colour(1), "encoding window of the repair"),
        (Ink::Colour(3), "oldest symbol in time (dw)"),
        (Ink::Dashed(7), "oldest symbol in equations (ls)"),
    ] {
        canvas.line((at, 36.0), (at + 24.0, 36.0), ink);
        canvas.text((at + 30.0, 40.0), name, Anchor::Start);
        at += 54.0 + 6.6 * name.len() as f64;
    }
    let heads = "equations of unknowns";
    canvas.text((LEFT - 10.0, TOP - 12.0), heads, Anchor::End);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_drawing_has_a_box_for_each_symbol_of_the_linear_system() {
        let step = |packet: &str, more: Value, decoded: &[u64]| {
            let mut step = json!({
                "packet": packet, "lost": false, "useful": true, "decoded": decoded, "late": [],
                "windows": { "end": 9, "in_time": 5, "first": 3, "unknowns": 2, "equations": 1 },
            });
            let object = step.as_object_mut().unwrap();
            object.extend(more.as_object().unwrap().clone());
            Step::deserialize(&step).unwrap()
        };
        let steps = [
            step("source", json!({ "symbol": 8 }), &[]),
            step("repair", json!({ "first": 6, "symbols": 3 }), &[6, 7]),
        ];
        let several = |step: &Step| step.decoded.len() > 1;
        let shown = shown(&steps, several, "c".to_owned(), "none");
        let svg = shown.pictures[0].svg();
        // Two rows of six symbols, and four boxes of the legend.
        assert_eq!(svg.matches("<rect").count(), 2 * 6 + 4, "{svg}");
        assert!(svg.contains("repair 6-8: 1 of 2") && svg.contains("source 8: 1 of 2"));
        let nothing = super::shown(&steps, |_| false, "c".to_owned(), "none");
        assert!(nothing.pictures.is_empty() && nothing.notes[0].contains("none"));
    }
}
