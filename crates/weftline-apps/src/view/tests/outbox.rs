//! What waits for a viewer.

use std::time::Duration;

use tokio::time::Instant;

use super::super::outbox::{Outbox, Repeat};
use super::{frame, sound};

const DELAY: Duration = Duration::from_millis(200);
const SPACING: Duration = Duration::from_secs(2);

/// The numbers of all that is sent now.
fn sent(outbox: &mut Outbox, now: Instant) -> Vec<u32> {
    std::iter::from_fn(|| Some(outbox.take(now)?.frame.number)).collect()
}

#[test]
fn sound_goes_first_then_key_frames_then_pictures_in_order() {
    let (mut outbox, now) = (Outbox::new(DELAY), Instant::now());
    let frames = [
        frame(0, 0),
        frame(1, 0),
        frame(2, 0),
        sound(70),
        frame(3, 3),
        frame(4, 3),
    ];
    frames
        .iter()
        .for_each(|frame| outbox.push(frame, SPACING, now));
    assert_eq!(outbox.take(now).unwrap().frame.number, 70);
    assert_eq!(sent(&mut outbox, now), [0, 3, 1, 2, 4]);
    assert!(outbox.is_empty() && outbox.dropped() == 0);
}

#[test]
fn a_key_frame_has_until_the_next_one_and_the_path_is_added() {
    let (mut outbox, now) = (Outbox::new(DELAY), Instant::now());
    outbox.set_rtt(Duration::from_millis(240));
    for frame in [sound(70), frame(0, 0), frame(1, 0)] {
        outbox.push(&frame, SPACING, now);
    }
    let due = |outbox: &mut Outbox| (outbox.take(now).unwrap().due - now).as_millis();
    let dues = [(); 3].map(|()| due(&mut outbox));
    assert_eq!(dues, [320, 2320, 1320]);
    outbox.set_delay(Duration::from_secs(5));
    outbox.push(&frame(2, 0), SPACING, now);
    assert_eq!(due(&mut outbox), 6120);
}

#[test]
fn nothing_begins_with_a_picture_that_needs_another() {
    let (mut outbox, now) = (Outbox::new(DELAY), Instant::now());
    outbox.push(&frame(5, 0), SPACING, now);
    assert_eq!((sent(&mut outbox, now), outbox.dropped()), (vec![], 1));
}

#[test]
fn what_depends_on_a_late_picture_is_not_sent() {
    let (mut outbox, now) = (Outbox::new(DELAY), Instant::now());
    outbox.push(&frame(0, 0), SPACING, now);
    outbox.push(&frame(1, 0), SPACING, now);
    assert_eq!(outbox.take(now).unwrap().frame.number, 0);
    let late = now + Duration::from_millis(1200);
    outbox.push(&frame(2, 0), SPACING, late);
    assert!(sent(&mut outbox, late).is_empty());
    outbox.push(&frame(3, 0), SPACING, late);
    assert_eq!((sent(&mut outbox, late), outbox.dropped()), (vec![], 3));
    // It was never sent: the path is too slow, and sending it again would not help.
    assert!(!outbox.may_repeat());
    outbox.push(&frame(4, 4), SPACING, late);
    outbox.push(&frame(5, 4), SPACING, late);
    assert_eq!(sent(&mut outbox, late), [4, 5]);
}

