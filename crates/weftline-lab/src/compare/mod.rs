//! Peers side by side: `weftline-lab compare`.
//!
//! A [`Suite`] is data: paths, workloads and peers. [`jobs`] puts its runs in an order in which
//! whatever changes on the machine hits all peers alike; [`session`] runs each in a fresh lab with
//! the programs of [`Tools`], and keeps it in [`Runs`], from where it goes on after an
//! interruption. What the runs show is made from that file alone.
//!
//! | file | what it is |
//! | --- | --- |
//! | `peer` | a transport with settings, as people write it |
//! | `suite`, `suites` | what a comparison is made of; those there are |
//! | `plan` | the order of runs |
//! | `tools` | programs that measure, and which are missing |
//! | `run`, `process`, `result` | one run, one end of a flow, what it prints |
//! | `record` | what is kept of a run, and the file of all |
//! | `session` | all runs, with repeats and from wherever they stopped |
//! | `measures`, `statistics` | what is told of a run, and of several |
//! | `results` | the runs by suite, case and peer |
//! | `table`, `figures`, `page` | the same for people |

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
pub use statistics::{Spread, jain};
pub use suite::{Case, Scale, Suite, View};
pub use table::markdown;
#[cfg(target_os = "linux")]
pub use tools::{Missing, Tools};
