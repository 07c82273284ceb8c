//! The points of this paper's figures: slot models, the engine and the lab on the paper's testbed.

use serde_json::Value;

use crate::repro::picture::Dot;
use crate::repro::{Missing, Point, Scale, Values, over_runs, quotient};

/// Milliseconds of a slot: 1500 bytes at 25 Mbit/s.
pub(super) const SLOT_MS: f64 = 0.48;
/// Milliseconds of a packet of the engine in open loop: 1477 bytes on the wire at 24 Mbit/s.
const ENGINE_SLOT_MS: f64 = 0.4922;
/// Slots of a round trip of 60 ms.
pub(super) const RTT: u32 = 125;

/// Slots until the engine answers a loss there: a round trip with what waits in its queue, which is
/// 65 ms with one bandwidth-delay product in flight, and the three packets that must arrive first.
const ENGINE_RTT: u32 = 139;

/// What the engine's presets do otherwise than the models that figures show.
pub(super) const ENGINE_RULE: &str = "The engine answers each loss as soon as it is known, so that the repairs in \
     flight cover it on average, to half a repair, and after 139 slots instead of 125 (the queue, and the three \
     packets that must arrive behind a lost one)";

/// Slots of a run on the testbed.
fn slots(scale: Scale) -> u64 {
    scale.pick(1_000_000, 10_000_000)
}

/// A slot model with these options, and the seconds of a million slots.
fn model(text: &str, secs: f64, scale: Scale) -> Point {
    let (slots, seed) = (slots(scale), scale.seed);
    Point::lab(&format!("sim {text} --slots {slots} --seed {seed}"))
        .about_secs(secs * slots as f64 / 1e6)
}

/// ARQ in slots.
pub(super) fn arq(loss: f64, more: &str, scale: Scale) -> Point {
    model(&format!("arq --loss {loss} --rtt {RTT}{more}"), 0.03, scale)
}

/// A block code with ARQ behind it, in slots; `share` repairs for each source packet.
pub(super) fn block(loss: &str, k: u32, share: f64, more: &str, scale: Scale) -> Point {
    let text = format!("block --loss {loss} --k {k} --share {share} --rtt {RTT}{more}");
    model(&text, 0.03, scale)
}

/// The models with the rule and the round trip of the engine.
pub(super) mod as_engine {
    use super::{ENGINE_RTT, Point, Scale, model};

    pub(in super::super) fn arq(loss: f64, scale: Scale) -> Point {
        model(
            &format!("arq --loss {loss} --rtt {ENGINE_RTT}"),
            0.03,
            scale,
        )
    }

    pub(in super::super) fn block(
        loss: &str,
        k: u32,
        share: f64,
        more: &str,
        scale: Scale,
    ) -> Point {
        let text = format!(
            "block --loss {loss} --k {k} --share {share} --answer known --rtt {ENGINE_RTT}{more}"
        );
        model(&text, 0.05, scale)
    }

    pub(in super::super) fn streaming(loss: &str, share: f64, scale: Scale) -> Point {
        let text =
            format!("streaming --loss {loss} --share {share} --answer known --rtt {ENGINE_RTT}");
        model(&text, 0.03, scale)
    }
}

/// The streaming code whose sender answers feedback, in slots: for what is missing, and for the losses
/// expected among the packets in flight.
pub(super) fn streaming(loss: &str, share: f64, scale: Scale) -> Point {
    answering(loss, share, "expected", scale)
}

/// The same with another answer to feedback.
pub(super) fn answering(loss: &str, share: f64, answer: &str, scale: Scale) -> Point {
    let text = format!("streaming --loss {loss} --share {share} --answer {answer} --rtt {RTT}");
    model(&text, 0.03, scale)
}

/// The engine on the testbed, with losses and without.
#[derive(Clone, Debug)]
pub(super) struct Engine {
    /// With losses.
    pub(super) lossy: Point,
    lossless: Point,
}

/// The engine on the testbed: a saturating source, one bandwidth-delay product in flight, feedback
/// for each datagram, packets of about 1500 bytes. `loss` is that of a link, such as `iid:20%`.
pub(super) fn engine(settings: &str, loss: &str, more: &str, scale: Scale) -> Engine {
    Engine::new(
        &format!("{settings} fixed_window=187500"),
        loss,
        more,
        scale,
    )
}

/// The preset streaming with an encoding window that hardly ever ends before the oldest loss, as the
/// paper's and the models'; the preset's own has 256 symbols.
pub(super) fn wide_engine(loss: &str, share: f64, scale: Scale) -> Engine {
    let settings = format!("preset=streaming encoding=elastic:1024 share={share}");
    engine(&settings, loss, "", scale)
}

/// The streaming code in the engine without answers to feedback. Its rate is fixed a little below
/// the link's, so that nothing waits in a queue.
pub(super) fn open_engine(loss: &str, l: u32, scale: Scale) -> Engine {
    let settings = format!("preset=streaming l={l} topup=none fixed_rate=24");
    Engine::new(&settings, &format!("iid:{loss}"), "", scale)
}

