//! Restores the order of one flow's datagrams; relay and tun share it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

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
    /// Counts the datagram whose number ends with these 32 bits as delivered, if it is the next one in order:
    /// it needs not be held. False: it is not, or that one is held.
    pub(crate) fn pass(&mut self, number: u32) -> bool {
        let is_next = number == self.next as u32 && !self.is_ready();
        self.next += u64::from(is_next);
        is_next
    }

    /// Adds the datagram whose number ends with these 32 bits.
    ///
    /// # Errors
    /// It is a duplicate or invalid, and is returned.
    pub(crate) fn insert(&mut self, number: u32, datagram: T) -> Result<(), T> {
        let ahead = u64::from(number.wrapping_sub(self.next as u32));
        if ahead >= FURTHEST {
            return Err(datagram);
        }
        let Entry::Vacant(place) = self.held.entry(self.next + ahead) else {
            return Err(datagram);
        };
        self.bytes += datagram.as_ref().len();
        place.insert(datagram);
        Ok(())
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
            let held = order.insert(start.wrapping_add(step), bytes(step));
            assert_eq!(held, Ok(()));
            delivered.extend(std::iter::from_fn(|| order.pop()));
        }
        assert_eq!(delivered, (0..8).map(bytes).collect::<Vec<_>>());
        assert_eq!(order.held(), 0);
    }

    #[test]
    fn what_is_given_up_is_waited_for_no_more() {
        let mut order = Order::<Bytes>::default();
        for number in [2, 5] {
            assert_eq!(order.insert(number, bytes(number)), Ok(()));
        }
        order.skip();
        assert_eq!((order.pop(), order.pop()), (Some(bytes(2)), None));
        assert!(order.insert(1, bytes(1)).is_err(), "it was given up");
        order.skip();
        assert_eq!((order.pop(), order.held()), (Some(bytes(5)), 0));
        order.skip();
        order.go_on_at(1 << 20);
        assert!(order.insert(1 << 20, bytes(6)).is_ok() && order.is_ready());
    }

    #[test]
    fn the_next_datagram_passes_unless_it_is_held() {
        let mut order = Order::<Bytes> {
            next: u64::from(u32::MAX),
            ..Order::default()
        };
        assert!(!order.pass(0) && order.pass(u32::MAX) && order.pass(0));
        assert!(!order.pass(0), "it has passed");
        assert_eq!(order.insert(1, bytes(1)), Ok(()));
        assert!(!order.pass(1), "it is held");
        assert_eq!((order.pop(), order.pass(2)), (Some(bytes(1)), true));
    }

    #[test]
    fn duplicates_and_invalid_numbers_are_refused() {
        let mut order = Order::<Bytes>::default();
        for number in [0, 2] {
            assert_eq!(order.insert(number, bytes(number)), Ok(()));
        }
        for number in [2, 1 << 15] {
            assert_eq!(order.insert(number, bytes(9)), Err(bytes(9)));
        }
        assert_eq!(order.pop(), Some(bytes(0)));
        assert!(order.insert(0, bytes(9)).is_err(), "it was delivered");
        assert_eq!((order.pop(), order.held()), (None, 4 + 128));
    }
}
