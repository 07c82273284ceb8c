//! A comparison of values with the paper's statement, judged by a rule that is fixed before the run.
//!
//! The rule depends on the kind of statement alone, never on the result:
//!
//! | kind | the paper's statement | what agrees |
//! | --- | --- | --- |
//! | [`equals`](Check::equals) | a printed number | within `ERRORS` standard errors, and half of the last printed digit |
//! | [`about`](Check::about) | "about", "almost", "near" | within a factor of `ABOUT` |
//! | [`between`](Check::between) | a range | in it |
//! | [`at_least`](Check::at_least), [`at_most`](Check::at_most) | a bound | on its side |
//! | [`claims`](Check::claims) | words, such as an ordering | the words' bound on a ratio or difference |
//! | [`speed`](Check::speed) | the speed of an earlier machine | not slower; kept apart from agreement |
//!
//! A value whose `CLOSE` standard errors lie on both sides of a bound decides nothing: the
//! comparison is inconclusive.

use serde::Serialize;

/// Standard errors within which two values are equal.
const ERRORS: f64 = 4.0;
/// Standard errors by which a value must clear a bound.
const CLOSE: f64 = 2.0;
/// The factor, either way, within which a value is "about" another.
const ABOUT: f64 = 1.25;

/// The rule of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A printed number.
    Equals {
        /// The number.
        value: f64,
        /// The unit of its last printed digit.
        digit: f64,
        /// The standard deviation of one run, where the paper shows one run; else 0.
        spread: f64,
    },
    /// An approximate number.
    About(f64),
    /// A range: from, to.
    Between(f64, f64),
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// A speed that an earlier machine reached.
    Speed(f64),
}

/// The paper's statement.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Says {
    /// Its rule.
    pub rule: Rule,
    /// Its words, where it is not a number.
    pub words: Option<String>,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every value here agrees with the paper's statement.
    Agrees,
    /// The paper states nothing; formula and simulation here agree.
    AgreesWithTheory,
    /// There is nothing to compare with.
    NoNumber,
    /// A speed of an earlier machine is reached. This is no agreement on a result.
    FastEnough,
    /// A speed of an earlier machine is not reached.
    Slower,
    /// The errors are wider than the effect.
    Inconclusive,
    /// A value here disagrees with the paper's statement.
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
            Verdict::NoNumber => "nothing stated",
            Verdict::FastEnough => "fast enough",
            Verdict::Slower => "slower",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Differs => "differs",
            Verdict::Contradicts => "theory and simulation differ",
        }
    }

    /// Whether the verdict needs no explanation.
    pub fn is_good(self) -> bool {
        !matches!(
            self,
            Verdict::Differs | Verdict::Contradicts | Verdict::Slower
        )
    }
}

/// A value here, and its standard error: 0 if it is exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ours {
    /// The value.
    pub value: f64,
    /// Its standard error.
    pub stderr: f64,
}

/// How one value stands to the paper's statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stands {
    Agrees,
    Open,
    Differs,
}

/// A comparison of values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// The compared quantity, with its unit.
    pub what: String,
    /// The paper's statement: only what the paper prints.
    pub paper: Option<Says>,
    /// The value of the formula here.
    pub theory: Option<Ours>,
    /// The value of the simulation of the paper's model here.
    pub simulation: Option<Ours>,
    /// The value of the engine with its preset, in virtual time.
    pub engine: Option<Ours>,
    /// The value measured on this machine, in the lab.
    pub lab: Option<Ours>,
    /// The reason for a difference from the paper, or a remark.
    pub why: Option<String>,
    /// The reason why engine and simulation differ.
    pub engine_why: Option<String>,
}

