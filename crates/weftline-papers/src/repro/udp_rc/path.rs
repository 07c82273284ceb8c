//! The paper's paths, and the points that run on them.

use super::super::{Point, Scale};

/// Bytes of a source symbol of the engine in virtual time: those that it may send to a peer that it
/// does not know yet, so that all are alike. 6 of them frame the stream.
const SYMBOL: u32 = 1200;
/// Bytes of a message in a packet of the slot model, and of all headers: 6 of the frame, 15 of the
/// engine, 8 of the plain UDP carrier, 28 of UDP and IP.
const PACKET: &str = "--symbol 1194 --headers 57";
/// Bytes of a message in a full packet.
const FULL: u32 = SYMBOL - 6;
/// Bytes that the plain UDP carrier, UDP and IP add to a datagram.
const OVERHEAD: u32 = 36;

/// A path of the paper. What the paper does not print is chosen for the reason in its comment, before
/// anything was measured.
#[derive(Clone, Copy)]
pub(super) struct Path {
    /// Rate towards the receiver, Mbit/s.
    pub(super) rate: f64,
    /// Rate towards the sender, Mbit/s.
    pub(super) back: f64,
    /// One way, ms.
    pub(super) delay: f64,
    /// Largest wait in the queue, ms.
    pub(super) queue: f64,
    /// Share of lost packets, %.
    pub(super) loss: f64,
}

/// Fig. 2: the paper prints the rates, 1 Mbit/s up and 4 down, of a line to a home. Not printed: the
/// loss, for which the other wired path's is taken; the round trip of 50 ms, of which interleaving on
/// such a line takes 20 to 40 and the way to a server in the same country the rest; the queue.
pub(super) const HOME: Path = Path {
    rate: 1.0,
    back: 4.0,
    delay: 25.0,
    queue: 200.0,
    loss: 0.013,
};

/// Fig. 3: Wellington to Kyoto, loss 0.013 %. Not printed: the rate, for which the smallest usual link
/// above the paper's 85 Mbit/s is taken, Fast Ethernet; the round trip, which is that of light in
/// fibre (5 us/km) over the great circle of 9,400 km and half as much again, for cables take no great
/// circle: 140 ms; the queue, which is the lab's default.
pub(super) const LONG: Path = Path {
    rate: 100.0,
    back: 100.0,
    delay: 70.0,
    queue: 100.0,
    loss: 0.013,
};

/// Fig. 4: a microwave link of 2 Mbit/s, loss 1.06 %. Not printed: the round trip. Over a hop on the
/// ground light takes less than 1 ms, the equipment and the rest of the way some: 20 ms. The queue is
/// the lab's default.
pub(super) const MICROWAVE: Path = Path {
    rate: 2.0,
    back: 2.0,
    delay: 10.0,
    queue: 100.0,
    loss: 1.06,
};

/// How the session's sending rate is found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rate {
    /// By hand, as in the paper: the link's rate.
    ByHand,
    /// By the session's rate control.
    Own,
}

impl Rate {
    pub(super) const BOTH: [Rate; 2] = [Rate::ByHand, Rate::Own];

    /// In legends.
    pub(super) fn words(self) -> &'static str {
        match self {
            Rate::ByHand => "rate by hand",
            Rate::Own => "its rate control",
        }
    }
}

/// A size in bytes in the form of commands.
fn size(bytes: u32) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1_000_000) => format!("{}MB", bytes / 1_000_000),
        _ if bytes.is_multiple_of(1_000) => format!("{}kB", bytes / 1000),
        _ => bytes.to_string(),
    }
}

impl Path {
    /// The form of `--link`.
    fn link(&self) -> String {
        let Path {
            rate,
            delay,
            queue,
            loss,
            ..
        } = self;
        format!("rate={rate}mbit delay={delay}ms queue={queue}ms loss=iid:{loss}%")
    }

    /// The option of the return path, where it is not the default.
    fn return_option(&self) -> String {
        let Path {
            rate,
            back,
            delay,
            queue,
            ..
        } = self;
        if rate == back {
            return String::new();
        }
        format!(" --back 'rate={back}mbit delay={delay}ms queue={queue}ms'")
    }

    /// The paper's code in slots, which knows the link's rate: the time of a message.
    pub(super) fn model(&self, bytes: u32, scale: Scale) -> Point {
        self.model_with(bytes, "", scale)
    }

    /// The same with more options.
    pub(super) fn model_with(&self, bytes: u32, options: &str, scale: Scale) -> Point {
        let Path {
            rate, delay, loss, ..
        } = self;
        let (trials, seed) = (scale.pick(2_000, 50_000), scale.seed);
        Point::lab(&format!(
            "sim udp-rc --message {} {PACKET} --rate {rate}mbit --rtt {}ms --loss {loss}% {options} --trials {trials} \
             --seed {seed}",
            size(bytes),
            2.0 * delay,
        ))
        .about_secs(f64::from(trials) * f64::from(bytes) * 1.5e-11)
    }

