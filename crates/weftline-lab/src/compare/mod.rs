//! Compares transports: `weftline-lab compare`.
//!
//! A [`Suite`] is data: paths, workloads and peers. [`jobs`] orders its runs so that changes of
//! the machine affect all peers alike. [`session`] runs each in a fresh lab with the programs of
//! [`Tools`] and keeps it in [`Runs`], from which it continues after an interruption. Results are
//! computed from that file alone.
//!
//! | file | contents |
//! | --- | --- |
//! | `peer` | a transport with settings, and its text form |
//! | `suite`, `suites` | the parts of a comparison; the existing suites |
//! | `plan` | the order of runs |
//! | `tools` | the programs that measure, and the missing ones |
//! | `run`, `process`, `result` | one run, one end of a flow, what it prints |
//! | `capacity` | what a recorded link could have carried in a run |
//! | `record` | the record of a run, and the file of all records |
//! | `session` | all runs, with repeats, continued after an interruption |
//! | `measures`, `statistics` | the numbers of a run, and of several runs |
//! | `results` | the runs by suite, case and peer |
//! | `verdict` | what suites R and M promise, and where it is not kept |
//! | `table`, `figures`, `page` | the same for people |

#[cfg(target_os = "linux")]
mod capacity;
mod figures;
mod measures;
mod page;
mod peer;
mod plan;
#[cfg(target_os = "linux")]
mod process;
mod record;
#[cfg(target_os = "linux")]
mod result;
mod results;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod session;
mod statistics;
mod suite;
pub mod suites;
mod table;
#[cfg(target_os = "linux")]
mod tools;
mod verdict;

pub use measures::{Measure, measures};
pub use page::page;
pub use peer::{NotAPeer, Peer};
pub use plan::{Job, jobs};
pub use record::{Flow, Identity, Record, Runs, RunsError, best};
pub use results::{CaseResults, Results, Row, SuiteResults};
#[cfg(target_os = "linux")]
pub use run::RunError;
#[cfg(target_os = "linux")]
pub use session::{Ended, Progress, SessionError, session};
pub use statistics::Spread;
pub use suite::{Case, LinkText, Scale, Suite, View};
pub use table::markdown;
#[cfg(target_os = "linux")]
pub use tools::{Missing, Tools};
pub use verdict::Verdict;