impl Check {
    /// A comparison; methods add its values.
    pub fn of(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            paper: None,
            theory: None,
            simulation: None,
            engine: None,
            lab: None,
            why: None,
            engine_why: None,
        }
    }

    fn says(mut self, rule: Rule) -> Self {
        self.paper = Some(Says { rule, words: None });
        self
    }

    /// The paper prints this number; `digit` is the unit of its last digit, 0.01 for 21.96.
    pub fn equals(self, value: f64, digit: f64) -> Self {
        let spread = 0.0;
        self.says(Rule::Equals {
            value,
            digit,
            spread,
        })
    }

    /// The paper prints this number of one run, and runs have this standard deviation.
    pub fn one_run(self, value: f64, digit: f64, spread: f64) -> Self {
        self.says(Rule::Equals {
            value,
            digit,
            spread,
        })
    }

    /// The paper says about this much.
    pub fn about(self, value: f64) -> Self {
        self.says(Rule::About(value))
    }

    /// The paper gives this range.
    pub fn between(self, from: f64, to: f64) -> Self {
        self.says(Rule::Between(from, to))
    }

    /// The paper says at least this.
    pub fn at_least(self, value: f64) -> Self {
        self.says(Rule::AtLeast(value))
    }

    /// The paper says at most this.
    pub fn at_most(self, value: f64) -> Self {
        self.says(Rule::AtMost(value))
    }

    /// The paper reached this speed on a machine of its time.
    pub fn speed(self, value: f64) -> Self {
        self.says(Rule::Speed(value))
    }

    /// The paper says this in words, which mean this rule for the quantity: "lower" is
    /// `Rule::AtMost(1.0)` of a ratio. Values are those of the worst point where the claim is about
    /// several.
    pub fn claims(mut self, words: impl Into<String>, rule: Rule) -> Self {
        let words = Some(words.into());
        self.paper = Some(Says { rule, words });
        self
    }

    /// The value of the formula here.
    pub fn theory(mut self, value: f64) -> Self {
        self.theory = Some(Ours { value, stderr: 0.0 });
        self
    }

    /// The value of the simulation here, and its standard error.
    pub fn simulated(mut self, value: f64, stderr: f64) -> Self {
        self.simulation = Some(Ours { value, stderr });
        self
    }

    /// The value of the engine with its preset, and its standard error.
    pub fn engine(mut self, value: f64, stderr: f64) -> Self {
        self.engine = Some(Ours { value, stderr });
        self
    }

    /// The value measured in the lab, and its standard error.
    pub fn lab(mut self, value: f64, stderr: f64) -> Self {
        self.lab = Some(Ours { value, stderr });
        self
    }

    /// The reason for a difference, with what was tried, or a remark.
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }

    /// The reason why engine and simulation differ.
    pub fn engine_because(mut self, why: impl Into<String>) -> Self {
        self.engine_why = Some(why.into());
        self
    }

    /// The values here.
    fn ours(&self) -> impl Iterator<Item = Ours> {
        [self.theory, self.simulation, self.engine, self.lab]
            .into_iter()
            .flatten()
    }

    /// The difference of simulation and theory in standard errors.
    fn errors(&self) -> Option<f64> {
        let (simulated, theory) = (self.simulation?, self.theory?.value);
        // Values that are exact in both must agree to rounding.
        let least = 1e-9 * theory.abs().max(1e-12);
        Some((simulated.value - theory) / simulated.stderr.max(least))
    }

    /// The difference of engine and simulation in standard errors of both; `None` if one has no
    /// value or neither has an error.
    pub fn engine_errors(&self) -> Option<f64> {
        let (engine, model) = (self.engine?, self.simulation?);
        let error = engine.stderr.hypot(model.stderr);
        (error > 0.0).then(|| (engine.value - model.value) / error)
    }

    /// Whether engine and simulation differ by more than their errors, and no reason is given.
    pub fn is_engine_unexplained(&self) -> bool {
        self.engine_why.is_none() && self.engine_errors().is_some_and(|e| e.abs() > ERRORS)
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
        let stands = self.paper.as_ref().and_then(|says| {
            let all = self.ours().map(|ours| says.rule.stands(ours));
            Some((says.rule, all.max()?))
        });
        match stands {
            None if self.errors().is_some() => Verdict::AgreesWithTheory,
            None => Verdict::NoNumber,
            Some((Rule::Speed(_), Stands::Differs)) => Verdict::Slower,
            Some((Rule::Speed(_), _)) => Verdict::FastEnough,
            Some((_, Stands::Agrees)) => Verdict::Agrees,
            Some((_, Stands::Open)) => Verdict::Inconclusive,
            Some((_, Stands::Differs)) => Verdict::Differs,
        }
    }

    /// The paper's statement, theory, simulation, engine, lab and the difference, as cells of a
    /// table.
    pub fn cells(&self) -> [String; 6] {
        let value = |ours: Option<Ours>| ours.map_or_else(String::new, Ours::text);
        [
            self.paper.as_ref().map_or_else(String::new, Says::text),
            value(self.theory),
            value(self.simulation),
            value(self.engine),
            value(self.lab),
            self.difference(),
        ]
    }

    /// The difference in words: the engine's to the paper's number, or else another value's, in
    /// percent; without such a number the simulation's to theory in standard errors.
    pub fn difference(&self) -> String {
        let ours = [self.engine, self.simulation, self.theory, self.lab];
        let ours = ours.into_iter().flatten().next();
        let stated = self.paper.as_ref().and_then(|says| says.rule.number());
        match (stated, ours) {
            (Some(stated), Some(ours)) if stated != 0.0 => {
                format!("{:+.1} %", 100.0 * (ours.value / stated - 1.0))
            }
            _ => self
                .errors()
                .map_or_else(String::new, |errors| format!("{errors:+.1} σ")),
        }
    }
}