    /// The preset in virtual time: a session of its own for each of `runs` messages.
    pub(super) fn engine(&self, bytes: u32, rate: Rate, runs: u32, scale: Scale) -> Point {
        self.engine_with(bytes, rate, "", runs, scale)
    }

    /// The same without combinations at full speed, which shows what they cost.
    pub(super) fn engine_without_extra(&self, bytes: u32, runs: u32, scale: Scale) -> Point {
        self.engine_with(bytes, Rate::ByHand, "extra=0", runs, scale)
    }

    /// The same with a last packet that is full, as all packets of the slot model are.
    pub(super) fn engine_in_full_packets(&self, bytes: u32, runs: u32, scale: Scale) -> Point {
        let bytes = bytes.div_ceil(FULL) * FULL;
        self.engine_with(bytes, Rate::ByHand, "", runs, scale)
    }

    fn engine_with(
        &self,
        bytes: u32,
        rate: Rate,
        settings: &str,
        runs: u32,
        scale: Scale,
    ) -> Point {
        let by_hand = match rate {
            Rate::ByHand => format!("fixed_rate={}", self.rate),
            Rate::Own => String::new(),
        };
        Point::lab(&format!(
            "sim engine preset=udp-rc symbol={SYMBOL} {by_hand} {settings} --overhead {OVERHEAD} --link '{}'{} --app file:{} --seeds \
             {runs} --seed {}",
            self.link(),
            self.return_option(),
            size(bytes),
            scale.seed,
        ))
        .about_secs(f64::from(runs) * f64::from(bytes) * 1.5e-8)
    }

    /// One message with the preset in virtual time, with the session's event log, to its end.
    pub(super) fn log(&self, bytes: u32, rate: Rate, scale: Scale) -> Point {
        let by_hand = match rate {
            Rate::ByHand => format!(" fixed_rate={}", self.rate),
            Rate::Own => String::new(),
        };
        Point::lab(&format!(
            "sim engine preset=udp-rc symbol={SYMBOL}{by_hand} --overhead {OVERHEAD} --link '{}'{} --app file:{bytes} --close --seed {} \
             --with-events",
            self.link(),
            self.return_option(),
            scale.seed,
        ))
    }

    /// The preset beside other transports in the lab, in one command; `about_secs` is an estimate for
    /// all of them, `seeds` the number of runs.
    pub(super) fn lab(&self, load: &str, peers: &[String], seeds: u32, about_secs: f64) -> Point {
        Point::lab(&format!(
            "compare own --link '{}'{} --load '{load}' --peers {} --skip-missing --seeds {seeds}",
            self.link(),
            self.return_option(),
            peers.join(","),
        ))
        .about_secs(about_secs)
        .alone()
        .optional()
    }

    /// The peer of the preset, as in the paper over plain UDP.
    pub(super) fn peer(&self, rate: Rate) -> String {
        match rate {
            Rate::ByHand => format!("weftline/udp-rc,carrier=udp,fixed_rate={}", self.rate),
            Rate::Own => "weftline/udp-rc,carrier=udp".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_have_the_path_of_the_figure() {
        let scale = Scale {
            quick: true,
            seed: 3,
        };
        let model = HOME.model(500_000, scale).to_string();
        assert!(
            model.contains(
                "--message 500kB --symbol 1194 --headers 57 --rate 1mbit --rtt 50ms --loss 0.013%"
            ),
            "{model}"
        );
        let engine = HOME.engine(2_000_000, Rate::ByHand, 4, scale).to_string();
        for part in [
            "preset=udp-rc symbol=1200 fixed_rate=1 ",
            "'rate=1mbit delay=25ms queue=200ms loss=iid:0.013%'",
            "--back 'rate=4mbit delay=25ms queue=200ms'",
            "--app file:2MB --seeds 4 --seed 3",
        ] {
            assert!(engine.contains(part), "{part}: {engine}");
        }
        assert!(
            !LONG
                .engine(1000, Rate::Own, 1, scale)
                .to_string()
                .contains("--back")
        );
        let lab = MICROWAVE.lab(
            "xfer n=3 size=10000",
            &[MICROWAVE.peer(Rate::Own), "udt".into()],
            1,
            1.0,
        );
        assert!(lab.is_alone() && lab.is_optional());
        assert!(
            lab.to_string()
                .contains("--load 'xfer n=3 size=10000' --peers weftline/udp-rc,carrier=udp,udt --skip-missing"),
            "{lab}"
        );
    }
}
