//! Outcomes as CSV, charts, and one page.

mod csv;
mod page;
mod pictures;
mod set;
mod tables;

pub use csv::{latencies_csv, results_csv};
pub use page::page;
pub use pictures::{Picture, pictures};
pub use tables::table;
