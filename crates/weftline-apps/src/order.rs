//! Restores the order of one flow's datagrams; relay and tun share it.

use std::collections::BTreeMap;

use bytes::Bytes;

/// A datagram further ahead of the first missing one than this is invalid: an honest sender has no
/// credit for such a distance.
const FURTHEST: u64 = 1 << 15;

/// Holds datagrams back until the missing ones before them arrive.
#[derive(Debug)]
pub(crate) struct Order<T = Bytes> {
    next: u64,
    held: BTreeMap<u64, T>,
    bytes: usize,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Order {
            next: 0,
            held: BTreeMap::new(),
            bytes: 0,
        }
    }
}

impl<T: AsRef<[u8]>> Order<T> {
    /// Adds the datagram whose number ends with these 32 bits. False: it is a duplicate or
    /// invalid.
    pub(crate) fn insert(&mut self, number: u32, datagram: T) -> bool {
        let ahead = number.wrapping_sub(self.next as u32);
        if u64::from(ahead) >= FURTHEST {
            return false;
        }
        let bytes = datagram.as_ref().len();
        let number = self.next + u64::from(ahead);
        if self.held.contains_key(&number) {
            return false;
        }
        self.held.insert(number, datagram);
        self.bytes += bytes;
        true
    }

    /// The next datagram in order, if it has arrived.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let datagram = self.held.remove(&self.next)?;
        self.bytes -= datagram.as_ref().len();
        self.next += 1;
        Some(datagram)
    }

    /// The first datagram that is held back.
    pub(crate) fn first(&self) -> Option<&T> {
        self.held.first_key_value().map(|(_, datagram)| datagram)
    }

    /// Whether this number is before the next one.
    pub(crate) fn is_past(&self, number: u32) -> bool {
        number.wrapping_sub(self.next as u32) > u32::MAX / 2
    }

    /// Gives up the datagrams before this number: it is the next one. Nothing may be held back.
    pub(crate) fn go_on_at(&mut self, number: u32) {
        let ahead = number.wrapping_sub(self.next as u32);
        self.next += u64::from(ahead);
    }

    /// Gives up the missing datagrams before the first one that is held back.
    pub(crate) fn skip(&mut self) {
        if let Some((&first, _)) = self.held.first_key_value() {
            self.next = first;
        }
    }

    /// Whether the next datagram in order has arrived.
    pub(crate) fn is_ready(&self) -> bool {
        self.held.contains_key(&self.next)
    }

    /// Number of datagrams held back.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Bytes held back, with the overhead of holding them.
    pub(crate) fn held(&self) -> usize {
        const EACH: usize = 128;
        self.bytes + self.held.len() * EACH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(number: u32) -> Bytes {
        Bytes::copy_from_slice(&number.to_be_bytes())
    }

    #[test]
    fn datagrams_in_any_order_of_arrival_are_delivered_in_order_of_sending() {
        // Across the end of the 32-bit numbers too.
        let mut order = Order {
            next: u64::from(u32::MAX) - 3,
            ..Order::default()
        };
        let start = order.next as u32;
        let mut delivered = Vec::new();
        for step in [2, 1, 0, 5, 7, 3, 6, 4] {
            assert!(order.insert(start.wrapping_add(step), bytes(step)));
            delivered.extend(std::iter::from_fn(|| order.pop()));
        }
        assert_eq!(delivered, (0..8).map(bytes).collect::<Vec<_>>());
        assert_eq!(order.held(), 0);
    }

    #[test]
    fn what_is_given_up_is_waited_for_no_more() {
        let mut order = Order::<Bytes>::default();
        assert!(order.insert(2, bytes(2)) && order.insert(5, bytes(5)));
        order.skip();
        assert_eq!((order.pop(), order.pop()), (Some(bytes(2)), None));
        assert!(!order.insert(1, bytes(1)), "it was given up");
        order.skip();
        assert_eq!((order.pop(), order.held()), (Some(bytes(5)), 0));
        order.skip();
        order.go_on_at(1 << 20);
        assert!(order.insert(1 << 20, bytes(6)) && order.is_ready());
    }

    #[test]
    fn duplicates_and_invalid_numbers_are_refused() {
        let mut order = Order::<Bytes>::default();
        assert!(order.insert(0, bytes(0)) && order.insert(2, bytes(2)));
        assert!(!order.insert(2, bytes(9)) && !order.insert(1 << 15, bytes(9)));
        assert_eq!(order.pop(), Some(bytes(0)));
        assert!(!order.insert(0, bytes(9)), "it was delivered");
        assert_eq!((order.pop(), order.held()), (None, 4 + 128));
    }
}
