//! The output for users: the terminal, progress, summaries, periodic reports, exit codes.
//!
//! | file | contents |
//! | --- | --- |
//! | `terminal` | standard error, written by its own thread |
//! | `journal` | priorities of lines for the system's journal |
//! | `peers` | lines that peers cause, at a limited rate |
//! | `output` | lines for people and for programs, and the options of output |
//! | `progress` | a bar, notes and warnings |
//! | `exit`, `failure` | exit codes, and the messages for the applications' failures |
//! | `stats`, `summary`, `report` | a session's counters; the result of a transfer; the reports of a long command |
//! | `stop` | signals |
//! | `program` | from the command line to the exit code |

pub mod ask;
pub mod exit;
pub mod failure;
mod journal;
pub mod output;
pub mod peers;
pub mod program;
pub mod progress;
pub mod report;
pub mod stats;
pub mod stop;
pub mod summary;
pub mod terminal;

pub use exit::{Exit, Failure};
pub use output::OutputOptions;
