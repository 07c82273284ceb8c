//! Block against sliding window: the codes of FECFRAME at work, tick by tick.
//!
//! The model is that of Roca, Teibi, Burdinat, Tran and Thienot, "Block or Convolutional AL-FEC
//! Codes? A Performance Comparison for Robust Low-Latency Communications". A tick for each ADU,
//! which is one symbol. A sliding window's repair is received in the tick of the source symbol it
//! follows; a block's repairs are received together in the tick after its last source symbol.
//! Source and repair packets meet the same losses, in the order in which they are sent. The codecs
//! are the real ones: packets of `weftline-fecframe`'s senders, taken by its receivers, and every
//! octet that is handed over is compared with what was sent.
//!
//! A symbol is **on time** if it is received, or decoded at most dw ticks after it was sent, whatever
//! happens to others. **Added latency** is that of delivery in order: from the tick in which a
//! symbol was sent to the one in which it and all before it are known or given up, which happens
//! dw ticks after they were sent. Symbols that are given up have no latency.

mod batches;
mod code;
mod error;
mod events;
mod experiment;
mod latencies;
mod outcome;
mod paper;
mod parallel;
mod payload;
mod recommend;
mod report;
mod run;
mod study;
#[cfg(test)]
mod tests;

pub use code::{Code, WindowCode};
pub use error::StudyError;
pub use experiment::Experiment;
pub use latencies::Latencies;
pub use outcome::{Estimate, Outcome, Speeds};
pub use paper::{BLOCK_LATENCY, ON_TIME_AT_30_PERCENT, RLC_SPEED};
pub use recommend::{Left, Recommendation, Tried, Wish, WishError, recommend};
pub use report::{Picture, latencies_csv, page, pictures, results_csv, table};
pub use run::run_all;
pub use study::{beyond, paper, speeds};
