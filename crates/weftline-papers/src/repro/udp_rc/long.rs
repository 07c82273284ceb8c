//! Fig. 3: Wellington to Kyoto.

use super::super::picture::{Dot, Line, Plot, Source};
use super::super::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values, quotient};
use super::files::{FILE, Files};
use super::path::{LONG, Rate};
use super::peers::Peer;
use super::sizes::Sizes;
use super::transfers::{Lab, Transfers};

const MBIT: f64 = 1e6;
/// What the paper prints, Mbit/s.
const PRINTED: f64 = 85.0;
/// The same amount as 600 files, in one session.
const ALL_FILES: u32 = 60_000_000;
/// Seconds that 60 MB take at 80 Mbit/s.
const STREAM_SECS: u32 = 6;

/// The points of the figure.
struct Points {
    files: Files,
    sizes: Sizes,
    /// All files in one stream, with either rate.
    stream: [Point; 2],
    stream_lab: Option<Point>,
    /// A file without combinations at full speed.
    bare: Point,
    /// Messages that just fit before the peer's HELLO, and that do not.
    around: [Point; 2],
}

impl Points {
    fn new(scale: Scale) -> Self {
        let sizes = [
            (500_000, (5, 27.0)),
            (1_000_000, (5, 31.0)),
            (2_000_000, (5, 36.0)),
        ];
        let ids: Vec<String> = Peer::ALL.iter().map(|peer| peer.id(&LONG)).collect();
        let load = format!("bulk secs={STREAM_SECS}");
        Self {
            files: Files::new(LONG, 20, 75.0, scale),
            sizes: Sizes::new(LONG, &sizes, &Peer::ALL, scale),
            stream: Rate::BOTH.map(|rate| LONG.engine(ALL_FILES, rate, scale.pick(1, 5), scale)),
            stream_lab: (!scale.quick).then(|| LONG.lab(&load, &ids, 2, 95.0)),
            bare: LONG.engine_without_extra(FILE, 1, scale),
            around: [260_000, 270_000].map(|bytes| LONG.engine(bytes, Rate::ByHand, 1, scale)),
        }
    }

    fn all(&self) -> Vec<Point> {
        let mut points = [
            self.files.points(),
            self.sizes.points(),
            self.stream.to_vec(),
        ]
        .concat();
        points.extend(self.stream_lab.clone());
        points.push(self.bare.clone());
        points.extend(self.around.clone());
        points
    }

    fn stream(&self, values: &Values, rate: Rate) -> Result<(f64, f64), Missing> {
        let times = Transfers::engine(values, &self.stream[usize::from(rate == Rate::Own)])?;
        Ok(times.throughput(ALL_FILES, MBIT))
    }

    fn stream_in_lab(&self, values: &Values, peer: Peer) -> Option<(f64, f64)> {
        Lab::of(values, self.stream_lab.as_ref())?.goodput(&peer.id(&LONG))
    }

    fn kernel(&self, values: &Values) -> String {
        let lab = self.files.lab(values);
        lab.map_or_else(|| "Linux".to_owned(), |lab| lab.kernel().to_owned())
    }
}

/// Fig. 3.
pub(super) fn figure(scale: Scale) -> Figure {
    let points = Points::new(scale);
    Figure {
        id: "udp-rc-3",
        paper: Paper::UdpRc,
        title: "Wellington to Kyoto: throughput over time, transfer time",
        shows: "The paper: (a) instantaneous throughput over time of 600 files of 100 KB, with TCP, UDT and \
                UDP-RC, loss 0.013 %: UDP-RC about 85 Mbit/s, 73 % and 50 % above TCP and UDT; (b) average \
                transfer time of 500 KB, 1 MB and 2 MB with its spread. Here: the preset udp-rc, at the \
                link's rate as in the paper and with its rate control, for 600 files in virtual time, and \
                in the lab beside the kernel's TCP and UDT in the same run, for 20 files; the paper's code \
                in slots.",
        points: points.all(),
        show: Box::new(move |values| {
            let mut checks = throughput(&points, values)?;
            for peer in [Peer::Cubic, Peer::Reno, Peer::Udt] {
                checks.extend(above(&points, values, peer));
            }
            checks.extend(times(&points, values)?);
            let why = before_hello(&points, values)?;
            let all = vec![why; points.sizes.all.len()];
            checks.extend(points.sizes.engine_beside_model(values, &all)?);
            let [mut engine, lab] =
                points
                    .files
                    .lines(values, MBIT, &[("UDP-RC, paper: about 85", 10, PRINTED)])?;
            let delay = LONG.delay / 1e3;
            let clock = points.files.engine(values, Rate::ByHand)?.without(delay);
            // The next file starts when the answer is here, a round trip after the first packet.
            let clock = clock.over_time(FILE, MBIT, 2.0 * delay);
            let name = "the same by the receiver's clock, engine";
            engine.insert(1, Line::new(name, Source::Engine, 7, clock).smooth());
            let printed = [
                ("UDP-RC, paper: 7 ms", 10, 7e-3),
                ("TCP, paper: 13 ms", 7, 13e-3),
            ];
            let a = "(a) Throughput of files of 100 KB, one after the other, over 100 Mbit/s, RTT 140 ms, on a \
                     logarithmic axis";
            let b = "(b) Average transfer time over the same path, on a logarithmic axis.";
            let mut notes = vec![
                "The paper prints neither rate nor round trip of its path. Ours were chosen before \
                 measuring: 100 Mbit/s, the smallest usual link above 85; 140 ms, light in fibre over the \
                 great circle of 9,400 km and half as much again."
                    .to_owned(),
                "The lab sends 20 files where the paper sends 600; each has a connection of its own, and \
                 its time begins before connecting."
                    .to_owned(),
            ];
            notes.extend(
                points
                    .files
                    .lab(values)
                    .map(|lab| format!("Files: {}.", lab.quality())),
            );
            notes.extend(points.sizes.qualities(values));
            let files = Files::plots(a, "Mbit/s", engine, lab);
            let mut pictures: Vec<Plot> = files.into_iter().map(Plot::log_y).collect();
            pictures.extend([points
                .sizes
                .plot(values, b, &Peer::ALL)?
                .with(printed.map(|(name, colour, secs)| {
                    Line::new(name, Source::Paper, colour, vec![Dot::new(500.0, secs)])
                }))
                .log_y()]);
            Ok(Shown {
                pictures: pictures.into_iter().map(Into::into).collect(),
                checks,
                notes,
            })
        }),
    }
}

