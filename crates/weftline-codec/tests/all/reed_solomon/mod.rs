//! Reed-Solomon codes: their coefficients are those of the definitions, and any
//! k shards recover the others.

mod definition;
mod recovery;
mod refusals;
mod support;
