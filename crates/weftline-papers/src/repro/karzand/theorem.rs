//! Theorem 3: long stalls are exponentially rare.

use crate::repro::picture::{Dot, Line, Plot, Source};
use crate::repro::{Check, Figure, Missing, Paper, Point, Rule, Scale, Shown, Values};

/// Values of P(S = s) that are asked for.
const TERMS: usize = 200;
/// Independent busy periods that a shown share needs at least.
const FEWEST: f64 = 20.0;

/// A code's stalls.
struct Stalls {
    loss: f64,
    l: u32,
    theory: Point,
    simulation: Point,
}

impl Stalls {
    fn new(loss: f64, l: u32, scale: Scale) -> Self {
        let slots: u64 = scale.pick(5_000_000, 100_000_000);
        let seed = scale.seed;
        Self {
            loss,
            l,
            theory: Point::lab(&format!(
                "theory streaming --loss {loss} --spacing {l} --terms {TERMS} --delays 1"
            )),
            simulation: Point::lab(&format!(
                "sim streaming --loss {loss} --spacing {l} --terms {TERMS} --slots {slots} --seed {seed}"
            ))
            .about_secs(slots as f64 / 8e7),
        }
    }

    /// P(S > s) by the formula and by simulation.
    fn tails(&self, values: &Values) -> Result<(Vec<Dot>, Vec<Dot>), Missing> {
        let after = |pmf: Vec<f64>| {
            let mut left = 1.0;
            let tail = pmf.into_iter().enumerate().map(move |(s, p)| {
                left -= p;
                (s as f64, left)
            });
            tail.collect::<Vec<(f64, f64)>>()
        };
        let theory = after(values.numbers(&self.theory, "busy_time_pmf")?);
        let simulated = after(values.numbers(&self.simulation, "busy_time_pmf")?);
        let periods = values.number(&self.simulation, "periods")?;
        let simulated = simulated.into_iter().filter(|(_, p)| p * periods > FEWEST);
        let simulated: Vec<Dot> = simulated
            .map(|(x, y)| Dot {
                x,
                y,
                stderr: (y * (1.0 - y) / periods).sqrt(),
            })
            .collect();
        let least = simulated.last().map_or(1.0, |dot| 0.1 * dot.y);
        let theory = theory.into_iter().filter(|(_, p)| *p > least);
        Ok((theory.map(|(x, y)| Dot::new(x, y)).collect(), simulated))
    }

    /// A bound exp(-exponent s) at the s of these dots.
    fn bound(exponent: f64, at: &[Dot]) -> Vec<Dot> {
        let of = |dot: &Dot| Dot::new(dot.x, (-exponent * dot.x).exp());
        at.iter().map(of).collect()
    }
}

/// The largest share of what is bounded in the bound, over s of at least 1.
fn most(values: &[Dot], bound: &[Dot]) -> (f64, f64) {
    let pairs = values.iter().zip(bound).filter(|(value, _)| value.x >= 1.0);
    let ratios = pairs.map(|(value, bound)| (value.y / bound.y, value.stderr / bound.y));
    super::points::largest(ratios).unwrap_or((f64::NAN, 0.0))
}

/// Theorem 3.
pub(super) fn tail(scale: Scale) -> Figure {
    let all = [(0.05, 10), (0.1, 5), (0.1, 8)].map(|(loss, l)| Stalls::new(loss, l, scale));
    let points = all
        .iter()
        .flat_map(|one| [one.theory.clone(), one.simulation.clone()]);
    let points = points.collect();
    Figure {
        id: "karzand-theorem-3",
        paper: Paper::Karzand,
        title: "the probability that in-order delivery stalls for long",
        shows: "Theorem 3 states that a code of a rate below the channel's capacity has a delay that is \
                exponentially rarely long; its proof bounds the probability that a stall lasts for more than s \
                intervals of l slots. The theorem is a statement of existence and has no picture. Here: P(S > s) \
                exactly (Theorem 1) and simulated, the bound with the right exponent l D(1/l || e), and the \
                Chernoff bound of the proof with (1-le)^2.",
        points,
        show: Box::new(move |values| {
            let (mut pictures, mut checks) = (Vec::new(), Vec::new());
            let mut apart = Vec::new();
            for (index, one) in all.iter().enumerate() {
                let name = format!("loss {}, l {}", one.loss, one.l);
                let (theory, simulated) = one.tails(values)?;
                let l = f64::from(one.l);
                let exponent = |key| Ok(l * values.number(&one.theory, key)?);
                let exact = Stalls::bound(exponent("tail_exponent_per_slot")?, &theory);
                let chernoff = Stalls::bound(exponent("chernoff_exponent_per_slot")?, &theory);
                for (a, b) in theory.iter().zip(&simulated).filter(|(a, _)| a.x <= 5.0) {
                    let what = format!("P(S > {}), {name}", a.x);
                    apart.push(Check::of(what).theory(a.y).simulated(b.y, b.stderr));
                }
                let of = |bound: &[Dot]| (most(&theory, bound).0, most(&simulated, bound));
                let (ratio, ours) = of(&chernoff);
                checks.push(
                    Check::of(format!(
                        "P(S > s) for the proof's bound with (1-le)^2, largest; {name}"
                    ))
                    .claims("an upper bound", Rule::AtMost(1.0))
                    .simulated(ours.0, ours.1)
                    .because(format!("exactly {ratio:.3}")),
                );
                if index == 0 {
                    // The exponent as printed: (l-1)^2 in the place of (1-le)^2.
                    let slack = 1.0 - l * one.loss;
                    let wrong =
                        exponent("chernoff_exponent_per_slot")? * ((l - 1.0) / slack).powi(2);
                    let first: Vec<Dot> = theory.iter().take(2).copied().collect();
                    let (ratio, _) = most(&first, &Stalls::bound(wrong, &first));
                    checks.push(
                        Check::of(format!("the same with (l-1)^2, as printed, at s = 1; {name}"))
                            .claims("an upper bound", Rule::AtMost(1.0))
                            .theory(ratio)
                            .because(
                                "the Chernoff expression in the proof needs (1-le)^2, the square of the walk's \
                                 drift; both were put in the place of the other in the same bound, and the \
                                 printed one falls below the exact probability. The theorem itself needs only \
                                 that the exponent is positive",
                            ),
                    );
                }
                let plot = Plot::new(
                    format!("P(S > s), {name}."),
                    "s, intervals of l slots",
                    "probability that a stall is longer",
                )
                .with([
                    Line::new("exact (Theorem 1)", Source::Theory, 0, theory),
                    Line::new("simulated", Source::Simulation, 7, simulated).apart(),
                    Line::new("exp(-s l D(1/l || e))", Source::Theory, 1, exact),
                    Line::new("Chernoff, (1-le)^2", Source::Theory, 4, chernoff),
                ])
                .log_y();
                pictures.push(plot.into());
            }
            checks.extend(Check::worst(apart));
            Ok(Shown {
                pictures,
                checks,
                notes: Vec::new(),
            })
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_share_of_a_bound_leaves_out_the_start() {
        let dots = [Dot::new(0.0, 5.0), Dot::new(1.0, 0.5), Dot::new(2.0, 0.4)];
        let bound = Stalls::bound(0.5, &dots);
        let (largest, _) = most(&dots, &bound);
        assert!((largest - 0.4 / (-1.0_f64).exp()).abs() < 1e-12);
    }
}
