//! Chong et al.: UDP-RC.

use super::picture::{Dot, Line, Plot, Source};
use super::{Check, Figure, Missing, Paper, Point, Scale, Shown, Values, over_runs};

/// A link of the paper: rate, RTT and loss in the form of commands.
struct Link {
    rate: &'static str,
    rtt: &'static str,
    /// Half of it.
    delay: &'static str,
    loss: &'static str,
    /// The queue, as in the lab.
    queue: &'static str,
}

const UPLINK: Link = Link {
    rate: "1mbit",
    rtt: "50ms",
    delay: "25ms",
    loss: "1%",
    queue: "200ms",
};
const LONG: Link = Link {
    rate: "100mbit",
    rtt: "200ms",
    delay: "100ms",
    loss: "0.013%",
    queue: "100ms",
};
const SLOW: Link = Link {
    rate: "2mbit",
    rtt: "20ms",
    delay: "10ms",
    loss: "1.06%",
    queue: "100ms",
};

/// Times that the lab measured on these links (docs/results/compare.md), s, new connections:
/// message in bytes, then TCP CUBIC, UDT and Weftline.
const LAB_UPLINK: [(f64, [f64; 3]); 3] = [
    (500e3, [4.291, 4.543, 4.802]),
    (1e6, [8.499, 9.788, 9.241]),
    (2e6, [17.048, 18.985, 17.892]),
];
const LAB_LONG: [(f64, [f64; 3]); 3] = [
    (500e3, [1.307, 1.642, 1.516]),
    (1e6, [1.511, 1.860, 1.771]),
    (2e6, [1.718, 2.078, 1.981]),
];
/// Suite C: files of 100 KB.
const LAB_SLOW: [(f64, [f64; 3]); 1] = [(100e3, [0.450, 0.966, 0.584])];
const PEERS: [&str; 3] = ["TCP CUBIC", "UDT", "Weftline"];

/// All figures of the paper that are run.
pub(super) fn figures(scale: Scale) -> Vec<Figure> {
    vec![uplink(scale), long(scale), slow(scale)]
}

impl Link {
    /// The paper's code on this link: time of a message, counted.
    fn model(&self, message: &str, q: u32, scale: Scale) -> Point {
        let (trials, seed) = (scale.pick(2_000, 50_000), scale.seed);
        let Link {
            rate, rtt, loss, ..
        } = self;
        Point::lab(&format!(
            "sim udp-rc --message {message} --rate {rate} --rtt {rtt} --loss {loss} --q {q} --trials {trials} \
             --seed {seed}"
        ))
        .about_secs(f64::from(trials) * 2e-5)
    }

    /// The engine with its defaults, handshake and rate control included.
    fn engine(&self, message: &str, scale: Scale) -> Point {
        let (runs, seed) = (scale.pick(3, 15), scale.seed);
        let Link {
            rate,
            delay,
            loss,
            queue,
            ..
        } = self;
        Point::lab(&format!(
            "sim engine --link 'rate={rate} delay={delay} queue={queue} loss=iid:{loss}' --app file:{message} \
             --seeds {runs} --seed {seed}"
        ))
        .about_secs(f64::from(runs) * 0.1)
    }
}

/// Sizes in the form of commands, and in bytes.
const SIZES: [(&str, f64); 3] = [("500kB", 500e3), ("1MB", 1e6), ("2MB", 2e6)];

/// The points of a link: message in bytes, the paper's code over GF(2) and GF(2^8), the engine.
struct Runs(Vec<(f64, Point, Point, Point)>);

impl Runs {
    fn new(link: &Link, sizes: &[(&str, f64)], scale: Scale) -> Self {
        let one = |(text, bytes): &(&str, f64)| {
            (
                *bytes,
                link.model(text, 1, scale),
                link.model(text, 8, scale),
                link.engine(text, scale),
            )
        };
        Self(sizes.iter().map(one).collect())
    }

    fn points(&self) -> Vec<Point> {
        let all = self.0.iter();
        all.flat_map(|(_, a, b, c)| [a.clone(), b.clone(), c.clone()])
            .collect()
    }

    /// Time of the paper's code for a size.
    fn model(&self, values: &Values, index: usize) -> Result<Dot, Missing> {
        let (bytes, point, ..) = &self.0[index];
        Ok(Dot {
            x: *bytes,
            y: values.number(point, "transfer_s/mean")?,
            stderr: values.number(point, "transfer_s/stderr")?,
        })
    }

