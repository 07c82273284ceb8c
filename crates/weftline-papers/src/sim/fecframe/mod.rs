//! Block against sliding-window codes: the codes of FECFRAME, tick by tick.
//!
//! The model is that of Roca, Teibi, Burdinat, Tran and Thienot, "Block or Convolutional AL-FEC
//! Codes? A Performance Comparison for Robust Low-Latency Communications". Each ADU is one symbol
//! and takes a tick. A sliding window's repair is received in the tick of the source symbol before
//! it; a block's repairs are received together in the tick after its last source symbol. Source
//! and repair packets have the same losses, in the order of sending. The codecs are the real ones:
//! receivers of `weftline-fecframe` process packets of its senders, and every delivered octet is
//! compared with the sent one.
//!
//! A symbol is **on time** if it is received, or decoded at most dw ticks after it was sent,
//! whatever happens to others. **Added latency** is that of in-order delivery: from the tick in
//! which a symbol was sent to the one in which it and all before it are known or given up. A
//! symbol is given up dw ticks after it was sent. Symbols that are given up have no latency.

mod batches;
mod code;
mod error;
mod events;
mod experiment;
mod ideal;
mod latencies;
mod outcome;
mod paper;
mod payload;
mod recommend;
mod report;
mod run;
mod run_all;
mod study;
#[cfg(test)]
mod tests;
mod trace;

pub use code::{Code, WindowCode};
pub use error::StudyError;
pub use experiment::Experiment;
pub use latencies::Latencies;
pub use outcome::{Estimate, Outcome, Session, Speeds};
pub use paper::{BLOCK_LATENCY, ON_TIME_AT_30_PERCENT, TABLE_LOSSES, TABLE_SPEEDS};
pub use recommend::{Left, Recommendation, Tried, Wish, WishError, recommend};
pub use report::{Picture, latencies_csv, page, pictures, results_csv, table};
pub use run_all::run_all;
pub use study::{beyond, paper, speeds};
pub use trace::{MOST_TICKS, Tick, TracedRepair, trace};
