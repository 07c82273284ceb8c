//! Tests of the codec. They are one binary: each one takes time to link.
#![allow(clippy::unwrap_used, reason = "a test may panic, its helpers too")]

mod block_limits;
mod blocks;
mod complete;
#[path = "../dense/mod.rs"]
mod dense;
mod limits;
mod oracle;
mod outages;
mod rateless;
mod recoding;
mod recovery;
mod reed_solomon;
mod relaying;
mod rfc8681;