impl Rule {
    /// The number of a statement that has one.
    fn number(self) -> Option<f64> {
        match self {
            Rule::Equals { value, .. } | Rule::About(value) => Some(value),
            _ => None,
        }
    }

    fn stands(self, ours: Ours) -> Stands {
        let Ours { value, stderr } = ours;
        if !value.is_finite() {
            return Stands::Differs;
        }
        // How far inside a bound the value lies.
        let side = |inside: f64| {
            let margin = CLOSE * stderr;
            if inside > margin || (stderr == 0.0 && inside >= 0.0) {
                Stands::Agrees
            } else if inside < -margin {
                Stands::Differs
            } else {
                Stands::Open
            }
        };
        match self {
            Rule::Equals {
                value: stated,
                digit,
                spread,
            } => {
                let apart = (value - stated).abs();
                let error = stderr.hypot(spread);
                let printed = digit / 2.0 + 1e-9 * stated.abs();
                // An error as large as the number would agree with anything.
                let is_wide = error > 0.25 * stated.abs() && spread == 0.0;
                if apart > printed + ERRORS * error {
                    Stands::Differs
                } else if is_wide {
                    Stands::Open
                } else {
                    Stands::Agrees
                }
            }
            Rule::About(stated) => {
                let (low, high) = (stated / ABOUT, stated * ABOUT);
                side(value - low.min(high)).max(side(low.max(high) - value))
            }
            Rule::Between(from, to) => side(value - from).max(side(to - value)),
            Rule::AtLeast(bound) | Rule::Speed(bound) => side(value - bound),
            Rule::AtMost(bound) => side(bound - value),
        }
    }
}

impl Says {
    /// The statement as a table has it.
    fn text(&self) -> String {
        if let Some(words) = &self.words {
            return words.clone();
        }
        match self.rule {
            Rule::Equals { value, digit, .. } => printed(value, digit),
            Rule::About(value) => format!("about {}", short(value)),
            Rule::Between(from, to) => format!("{} to {}", short(from), short(to)),
            Rule::AtLeast(value) => format!("at least {}", short(value)),
            Rule::AtMost(value) => format!("at most {}", short(value)),
            Rule::Speed(value) => short(value),
        }
    }
}

impl Ours {
    fn text(self) -> String {
        match self.stderr > 0.0 {
            true => format!("{} ± {}", short(self.value), brief(self.stderr)),
            false => short(self.value),
        }
    }
}

