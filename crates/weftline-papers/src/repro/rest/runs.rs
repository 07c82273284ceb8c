//! A stream of the paper, in the slot model and in the engine.

use serde_json::Value;

use super::super::picture::{Dot, Line, Source};
use super::super::{Verdict, quotient};
use super::{Check, Missing, Point, Scale, Values, over_runs};

/// Its mean loss rate: after 100 packets that arrive, 10.5 that are lost.
pub(super) const BURST_LOSS: f64 = 10.5 / 110.5;

/// The slot model and the engine with the same options.
#[derive(Clone)]
pub(super) struct Both {
    pub(super) model: Point,
    pub(super) engine: Point,
}

/// The options of a stream; the others are the paper's.
#[derive(Clone, Copy)]
pub(super) struct Options {
    /// Fixed R, or adaptive.
    pub(super) redundancy: Option<f64>,
    pub(super) loss: Loss,
    pub(super) window: Option<u32>,
    pub(super) rtt_ms: u32,
    pub(super) ack_ms: u32,
}

/// The losses of a stream.
#[derive(Clone, Copy)]
pub(super) enum Loss {
    /// 15 %.
    Uniform,
    /// As much as the bursty link loses on average, independently.
    Scattered,
    /// From 0 to 20 %, with this period in seconds.
    Sine(u32),
    /// With 1 % chance a burst of 1 to this many.
    Bursts(u32),
}

impl Options {
    /// Adaptive, with the bursty link.
    pub(super) const BURSTY: Options = Options {
        redundancy: None,
        loss: Loss::Bursts(20),
        window: None,
        rtt_ms: 300,
        ack_ms: 200,
    };

    /// The slot model: this many streams.
    pub(super) fn model(self, runs: u64, seed: u64) -> Point {
        let mut text = match self.redundancy {
            Some(share) => format!("sim rest --redundancy {share}"),
            None => "sim rest --adaptive".to_owned(),
        };
        match self.loss {
            Loss::Uniform => text += " --loss iid:0.15",
            Loss::Scattered => text += " --loss iid:0.095023",
            Loss::Sine(period) => text += &format!(" --loss sine:0,0.2,{period}"),
            Loss::Bursts(longest) => text += &format!(" --loss burst:0.01,{longest}"),
        }
        // The real code of a window costs more than counting.
        let secs = match self.window {
            Some(window) => {
                text += &format!(" --window {window}");
                runs as f64 * 5e-3
            }
            None => runs as f64 * 2e-4,
        };
        if self.rtt_ms != 300 {
            text += &format!(" --rtt-ms {}", self.rtt_ms);
        }
        if self.ack_ms != 200 {
            text += &format!(" --ack-ms {}", self.ack_ms);
        }
        Point::lab(&format!("{text} --series --runs {runs} --seed {seed}")).about_secs(secs)
    }

    /// The engine with preset `rest`: this many streams.
    pub(super) fn engine(self, runs: u64, seed: u64) -> Point {
        self.engine_at(PACED, runs, seed)
    }

    /// The engine without the fixed rate.
    pub(super) fn unpaced(self, runs: u64, seed: u64) -> Point {
        self.engine_at(UNPACED, runs, seed)
    }

    fn engine_at(self, pace: &str, runs: u64, seed: u64) -> Point {
        // The engine takes a share at its word; the paper's k is the whole part of 1/R.
        let share = match self.redundancy {
            None => String::new(),
            Some(0.0) => " share=0".to_owned(),
            Some(share) => format!(" share={:.6}", 1.0 / (1.0 / share + 1e-9).floor()),
        };
        let loss = match self.loss {
            Loss::Uniform => "iid:15%".to_owned(),
            Loss::Scattered => "iid:9.5023%".to_owned(),
            Loss::Sine(period) => format!("sine:0%,20%,{period}s"),
            Loss::Bursts(longest) => format!("burst:1%,{longest}"),
        };
        let window = self
            .window
            .map_or_else(String::new, |w| format!(" encoding=mobile:{w}"));
        let (ack, way) = (self.ack_ms, self.rtt_ms as f64 / 2.0);
        Point::lab(&format!(
            "sim engine preset=rest topup=atend feedback=periodic:{ack}{share}{window} {pace} \
             --link 'rate=10mbit delay={way}ms loss={loss}' --symbols --series --seeds {runs} --seed {seed}"
        ))
        .about_secs(runs as f64 * ENGINE_SECS)
    }

    pub(super) fn both(self, scale: Scale) -> Both {
        Both {
            model: self.model(scale.pick(100, 1_000), scale.seed),
            engine: self.engine(scale.pick(8, 20), scale.seed),
        }
    }
}

/// Of the engine: 2331 symbols of 450 bytes, and at most one packet, data or repair, in each 8 ms:
/// such a packet has 536.65 bytes on the wire on average.
const PACED: &str = "symbol=458 fixed_rate=0.53665 --app file:1048950 --secs 18.648";
/// A message of 450 bytes, which is a symbol, each 8 ms, and repairs between them, as the engine's own
/// rate control lets them.
const UNPACED: &str = "symbol=458 --app cbr:450kbit,450 --secs 18.648";
/// Seconds of a core for a stream of the engine.
const ENGINE_SECS: f64 = 0.08;

/// Why the engine differs from the slot model.
pub(super) const ENGINE_END: &str = "After the last data the model's sender repairs without a pause \
    until it hears that everything arrived; the engine sends as many repairs as the newest report \
    shows missing, which takes round trips and saves useless ones. And a repair of the engine covers \
    1024 packets at most.";

