//! What waits to be sent.

use super::*;

/// Otherwise a session would be asked for a datagram again and again, or never.
#[test]
fn a_message_is_sendable_exactly_if_some_of_it_would_be_sent() {
    for (length, alone) in [(0, false), (10, false), (500, false), (300, true)] {
        for available in 0..1000 {
            let mut messages = OutMessages::new(Time::ZERO);
            messages.push(Bytes::from(vec![7; length]), None, alone);
            let mut credit = Credit::new(available, 0);
            let sendable = messages.sendable(&credit);
            let mut symbol = Vec::new();
            let mut writer = FrameWriter::new(&mut symbol, 1200);
            messages.fill(&mut writer, 0, &mut credit);
            assert_eq!(sendable, !symbol.is_empty(), "{length} {available}");
        }
    }
}

#[test]
fn a_message_alone_needs_the_room_of_its_header_too() {
    let mut messages = OutMessages::new(Time::ZERO);
    assert_eq!(messages.next_alone(), 0);
    messages.push(Bytes::from(vec![7; 100]), None, true);
    assert_eq!(messages.next_alone(), 100 + LONGEST_HEADER);
    // One with a deadline goes first.
    messages.push(Bytes::from(vec![7; 10]), Some(Time::ZERO), false);
    assert_eq!(messages.next_alone(), 0);
}

#[test]
fn each_message_expires_once_after_its_own_deadline() {
    let (mut messages, mut events) = (OutMessages::new(Time::ZERO), VecDeque::new());
    let at = Time::from_micros;
    for deadline in [30, 10, 20] {
        messages.push(Bytes::from_static(b"x"), Some(at(deadline)), false);
    }
    let mut expired = |now| {
        let count = messages.expire(at(now), &mut events);
        assert_eq!(count, events.len() as u64);
        let queued = messages.queued() as u64;
        assert_eq!(
            queued,
            messages.perishable.len() as u64 * (1 + FRAGMENT_COST)
        );
        let next = messages.next_expiry().map(|t| t.as_micros());
        (core::mem::take(&mut events), next)
    };
    let event = |id| VecDeque::from([Event::MessageExpired(MessageId(id))]);
    assert_eq!(expired(10), (VecDeque::new(), Some(11)));
    assert_eq!(expired(11), (event(1), Some(21)));
    assert_eq!(expired(21), (event(2), Some(31)));
    assert_eq!(expired(31), (event(0), None));
}

#[test]
fn fragments_that_overlap_on_either_side_are_refused() {
    let bytes = [7; 1000];
    let mut inbox = InMessages::new(1000, 1 << 20, false);
    let mut credit = Credit::new(0, 1 << 20);
    let mut insert = |from: usize, to: usize| {
        let fragment = Fragment {
            id: 0,
            total: 1000,
            offset: from as u64,
            deadline: None,
            data: &bytes[from..to],
        };
        inbox.insert(None, fragment, &mut credit)
    };
    assert!(matches!(insert(100, 200), Ok(Arrival::Incomplete)));
    assert!(matches!(insert(300, 400), Ok(Arrival::Incomplete)));
    for (from, to) in [(199, 300), (200, 301), (36, 101), (399, 1000), (100, 200)] {
        let overlap = insert(from, to);
        let refused = matches!(overlap, Err(Violation::MessageOverlap));
        assert!(refused, "{from}..{to}");
    }
    for (from, to) in [(200, 300), (0, 100)] {
        assert!(matches!(insert(from, to), Ok(Arrival::Incomplete)));
    }
    assert!(matches!(insert(400, 1000), Ok(Arrival::Ready)));
}
