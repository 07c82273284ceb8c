//! A figure or table of a paper: its points, charts and comparisons.

use super::check::Check;
use super::picture::Picture;
use super::{Missing, Point, Program, Values};

/// The papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paper {
    /// The streaming code.
    Karzand,
    /// Block against sliding-window codes.
    Roca,
    /// REST.
    Rest,
    /// UDP-RC.
    UdpRc,
    /// Low-overhead random linear block codes over UDP.
    Garrido,
}

impl Paper {
    /// All papers, in the report's order.
    pub const ALL: [Paper; 5] = [
        Paper::Karzand,
        Paper::Roca,
        Paper::Rest,
        Paper::UdpRc,
        Paper::Garrido,
    ];

    /// Prefix of the names of its figures.
    pub fn id(self) -> &'static str {
        match self {
            Paper::Karzand => "karzand",
            Paper::Roca => "roca",
            Paper::Rest => "rest",
            Paper::UdpRc => "udp-rc",
            Paper::Garrido => "garrido",
        }
    }

    /// Its authors and title.
    pub fn citation(self) -> &'static str {
        match self {
            Paper::Karzand => {
                "Karzand, Leith, Cloud, Medard: Design of FEC for Low Delay in 5G (2017)"
            }
            Paper::Roca => {
                "Roca, Teibi, Burdinat, Tran, Thienot: Block or Convolutional AL-FEC Codes? A Performance \
                 Comparison for Robust Low-Latency Communications (2017)"
            }
            Paper::Rest => {
                "Brulatout, Khalife, Conan, Leguay, Lochin, Lacan: Reliable Streaming Protocol for Lossy \
                 Networks (2015)"
            }
            Paper::UdpRc => {
                "Chong et al.: Improving Reliable Transmission Throughput with Systematic Random Code"
            }
            Paper::Garrido => {
                "Garrido, Gomez, Agüero: Providing Reliable Services over Wireless Networks Using a Low \
                 Overhead Random Linear Coding Scheme (2016)"
            }
        }
    }
}

/// The scope of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Fewer points and shorter runs: all figures within three minutes.
    pub quick: bool,
    /// The seed of all simulations.
    pub seed: u64,
}

impl Scale {
    /// The first or the second value, by the scope.
    pub fn pick<T>(self, quick: T, full: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// A figure's charts and comparisons, computed from its points.
#[derive(Clone, Debug, Default)]
pub struct Shown {
    /// Pictures, whose numbers are also the CSV file.
    pub pictures: Vec<Picture>,
    /// Comparisons; the first one is in the report's first table.
    pub checks: Vec<Check>,
    /// Remarks for the reader: the paper's errors, and parameters that the paper does not give.
    pub notes: Vec<String>,
}

impl Shown {
    /// What a reader would stumble over in its pictures: faults of each, and pictures that show the
    /// same twice.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (index, picture) in self.pictures.iter().enumerate() {
            let of = |fault| format!("picture {}: {fault}", index + 1);
            faults.extend(picture.faults().into_iter().map(of));
            for (before, other) in self.pictures[..index].iter().enumerate() {
                if picture.repeats(other) {
                    let (a, b) = (before + 1, index + 1);
                    faults.push(format!("pictures {a} and {b} show the same"));
                }
            }
        }
        faults
    }
}

/// Computes charts and comparisons from results.
pub type Show = Box<dyn Fn(&Values) -> Result<Shown, Missing> + Send + Sync>;

/// A figure or a table.
pub struct Figure {
    /// Its name on the command line: the paper's id, a hyphen and the paper's name for it, such as
    /// `karzand-6`, `roca-table-2` or `karzand-theorem-3`. What no figure of the paper shows has a word
    /// in place of the number.
    pub id: &'static str,
    /// The paper.
    pub paper: Paper,
    /// Its title.
    pub title: &'static str,
    /// What the paper's figure shows, and what is run for it.
    pub shows: &'static str,
    /// Its points.
    pub points: Vec<Point>,
    /// The computation of its charts and comparisons.
    pub show: Show,
}

impl Figure {
    /// Its name without the paper's id.
    fn name(&self) -> &'static str {
        let rest = self.id.strip_prefix(self.paper.id()).unwrap_or(self.id);
        rest.trim_start_matches('-')
    }

    /// Its place in its paper's part of the report: figures by their numbers, tables, theorems, and
    /// what the paper does not show.
    pub fn place(&self) -> (u8, u32) {
        let number = |text: &str| {
            text.chars()
                .take_while(char::is_ascii_digit)
                .collect::<String>()
        };
        let of = |kind, text: &str| Some((kind, number(text).parse().ok()?));
        let name = self.name();
        of(0, name)
            .or_else(|| of(1, name.strip_prefix("table-")?))
            .or_else(|| of(2, name.strip_prefix("theorem-")?))
            .unwrap_or((3, 0))
    }

    /// Whether the paper has this figure, table or theorem.
    pub fn is_of_paper(&self) -> bool {
        self.place().0 < 3
    }

    /// The paper's name for it: `Fig. 6`, `Table II`, `Theorem 3`. An entry with a name of its own
    /// shows no figure of the paper, and its number says so.
    pub fn number(&self) -> String {
        let rest = self.name();
        let roman = |number: &str| match number {
            "1" => "I".to_owned(),
            "2" => "II".to_owned(),
            "3" => "III".to_owned(),
            other => other.to_owned(),
        };
        match (rest.strip_prefix("table-"), rest.strip_prefix("theorem-")) {
            (Some(number), _) => format!("Table {}", roman(number)),
            (_, Some(number)) => format!("Theorem {number}"),
            _ if rest.starts_with(|c: char| c.is_ascii_digit()) => format!("Fig. {rest}"),
            _ => format!("no figure of the paper: {rest}"),
        }
    }

    /// The programs that it needs in addition to `weftline`.
    pub fn needs(&self, program: Program) -> bool {
        self.points.iter().any(|point| point.program() == program)
    }
}