/// Why the engine needs longer than the slot model for a large message.
fn before_hello(points: &Points, values: &Values) -> Result<String, Missing> {
    let [fits, waits] = &points.around;
    let time = |point: &Point| Ok(1e3 * Transfers::engine(values, point)?.mean().0);
    Ok(format!(
        "until the peer's HELLO is here the session may send 262,144 bytes, the least that every receiver accepts \
         (docs/protocol.md, section 2), so a larger message waits for the rest of the first round trip: 260 KB take \
         {:.0} ms and 270 KB {:.0}",
        time(fits)?,
        time(waits)?
    ))
}

/// About 85 Mbit/s, in three readings.
fn throughput(points: &Points, values: &Values) -> Result<Vec<Check>, Missing> {
    let delay = LONG.delay / 1e3;
    let engine = points.files.engine(values, Rate::ByHand)?;
    let (model, model_error) = points.files.model(values, MBIT)?;
    let lab = points.files.peer(values, Peer::ByHand);
    let with_lab = |check: Check, value: Option<(f64, f64)>| match value {
        Some((value, stderr)) => check.lab(value, stderr),
        None => check,
    };
    let (own, own_error) = points
        .files
        .engine(values, Rate::Own)?
        .throughput(FILE, MBIT);
    let (clock, clock_error) = engine.without(delay).throughput(FILE, MBIT);
    let (stream, stream_error) = points.stream(values, Rate::ByHand)?;
    let (stream_own, stream_own_error) = points.stream(values, Rate::Own)?;
    let (bare, _) = Transfers::engine(values, &points.bare)?.throughput(FILE, MBIT);
    let blocks = format!(
        "before the peer's HELLO is here a block has 64 symbols at most, so 10 combinations go before the last 20 of \
         the file's 84 symbols. Without them (extra=0) the engine has {bare:.2} Mbit/s from the start"
    );
    let limit = 8.0 * f64::from(FILE) / MBIT / delay;
    let (whole, whole_error) = engine.throughput(FILE, MBIT);
    let why = format!(
        "half a round trip alone limits a file of 100 KB to {limit:.1} Mbit/s, whatever the link's rate. Tried: the \
         receiver's clock from its first packet, {clock:.1} Mbit/s; all files in one session without waiting, \
         {stream:.1} Mbit/s (engine)"
    );
    let busy = |lab: Option<Lab>| {
        let waited = lab.map_or_else(String::new, |lab| format!("; in the lab {}", lab.waited()));
        format!("the engine in virtual time, which needs no processor, agrees{waited}")
    };
    let (files_busy, stream_busy) = (
        busy(points.files.lab(values)),
        busy(Lab::of(values, points.stream_lab.as_ref())),
    );
    let model_time = 8.0 * f64::from(FILE) / MBIT / model;
    let model_clock = 8.0 * f64::from(FILE) / MBIT / (model_time - delay);
    let mut checks = vec![with_lab(
        Check::of("(a) throughput of a file, from its start until it is received, Mbit/s")
            .about(PRINTED)
            .simulated(model, model_error)
            .engine(whole, whole_error)
            .because(why)
            .engine_because(blocks.clone()),
        lab.as_ref().map(|times| times.throughput(FILE, MBIT)),
    )];
    checks.push(with_lab(
        Check::of("(a) the same by the receiver's clock, without the path's 70 ms, Mbit/s")
            .about(PRINTED)
            .because(files_busy)
            .engine_because(blocks)
            .simulated(model_clock, model_error * (model_clock / model).powi(2))
            .engine(clock, clock_error),
        lab.map(|times| times.without(delay).throughput(FILE, MBIT)),
    ));
    checks.push(with_lab(
        Check::of("(a) all files in one session without waiting for answers, Mbit/s")
            .about(PRINTED)
            .engine(stream, stream_error)
            .because(stream_busy),
        points.stream_in_lab(values, Peer::ByHand),
    ));
    checks.push(with_lab(
        Check::of("(a) a file with the session's own rate control, Mbit/s").engine(own, own_error),
        points
            .files
            .peer(values, Peer::Own)
            .map(|times| times.throughput(FILE, MBIT)),
    ));
    checks.push(with_lab(
        Check::of("(a) all files in one session with its own rate control, Mbit/s")
            .engine(stream_own, stream_own_error),
        points.stream_in_lab(values, Peer::Own),
    ));
    Ok(checks)
}

