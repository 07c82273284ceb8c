//! The cases, the contenders, and the check of their results.

use std::fmt::Write;

/// Why a benchmark stops.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A contender gave a wrong result.
    #[error("{contender} gives a wrong result in {case}; nothing was measured")]
    Wrong {
        /// The [id](Case::id) of the case.
        case: String,
        /// The contender.
        contender: String,
    },
}

/// A figure that others have published for a case, for comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Where it was published.
    pub source: &'static str,
    /// GB of source symbols per second.
    pub gbps: f64,
}

/// A workload with its parameters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Case {
    /// The kind of work, for example `kernel/dot`.
    pub workload: &'static str,
    /// What the bytes of the figures count.
    pub definition: &'static str,
    /// Numbers by name, in the order of the id.
    pub parameters: Vec<(&'static str, usize)>,
    /// The bytes that one run counts as.
    pub bytes: usize,
    /// The figure that others measured.
    pub published: Option<Published>,
}

impl Case {
    pub(crate) fn new(
        workload: &'static str,
        definition: &'static str,
        parameters: &[(&'static str, usize)],
        bytes: usize,
    ) -> Self {
        Self {
            workload,
            definition,
            parameters: parameters.to_vec(),
            bytes,
            published: None,
        }
    }

    /// The workload and its parameters, for example
    /// `kernel/dot/k=16/size=1280`.
    #[must_use]
    pub fn id(&self) -> String {
        let mut id = self.workload.to_owned();
        for (name, value) in &self.parameters {
            // Writing to a string cannot fail.
            let _ = write!(id, "/{name}={value}");
        }
        id
    }
}

/// The kind of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Part of this project.
    Ours,
    /// Another library.
    Peer,
    /// The speed of memory or XOR alone.
    Ceiling,
}

impl Kind {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ours => "ours",
            Self::Peer => "peer",
            Self::Ceiling => "ceiling",
        }
    }
}

/// One way to do the work of a case.
pub struct Contender<'a> {
    /// The name, unique in the contest.
    pub name: String,
    /// The kind of the contender.
    pub kind: Kind,
    /// Source symbols sent, and those neither received nor recovered, for codes
    /// that may leave some.
    pub residual: Option<(usize, usize)>,
    run: Box<dyn FnMut() + 'a>,
}

impl Contender<'_> {
    /// Does the work once.
    #[inline]
    pub fn run(&mut self) {
        (self.run)();
    }
}

/// A contender that cannot take part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The contender.
    pub contender: String,
    /// The reason, for the user.
    pub reason: String,
}

/// A case and its contenders.
#[non_exhaustive]
pub struct Contest<'a> {
    /// The case.
    pub case: Case,
    /// The contenders; all have given a right result.
    pub contenders: Vec<Contender<'a>>,
    /// The contenders that cannot take part.
    pub skipped: Vec<Skipped>,
}

impl<'a> Contest<'a> {
    pub(crate) fn new(case: Case) -> Self {
        Self {
            case,
            contenders: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// Adds a contender. Its first run must turn its state into `expected`.
    pub(crate) fn enter<S: 'a>(
        &mut self,
        name: impl Into<String>,
        kind: Kind,
        mut state: S,
        mut run: impl FnMut(&mut S) + 'a,
        output: impl FnOnce(&S) -> Vec<u8>,
        expected: &[u8],
    ) -> Result<(), Error> {
        let name = name.into();
        run(&mut state);
        if output(&state) != expected {
            return Err(Error::Wrong {
                case: self.case.id(),
                contender: name,
            });
        }
        self.enter_checked(name, kind, None, move || run(&mut state));
        Ok(())
    }

    /// Adds a contender that was checked in another way.
    pub(crate) fn enter_checked(
        &mut self,
        name: impl Into<String>,
        kind: Kind,
        residual: Option<(usize, usize)>,
        run: impl FnMut() + 'a,
    ) {
        self.contenders.push(Contender {
            name: name.into(),
            kind,
            residual,
            run: Box::new(run),
        });
    }

    /// Notes why a contender is missing.
    pub(crate) fn skip(&mut self, contender: impl Into<String>, reason: impl Into<String>) {
        self.skipped.push(Skipped {
            contender: contender.into(),
            reason: reason.into(),
        });
    }
}

/// A function to apply to the contests of a plan.
pub trait Visitor {
    /// Whether to prepare the contest of this case at all.
    fn wants(&mut self, case: &Case) -> bool;

    /// Uses a contest; the data it borrows are dropped afterwards.
    ///
    /// # Errors
    ///
    /// Stops at this contest.
    fn contest(&mut self, contest: Contest<'_>) -> Result<(), Error>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contender_whose_result_is_wrong_stops_the_benchmark() {
        let case = Case::new("kernel/dot", "", &[("k", 16), ("size", 3)], 48);
        assert_eq!(case.id(), "kernel/dot/k=16/size=3");
        let mut contest = Contest::new(case);
        let fill = |state: &mut Vec<u8>| state.fill(7);
        let bytes = |state: &Vec<u8>| state.clone();
        let right = contest.enter("right", Kind::Ours, vec![0; 3], fill, bytes, &[7; 3]);
        assert_eq!(right, Ok(()));
        let wrong = contest.enter("wrong", Kind::Peer, vec![0; 3], fill, bytes, &[7, 7, 8]);
        let error = Error::Wrong {
            case: "kernel/dot/k=16/size=3".to_owned(),
            contender: "wrong".to_owned(),
        };
        assert_eq!(wrong, Err(error));
        assert_eq!(contest.contenders.len(), 1);
    }
}