/// A number with the digits that the paper prints.
fn printed(value: f64, digit: f64) -> String {
    let decimals = if digit > 0.0 {
        (-digit.log10()).ceil().clamp(0.0, 8.0)
    } else {
        return short(value);
    };
    format!("{value:.*}", decimals as usize)
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

    fn verdict(check: Check) -> Verdict {
        check.verdict()
    }

    #[test]
    fn a_printed_number_agrees_within_errors_and_its_last_digit() {
        let check = || Check::of("x").equals(10.0, 0.1);
        assert_eq!(verdict(check()), Verdict::NoNumber);
        assert_eq!(verdict(check().theory(10.04)), Verdict::Agrees);
        assert_eq!(verdict(check().theory(10.06)), Verdict::Differs);
        assert_eq!(verdict(check().simulated(10.4, 0.1)), Verdict::Agrees);
        assert_eq!(verdict(check().simulated(10.5, 0.1)), Verdict::Differs);
        assert_eq!(verdict(check().simulated(10.5, 4.0)), Verdict::Inconclusive);
        assert_eq!(verdict(check().simulated(900.0, 9.0)), Verdict::Differs);
        let run = Check::of("x").one_run(10.0, 0.1, 1.0);
        assert_eq!(verdict(run.simulated(13.0, 0.1)), Verdict::Agrees);
    }

    #[test]
    fn an_approximate_number_agrees_within_a_quarter() {
        let check = || Check::of("x").about(100.0);
        assert_eq!(verdict(check().simulated(124.0, 0.1)), Verdict::Agrees);
        assert_eq!(verdict(check().simulated(81.0, 0.1)), Verdict::Agrees);
        assert_eq!(verdict(check().simulated(126.0, 0.1)), Verdict::Differs);
        assert_eq!(
            verdict(check().simulated(124.9, 2.0)),
            Verdict::Inconclusive
        );
    }

    #[test]
    fn a_bound_must_be_cleared_by_more_than_the_error() {
        let lower = || Check::of("ratio").claims("lower", Rule::AtMost(1.0));
        assert_eq!(verdict(lower().simulated(0.9, 0.01)), Verdict::Agrees);
        assert_eq!(verdict(lower().simulated(0.9, 0.1)), Verdict::Inconclusive);
        assert_eq!(verdict(lower().simulated(1.1, 0.01)), Verdict::Differs);
        assert_eq!(verdict(lower().theory(1.0)), Verdict::Agrees);
        let range = || Check::of("x").between(1.0, 2.0);
        assert_eq!(verdict(range().theory(2.5)), Verdict::Differs);
        assert_eq!(verdict(range().simulated(1.9, 0.1)), Verdict::Inconclusive);
        assert_eq!(verdict(lower().theory(f64::NAN)), Verdict::Differs);
    }

    #[test]
    fn every_value_must_agree_and_the_engines_needs_a_reason_if_it_does_not() {
        let check = Check::of("x")
            .at_least(1.0)
            .simulated(2.0, 0.1)
            .engine(0.5, 0.1);
        assert_eq!(check.verdict(), Verdict::Differs);
        assert!(check.is_engine_unexplained());
        assert!(!check.engine_because("queues").is_engine_unexplained());
    }

    #[test]
    fn a_speed_is_no_agreement() {
        let check = || Check::of("Mbit/s").speed(600.0);
        assert_eq!(verdict(check().lab(900.0, 0.0)), Verdict::FastEnough);
        assert_eq!(verdict(check().lab(500.0, 0.0)), Verdict::Slower);
        assert!(!Verdict::Slower.is_good() && Verdict::Inconclusive.is_good());
    }

    #[test]
    fn a_simulation_that_contradicts_theory_is_always_reported() {
        let near = Check::of("x").theory(1.0).simulated(1.3, 0.1);
        assert_eq!(
            (near.verdict(), near.difference().as_str()),
            (Verdict::AgreesWithTheory, "+3.0 σ")
        );
        let far = Check::of("x").theory(1.0).simulated(1.5, 0.1).about(1.5);
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
        let check = Check::of("x").equals(2.0, 0.01).simulated(1.0, 0.25);
        assert_eq!(
            check.cells(),
            ["2.00", "", "1 ± 0.25", "", "", "-50.0 %"].map(str::to_owned)
        );
    }
}