/// Most packets that a repair of the engine covers.
pub(super) const ENGINE_WINDOW: u32 = 1024;

/// Both points of each.
pub(super) fn points(all: &[Both]) -> Vec<Point> {
    let both = |both: &Both| [both.model.clone(), both.engine.clone()];
    all.iter().flat_map(both).collect()
}

/// A mean, and its standard error.
#[derive(Clone, Copy)]
pub(super) struct Mean {
    pub(super) mean: f64,
    pub(super) stderr: f64,
}

impl Mean {
    pub(super) fn at(self, x: f64) -> Dot {
        Dot {
            x,
            y: self.mean,
            stderr: self.stderr,
        }
    }

    /// A ratio of independent values.
    pub(super) fn over(self, other: Mean) -> Mean {
        let (mean, stderr) = quotient((self.mean, self.stderr), (other.mean, other.stderr));
        Mean { mean, stderr }
    }
}

/// A mean of the slot model.
pub(super) fn model(values: &Values, point: &Point, key: &str) -> Result<Mean, Missing> {
    Ok(Mean {
        mean: values.number(point, &format!("{key}/mean"))?,
        stderr: values.number(point, &format!("{key}/stderr"))?,
    })
}

/// The key of the engine for a key of the slot model.
fn of_engine(key: &str) -> &str {
    if key == "acknowledgements" {
        "reports"
    } else {
        key
    }
}

/// A mean over the engine's runs.
pub(super) fn engine(values: &Values, point: &Point, key: &str) -> Result<Mean, Missing> {
    let runs = values.object(point)?.get("runs").and_then(Value::as_array);
    let runs = runs.map_or(0, Vec::len);
    let key = of_engine(key);
    let of = |n: usize| values.number(point, &format!("runs/{n}/symbols/{key}"));
    let (mean, stderr) = over_runs(&(0..runs).map(of).collect::<Result<Vec<_>, _>>()?);
    Ok(Mean { mean, stderr })
}

impl Check {
    /// The values of model and engine.
    pub(super) fn both(self, model: Mean, engine: Mean) -> Self {
        self.simulated(model.mean, model.stderr)
            .engine(engine.mean, engine.stderr)
    }

    /// The reasons, where there is a difference to explain.
    pub(super) fn explained(mut self, why: &str, engine_why: &str) -> Self {
        if self.verdict() == Verdict::Differs && !why.is_empty() {
            self = self.because(why);
        }
        if self.is_engine_unexplained() {
            self = self.engine_because(engine_why);
        }
        self
    }
}

/// A series of the first run: dots of `y` over `x`, where `y` has a value.
fn series(
    values: &Values,
    point: &Point,
    base: &str,
    [x, y]: [&str; 2],
    missing: Option<f64>,
) -> Result<Vec<Dot>, Missing> {
    let list = |key: &str| {
        let found = values.object(point)?.pointer(&format!("/{base}/{key}"));
        let found = found
            .and_then(Value::as_array)
            .ok_or_else(|| Missing::Key {
                point: point.to_string(),
                key: format!("{base}/{key}"),
            })?;
        Ok(found.iter().map(Value::as_f64).collect::<Vec<_>>())
    };
    let pairs = list(x)?.into_iter().zip(list(y)?);
    let dots = pairs.filter_map(|(x, y)| Some(Dot::new(x?, y.or(missing)?)));
    Ok(dots.collect())
}

/// What of a series is drawn.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Over {
    Matrices,
    Acknowledged,
    Loss,
    Redundancy,
    Spacing,
}

impl Over {
    fn keys(self) -> [&'static str; 2] {
        match self {
            Over::Matrices => ["decoded_s", "matrix"],
            Over::Acknowledged => ["ack_s", "acknowledged"],
            Over::Loss => ["ack_s", "estimated_loss"],
            Over::Redundancy => ["ack_s", "redundancy"],
            Over::Spacing => ["ack_s", "spacing"],
        }
    }
}

/// The series of a point's first run.
pub(super) fn first_run(
    values: &Values,
    point: &Point,
    source: Source,
    over: Over,
) -> Result<Vec<Dot>, Missing> {
    let base = match source {
        Source::Engine => "runs/0/symbols/series",
        _ => "series",
    };
    // Infinite is drawn as 100, as in the paper; shares in percent.
    let missing = (over == Over::Spacing).then_some(100.0);
    let mut dots = series(values, point, base, over.keys(), missing)?;
    if over == Over::Loss || over == Over::Redundancy {
        dots.iter_mut().for_each(|dot| dot.y *= 100.0);
    }
    Ok(dots)
}

/// The same as lines of model and engine.
pub(super) fn lines(
    values: &Values,
    both: &Both,
    over: Over,
    name: &str,
    colours: [usize; 2],
) -> Result<[Line; 2], Missing> {
    let line = |source: Source, point: &Point, who: &str, colour| {
        let dots = first_run(values, point, source, over)?;
        let name = match name {
            "" => who.to_owned(),
            name => format!("{name}, {who}"),
        };
        let line = Line::new(name, source, colour, dots);
        Ok(match over {
            Over::Matrices => line.apart(),
            _ => line.steps(),
        })
    };
    Ok([
        line(Source::Simulation, &both.model, "slot model", colours[0])?,
        line(Source::Engine, &both.engine, "engine", colours[1])?,
    ])
}
