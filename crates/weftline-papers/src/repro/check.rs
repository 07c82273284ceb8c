//! A comparison of a value with the paper's: the difference, and whether they agree.

use serde::Serialize;

/// Standard errors within which a simulation agrees with a formula.
const ERRORS: f64 = 4.0;

/// The paper's statement.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// It gives no number, or its number is not available here.
    Nothing,
    /// A number, and the share of it by which the value here may differ.
    Number {
        /// The number.
        value: f64,
        /// The allowed share of it.
        within: f64,
    },
    /// A range: from, to.
    Range(f64, f64),
    /// A claim in words, and whether the values here support it.
    Claim {
        /// The claim, in short.
        words: String,
        /// Whether the values here support it.
        holds: bool,
    },
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The paper's value and the value here agree.
    Agrees,
    /// The paper gives no number; formula and simulation here agree.
    AgreesWithTheory,
    /// There is nothing to compare with.
    NoNumber,
    /// The paper's value and the value here differ; the reason is given.
    Differs,
    /// Formula and simulation here differ, which is an error.
    Contradicts,
}

impl Verdict {
    /// The verdict in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::AgreesWithTheory => "agrees with theory",
            Verdict::NoNumber => "no number to compare",
            Verdict::Differs => "differs",
            Verdict::Contradicts => "theory and simulation differ",
        }
    }

    /// Whether the verdict is no error.
    pub fn is_good(self) -> bool {
        !matches!(self, Verdict::Differs | Verdict::Contradicts)
    }
}

/// A comparison of values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The compared quantity, with its unit.
    pub what: String,
    /// The paper's statement.
    pub paper: Says,
    /// The value of the formula here.
    pub theory: Option<f64>,
    /// The value of the simulation here, and its standard error.
    pub simulation: Option<(f64, f64)>,
    /// The value measured in the lab earlier, or on this machine.
    pub lab: Option<f64>,
    /// The reason for a difference, or a remark.
    pub why: Option<String>,
}

impl Check {
    /// A comparison; methods add its values.
    pub fn of(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            paper: Says::Nothing,
            theory: None,
            simulation: None,
            lab: None,
            why: None,
        }
    }

    /// The paper's number; the value here agrees if it differs by at most a share `within` of it.
    pub fn paper(mut self, value: f64, within: f64) -> Self {
        self.paper = Says::Number { value, within };
        self
    }

    /// The paper's range.
    pub fn range(mut self, from: f64, to: f64) -> Self {
        self.paper = Says::Range(from, to);
        self
    }

    /// The paper's claim, and whether the values here support it.
    pub fn claim(mut self, words: impl Into<String>, holds: bool) -> Self {
        let words = words.into();
        self.paper = Says::Claim { words, holds };
        self
    }

    /// The value of the formula here.
    pub fn theory(mut self, value: f64) -> Self {
        self.theory = Some(value);
        self
    }

    /// The value of the simulation here, and its standard error.
    pub fn simulated(mut self, value: f64, stderr: f64) -> Self {
        self.simulation = Some((value, stderr));
        self
    }

    /// The value measured in the lab, or on this machine.
    pub fn lab(mut self, value: f64) -> Self {
        self.lab = Some(value);
        self
    }

    /// The reason for a difference, or a remark.
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// The value here that is compared with the paper's.
    pub fn ours(&self) -> Option<f64> {
        let simulated = self.simulation.map(|(value, _)| value);
        simulated.or(self.theory).or(self.lab)
    }

    /// The difference of simulation and theory in standard errors.
    fn errors(&self) -> Option<f64> {
        let ((simulated, stderr), theory) = (self.simulation?, self.theory?);
        // Values that are exact in both must agree to rounding.
        let least = 1e-9 * theory.abs().max(1e-12);
        Some((simulated - theory) / stderr.max(least))
    }

    /// Combines comparisons of simulation with theory into the one with the largest difference.
    pub fn worst(checks: Vec<Check>) -> Option<Check> {
        let all = checks.len();
        let apart = |check: &Check| check.errors().map_or(0.0, f64::abs);
        let worst = checks
            .into_iter()
            .max_by(|a, b| apart(a).total_cmp(&apart(b)))?;
        let what = format!(
            "{} (the largest difference of {all} such points)",
            worst.what
        );
        Some(Check { what, ..worst })
    }

    /// The result.
    pub fn verdict(&self) -> Verdict {
        if self.errors().is_some_and(|errors| errors.abs() > ERRORS) {
            return Verdict::Contradicts;
        }
        let agrees = match (&self.paper, self.ours()) {
            (Says::Nothing, _) | (Says::Number { .. } | Says::Range(..), None) => {
                return match self.errors() {
                    Some(_) => Verdict::AgreesWithTheory,
                    None => Verdict::NoNumber,
                };
            }
            (Says::Number { value, within }, Some(ours)) => {
                (ours - value).abs() <= within * value.abs() * (1.0 + 1e-9)
            }
            (Says::Range(from, to), Some(ours)) => (*from..=*to).contains(&ours),
            (Says::Claim { holds, .. }, _) => *holds,
        };
        if agrees {
            Verdict::Agrees
        } else {
            Verdict::Differs
        }
    }

    /// The paper's statement, theory, simulation, lab and the difference, as cells of a table.
    pub fn cells(&self) -> [String; 5] {
        let paper = match &self.paper {
            Says::Nothing => String::new(),
            Says::Number { value, .. } => short(*value),
            Says::Range(from, to) => format!("{} to {}", short(*from), short(*to)),
            Says::Claim { words, .. } => words.clone(),
        };
        let value = |value: Option<f64>| value.map_or_else(String::new, short);
        let simulation = match self.simulation {
            Some((value, stderr)) if stderr > 0.0 => {
                format!("{} ± {}", short(value), brief(stderr))
            }
            Some((value, _)) => short(value),
            None => String::new(),
        };
        let (theory, lab) = (value(self.theory), value(self.lab));
        [paper, theory, simulation, lab, self.difference()]
    }

    /// The values as words of a sentence.
    pub fn comparison(&self) -> String {
        let names = ["paper", "theory", "simulation", "lab"];
        let cells = self.cells();
        let told = names
            .iter()
            .zip(&cells)
            .filter(|(_, cell)| !cell.is_empty());
        let told: Vec<String> = told.map(|(name, cell)| format!("{name} {cell}")).collect();
        told.join(", ")
    }

    /// The difference in words: to the paper's number in percent, else to theory in standard
    /// errors.
    pub fn difference(&self) -> String {
        match (&self.paper, self.ours()) {
            (Says::Number { value, .. }, Some(ours)) if *value != 0.0 => {
                format!("{:+.1} %", 100.0 * (ours / value - 1.0))
            }
            _ => self
                .errors()
                .map_or_else(String::new, |errors| format!("{errors:+.1} σ")),
        }
    }
}

