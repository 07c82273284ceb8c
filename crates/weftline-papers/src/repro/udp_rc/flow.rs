//! Fig. 1: the flow of packets, drawn from the event log of a session.

use weftline_plot::{Anchor, Canvas, Ink};

use super::super::log::Entry;
use super::super::picture::Drawing;
use super::super::{Figure, Paper, Scale, Shown};
use super::path::{MICROWAVE, Path, Rate};

/// Bytes of the message: eight source symbols.
const MESSAGE: u32 = 9_552;
/// The microwave link with so many losses that a message of eight symbols has some.
const LOSSY: Path = Path {
    loss: 25.0,
    ..MICROWAVE
};
/// Where the two ends' lines are, and the first packet.
const SENDER: f64 = 250.0;
const RECEIVER: f64 = 520.0;
const TOP: f64 = 44.0;
/// Height of a millisecond.
const MILLI: f64 = 5.0;
/// Least distance of two labels.
const LABEL: f64 = 14.0;

/// Fig. 1.
pub(super) fn figure(scale: Scale) -> Figure {
    let point = LOSSY.log(MESSAGE, Rate::ByHand, scale);
    Figure {
        id: "udp-rc-1",
        paper: Paper::UdpRc,
        title: "the flow of packets",
        shows: "The paper: a sender starts with data, some packets are lost, combinations follow until the \
                receiver has the message, and EXIT ends the session. Here: a session with the preset udp-rc, \
                drawn from its event log: a message of eight symbols over the microwave link, with a loss of \
                25 % so that something is lost. What the paper calls EXIT is the session's CLOSE.",
        points: vec![point.clone()],
        show: Box::new(move |values| {
            let flow = Flow::of(&Entry::all(values, &point)?);
            Ok(Shown {
                pictures: vec![
                    Drawing {
                        caption: "Time runs downwards. Full arrows go to the receiver, dashed ones are its \
                                  answers; a cross is a lost packet."
                            .to_owned(),
                        svg: flow.svg(),
                    }
                    .into(),
                ],
                checks: Vec::new(),
                notes: vec![flow.told()],
            })
        }),
    }
}

/// A packet on its way.
#[derive(Debug, PartialEq)]
struct Packet {
    to_receiver: bool,
    kind: String,
    label: String,
    /// ms.
    sent: f64,
    arrives: Option<f64>,
}

/// What the log tells.
#[derive(Debug, Default, PartialEq)]
struct Flow {
    packets: Vec<Packet>,
    /// When the receiver has the message, and when the sender knows it; ms.
    received: Option<f64>,
    known: Option<f64>,
}

