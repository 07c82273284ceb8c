//! Streams: ordered bytes in both directions, each recovered and delivered on its own.

mod recv;
mod send;
mod table;

pub(crate) use table::{Inbound, Streams};