/// Throughput above another transport's, in %, for files and for one stream.
fn above(points: &Points, values: &Values, peer: Peer) -> Vec<Check> {
    let printed = if peer == Peer::Udt { 50.0 } else { 73.0 };
    let name = peer.name(&points.kernel(values));
    let more = |over: (f64, f64), under: (f64, f64)| {
        let (ratio, error) = quotient(over, under);
        (100.0 * (ratio - 1.0), 100.0 * error)
    };
    let files = points
        .files
        .peer(values, Peer::ByHand)
        .zip(points.files.peer(values, peer));
    let files =
        files.map(|(own, other)| more(own.throughput(FILE, MBIT), other.throughput(FILE, MBIT)));
    let stream = points
        .stream_in_lab(values, Peer::ByHand)
        .zip(points.stream_in_lab(values, peer));
    let stream = stream.map(|(own, other)| more(own, other));
    let check = |what: &str, value: Option<(f64, f64)>, other: Option<(f64, f64)>| {
        let (value, stderr) = value?;
        let tried = other.map_or_else(String::new, |(other, _)| {
            format!(", and the other reading of the figure gives {other:.0} %")
        });
        let what = format!("(a) UDP-RC's throughput above that of {name}, {what}, %");
        let check = Check::of(what).equals(printed, 1.0).lab(value, stderr);
        Some(check.because(format!(
            "the number depends on the rate and the round trip, which the paper does not print{tried}. Today's \
             controllers beside each other are the other rows"
        )))
    };
    [
        check("files that wait for answers", files, stream),
        check("one stream", stream, files),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// 500 KB in 7 ms against 13 ms, and the spread.
fn times(points: &Points, values: &Values) -> Result<Vec<Check>, Missing> {
    let millis = |(mean, stderr): (f64, f64)| (1e3 * mean, 1e3 * stderr);
    let (model, model_error) = millis(points.sizes.model(values, 0)?);
    let (engine, error) = millis(points.sizes.engine(values, 0, Rate::ByHand)?.mean());
    let impossible = "500 KB in 7 ms are 570 Mbit/s, in 13 ms 310: more than the paper's own 85 Mbit/s, and less \
                      than light takes to Kyoto (47 ms). What the paper prints cannot be a whole transfer";
    let mut own = Check::of("(b) 500 KB with UDP-RC, ms")
        .equals(7.0, 1.0)
        .simulated(model, model_error)
        .engine(engine, error)
        .because(impossible)
        .engine_because(before_hello(points, values)?);
    let in_lab = points.sizes.peer(values, 0, Peer::ByHand);
    if let Some(times) = &in_lab {
        let (mean, stderr) = millis(times.mean());
        own = own.lab(mean, stderr);
    }
    let mut checks = vec![own];
    for peer in [Peer::Cubic, Peer::Reno] {
        let (Some(times), Some(own)) = (points.sizes.peer(values, 0, peer), &in_lab) else {
            continue;
        };
        let name = peer.name(&points.kernel(values));
        let (mean, stderr) = millis(times.mean());
        checks.push(
            Check::of(format!("(b) 500 KB with {name}, ms"))
                .equals(13.0, 1.0)
                .lab(mean, stderr)
                .because(impossible),
        );
        let (spread, error) = quotient(own.deviation(), times.deviation());
        checks.push(
            Check::of(format!(
                "(b) 500 KB: UDP-RC's standard deviation over that of {name}"
            ))
            .claims("smaller", Rule::AtMost(1.0))
            .lab(spread, error),
        );
    }
    Ok(checks)
}