    fn engine(&self, values: &Values, index: usize) -> Result<Dot, Missing> {
        let (bytes, .., point) = &self.0[index];
        let runs = values.object(point)?.pointer("/runs");
        let runs = runs
            .and_then(serde_json::Value::as_array)
            .map_or(0, Vec::len);
        let times =
            (0..runs).map(|n| values.number(point, &format!("runs/{n}/result/completion_s")));
        let (y, stderr) = over_runs(&times.collect::<Result<Vec<_>, _>>()?);
        Ok(Dot {
            x: *bytes,
            y,
            stderr,
        })
    }

    /// Time by size, of all contenders.
    fn plot(
        &self,
        values: &Values,
        caption: &str,
        lab: &[(f64, [f64; 3])],
    ) -> Result<Plot, Missing> {
        let kb = |dot: Dot| Dot {
            x: dot.x / 1e3,
            ..dot
        };
        let over = |value: &dyn Fn(usize) -> Result<Dot, Missing>| {
            let dots = (0..self.0.len()).map(|index| Ok(kb(value(index)?)));
            dots.collect::<Result<Vec<_>, Missing>>()
        };
        let binary = over(&|index| self.model(values, index))?;
        let octets = over(&|index| {
            let (bytes, _, point, _) = &self.0[index];
            Ok(Dot::new(*bytes, values.number(point, "transfer_s/mean")?))
        })?;
        let engine = over(&|index| self.engine(values, index))?;
        let mut lines = vec![
            Line::new("UDP-RC over GF(2), slots", Source::Simulation, 2, binary),
            Line::new("over GF(2^8), slots", Source::Simulation, 5, octets),
            Line::new("Weftline's engine", Source::Engine, 0, engine),
        ];
        for (column, name) in PEERS.into_iter().enumerate() {
            let dots = lab
                .iter()
                .map(|(bytes, row)| Dot::new(bytes / 1e3, row[column]));
            let name = format!("{name}, lab");
            lines.push(Line::new(
                name,
                Source::Measured,
                [1, 3, 8][column],
                dots.collect(),
            ));
        }
        Ok(Plot::new(caption, "message, kB", "s until the receiver has it").with(lines))
    }
}

