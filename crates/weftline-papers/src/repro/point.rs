//! A point of a figure: one command, which prints one JSON object.

use std::fmt;

/// Which program runs a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Program {
    /// `weftline-lab`.
    Lab,
    /// The ns-3 model, `weftline-ns3`, which is built by a command of its own and may be absent.
    Ns3,
}

impl Program {
    /// What it is called in a command line.
    pub fn name(self) -> &'static str {
        match self {
            Program::Lab => "weftline-lab",
            Program::Ns3 => "weftline-ns3",
        }
    }
}

/// A command that gives a number, or several, of a figure.
///
/// It is independent of all others, and its text is what a reader types to get the same numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    program: Program,
    words: Vec<String>,
    about_secs: f64,
    alone: bool,
}

impl Point {
    /// A command of `weftline-lab`, as typed behind the program's name but for `--json`, which is
    /// added. Words with blanks in them are put between single quotes.
    pub fn lab(arguments: &str) -> Self {
        let mut point = Self::of(Program::Lab, arguments);
        point.words.push("--json".to_owned());
        point
    }

    /// A command of the ns-3 model, which prints JSON by itself.
    pub fn ns3(arguments: &str) -> Self {
        Self::of(Program::Ns3, arguments)
    }

    fn of(program: Program, arguments: &str) -> Self {
        Self {
            program,
            words: split(arguments),
            about_secs: 0.1,
            alone: false,
        }
    }

    /// About so many seconds of one core: long points are begun first, and the estimate of what is
    /// left rests on it. Without this, 0.1.
    pub fn about_secs(mut self, secs: f64) -> Self {
        self.about_secs = secs.max(0.001);
        self
    }

    /// Measures this machine's speed: nothing else is run beside it, and its result is not the same
    /// twice.
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// The program.
    pub fn program(&self) -> Program {
        self.program
    }

    /// About how many seconds of one core it takes.
    pub fn cost(&self) -> f64 {
        self.about_secs
    }

    /// Whether nothing may run beside it.
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// The arguments it is run with: those of its text, and on one thread where a command would take
    /// all there are. The result does not depend on that.
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

/// The command line as a shell takes it: also what a point's result is kept under.
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

/// Words at blanks outside of single quotes.
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
    fn words_are_split_outside_of_quotes_and_shown_as_a_shell_takes_them() {
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
    fn models_that_take_all_processors_are_run_on_one() {
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
