//! Who does what, and that it is done right.

use std::fmt::Write;

/// Why a benchmark cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A contender did not do what the workload asks for.
    #[error("{contender} gives a wrong result in {case}: nothing is measured")]
    Wrong {
        /// The [id](Case::id) of the case.
        case: String,
        /// Whose result it is.
        contender: String,
    },
}

/// A figure that others have published for a case, to compare with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Published {
    /// Where.
    pub source: &'static str,
    /// GB of source symbols per second.
    pub gbps: f64,
}

/// A workload with its parameters.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Case {
    /// What is done, for example `kernel/dot`.
    pub workload: &'static str,
    /// What a byte of the figures is.
    pub definition: &'static str,
    /// Numbers by name, in the order of the id.
    pub parameters: Vec<(&'static str, usize)>,
    /// Bytes that one run counts for.
    pub bytes: usize,
    /// What others measured.
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

/// On whose side a contender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Part of this project.
    Ours,
    /// Another library.
    Peer,
    /// What the memory or XOR alone would take.
    Ceiling,
}

impl Kind {
    /// As in reports.
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
    /// Unique in the contest.
    pub name: String,
    /// Whose it is.
    pub kind: Kind,
    /// Source symbols sent, and how many of them were neither received nor
    /// recovered, where a code may leave some.
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

/// Who cannot take part, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Who.
    pub contender: String,
    /// Why, for people.
    pub reason: String,
}

/// A case and everyone who takes part.
#[non_exhaustive]
pub struct Contest<'a> {
    /// What is to be done.
    pub case: Case,
    /// Who does it; all have shown that they can.
    pub contenders: Vec<Contender<'a>>,
    /// Who does not.
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

    /// Adds a contender whose first run must make `expected` of its state.
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

    /// Adds a contender that has been checked otherwise.
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

    /// Tells why a contender is missing.
    pub(crate) fn skip(&mut self, contender: impl Into<String>, reason: impl Into<String>) {
        self.skipped.push(Skipped {
            contender: contender.into(),
            reason: reason.into(),
        });
    }
}

/// What to do with the contests of a plan.
pub trait Visitor {
    /// Whether to prepare the contest of this case at all.
    fn wants(&mut self, case: &Case) -> bool;

    /// Takes a contest; what it borrows is gone afterwards.
    ///
    /// # Errors
    ///
    /// To stop at this contest.
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
