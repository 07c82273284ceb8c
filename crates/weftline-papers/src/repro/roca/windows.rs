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
/// Ticks of a drawing.
const ROWS: usize = 10;

/// A tick and the receiver after it, as `sim fecframe --with-events` prints it.
#[derive(Clone, Debug, Deserialize)]
struct Tick {
    tick: u64,
    received: bool,
    repairs: Vec<Repair>,
    end: u64,
    dw_first: u64,
    ls_first: u64,
    unknowns: u64,
    rank: u64,
    decoded: Vec<u64>,
    late: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Repair {
    first: u64,
    count: u64,
    received: bool,
    useful: Option<bool>,
}

fn point(scale: Scale) -> Point {
    Point::lab(&format!(
        "sim fecframe --ew {EW} --dw {DW} --ls {LS} --loss iid:{LOSS}% --symbols 1000 --symbol-size 16 \
         --seed {} --with-events",
        scale.seed
    ))
    .about_secs(0.05)
}

fn ticks(values: &Values, point: &Point) -> Result<Vec<Tick>, Missing> {
    let missing = || Missing::Key {
        point: point.to_string(),
        key: "runs/0/events".to_owned(),
    };
    let events = values.object(point)?.pointer("/runs/0/events");
    let ticks = events.and_then(Value::as_array).ok_or_else(missing)?;
    let read = |event: &Value| Tick::deserialize(event).ok();
    ticks
        .iter()
        .map(read)
        .collect::<Option<_>>()
        .ok_or_else(missing)
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
            let ticks = ticks(values, &point)?;
            let is_full = |tick: &Tick| tick.ls_first > 0;
            let several =
                |tick: &Tick| is_full(tick) && tick.decoded.len() > 1 && tick.late.is_empty();
            let caption = format!(
                "Each row is a tick: the packets sent, and the symbols that the receiver then knows. Its windows end at the \
                 newest symbol: dw {DW} symbols are in time, ls {LS} may be in equations. A line below symbols is the \
                 encoding window of the repair, ew {EW}; broken if the repair is lost."
            );
            Ok(shown(
                &ticks,
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
            let ticks = ticks(values, &point)?;
            let both = |tick: &Tick| {
                tick.ls_first > 0 && !tick.late.is_empty() && !tick.decoded.is_empty()
            };
            let caption = format!(
                "Symbols between the edges of ls and dw are late: the receiver does not hand them on, but they stay in \
                 its equations. With ls = dw {DW} they would have left it unknown."
            );
            let mut shown = shown(
                &ticks,
                both,
                caption,
                "no late symbol was decoded with others in this run",
            );
            let count = |of: fn(&Tick) -> usize| ticks.iter().map(of).sum::<usize>();
            shown.notes.push(format!(
                "In this run of {} symbols at {LOSS} % loss, {} were decoded in time and {} late.",
                ticks.len(),
                count(|tick| tick.decoded.len()),
                count(|tick| tick.late.len())
            ));
            Ok(shown)
        }),
    }
}

