//! Reed-Solomon codes: their coefficients are those of the definitions, and any
//! k shards recover the others.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod definition;
mod recovery;
mod refusals;
mod support;
