//! Streams: ordered bytes in both directions, each recovered and delivered on its own.

mod recv;
mod send;
mod table;

use std::collections::VecDeque;

pub(crate) use table::{Inbound, Streams};

/// Bytes that a stream may keep for reuse in each direction.
const KEPT: usize = 64 << 10;

/// Frees most of a queue's memory when little is left in it: a peer that leaves a byte in each of
/// many streams must not keep the memory of all that was there before.
fn trim(queue: &mut VecDeque<u8>) {
    if queue.capacity() > KEPT && queue.len() < queue.capacity() / 4 {
        queue.shrink_to(KEPT.max(2 * queue.len()));
    }
}
