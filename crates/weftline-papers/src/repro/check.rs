//! A value beside the paper's: how far apart, and whether that is agreement.

use serde::Serialize;

/// Standard errors within which a simulation agrees with a formula.
const ERRORS: f64 = 4.0;

/// What the paper says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// It gives no number, or none that we have.
    Nothing,
    /// A number, and by which share of it ours may differ.
    Number {
        /// The number.
        value: f64,
        /// Share of it.
        within: f64,
    },
    /// From, to.
    Range(f64, f64),
    /// A claim in words, and whether ours bear it out.
    Claim {
        /// The claim, shortly.
        words: String,
        /// Whether ours bear it out.
        holds: bool,
    },
}

/// How a comparison came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The paper and we agree.
    Agrees,
    /// The paper gives no number; our formula and our simulation agree.
    AgreesWithTheory,
    /// There is nothing to compare ours with.
    NoNumber,
    /// The paper and we differ; the reason is beside it.
    Differs,
    /// Our own formula and simulation differ, which should not be.
    Contradicts,
}

impl Verdict {
    /// In a few words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::AgreesWithTheory => "agrees with theory",
            Verdict::NoNumber => "no number to compare",
            Verdict::Differs => "differs",
            Verdict::Contradicts => "theory and simulation differ",
        }
    }

    /// Whether nothing is wrong with it.
    pub fn is_good(self) -> bool {
        !matches!(self, Verdict::Differs | Verdict::Contradicts)
    }
}

/// A value compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// What is compared, with its unit.
    pub what: String,
    /// What the paper says.
    pub paper: Says,
    /// By our formula.
    pub theory: Option<f64>,
    /// By our simulation, and its standard error.
    pub simulation: Option<(f64, f64)>,
    /// Measured in the lab earlier, or on this machine.
    pub lab: Option<f64>,
    /// Why it differs, or what else is to be known.
    pub why: Option<String>,
}

impl Check {
    /// A comparison, to which values are added.
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

    /// The paper's number; ours agrees if it differs by no more than a share `within` of it.
    pub fn paper(mut self, value: f64, within: f64) -> Self {
        self.paper = Says::Number { value, within };
        self
    }

    /// The paper's range.
    pub fn range(mut self, from: f64, to: f64) -> Self {
        self.paper = Says::Range(from, to);
        self
    }

    /// The paper's claim, and whether ours bear it out.
    pub fn claim(mut self, words: impl Into<String>, holds: bool) -> Self {
        let words = words.into();
        self.paper = Says::Claim { words, holds };
        self
    }

    /// Our formula's value.
    pub fn theory(mut self, value: f64) -> Self {
        self.theory = Some(value);
        self
    }

    /// Our simulation's value and its standard error.
    pub fn simulated(mut self, value: f64, stderr: f64) -> Self {
        self.simulation = Some((value, stderr));
        self
    }

    /// What was measured in the lab, or on this machine.
    pub fn lab(mut self, value: f64) -> Self {
        self.lab = Some(value);
        self
    }

    /// Why it differs, or what else is to be known.
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// The value of ours that is compared with the paper's.
    pub fn ours(&self) -> Option<f64> {
        let simulated = self.simulation.map(|(value, _)| value);
        simulated.or(self.theory).or(self.lab)
    }

    /// By how many standard errors simulation and theory differ.
    fn errors(&self) -> Option<f64> {
        let ((simulated, stderr), theory) = (self.simulation?, self.theory?);
        // What is exact in both must agree to rounding.
        let least = 1e-9 * theory.abs().max(1e-12);
        Some((simulated - theory) / stderr.max(least))
    }

    /// Of comparisons of simulation with theory the one that differs most, as one for all of them.
    pub fn worst(checks: Vec<Check>) -> Option<Check> {
        let all = checks.len();
        let apart = |check: &Check| check.errors().map_or(0.0, f64::abs);
        let worst = checks
            .into_iter()
            .max_by(|a, b| apart(a).total_cmp(&apart(b)))?;
        let what = format!("{} (of {all} such points the one most apart)", worst.what);
        Some(Check { what, ..worst })
    }

    /// How it came out.
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

    /// What the paper says, theory, simulation, lab and the difference, as a table shows them.
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

    /// The values in a sentence's words.
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

    /// The difference in words: to the paper's number in percent, else to theory in standard errors.
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

/// Four digits that count.
fn short(value: f64) -> String {
    digits(value, 4)
}

/// Two.
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
    fn agreement_is_within_what_is_allowed() {
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
    fn a_simulation_that_leaves_theory_is_told_whatever_the_paper_says() {
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
    fn numbers_keep_the_digits_that_count() {
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
