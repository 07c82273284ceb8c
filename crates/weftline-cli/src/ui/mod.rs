//! What a user sees: the terminal, progress, summaries, standing reports, exit codes.
//!
//! | file | what it is |
//! | --- | --- |
//! | `terminal` | standard error, by a thread of its own |
//! | `output` | lines for people and for programs, and the options about them |
//! | `progress` | a bar, notes and warnings |
//! | `exit`, `failure` | exit codes, and what failures of the applications mean |
//! | `stats`, `summary`, `report` | a session's counters; how a transfer went; how a long command does |
//! | `stop` | signals |
//! | `program` | from the command line to the exit code |

pub mod exit;
pub mod failure;
pub mod output;
pub mod program;
pub mod progress;
pub mod report;
pub mod stats;
pub mod stop;
pub mod summary;
pub mod terminal;

pub use exit::{Exit, Failure};
pub use output::OutputOptions;