/// Four significant digits.
fn short(value: f64) -> String {
    digits(value, 4)
}

/// Two significant digits.
fn brief(value: f64) -> String {
    digits(value, 2)
}

fn digits(value: f64, digits: i32) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{value:.*e}", digits as usize - 1);
    }
    let decimals = (digits - 1 - size.log10().floor() as i32).clamp(0, 8);
    let text = format!("{value:.*}", decimals as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agreement_is_within_the_allowed_difference() {
        let check = Check::of("x").paper(10.0, 0.1);
        assert_eq!(check.verdict(), Verdict::NoNumber);
        assert_eq!(
            check.clone().simulated(10.9, 0.1).verdict(),
            Verdict::Agrees
        );
        let far = check.simulated(11.2, 0.1);
        assert_eq!(
            (far.verdict(), far.difference().as_str()),
            (Verdict::Differs, "+12.0 %")
        );
        assert_eq!(
            Check::of("x").range(1.0, 2.0).theory(2.5).verdict(),
            Verdict::Differs
        );
        assert_eq!(
            Check::of("x").claim("less", true).verdict(),
            Verdict::Agrees
        );
    }

    #[test]
    fn a_simulation_that_contradicts_theory_is_always_reported() {
        let near = Check::of("x").theory(1.0).simulated(1.3, 0.1);
        assert_eq!(
            (near.verdict(), near.difference().as_str()),
            (Verdict::AgreesWithTheory, "+3.0 σ")
        );
        let far = Check::of("x")
            .theory(1.0)
            .simulated(1.5, 0.1)
            .paper(1.5, 0.1);
        assert_eq!(far.verdict(), Verdict::Contradicts);
        assert!(!far.verdict().is_good());
        let worst = Check::worst(vec![near, far.clone()]).unwrap();
        assert_eq!(worst.verdict(), Verdict::Contradicts);
        assert!(worst.what.contains("of 2 such points"), "{}", worst.what);
        assert_eq!(Check::worst(Vec::new()), None);
    }

    #[test]
    fn numbers_keep_their_significant_digits() {
        assert_eq!(
            [1234.56, 12.3456, 0.0123456, 0.5, 0.0].map(short),
            ["1235", "12.35", "0.01235", "0.5", "0"].map(str::to_owned)
        );
        assert_eq!(
            (short(1e-6), brief(0.0123)),
            ("1.000e-6".to_owned(), "0.012".to_owned())
        );
        let check = Check::of("x").paper(2.0, 0.1).simulated(1.0, 0.25);
        assert_eq!(
            check.cells(),
            ["2", "", "1 ± 0.25", "", "-50.0 %"].map(str::to_owned)
        );
        assert_eq!(check.comparison(), "paper 2, simulation 1 ± 0.25");
    }
}