/// Fig. 2.
fn uplink(scale: Scale) -> Figure {
    let runs = Runs::new(&UPLINK, &SIZES, scale);
    let trials = scale.pick(20_000, 400_000);
    let decoding = Point::lab(&format!(
        "sim udp-rc --k 100 --loss 0.1 --trials {trials} --seed {}",
        scale.seed
    ))
    .about_secs(f64::from(trials) * 4e-6);
    let mut points = runs.points();
    points.push(decoding.clone());
    Figure {
        id: "udp-rc-2",
        paper: Paper::UdpRc,
        title: "messages over a 1 Mbit/s uplink",
        shows: "The paper: UDP-RC about halves TCP's time on a 1 Mbit/s uplink. Here: its code \
                over a link of that rate, without encoding and handshake, as in the paper's \
                program; Weftline's engine; the lab's TCP CUBIC, UDT and Weftline. RTT 50 ms and 1 \
                % loss are assumed: the notes have none.",
        points,
        show: Box::new(move |values| {
            let mut checks = Vec::new();
            let own = runs.model(values, 0)?;
            checks.push(
                Check::of("500 kB: time as a share of TCP CUBIC's in the lab (4.291 s)")
                    .stated(0.5, 0.2)
                    .simulated(own.y / LAB_UPLINK[0].1[0], own.stderr / LAB_UPLINK[0].1[0])
                    .because(
                        "500 kB take at least 4.1 s at 1 Mbit/s, and at 1 % loss and RTT 50 ms today's TCP \
                         reaches that. The paper's TCP must have used about half of its uplink",
                    ),
            );
            let share = values.number(&decoding, "decode_probability")?;
            let stderr = values.number(&decoding, "decode_probability_stderr")?;
            checks.push(
                Check::of("decoded from k + 10 received, k 100, 10 % loss")
                    .stated(0.999, 0.001)
                    .simulated(share, stderr),
            );
            let excess = values.number(&decoding, "excess/mean")?;
            let stderr = values.number(&decoding, "excess/stderr")?;
            checks.push(
                Check::of("symbols in excess over GF(2), mean (the shared notes: 1.61)")
                    .stated(1.61, 0.02)
                    .simulated(excess, stderr),
            );
            let plot = runs.plot(values, "Time of a message over 1 Mbit/s.", &LAB_UPLINK)?;
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Fig. 3.
fn long(scale: Scale) -> Figure {
    let runs = Runs::new(&LONG, &SIZES, scale);
    let at_18 = Link {
        rate: "18mbit",
        ..LONG
    };
    let slower = at_18.model("2MB", 1, scale);
    let mut points = runs.points();
    points.push(slower.clone());
    Figure {
        id: "udp-rc-3",
        paper: Paper::UdpRc,
        title: "messages over 100 Mbit/s, RTT 200 ms, 0.013 % loss",
        shows: "The paper: 73 % more throughput than TCP and 50 % more than UDT at 0.013 % loss. \
                Here as for Fig. 2; rate and RTT are those of the lab's path of the same loss.",
        points,
        show: Box::new(move |values| {
            let own = runs.model(values, 2)?;
            let engine = runs.engine(values, 2)?;
            let lab = LAB_LONG[2].1;
            let gain = |time: f64, peer: f64| 100.0 * (peer / time - 1.0);
            let why = "the model sends at the link's 100 Mbit/s from the first packet, so a \
                       message takes little more than half a round trip; TCP and UDT must find the \
                       rate first. The paper's sending interval was set by hand for its path and \
                       is not given: 18 Mbit/s would give the 73 %";
            let at_18 = values.number(&slower, "transfer_s/mean")?;
            let checks = vec![
                Check::of("2 MB: throughput above TCP CUBIC's (lab, 1.718 s), %; full rate known")
                    .stated(73.0, 0.5)
                    .simulated(gain(own.y, lab[0]), 0.0)
                    .because(why),
                Check::of("2 MB: above UDT's (lab, 2.078 s), %; full rate known")
                    .stated(50.0, 0.5)
                    .simulated(gain(own.y, lab[1]), 0.0)
                    .because(why),
                Check::of("2 MB sent at 18 Mbit/s: throughput above TCP CUBIC's, %")
                    .stated(73.0, 0.1)
                    .simulated(gain(at_18, lab[0]), 0.0),
                Check::of("2 MB: Weftline's engine, no handshake of TLS, above TCP CUBIC's, %")
                    .simulated(gain(engine.y, lab[0]), 0.0)
                    .lab(gain(lab[2], lab[0]), 0.0)
                    .because("the lab's Weftline opens a QUIC connection first, and started more slowly then"),
            ];
            let plot = runs.plot(
                values,
                "Time of a message over 100 Mbit/s, RTT 200 ms.",
                &LAB_LONG,
            )?;
            Ok(Shown {
                pictures: vec![plot.log_y().into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

/// Fig. 4.
fn slow(scale: Scale) -> Figure {
    let runs = Runs::new(
        &SLOW,
        &[("20kB", 20e3), ("100kB", 100e3), ("500kB", 500e3)],
        scale,
    );
    Figure {
        id: "udp-rc-4",
        paper: Paper::UdpRc,
        title: "short files over 2 Mbit/s, RTT 20 ms, 1.06 % loss",
        shows: "The paper: 43 KB/s against TCP's 22 and UDT's 26 on a 2 Mbit/s link at 1.06 % \
                loss. Here as for Fig. 2; files of 100 KB, RTT 20 ms.",
        points: runs.points(),
        show: Box::new(move |values| {
            let own = runs.model(values, 1)?;
            let speed = 100.0 / own.y;
            let lab = LAB_SLOW[0].1;
            let checks = vec![
                Check::of("UDP-RC, files of 100 KB, KB/s")
                    .stated(43.0, 0.2)
                    .simulated(speed, speed * own.stderr / own.y)
                    .because(
                        "2 Mbit/s are 250 KB/s: 43 KB/s is a sixth of the link, and the paper's \
                         TCP and UDT got a tenth. Its path was shared or did not have 2 Mbit/s; \
                         that cannot be modelled without its rate",
                    ),
                Check::of("throughput over TCP's")
                    .stated(43.0 / 22.0, 0.2)
                    .simulated(lab[0] / own.y, lab[0] * own.stderr / (own.y * own.y))
                    .because(
                        "as above: in the lab TCP uses the link, and nothing can be twice as fast",
                    ),
                Check::of("throughput over UDT's (lab)")
                    .stated(43.0 / 26.0, 0.4)
                    .simulated(lab[1] / own.y, lab[1] * own.stderr / (own.y * own.y)),
            ];
            let plot = runs.plot(values, "Time of a file over 2 Mbit/s.", &LAB_SLOW)?;
            Ok(Shown {
                pictures: vec![plot.into()],
                checks,
                notes: Vec::new(),
            })
        }),
    }
}
