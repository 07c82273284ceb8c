//! A point of a figure: one command, which prints one JSON object.

use std::fmt;

/// The program that runs a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Program {
    /// `weftline-lab`.
    Lab,
    /// The ns-3 model, `weftline-ns3`, which is built separately and may be missing.
    Ns3,
}

impl Program {
    /// Its name in a command line.
    pub fn name(self) -> &'static str {
        match self {
            Program::Lab => "weftline-lab",
            Program::Ns3 => "weftline-ns3",
        }
    }
}

/// A command whose output has one or more numbers of a figure.
///
/// It is independent of all others, and its text is the command that a reader types to get the
/// same numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    program: Program,
    words: Vec<String>,
    about_secs: f64,
    alone: bool,
    optional: bool,
}

impl Point {
    /// A command of `weftline-lab`: its arguments as typed, without `--json`, which is added. Words
    /// with blanks are put between single quotes.
    pub fn lab(arguments: &str) -> Self {
        let mut point = Self::of(Program::Lab, arguments);
        point.words.push("--json".to_owned());
        point
    }

    /// A command of the ns-3 model, which always prints JSON.
    pub fn ns3(arguments: &str) -> Self {
        Self::of(Program::Ns3, arguments)
    }

    fn of(program: Program, arguments: &str) -> Self {
        Self {
            program,
            words: split(arguments),
            about_secs: 0.1,
            alone: false,
            optional: false,
        }
    }

    /// Estimated seconds of one core: long points are started first, and the estimate of the
    /// remaining time uses this. The default is 0.1.
    pub fn about_secs(mut self, secs: f64) -> Self {
        self.about_secs = secs.max(0.001);
        self
    }

    /// Marks a measurement of this machine's speed: no other point runs beside it, and its result
    /// is not repeatable.
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Marks a point that its figure can be shown without, such as a measurement on an emulated path,
    /// which needs root. If it fails, the figure says so and shows the rest.
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Whether its figure can be shown without it.
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    /// The program.
    pub fn program(&self) -> Program {
        self.program
    }

    /// Estimated seconds of one core.
    pub fn cost(&self) -> f64 {
        self.about_secs
    }

    /// Whether no other point may run beside it.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// The arguments of its process: those of its text, and a limit of one thread for commands
    /// that would use all of them. The result does not depend on the limit.
    pub fn arguments(&self) -> Vec<String> {
        const ONE_THREAD: [&str; 6] = ["streaming", "block", "arq", "rest", "udp-rc", "rlc-block"];
        let mut arguments = self.words.clone();
        if self.program == Program::Lab && self.words.first().is_some_and(|w| w == "sim") {
            let model = self.words.get(1).map_or("", String::as_str);
            if ONE_THREAD.contains(&model) {
                arguments.extend(["--threads".to_owned(), "1".to_owned()]);
            } else if model == "fecframe" {
                arguments.extend(["--jobs".to_owned(), "1".to_owned()]);
            }
        }
        arguments
    }
}

/// The command line, quoted for a shell: also the key of the point's result.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.program.name())?;
        for word in &self.words {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
            if !word.is_empty() && word.chars().all(plain) {
                write!(f, " {word}")?;
            } else {
                write!(f, " '{}'", word.replace('\'', r"'\''"))?;
            }
        }
        Ok(())
    }
}

/// Splits a text at blanks outside of single quotes.
fn split(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let (mut word, mut open, mut quoted) = (String::new(), false, false);
    for c in text.chars() {
        match c {
            '\'' => {
                (quoted, open) = (!quoted, true);
            }
            c if c.is_whitespace() && !quoted => {
                if open {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            c => {
                word.push(c);
                open = true;
            }
        }
    }
    if open {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_outside_of_quotes_and_shown_quoted_for_a_shell() {
        let point = Point::lab("sim engine --link 'rate=1mbit delay=2ms'  --secs 3");
        assert_eq!(point.words[3], "rate=1mbit delay=2ms");
        assert_eq!(
            point.to_string(),
            "weftline-lab sim engine --link 'rate=1mbit delay=2ms' --secs 3 --json"
        );
        assert_eq!(
            split("a '' 'b c'd"),
            ["a", "", "b cd"].map(str::to_owned).to_vec()
        );
    }

    #[test]
    fn models_that_use_all_processors_run_on_one() {
        let of = |text: &str| Point::lab(text).arguments().join(" ");
        assert_eq!(
            of("sim arq --loss 0.1 --rtt 5"),
            "sim arq --loss 0.1 --rtt 5 --json --threads 1"
        );
        assert_eq!(of("sim fecframe"), "sim fecframe --json --jobs 1");
        assert_eq!(of("theory bianchi"), "theory bianchi --json");
        assert_eq!(
            Point::ns3("hop --fer=0.1").arguments(),
            ["hop", "--fer=0.1"].map(str::to_owned).to_vec()
        );
    }
}
