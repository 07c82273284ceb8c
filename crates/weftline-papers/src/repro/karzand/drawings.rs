//! Figs 3, 4 and 5: drawings, made from the event log of a small session.

use weftline_plot::{Anchor, Canvas, Ink};

use crate::repro::log::Entry;
use crate::repro::picture::{Drawing, Picture};
use crate::repro::{Figure, Missing, Paper, Point, Scale, Shown, Values};

/// The spacing of the drawn code: a coded packet after three information packets.
const L: usize = 4;
/// Packets that the generator matrix shows, and those of the other drawings.
const ROWS: usize = 36;
const SLOTS: usize = 44;

/// The session: packets of 1200 bytes each 10 ms, an RTT of some 5 packets, losses.
fn session(scale: Scale) -> Point {
    let seed = scale.seed;
    Point::lab(&format!(
        "sim engine preset=streaming l={L} topup=none feedback=datagram:0 fixed_rate=0.95 \
         --link 'rate=1mbit delay=20ms queue=200ms loss=iid:18%' --app file:60000 --secs 10 \
         --seed {seed} --with-events"
    ))
}

/// A packet of the session, by its transmission number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Packet {
    /// The symbol, or the encoding window.
    carries: Carries,
    /// The lower edge of the window when it was sent.
    edge: u64,
    sent_us: u64,
    /// When it arrived; `None` if it was lost.
    arrives_us: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Carries {
    Source(u64),
    Coded { first: u64, count: u64 },
}

/// In-order delivery stalls: from the first lost packet to that whose arrival resumes delivery.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stall {
    from: usize,
    to: usize,
}

#[derive(Debug, Default, PartialEq)]
struct Trace {
    packets: Vec<Packet>,
    stalls: Vec<Stall>,
    /// When each symbol could be read in order.
    delivered_us: Vec<Option<u64>>,
}

impl Trace {
    fn read(values: &Values, point: &Point) -> Result<Self, Missing> {
        Ok(Trace::of(&Entry::all(values, point)?))
    }

