//! When to follow a sender whose numbers jump.

/// Counts packets that are out of range but near each other, with none in range between
/// them. A few forged packets cannot lead a receiver away from a sender that is still
/// active, but the receiver soon follows a sender that has restarted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Follow {
    last: u32,
    count: u32,
}

impl Follow {
    /// Notes a packet in range.
    pub(super) fn in_range(&mut self) {
        self.count = 0;
    }

    /// Notes a packet out of range, and returns whether to follow it. Numbers have
    /// `bits` bits. Repair packets behind the range (`late_repair`) only confirm what a source packet
    /// has shown: on their own they are late ones of the same sender. A reader that has a socket for
    /// each flow reads the source packets of a burst first, and only then all repair packets of that
    /// burst.
    pub(super) fn out_of_range(
        &mut self,
        number: u32,
        bits: u32,
        near: u32,
        after: u32,
        late_repair: bool,
    ) -> bool {
        let shift = 32 - bits;
        let distance = (number.wrapping_sub(self.last) << shift) as i32 >> shift;
        // The last packet was out of range too, and near this one.
        let continues = self.count > 0 && distance.unsigned_abs() <= near;
        if late_repair && !continues {
            return false;
        }
        self.count = if continues { self.count + 1 } else { 1 };
        self.last = number;
        if self.count <= after {
            return false;
        }
        self.count = 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_neighbours_in_a_row_are_followed() {
        let mut follow = Follow::default();
        let mut out = |number| follow.out_of_range(number, 32, 10, 3, false);
        assert!(!out(u32::MAX) && !out(2) && !out(1) && out(9));
        assert!(!out(9) && !out(9) && !out(500) && !out(501) && !out(502) && out(503));
        assert!(!out(7) && !out(7) && !out(7));
        follow.in_range();
        assert!(!follow.out_of_range(7, 32, 10, 3, false));
        // 24 bits wrap too.
        let mut follow = Follow::default();
        assert!(!follow.out_of_range(0xFF_FFFF, 24, 10, 1, false));
        assert!(follow.out_of_range(3, 24, 10, 1, false));
    }

    #[test]
    fn repairs_behind_confirm_a_restart_but_do_not_show_one() {
        let mut follow = Follow::default();
        assert!((0..100).all(|number| !follow.out_of_range(number, 32, 10, 3, true)));
        assert!(!follow.out_of_range(7, 32, 10, 3, false));
        assert!(!follow.out_of_range(500, 32, 10, 3, true));
        assert!(
            !follow.out_of_range(7, 32, 10, 3, true) && !follow.out_of_range(8, 32, 10, 3, true)
        );
        assert!(follow.out_of_range(9, 32, 10, 3, true));
        assert!(!follow.out_of_range(9, 32, 10, 3, true));
    }
}