impl Engine {
    fn new(settings: &str, loss: &str, more: &str, scale: Scale) -> Self {
        let point = |loss: &str, secs: u32, seeds: u32, more: &str| {
            let seed = scale.seed;
            Point::lab(&format!(
                "sim engine {settings} symbol=1400 feedback=datagram:0 send_buffer=4096 \
                 --link 'rate=25mbit delay=30ms queue=100ms loss={loss}' --app bulk:1380 \
                 --secs {secs} --skip 1 --seeds {seeds}{more} --seed {seed}"
            ))
            .about_secs(f64::from(secs * seeds) * 0.015)
        };
        Self {
            lossy: point(loss, scale.pick(8, 25), scale.pick(2, 5), more),
            lossless: point("none", 3, 1, ""),
        }
    }

    /// Both points.
    pub(super) fn points(&self) -> [Point; 2] {
        [self.lossy.clone(), self.lossless.clone()]
    }

    /// The mean delay without losses, ms: that of path, queue and send buffer, which shown delays do
    /// not include.
    pub(super) fn base(&self, values: &Values) -> Result<f64, Missing> {
        Ok(
            over_seeds(values, &self.lossless, "runs/0/result/mean", |r| {
                r["mean"].as_f64()
            })?
            .0,
        )
    }

    /// The mean delay, ms, at x.
    pub(super) fn mean(&self, values: &Values, x: f64) -> Result<Dot, Missing> {
        let key = "runs/0/result/mean";
        let (y, stderr) = over_seeds(values, &self.lossy, key, |r| r["mean"].as_f64())?;
        let y = y - self.base(values)?;
        Ok(Dot { x, y, stderr })
    }

    /// The mean delay in slots of the open loop's packets, at x.
    pub(super) fn slots(&self, values: &Values, x: f64) -> Result<Dot, Missing> {
        let dot = self.mean(values, x)?;
        let (y, stderr) = (dot.y / ENGINE_SLOT_MS, dot.stderr / ENGINE_SLOT_MS);
        Ok(Dot { y, stderr, ..dot })
    }

    /// The mean delay, ms, over the effective rate.
    pub(super) fn over_rate(&self, values: &Values) -> Result<Dot, Missing> {
        self.mean(values, 1.0 / self.packets(values)?)
    }

    /// Information packets of all runs.
    pub(super) fn count(&self, values: &Values) -> Result<f64, Missing> {
        let key = "runs/0/result/got";
        let runs = values.object(&self.lossy)?["runs"].as_array();
        let mean = over_seeds(values, &self.lossy, key, |r| r["got"].as_f64())?.0;
        Ok(mean * runs.map_or(0, Vec::len) as f64)
    }

    /// Packets sent for each information packet.
    pub(super) fn packets(&self, values: &Values) -> Result<f64, Missing> {
        let key = "runs/0/result/effective_rate";
        let rate = over_seeds(values, &self.lossy, key, |r| r["effective_rate"].as_f64())?;
        Ok(1.0 / rate.0)
    }
}

/// The lab: a file of 25 MB over the testbed, emulated, with these schemes; `loss` is a case of the
/// suite.
pub(super) fn lab(loss: &str, peers: &[String], scale: Scale) -> Vec<Point> {
    let point = |peer: &String| {
        Point::lab(&format!(
            "compare karzand --cases '{loss}' --peers weftline/{peer} --seeds 3 --quiet"
        ))
        .about_secs(45.0)
        .alone()
        .optional()
    };
    match scale.quick {
        true => Vec::new(),
        false => peers.iter().map(point).collect(),
    }
}

/// A mean with its standard error, at x.
fn dot(x: f64, (y, stderr): (f64, f64)) -> Dot {
    Dot { x, y, stderr }
}

/// The mean delay of a slot model, ms.
pub(super) fn mean(values: &Values, point: &Point, x: f64) -> Result<Dot, Missing> {
    let slots = values.number(point, "mean_delay_slots")?;
    let stderr = values.number(point, "stderr")?;
    Ok(dot(x, (SLOT_MS * slots, SLOT_MS * stderr)))
}

/// The mean delay of a slot model, ms, over the effective rate.
pub(super) fn over_rate(values: &Values, point: &Point) -> Result<Dot, Missing> {
    mean(values, point, values.number(point, "effective_rate")?)
}

/// Mean and standard error over the engine's runs of what `of` finds in their results.
pub(super) fn over_seeds(
    values: &Values,
    point: &Point,
    key: &str,
    of: impl Fn(&Value) -> Option<f64>,
) -> Result<(f64, f64), Missing> {
    let missing = || Missing::Key {
        point: point.to_string(),
        key: key.to_owned(),
    };
    let runs = values.object(point)?["runs"]
        .as_array()
        .ok_or_else(missing)?;
    let found: Option<Vec<f64>> = runs.iter().map(|run| of(&run["result"])).collect();
    Ok(over_runs(&found.ok_or_else(missing)?))
}