    fn of(log: &[Entry<'_>]) -> Self {
        let mut trace = Trace::default();
        for entry in log {
            let number = |key: &str| entry.number(key);
            let is = |name: &str, end: &str| entry.is(name, end);
            let time = entry.micros();
            let carries = if is("source_sent", "writer") {
                number("esi").map(Carries::Source)
            } else if is("repair_sent", "writer") {
                let both = number("first").zip(number("count"));
                both.map(|(first, count)| Carries::Coded { first, count })
            } else {
                None
            };
            if let Some(carries) = carries {
                let edge = number("edge").unwrap_or(0);
                let (sent_us, arrives_us) = (time, None);
                trace.packets.push(Packet {
                    carries,
                    edge,
                    sent_us,
                    arrives_us,
                });
            } else if is("path_delivered", "path") && entry.word("from") == "writer" {
                let packet = number("number").and_then(|n| trace.packets.get_mut(n as usize));
                if let Some(packet) = packet {
                    packet.arrives_us = number("arrives_us");
                }
            } else if is("delivered", "reader") {
                let end = number("first").unwrap_or(0) + number("count").unwrap_or(0);
                trace.delivered_us.resize(end as usize, Some(time));
            }
        }
        trace.find_stalls();
        trace
    }

    /// Stalls, by the packets: the log's own begin when the receiver learns of a loss, which may be
    /// with the coded packet that repairs it.
    fn find_stalls(&mut self) {
        let mut waiting: Vec<u64> = Vec::new();
        let mut from = 0;
        for (at, packet) in self.packets.iter().enumerate() {
            match (packet.carries, packet.arrives_us) {
                (Carries::Source(esi), None) => {
                    if waiting.is_empty() {
                        from = at;
                    }
                    waiting.push(esi);
                }
                (_, Some(arrives)) if !waiting.is_empty() => {
                    waiting.retain(|esi| {
                        let delivered = self.delivered_us.get(*esi as usize).copied().flatten();
                        delivered.is_none_or(|delivered| delivered > arrives)
                    });
                    if waiting.is_empty() {
                        self.stalls.push(Stall { from, to: at });
                    }
                }
                _ => {}
            }
        }
    }
}

fn figure(
    id: &'static str,
    title: &'static str,
    shows: &'static str,
    scale: Scale,
    draw: fn(&Trace) -> Drawing,
) -> Figure {
    let point = session(scale);
    Figure {
        id,
        paper: Paper::Karzand,
        title,
        shows,
        points: vec![point.clone()],
        show: Box::new(move |values| {
            let drawing = draw(&Trace::read(values, &point)?);
            Ok(Shown {
                pictures: vec![Picture::from(drawing)],
                checks: Vec::new(),
                notes: Vec::new(),
            })
        }),
    }
}

/// Fig. 3.
pub(super) fn matrix(scale: Scale) -> Figure {
    figure(
        "karzand-3",
        "generator matrix, its lower edge trimmed by feedback",
        "A drawing of the code with l = 4: a row for each packet sent, a column for each information packet; a \
         coded packet combines all that were sent before it, but for those that feedback has acknowledged. Here: \
         the packets that the engine's preset streaming sent in a small session with losses, from its event log.",
        scale,
        draw_matrix,
    )
}

/// Fig. 4.
pub(super) fn stalls(scale: Scale) -> Figure {
    figure(
        "karzand-4",
        "notation: intervals, lost packets, stalls",
        "A drawing of the notation: time in intervals of l = 4 slots, and the busy times S, from the interval in \
         which in-order delivery stalls to the one whose coded packet lets it resume. Here: the packets and stalls \
         of the session of Fig. 3. S counts intervals that a stall begins, continues or ends in.",
        scale,
        draw_stalls,
    )
}

/// Fig. 5.
pub(super) fn triangles(scale: Scale) -> Figure {
    figure(
        "karzand-5",
        "in-order delay as the area of a triangle",
        "A drawing of the proof of Theorem 2: in a stall, a packet that is sent later waits for less time, so that \
         the sum of delays is about the area of a triangle. Here: the in-order delay of each information packet of \
         the session of Fig. 3, without the path's, over the time at which it was sent, and the triangles.",
        scale,
        draw_triangles,
    )
}

fn draw_matrix(trace: &Trace) -> Drawing {
    let rows = trace.packets.len().min(ROWS);
    let highest = trace.packets[..rows]
        .iter()
        .map(|packet| match packet.carries {
            Carries::Source(esi) => esi,
            Carries::Coded { first, count } => first + count - 1,
        });
    let columns = highest.max().unwrap_or(0) + 1;
    let (left, top, cell) = (56.0, 44.0, 14.0);
    let height = top + cell * rows as f64 + 58.0;
    let mut canvas = Canvas::new(720.0, height);
    let wide = (640.0 / columns as f64).min(22.0);
    let x = |esi: u64| left + wide * esi as f64;
    let y = |row: usize| top + cell * row as f64;
    canvas.text(
        (left, 16.0),
        "information packets, by their number",
        Anchor::Start,
    );
    for esi in (0..columns).step_by(5) {
        canvas.text(
            (x(esi) + wide / 2.0, top - 8.0),
            &esi.to_string(),
            Anchor::Middle,
        );
    }
    for row in (0..rows).step_by(L) {
        canvas.line((left, y(row)), (x(columns), y(row)), Ink::Faint);
        canvas.text((left - 8.0, y(row) + 11.0), &row.to_string(), Anchor::End);
    }
    for (row, packet) in trace.packets[..rows].iter().enumerate() {
        let (first, count, ink) = match packet.carries {
            Carries::Source(esi) => (esi, 1, Ink::Colour(1)),
            Carries::Coded { first, count } => (first, count, Ink::Colour(0)),
        };
        for esi in first..first + count {
            canvas.block((x(esi) + 1.0, y(row) + 1.0), (wide - 2.0, cell - 2.0), ink);
        }
        if packet.arrives_us.is_none() {
            canvas.cross(
                (x(first + count) + 10.0, y(row) + cell / 2.0),
                Ink::Colour(3),
            );
        }
    }
    let mut edge = Vec::new();
    for (row, packet) in trace.packets[..rows].iter().enumerate() {
        edge.extend([(x(packet.edge), y(row)), (x(packet.edge), y(row + 1))]);
    }
    canvas.path(&edge, Ink::Colour(2));
    let foot = y(rows) + 18.0;
    let mut legend = |at: f64, ink: Option<Ink>, text: &str| {
        match ink {
            Some(ink) => canvas.block((at, foot - 10.0), (12.0, 12.0), ink),
            None => canvas.cross((at + 6.0, foot - 4.0), Ink::Colour(3)),
        }
        canvas.text((at + 18.0, foot), text, Anchor::Start);
    };
    legend(left, Some(Ink::Colour(1)), "information packet");
    legend(
        left + 170.0,
        Some(Ink::Colour(0)),
        "coded packet: what it combines",
    );
    legend(left + 420.0, None, "lost");
    canvas.line(
        (left, foot + 20.0),
        (left + 24.0, foot + 20.0),
        Ink::Colour(2),
    );
    let text = "lower edge: what feedback has acknowledged lies left of it";
    canvas.text((left + 32.0, foot + 24.0), text, Anchor::Start);
    canvas.text((4.0, top - 8.0), "sent", Anchor::Start);
    let caption =
        format!("Rows: the first {rows} packets sent, l = {L}, an RTT of some five packets.");
    Drawing {
        svg: canvas.svg(&caption),
        caption,
    }
}

fn draw_stalls(trace: &Trace) -> Drawing {
    let slots = trace.packets.len().min(SLOTS);
    let per_row = 22;
    let rows = slots.div_ceil(per_row);
    let (left, wide, high) = (20.0, 31.0, 112.0);
    let mut canvas = Canvas::new(720.0, high * rows as f64 + 40.0);
    let place = |slot: usize| {
        let (row, column) = (slot / per_row, slot % per_row);
        (left + wide * column as f64, 34.0 + high * row as f64)
    };
    for (slot, packet) in trace.packets[..slots].iter().enumerate() {
        let (x, y) = place(slot);
        let (ink, text) = match packet.carries {
            Carries::Source(esi) => (Ink::Colour(1), esi.to_string()),
            Carries::Coded { .. } => (Ink::Colour(0), "c".to_owned()),
        };
        canvas.frame((x + 1.0, y), (wide - 3.0, 28.0), ink);
        canvas.text((x + wide / 2.0, y + 18.0), &text, Anchor::Middle);
        if packet.arrives_us.is_none() {
            canvas.line(
                (x + 2.0, y + 27.0),
                (x + wide - 3.0, y + 1.0),
                Ink::Colour(3),
            );
            canvas.line(
                (x + 2.0, y + 1.0),
                (x + wide - 3.0, y + 27.0),
                Ink::Colour(3),
            );
        }
        if matches!(packet.carries, Carries::Coded { .. }) {
            canvas.line(
                (x + wide - 0.5, y - 8.0),
                (x + wide - 0.5, y + 36.0),
                Ink::Axis,
            );
        }
    }
    for (index, stall) in trace
        .stalls
        .iter()
        .enumerate()
        .filter(|(_, stall)| stall.to < slots)
    {
        let intervals = stall.to / L - stall.from / L + 1;
        for row in stall.from / per_row..=stall.to / per_row {
            let from = stall.from.max(row * per_row);
            let to = stall.to.min((row + 1) * per_row - 1);
            let (x, y) = place(from);
            let end = place(to).0 + wide - 3.0;
            let y = y + 42.0;
            canvas.path(
                &[(x, y - 5.0), (x, y), (end, y), (end, y - 5.0)],
                Ink::Colour(2),
            );
            if row == stall.from / per_row {
                let text = format!("S{} = {intervals}", index + 1);
                canvas.text((x, y + 16.0), &text, Anchor::Start);
            }
        }
    }
    let foot = high * rows as f64 + 26.0;
    let text = "Numbers: information packets. c: coded packets. Crossed out: lost. Brackets: stalls of delivery.";
    canvas.text((left, foot), text, Anchor::Start);
    let caption =
        "Packets in the order of sending; an interval ends with its coded packet.".to_owned();
    Drawing {
        svg: canvas.svg(&caption),
        caption,
    }
}

fn draw_triangles(trace: &Trace) -> Drawing {
    let slots = &trace.packets[..trace.packets.len().min(SLOTS)];
    let ways = slots
        .iter()
        .filter_map(|packet| Some(packet.arrives_us? - packet.sent_us));
    let way = ways.min().unwrap_or(0);
    // Times at which packets leave the link: those of sending have jumps where the window opens.
    let sent = |packet: &Packet| packet.sent_us as f64 / 1e3;
    let delay = |packet: &Packet| match packet.carries {
        Carries::Source(esi) => {
            let at = trace.delivered_us.get(esi as usize).copied().flatten()?;
            Some(at.saturating_sub(packet.sent_us).saturating_sub(way) as f64 / 1e3)
        }
        Carries::Coded { .. } => None,
    };
    let (start, end) = (
        slots.first().map_or(0.0, sent),
        slots.last().map_or(1.0, sent) + 10.0,
    );
    let most = slots.iter().filter_map(delay).fold(10.0, f64::max);
    let (left, right, top, bottom) = (56.0, 704.0, 20.0, 300.0);
    let x = |ms: f64| left + (right - left) * (ms - start) / (end - start);
    let y = |ms: f64| bottom - (bottom - top) * ms / (1.1 * most);
    let mut canvas = Canvas::new(720.0, 356.0);
    let step = if most > 200.0 { 100.0 } else { 20.0 };
    for tick in (0..=10)
        .map(|n| step * f64::from(n))
        .filter(|ms| *ms <= 1.1 * most)
    {
        canvas.line((left, y(tick)), (right, y(tick)), Ink::Faint);
        canvas.text((left - 6.0, y(tick) + 4.0), &format!("{tick}"), Anchor::End);
    }
    for tick in (0..=20)
        .map(|n| 100.0 * f64::from(n))
        .filter(|ms| (start..=end).contains(ms))
    {
        canvas.text((x(tick), bottom + 18.0), &format!("{tick}"), Anchor::Middle);
    }
    canvas.path(&[(left, top), (left, bottom), (right, bottom)], Ink::Axis);
    for packet in slots {
        let at = x(sent(packet));
        match delay(packet) {
            Some(waits) => {
                let high = (bottom - y(waits)).max(1.5);
                canvas.block((at, bottom - high), (5.0, high), Ink::Colour(1));
                if packet.arrives_us.is_none() {
                    canvas.cross((at + 2.5, bottom - high - 10.0), Ink::Colour(3));
                }
            }
            None => canvas.disc((at + 2.5, bottom - 3.0), 3.0, Ink::Colour(0)),
        }
    }
    for stall in trace.stalls.iter().filter(|stall| stall.to < slots.len()) {
        let first = slots[stall.from];
        if let Some(waits) = delay(&first) {
            let (from, high) = (sent(&first), y(waits));
            let corners = [
                (x(from), bottom),
                (x(from), high),
                (x(from + waits), bottom),
            ];
            canvas.path(&corners, Ink::Dashed(2));
        }
    }
    canvas.text(
        (left, 12.0),
        "in-order delay without the path's, ms",
        Anchor::Start,
    );
    canvas.text((right, bottom + 18.0), "sent, ms", Anchor::End);
    let text = "Bars: information packets (crosses: lost). Discs: coded packets. Dashed: the triangle of a stall.";
    canvas.text((left, bottom + 42.0), text, Anchor::Start);
    let caption = "Each packet's in-order delay, over the time at which it was sent.".to_owned();
    Drawing {
        svg: canvas.svg(&caption),
        caption,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Three information packets, the second of which is lost, and a coded one.
    fn log() -> Vec<Value> {
        let entry = |micros: u64, end: &str, name: &str, data: Value| json!({ "time": micros as f64 / 1e3, "group_id": end, "name": format!("weftline:{name}"), "data": data });
        let source = |n: u64| {
            entry(
                100 * n,
                "writer",
                "source_sent",
                json!({ "esi": n, "edge": 0 }),
            )
        };
        let path = |n: u64, name: &str| {
            let data = json!({ "from": "writer", "number": n, "arrives_us": 100 * n + 50 });
            entry(100 * n, "path", name, data)
        };
        let delivered = |micros, first: u64, count: u64| {
            entry(
                micros,
                "reader",
                "delivered",
                json!({ "first": first, "count": count }),
            )
        };
        vec![
            source(0),
            path(0, "path_delivered"),
            delivered(50, 0, 1),
            source(1),
            path(1, "path_lost"),
            source(2),
            path(2, "path_delivered"),
            entry(
                300,
                "writer",
                "repair_sent",
                json!({ "first": 0, "count": 3, "edge": 0 }),
            ),
            path(3, "path_delivered"),
            delivered(350, 1, 2),
        ]
    }

    #[test]
    fn packets_stalls_and_deliveries_are_read_from_the_log() {
        let trace = Trace::of(&Entry::of(&log()));
        assert_eq!(trace.packets.len(), 4);
        assert_eq!(trace.packets[1].arrives_us, None);
        assert_eq!(
            trace.packets[3].carries,
            Carries::Coded { first: 0, count: 3 }
        );
        assert_eq!(trace.delivered_us, [Some(50), Some(350), Some(350)]);
        assert_eq!(trace.stalls, [Stall { from: 1, to: 3 }]);
        assert_eq!(Trace::of(&[]), Trace::default());
    }

    #[test]
    fn each_drawing_has_its_packets() {
        let trace = Trace::of(&Entry::of(&log()));
        let matrix = draw_matrix(&trace).svg;
        assert_eq!(
            matrix.matches("<rect").count(),
            3 + 3 + 2,
            "boxes, and the legend's"
        );
        let stalls = draw_stalls(&trace).svg;
        assert!(stalls.contains("S1 = 1") && stalls.matches("<rect").count() == 4);
        let triangles = draw_triangles(&trace).svg;
        assert_eq!(triangles.matches("<rect").count(), 3);
        assert_eq!(triangles.matches("<circle").count(), 1);
    }
}