#[test]
fn what_was_lost_is_sent_again_with_what_depends_on_it() {
    let (mut outbox, now) = (Outbox::new(DELAY), Instant::now());
    let group: Vec<_> = (0..6).map(|number| frame(number, 0)).collect();
    group[..4]
        .iter()
        .for_each(|frame| outbox.push(frame, SPACING, now));
    assert_eq!(sent(&mut outbox, now), [0, 1, 2, 3]);
    outbox.on_fate(&group[0], true);
    outbox.on_fate(&group[1], false);
    outbox.on_fate(&group[2], true);
    group[4..]
        .iter()
        .for_each(|frame| outbox.push(frame, SPACING, now));
    assert!(sent(&mut outbox, now).is_empty());
    assert!(outbox.may_repeat());
    outbox.repeat(&group, Repeat::Lost, SPACING, now);
    // The viewer has 0 and 2, and 3 may be on its way.
    assert_eq!(sent(&mut outbox, now), [1, 4, 5]);
    outbox.repeat(&group, Repeat::Silent, SPACING, now);
    assert_eq!(sent(&mut outbox, now), [1, 3, 4, 5]);
    outbox.repeat(&group, Repeat::All, SPACING, now);
    assert_eq!(sent(&mut outbox, now), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn what_is_lost_again_and_again_is_sent_three_times_more() {
    let (mut outbox, now) = (Outbox::new(DELAY), Instant::now());
    let group = [frame(0, 0), frame(1, 0)];
    // Neither a newcomer's group nor one after a silence counts.
    outbox.repeat(&group, Repeat::All, SPACING, now);
    assert_eq!(sent(&mut outbox, now), [0, 1]);
    outbox.repeat(&group, Repeat::Silent, SPACING, now);
    assert_eq!(sent(&mut outbox, now), [0, 1]);
    outbox.on_fate(&group[1], false);
    for _ in 0..3 {
        outbox.on_fate(&group[1], false);
        assert!(outbox.may_repeat());
        outbox.repeat(&group, Repeat::Lost, SPACING, now);
        assert_eq!(sent(&mut outbox, now), [1]);
    }
    // The next key frame comes anyway.
    outbox.on_fate(&group[1], false);
    assert!(!outbox.may_repeat());
}

#[test]
fn the_loss_of_one_copy_ends_nothing_while_another_one_may_arrive() {
    let (mut outbox, now) = (Outbox::new(DELAY), Instant::now());
    let group: Vec<_> = (0..4).map(|number| frame(number, 0)).collect();
    let push = |outbox: &mut Outbox, number: usize| outbox.push(&group[number], SPACING, now);
    (0..2).for_each(|number| push(&mut outbox, number));
    assert_eq!(sent(&mut outbox, now), [0, 1]);
    outbox.on_fate(&group[0], true);
    // The second copy waits, and then it is on its way.
    outbox.repeat(&group[..2], Repeat::Silent, SPACING, now);
    outbox.on_fate(&group[1], false);
    push(&mut outbox, 2);
    assert_eq!(sent(&mut outbox, now), [1, 2]);
    outbox.repeat(&group[..3], Repeat::Silent, SPACING, now);
    assert_eq!(sent(&mut outbox, now), [1, 2]);
    outbox.on_fate(&group[1], false);
    outbox.on_fate(&group[2], false);
    push(&mut outbox, 3);
    assert_eq!(sent(&mut outbox, now), [3]);
    assert!(outbox.dropped() == 0 && !outbox.may_repeat());
    outbox.on_fate(&group[1], false);
    assert!(outbox.dropped() == 1 && outbox.may_repeat());
}

#[test]
fn the_fate_of_an_older_group_does_not_end_the_newest() {
    let (mut outbox, now) = (Outbox::new(DELAY), Instant::now());
    let frames = [frame(0, 0), frame(1, 0), frame(2, 2)];
    frames
        .iter()
        .for_each(|frame| outbox.push(frame, SPACING, now));
    assert_eq!(sent(&mut outbox, now), [0, 2, 1]);
    outbox.on_fate(&frames[1], false);
    outbox.push(&frame(3, 2), SPACING, now);
    assert_eq!(sent(&mut outbox, now), [3]);
}

#[test]
fn what_finds_no_room_is_the_next_again() {
    let (mut outbox, now) = (Outbox::new(DELAY), Instant::now());
    let frames = [frame(0, 0), frame(1, 0), sound(70)];
    frames
        .iter()
        .for_each(|frame| outbox.push(frame, SPACING, now));
    for number in [70, 0] {
        let waiting = outbox.take(now).unwrap();
        assert_eq!(waiting.frame.number, number);
        outbox.put_back(waiting);
        assert_eq!(outbox.take(now).unwrap().frame.number, number);
    }
}

#[test]
fn a_viewer_that_takes_nothing_costs_bounded_memory() {
    let (mut outbox, now) = (Outbox::new(Duration::from_secs(10)), Instant::now());
    outbox.push(&frame(0, 0), SPACING, now);
    for number in 1..5000 {
        outbox.push(&frame(number, 0), SPACING, now);
        outbox.push(&sound(number), SPACING, now);
    }
    let waiting = sent(&mut outbox, now).len();
    assert!(waiting <= 1024 + 512, "{waiting}");
    assert!(outbox.dropped() >= 3900);
}