/// A row of the lab's results: `None` if it was not run, or no run of it was valid.
pub(super) fn lab_row<'a>(values: &'a Values, point: &Point) -> Option<&'a Value> {
    let row = values
        .object(point)
        .ok()?
        .pointer("/suites/0/cases/0/rows/0")?;
    let problems = row["problems"].as_array()?;
    problems.is_empty().then_some(row)
}

/// Mean and standard error of a value of the lab's three runs.
pub(super) fn lab_value(values: &Values, point: &Point, key: &str) -> Option<(f64, f64)> {
    let spread = &lab_row(values, point)?["values"][key];
    let of = |name: &str| spread[name].as_f64();
    Some(over_runs(&[of("min")?, of("median")?, of("max")?]))
}

/// The lab's mean delay, ms, at x.
pub(super) fn lab_mean(values: &Values, point: &Point, x: f64) -> Option<Dot> {
    Some(dot(x, lab_value(values, point, "mean")?))
}

/// The dot with the smallest value.
pub(super) fn least(dots: &[Dot]) -> Dot {
    let least = dots.iter().min_by(|a, b| a.y.total_cmp(&b.y));
    least.copied().unwrap_or(Dot::new(f64::NAN, f64::NAN))
}

/// The ratio of two values with its standard error.
pub(super) fn ratio(top: Dot, bottom: Dot) -> (f64, f64) {
    quotient((top.y, top.stderr), (bottom.y, bottom.stderr))
}

/// The largest of several ratios.
pub(super) fn largest(ratios: impl IntoIterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    ratios.into_iter().max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The smallest of several ratios.
pub(super) fn smallest(ratios: impl IntoIterator<Item = (f64, f64)>) -> Option<(f64, f64)> {
    ratios.into_iter().min_by(|a, b| a.0.total_cmp(&b.0))
}

/// A curve's value at x, between its dots, on a logarithmic scale where both are above 0; `None`
/// outside of them.
pub(super) fn between(dots: &[Dot], x: f64) -> Option<Dot> {
    let mut sorted = dots.to_vec();
    sorted.sort_by(|a, b| a.x.total_cmp(&b.x));
    let pair = sorted
        .windows(2)
        .find(|pair| (pair[0].x..=pair[1].x).contains(&x))?;
    let share = (x - pair[0].x) / (pair[1].x - pair[0].x).max(1e-12);
    let (a, b) = (pair[0], pair[1]);
    // A delay less that without losses is 0 to rounding where nothing waits.
    if a.y.min(b.y) <= 0.0 {
        return Some(Dot {
            x,
            y: a.y + share * (b.y - a.y),
            stderr: a.stderr.max(b.stderr),
        });
    }
    let y = (a.y.ln() + share * (b.y.ln() - a.y.ln())).exp();
    let stderr = y * (a.stderr / a.y).max(b.stderr / b.y);
    Some(Dot { x, y, stderr })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_dots_are_interpolated_on_a_logarithmic_scale() {
        let dots = [Dot::new(2.0, 40.0), Dot::new(1.0, 10.0)];
        let between = |x| super::between(&dots, x).map(|dot| dot.y);
        assert_eq!(least(&dots).x, 1.0);
        assert!(between(1.5).is_some_and(|y| (y - 20.0).abs() < 1e-9));
        assert_eq!(between(2.5), None);
        let dots = [Dot::new(1.0, -0.1), Dot::new(2.0, 0.3)];
        let between = super::between(&dots, 1.5).map(|dot| dot.y);
        assert!(between.is_some_and(|y| (y - 0.1).abs() < 1e-9));
    }

    #[test]
    fn a_ratio_has_the_errors_of_both() {
        let of = |y, stderr| Dot { x: 0.0, y, stderr };
        let (value, error) = ratio(of(10.0, 0.3), of(20.0, 0.8));
        assert!((value - 0.5).abs() < 1e-12 && (error - 0.025).abs() < 1e-12);
        assert_eq!(ratio(of(0.0, 0.2), of(2.0, 0.1)), (0.0, 0.1));
        assert_eq!(largest([(1.0, 0.1), (2.0, 0.2)]), Some((2.0, 0.2)));
        assert_eq!(smallest([(1.0, 0.1), (2.0, 0.2)]), Some((1.0, 0.1)));
    }

    #[test]
    fn the_lab_has_three_runs_or_none() {
        let point = Point::lab("compare karzand");
        let mut values = Values::default();
        assert_eq!(lab_value(&values, &point, "mean"), None);
        let row = |problems: Value| {
            let mean = serde_json::json!({ "min": 1.0, "median": 2.0, "max": 6.0, "n": 3 });
            serde_json::json!({ "suites": [{ "cases": [{ "rows": [
                { "values": { "mean": mean }, "problems": problems }
            ] }] }] })
        };
        values.insert(point.to_string(), row(serde_json::json!([])));
        assert_eq!(lab_value(&values, &point, "mean").map(|v| v.0), Some(3.0));
        values.insert(point.to_string(), row(serde_json::json!(["late"])));
        assert_eq!(lab_value(&values, &point, "mean"), None);
    }
}
