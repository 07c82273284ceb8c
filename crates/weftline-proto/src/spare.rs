//! Memory that queues keep for what comes next.

use std::collections::VecDeque;

/// Frees what an empty queue keeps.
pub(crate) fn free_spare<T>(queue: &mut VecDeque<T>) {
    if queue.is_empty() {
        *queue = VecDeque::new();
    }
}
