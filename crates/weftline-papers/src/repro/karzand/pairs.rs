//! A streaming code by theory and by simulation in slots, open loop.

use crate::repro::picture::{Dot, Line, Source};
use crate::repro::{Check, Missing, Point, Scale, Values};

/// A code on a channel.
pub(super) struct Pair {
    pub(super) x: f64,
    theory: Point,
    simulation: Point,
}

impl Pair {
    pub(super) fn new(x: f64, loss: &str, spacing: u32, scale: Scale) -> Self {
        let slots: u64 = scale.pick(2_000_000, 40_000_000);
        let seed = scale.seed;
        Self {
            x,
            theory: Point::lab(&format!(
                "theory streaming --loss {loss} --spacing {spacing} --terms 2 --delays 1"
            )),
            simulation: Point::lab(&format!(
                "sim streaming --loss {loss} --spacing {spacing} --slots {slots} --seed {seed}"
            ))
            .about_secs(slots as f64 / 8e7),
        }
    }

    pub(super) fn points(&self) -> [Point; 2] {
        [self.theory.clone(), self.simulation.clone()]
    }

    pub(super) fn theory(&self, values: &Values, key: &str) -> Result<Dot, Missing> {
        Ok(Dot::new(self.x, values.number(&self.theory, key)?))
    }

    pub(super) fn simulated(&self, values: &Values) -> Result<Dot, Missing> {
        Ok(Dot {
            x: self.x,
            y: values.number(&self.simulation, "mean_delay_slots")?,
            stderr: values.number(&self.simulation, "stderr")?,
        })
    }

    /// Simulation beside theory.
    pub(super) fn check(&self, what: String, values: &Values) -> Result<Check, Missing> {
        let simulated = self.simulated(values)?;
        Ok(Check::of(what)
            .theory(self.theory(values, "mean_delay_slots")?.y)
            .simulated(simulated.y, simulated.stderr))
    }
}

/// A line of a formula's values.
pub(super) fn theory_line(
    name: String,
    colour: usize,
    pairs: &[&Pair],
    values: &Values,
    key: &str,
) -> Result<Line, Missing> {
    let dots = pairs.iter().map(|pair| pair.theory(values, key));
    let dots = dots.collect::<Result<_, _>>()?;
    Ok(Line::new(name, Source::Theory, colour, dots))
}

/// Dots of simulated mean delays.
pub(super) fn simulated_line(
    name: String,
    colour: usize,
    pairs: &[&Pair],
    values: &Values,
) -> Result<Line, Missing> {
    let dots = pairs.iter().map(|pair| pair.simulated(values));
    let dots = dots.collect::<Result<_, _>>()?;
    Ok(Line::new(name, Source::Simulation, colour, dots).apart())
}