impl Flow {
    fn of(log: &[Entry<'_>]) -> Self {
        let mut flow = Flow::default();
        // The entry of what was sent is right before that of the path.
        let mut esi = None;
        for entry in log {
            let millis = |micros: u64| micros as f64 / 1e3;
            let at = millis(entry.micros());
            match (entry.end(), entry.name()) {
                ("writer", "source_sent") => esi = entry.number("esi"),
                ("reader", "end_of_data") => flow.received = flow.received.or(Some(at)),
                ("writer", "all_acknowledged") => flow.known = flow.known.or(Some(at)),
                ("path", _) => {
                    let kind = entry.word("kind").to_owned();
                    flow.packets.push(Packet {
                        to_receiver: entry.word("from") == "writer",
                        label: match (kind.as_str(), esi) {
                            ("source", Some(esi)) => format!("symbol {esi}"),
                            ("repair", _) => "combination".to_owned(),
                            ("hello", _) => "HELLO".to_owned(),
                            ("close", _) => "EXIT (CLOSE)".to_owned(),
                            ("report", _) => String::new(),
                            (other, _) => other.to_owned(),
                        },
                        kind,
                        sent: at,
                        arrives: entry.number("arrives_us").map(millis),
                    });
                }
                _ => {}
            }
        }
        flow
    }

    fn svg(&self) -> String {
        let last = self.packets.iter().map(|p| p.arrives.unwrap_or(p.sent));
        let end = last.fold(0.0, f64::max);
        let y = |millis: f64| TOP + MILLI * millis;
        let bottom = y(end) + 20.0;
        let mut canvas = Canvas::new(720.0, bottom + 10.0);
        for (x, name) in [(SENDER, "sender"), (RECEIVER, "receiver")] {
            canvas.text((x, 18.0), name, Anchor::Middle);
            canvas.line((x, 26.0), (x, bottom), Ink::Axis);
        }
        let mut milli = 0.0;
        while milli <= end {
            canvas.line(
                (SENDER - 150.0, y(milli)),
                (SENDER - 144.0, y(milli)),
                Ink::Axis,
            );
            canvas.text(
                (SENDER - 156.0, y(milli) + 4.0),
                &format!("{milli} ms"),
                Anchor::End,
            );
            milli += 10.0;
        }
        // Labels of packets that leave together stand below each other.
        let mut free = [f64::MIN; 2];
        for packet in &self.packets {
            let (from, to) = match packet.to_receiver {
                true => (SENDER, RECEIVER),
                false => (RECEIVER, SENDER),
            };
            let ink = packet.ink();
            let start = (from, y(packet.sent));
            match packet.arrives {
                Some(arrives) => canvas.arrow(start, (to, y(arrives)), ink),
                None => {
                    // It would have taken as long as the others.
                    let lost = (
                        from + 0.55 * (to - from),
                        y(packet.sent + 0.55 * self.trip(packet)),
                    );
                    canvas.line(start, lost, ink);
                    canvas.cross(lost, Ink::Colour(3));
                }
            }
            if packet.label.is_empty() {
                continue;
            }
            let side = usize::from(!packet.to_receiver);
            let place = (y(packet.sent) + 4.0).max(free[side] + LABEL);
            free[side] = place;
            let (x, anchor) = match packet.to_receiver {
                true => (SENDER - 8.0, Anchor::End),
                false => (RECEIVER + 8.0, Anchor::Start),
            };
            canvas.text((x, place), &packet.label, anchor);
        }
        if let Some(at) = self.received {
            canvas.disc((RECEIVER, y(at)), 4.5, Ink::Colour(2));
            let place = (y(at) + 4.0).max(free[1] + LABEL);
            canvas.text((RECEIVER + 8.0, place), "has the message", Anchor::Start);
        }
        if let Some(at) = self.known {
            canvas.disc((SENDER, y(at)), 4.5, Ink::Colour(2));
        }
        canvas.svg("the flow of packets of a session with the preset udp-rc")
    }

    /// The time that a packet like this one takes.
    fn trip(&self, like: &Packet) -> f64 {
        let same =
            |packet: &&Packet| packet.to_receiver == like.to_receiver && packet.kind == like.kind;
        let trips = self
            .packets
            .iter()
            .filter(same)
            .filter_map(|p| Some(p.arrives? - p.sent));
        trips.reduce(f64::min).unwrap_or(LOSSY.delay)
    }

    /// The drawing in words.
    fn told(&self) -> String {
        let count = |kind: &str| {
            let all = self
                .packets
                .iter()
                .filter(|p| p.to_receiver && p.kind == kind);
            let lost = all.clone().filter(|p| p.arrives.is_none()).count();
            (all.count(), lost)
        };
        let ((symbols, lost), (combinations, also)) = (count("source"), count("repair"));
        let when = |at: Option<f64>| {
            at.map_or_else(|| "never".to_owned(), |at| format!("after {at:.1} ms"))
        };
        format!(
            "{symbols} symbols, of which {lost} were lost, and {combinations} combinations, of which {also} were \
             lost; the receiver has the message {}, and the sender knows it {} (green dots).",
            when(self.received),
            when(self.known)
        )
    }
}

impl Packet {
    fn ink(&self) -> Ink {
        match (self.to_receiver, self.kind.as_str()) {
            (false, _) => Ink::Dashed(1),
            (true, "source") => Ink::Colour(0),
            (true, "repair") => Ink::Colour(4),
            (true, _) => Ink::Colour(8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn packets_losses_and_the_end_are_found_in_the_log() {
        let entry = |time: u64, end: &str, name: &str, data: Value| json!({ "time": time, "group_id": end, "name": format!("weftline:{name}"), "data": data });
        let log = [
            entry(0, "writer", "source_sent", json!({ "number": 0, "esi": 0 })),
            entry(
                0,
                "path",
                "path_lost",
                json!({ "from": "writer", "kind": "source", "number": 0,
                "arrives_us": null }),
            ),
            entry(5, "writer", "repair_sent", json!({ "number": 1 })),
            entry(
                5,
                "path",
                "path_delivered",
                json!({ "from": "writer", "kind": "repair",
                "number": 1, "arrives_us": 20000 }),
            ),
            entry(20, "reader", "end_of_data", json!({ "esi": 0 })),
            entry(
                20,
                "path",
                "path_delivered",
                json!({ "from": "reader", "kind": "report",
                "number": 0, "arrives_us": 30000 }),
            ),
            entry(30, "writer", "all_acknowledged", json!({ "next": 1 })),
        ];
        let flow = Flow::of(&Entry::of(&log));
        assert_eq!((flow.received, flow.known), (Some(20.0), Some(30.0)));
        let seen: Vec<(&str, Option<f64>)> = flow
            .packets
            .iter()
            .map(|p| (p.label.as_str(), p.arrives))
            .collect();
        assert_eq!(
            seen,
            [
                ("symbol 0", None),
                ("combination", Some(20.0)),
                ("", Some(30.0))
            ]
        );
        assert!(
            flow.told()
                .starts_with("1 symbols, of which 1 were lost, and 1 combinations")
        );
        let svg = flow.svg();
        assert!(
            svg.contains("has the message") && svg.matches("<polygon").count() == 2,
            "{svg}"
        );
    }
}