/// The drawing of the ticks up to the first one that `is_it`.
fn shown(ticks: &[Tick], is_it: impl Fn(&Tick) -> bool, caption: String, none: &str) -> Shown {
    let Some(at) = ticks.iter().position(is_it) else {
        return Shown {
            notes: vec![format!("Nothing to draw: {none}.")],
            ..Shown::default()
        };
    };
    let end = (at + 2).min(ticks.len());
    let from = end.saturating_sub(ROWS);
    let drawing = Drawing {
        svg: draw(ticks, from..end, &caption),
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
const LEFT: f64 = 206.0;
const RIGHT: f64 = 710.0;
const TOP: f64 = 78.0;
const ROW: f64 = 38.0;
const CELL: f64 = 17.0;

fn draw(ticks: &[Tick], rows: std::ops::Range<usize>, title: &str) -> String {
    let chosen = &ticks[rows.clone()];
    let low = chosen.iter().map(|tick| tick.ls_first).min().unwrap_or(0);
    let high = chosen.iter().map(|tick| tick.end).max().unwrap_or(0);
    let width = (RIGHT - LEFT) / (high - low).max(1) as f64;
    let x = |symbol: u64| LEFT + symbol.saturating_sub(low) as f64 * width;
    let height = TOP + ROW * chosen.len() as f64 + 34.0;
    let mut canvas = Canvas::new(720.0, height);
    legend(&mut canvas);
    let mut states = vec![State::Unknown; high as usize];
    let learn = |tick: &Tick, states: &mut Vec<State>| {
        let own = [tick.tick];
        let received = if tick.received { &own[..] } else { &[] };
        for (symbols, known) in [
            (received, State::Received),
            (&tick.decoded, State::Decoded),
            (&tick.late, State::Late),
        ] {
            for symbol in symbols {
                if let Some(state) = states.get_mut(*symbol as usize) {
                    *state = known;
                }
            }
        }
    };
    for tick in &ticks[..rows.start] {
        learn(tick, &mut states);
    }
    let (mut in_time, mut first) = (Vec::new(), Vec::new());
    for (index, tick) in chosen.iter().enumerate() {
        learn(tick, &mut states);
        let top = TOP + ROW * index as f64;
        labels(&mut canvas, tick, top);
        for symbol in tick.ls_first..tick.end {
            let (at, size) = ((x(symbol) + 1.0, top), (width - 2.0, CELL));
            let state = states.get(symbol as usize);
            match State::KNOWN.iter().find(|(known, ..)| Some(known) == state) {
                Some((_, ink, _)) => canvas.block(at, size, *ink),
                None => canvas.frame(at, size, Ink::Axis),
            }
        }
        for repair in &tick.repairs {
            let below = top + CELL + 6.0;
            let ink = if repair.received {
                Ink::Colour(1)
            } else {
                Ink::Dashed(1)
            };
            let end = repair.first + repair.count;
            canvas.line((x(repair.first), below), (x(end), below), ink);
        }
        for (edge, path) in [(tick.dw_first, &mut in_time), (tick.ls_first, &mut first)] {
            path.extend([(x(edge), top - 7.0), (x(edge), top + ROW - 7.0)]);
        }
    }
    canvas.path(&first, Ink::Dashed(7));
    canvas.path(&in_time, Ink::Colour(3));
    let foot = TOP + ROW * chosen.len() as f64 + 18.0;
    if let Some(tick) = chosen.last() {
        for symbol in [tick.ls_first, tick.dw_first, tick.end.saturating_sub(1)] {
            let middle = x(symbol) + width / 2.0;
            canvas.text((middle, foot), &symbol.to_string(), Anchor::Middle);
        }
        canvas.text((LEFT - 10.0, foot), "symbol", Anchor::End);
    }
    canvas.svg(title)
}

/// The packets of a tick, and the receiver's equations.
fn labels(canvas: &mut Canvas, tick: &Tick, top: f64) {
    let equations = format!("{} / {}", tick.rank, tick.unknowns);
    canvas.text((8.0, top + 13.0), &equations, Anchor::Start);
    let fate = if tick.received { "" } else { ", lost" };
    let source = format!("source {}{fate}", tick.tick);
    canvas.text((LEFT - 10.0, top + 13.0), &source, Anchor::End);
    for repair in &tick.repairs {
        let fate = match (repair.received, repair.useful) {
            (false, _) => ", lost",
            (true, Some(false)) => ", no use",
            _ => "",
        };
        let last = repair.first + repair.count.max(1) - 1;
        let repair = format!("repair {}-{last}{fate}", repair.first);
        canvas.text((LEFT - 10.0, top + 28.0), &repair, Anchor::End);
    }
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
    canvas.text((8.0, TOP - 14.0), "equations / unknowns", Anchor::Start);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_drawing_has_a_box_for_each_symbol_of_the_linear_system() {
        let tick = |tick: u64, received: bool, decoded: &[u64]| {
            let tick = json!({
                "tick": tick, "received": received, "decoded": decoded, "late": [],
                "repairs": [{ "first": 6, "count": 3, "received": true, "useful": false }],
                "end": 9, "dw_first": 5, "ls_first": 3, "unknowns": 2, "rank": 1,
            });
            Tick::deserialize(&tick).unwrap()
        };
        let ticks = [tick(7, false, &[]), tick(8, true, &[6, 7])];
        let several = |tick: &Tick| tick.decoded.len() > 1;
        let shown = shown(&ticks, several, "c".to_owned(), "none");
        let svg = shown.pictures[0].svg();
        // Two rows of six symbols, and four boxes of the legend.
        assert_eq!(svg.matches("<rect").count(), 2 * 6 + 4, "{svg}");
        assert!(svg.contains("repair 6-8, no use") && svg.contains("source 7, lost"));
        let nothing = super::shown(&ticks, |_| false, "c".to_owned(), "none");
        assert!(nothing.pictures.is_empty() && nothing.notes[0].contains("none"));
    }
}
