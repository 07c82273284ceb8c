//! Several flows over one bottleneck.

use std::time::Duration;

use weftline_netem::{LinkConfig, LossModel};
use weftline_sim::crowd::{Crowd, CrowdOutcome, Flows, Member, Sender};
use weftline_sim::engine::Application;
use weftline_sim::jain;
use weftline_sim::schemes;

const SECOND: Duration = Duration::from_secs(1);

fn crowd(members: Vec<Member>, secs: u32) -> Crowd {
    let mut config = schemes::read::<&str>(&[]).expect("settings");
    config.datagram_overhead = 64;
    Crowd {
        config,
        forward: "rate=8mbit delay=20ms queue=100ms".parse().expect("a link"),
        back: "delay=20ms".parse().expect("a link"),
        members,
        duration: SECOND * secs,
        skip: SECOND,
    }
}

fn member(sender: Sender) -> Member {
    Member {
        sender,
        paths: 1,
        extra: Duration::ZERO,
        join: (Duration::ZERO, Duration::ZERO),
        leave: None,
    }
}

const BULK: Sender = Sender::Engine(Application::Bulk);

#[test]
fn two_flows_share_a_link_and_the_same_seed_gives_the_same_result() {
    let mut crowd = crowd(vec![member(BULK); 2], 6);
    crowd.members[1].join = (Duration::ZERO, SECOND);
    let first = crowd.run(3);
    assert_eq!(first, crowd.run(3));
    assert_ne!(first.flows[1].join_s, crowd.run(4).flows[1].join_s);
    assert!(first.jain > 0.9, "{first:?}");
    let used = first.utilisation.expect("a rate");
    assert!((0.9..=1.02).contains(&used), "{first:?}");
    let sum: f64 = first.flows.iter().map(|flow| flow.goodput_mbit).sum();
    assert!((first.goodput_mbit - sum).abs() < 0.5, "{first:?}");
    assert!(first.queue_ms[0] > 0.0 && first.queue_ms[0] <= first.queue_ms[1]);
    assert_eq!(first.jain_windows.len(), 6);
}

#[test]
fn flows_that_join_late_and_leave_early_have_nothing_before_and_after() {
    let mut crowd = crowd(vec![member(BULK); 3], 9);
    crowd.members[1].join = (SECOND * 3, SECOND * 3);
    crowd.members[2].leave = Some(SECOND * 5);
    let outcome = crowd.run(1);
    let busy = |flow: usize| {
        let windows = outcome.flows[flow].windows_mbit.iter();
        windows.map(|mbit| *mbit > 0.0).collect::<Vec<_>>()
    };
    assert!(busy(0).iter().all(|busy| *busy), "{outcome:?}");
    assert_eq!(busy(1)[..3], [false; 3], "{outcome:?}");
    assert_eq!(busy(2)[6..], [false; 3], "{outcome:?}");
    assert!(outcome.flows[2].goodput_mbit > 1.0, "{outcome:?}");
    // What it left behind is used by the others.
    assert!(outcome.flows[0].last_mbit + outcome.flows[1].last_mbit > 7.0);
    assert_eq!(outcome.flows[2].last_mbit, 0.0);
}

#[test]
fn a_run_that_ends_before_anything_is_counted_has_zeros() {
    let mut crowd = crowd(vec![member(BULK); 2], 2);
    crowd.skip = SECOND * 3;
    let outcome = crowd.run(1);
    assert_eq!((outcome.goodput_mbit, outcome.queue_drops), (0.0, 0));
    assert_eq!(outcome.utilisation, Some(0.0), "{outcome:?}");
    assert_eq!(outcome.queue_ms, [0.0; 3]);
}

#[test]
fn a_private_delay_lengthens_the_way_there_and_back() {
    let stream = Application::Cbr {
        rate: 1_000_000,
        size: 1000,
    };
    let mut crowd = crowd(vec![member(Sender::Engine(stream)); 2], 4);
    crowd.members[1].extra = Duration::from_millis(30);
    let outcome = crowd.run(1);
    let median = |flow: usize| {
        let delay = outcome.flows[flow].delay.expect("messages");
        delay.p50.expect("messages")
    };
    let longer = median(1) - median(0);
    assert!((27.0..=33.0).contains(&longer), "{outcome:?}");
    assert_eq!(outcome.flows[1].rtt_ms, 100.0);
    // A rate of its own says nothing about fairness.
    assert_eq!(outcome.jain, 1.0);
}

#[test]
fn the_models_of_tcp_fill_the_link_and_share_it_as_tcp_does() {
    for (sender, queue) in [(Sender::Cubic, 40.0..=100.0), (Sender::Bbr, 5.0..=60.0)] {
        let outcome = crowd(vec![member(sender); 2], 20).run(1);
        assert!(outcome.utilisation.expect("a rate") > 0.93, "{outcome:?}");
        assert!(outcome.jain > 0.85, "{outcome:?}");
        assert!(queue.contains(&outcome.queue_ms[0]), "{outcome:?}");
    }
    // CUBIC yields to random losses, BBR does not.
    let alone = |sender, loss: &str| {
        let mut crowd = crowd(vec![member(sender)], 15);
        crowd.forward.loss = loss.parse().expect("a loss model");
        crowd.run(2).goodput_mbit
    };
    assert!(alone(Sender::Cubic, "iid:3%") < 0.5 * alone(Sender::Cubic, "iid:0%"));
    assert!(alone(Sender::Bbr, "iid:3%") > 0.85 * alone(Sender::Bbr, "iid:0%"));
}

#[test]
fn a_flow_may_have_two_paths_through_the_bottleneck() {
    let mut crowd = crowd(vec![member(BULK)], 4);
    let one = crowd.run(1).flows[0].goodput_mbit;
    crowd.members[0].paths = 2;
    let two = crowd.run(1).flows[0].goodput_mbit;
    assert!(two > 0.9 * one && two <= 1.01 * one, "{one} {two}");
}

/// So many flows of the engine, each of which joins 0.1 s after the last.
fn several(count: u32) -> Flows {
    Flows {
        count,
        application: Application::Bulk,
        also: Vec::new(),
        spread: Duration::ZERO,
        paths: 1,
        join: Duration::from_millis(100),
        after: Duration::ZERO,
        leave: None,
        cubic: 0,
        bbr: 0,
    }
}

/// These flows over this link, and a return path like it.
fn run(flows: &Flows, link: &str, secs: u32, seed: u64) -> CrowdOutcome {
    let forward: LinkConfig = link.parse().expect("well-formed");
    let mut crowd = crowd(flows.members(), secs);
    crowd.back = forward.clone();
    crowd.back.loss = LossModel::None;
    crowd.forward = forward;
    crowd.run(seed)
}

#[test]
fn a_flow_that_joins_later_soon_has_its_share() {
    for loss in ["0%", "5%"] {
        let link = format!("rate=25mbit delay=30ms queue=60ms,100pkt loss=iid:{loss}");
        let flows = Flows {
            join: SECOND * 5,
            ..several(2)
        };
        let outcome = run(&flows, &link, 18, 1);
        let windows = &outcome.jain_windows[12..];
        let jain = windows.iter().sum::<f64>() / windows.len() as f64;
        assert!(jain > 0.97, "{jain} at {loss}: {windows:?}");
        let [median, ..] = outcome.queue_ms;
        assert!(median < 15.0, "{median} ms at {loss}");
    }
}

#[test]
fn eight_flows_that_join_one_after_the_other_soon_share_a_short_queue() {
    for link in [
        "rate=25mbit delay=30ms queue=200ms",
        "rate=100mbit delay=10ms queue=200ms loss=iid:1%",
    ] {
        for seed in 1..=3 {
            let outcome = run(&several(8), link, 30, seed);
            let worst = outcome.worst_jain.expect("it runs for long enough");
            assert!(worst > 0.95, "{worst} on {link}, seed {seed}");
            let [median, ..] = outcome.queue_ms;
            assert!(median < 20.0, "{median} ms on {link}, seed {seed}");
            let drops = outcome.queue_drop_share;
            assert!(drops < 0.02, "{drops} on {link}, seed {seed}");
        }
    }
}

#[test]
fn flows_that_join_in_the_middle_are_not_taken_for_competing_traffic() {
    let flows = Flows {
        join: SECOND * 2,
        ..several(8)
    };
    for seed in [4, 7] {
        let outcome = run(&flows, "rate=100mbit delay=10ms queue=200ms", 22, seed);
        let [median, ..] = outcome.queue_ms;
        assert!(median < 15.0, "{median} ms, seed {seed}");
        assert!(outcome.jain > 0.95, "{}, seed {seed}", outcome.jain);
    }
}

/// Each start overflows a short queue. That is no competing traffic, however long it goes on.
#[test]
fn sixteen_flows_that_join_one_after_the_other_share_a_short_queue() {
    let flows = Flows {
        join: SECOND,
        ..several(16)
    };
    for seed in 1..=3 {
        let outcome = run(&flows, "rate=25mbit delay=30ms queue=60ms,100pkt", 40, seed);
        assert!(outcome.jain > 0.9, "{}, seed {seed}", outcome.jain);
        let [median, ..] = outcome.queue_ms;
        assert!(median < 20.0, "{median} ms, seed {seed}");
    }
}

#[test]
fn thirty_two_flows_that_overflow_the_queue_together_find_it_empty() {
    let link = "rate=100mbit delay=10ms queue=200ms";
    for seed in 1..=3 {
        let outcome = run(&several(32), link, 30, seed);
        assert!(outcome.jain > 0.95, "{}, seed {seed}", outcome.jain);
        let [median, ..] = outcome.queue_ms;
        assert!(median < 20.0, "{median} ms, seed {seed}");
    }
}

#[test]
fn flows_with_different_round_trips_have_nearly_equal_shares() {
    let flows = Flows {
        spread: Duration::from_millis(100),
        ..several(8)
    };
    let link = "rate=25mbit delay=30ms queue=200ms";
    let outcome = run(&flows, link, 30, 1);
    // 60 to 160 ms.
    assert!(outcome.jain > 0.85, "{}", outcome.jain);
    let [median, ..] = outcome.queue_ms;
    assert!(median < 25.0, "{median} ms");
    for seed in 1..=6 {
        let two = Flows {
            count: 2,
            ..flows.clone()
        };
        let jain = run(&two, link, 40, seed).jain;
        assert!(jain > 0.965, "{jain}, seed {seed}");
    }
}

#[test]
fn a_flow_keeps_its_share_when_a_cubic_joins() {
    for seconds in [1.0, 2.48] {
        let mut crowd = crowd(vec![member(BULK), member(Sender::Cubic)], 32);
        let late = Duration::from_secs_f64(seconds);
        crowd.members[1].join = (late, late);
        crowd.forward = "rate=25mbit delay=30ms queue=60ms,100pkt"
            .parse()
            .expect("a link");
        crowd.back = "delay=30ms".parse().expect("a link");
        crowd.skip = SECOND * 12;
        let outcome = crowd.run(1);
        assert!(outcome.jain > 0.7, "{outcome:?}");
        assert!(outcome.utilisation.expect("a rate") > 0.88, "{outcome:?}");
    }
}

/// Jain's index of runs of `secs` with these seeds, in which a flow joins models of TCP on a short queue.
fn beside_tcp<const N: usize>(cubic: u32, bbr: u32, secs: u32, seeds: [u64; N]) -> [f64; N] {
    let flows = Flows {
        cubic,
        bbr,
        join: SECOND * 3,
        ..several(1)
    };
    let link = "rate=25mbit delay=30ms queue=60ms,100pkt";
    seeds.map(|seed| run(&flows, link, secs, seed).jain)
}

#[test]
fn a_newcomer_beside_tcp_soon_has_a_share_of_a_short_queue() {
    for (cubic, bbr) in [(1, 0), (0, 1)] {
        let found = beside_tcp(cubic, bbr, 22, [1, 2, 3]);
        let mean = found.iter().sum::<f64>() / 3.0;
        assert!(mean > 0.85, "{found:?} beside {cubic} CUBIC and {bbr} BBR");
    }
}

/// Seconds 4 to 16 of a flow that joins models of TCP 3 s after they began, as in suite D: the means of Jain's index, and
/// of the flow's share of a fair one.
fn newcomer(cubic: u32, bbr: u32, queue: &str) -> (f64, f64) {
    const SEEDS: u64 = 12;
    let flows = Flows {
        cubic,
        bbr,
        join: SECOND,
        after: SECOND * 3,
        ..several(1)
    };
    let link = format!("rate=25mbit delay=30ms queue={queue}");
    let found = (1..=SEEDS).map(|seed| {
        let outcome = run(&flows, &link, 21, seed);
        let joined = outcome.flows.last().expect("a newcomer").join_s as usize;
        assert!(joined >= 3, "{joined}");
        let flows = outcome.flows.iter();
        let sums = flows.map(|flow| flow.windows_mbit[joined + 4..][..12].iter().sum());
        let sums: Vec<f64> = sums.collect();
        let fair = sums.iter().sum::<f64>() / sums.len() as f64;
        (jain(&sums), sums[sums.len() - 1] / fair)
    });
    let (jain, share) = found.fold((0.0, 0.0), |(a, b), (c, d)| (a + c, b + d));
    (jain / SEEDS as f64, share / SEEDS as f64)
}

#[test]
fn a_newcomer_beside_tcp_has_most_of_its_share_within_seconds() {
    for (cubic, bbr, queue, least) in [
        (1, 0, "60ms,100pkt", 0.92),
        (1, 0, "200ms", 0.87),
        (0, 1, "200ms", 0.94),
    ] {
        let (jain, share) = newcomer(cubic, bbr, queue);
        assert!(
            jain > least,
            "{jain}, {share} beside {cubic} CUBIC, {bbr} BBR"
        );
    }
    // Four of BBR lose much, whatever a newcomer does. It never saw the path's own delay.
    let (_, share) = newcomer(0, 4, "60ms,100pkt");
    assert!(share > 0.6, "{share}");
}

/// Its own dips empty a short queue. That must not look as if the other flow had gone.
#[test]
fn a_flow_keeps_half_of_the_path_beside_cubic_for_minutes() {
    let found = beside_tcp(1, 0, 100, [1, 2, 3, 4]);
    let mean = found.iter().sum::<f64>() / 4.0;
    assert!(mean > 0.92, "{found:?}");
}

/// Flows that have shared a queue with TCP find it empty soon after TCP has gone, however short it is.
#[test]
fn flows_that_tcp_leaves_alone_have_a_short_queue_again() {
    for (count, queue) in [(1, "30ms"), (1, "200ms"), (2, "30ms"), (2, "60ms")] {
        let mut members = vec![member(Sender::Cubic)];
        members.extend((1..=count).map(|n| Member {
            join: (SECOND * (n - 1) * 2, SECOND * n * 2),
            ..member(BULK)
        }));
        let mut crowd = crowd(members, 60);
        crowd.members[0].leave = Some(SECOND * 30);
        crowd.forward = format!("rate=25mbit delay=30ms queue={queue}")
            .parse()
            .expect("a link");
        crowd.back = "delay=30ms".parse().expect("a link");
        crowd.skip = SECOND * 40;
        for seed in 1..=3 {
            let outcome = crowd.run(seed);
            let median = outcome.queue_ms[0];
            assert!(
                median < 12.0,
                "{count} flows, {queue}, seed {seed}: {outcome:?}"
            );
            assert!(outcome.utilisation.expect("a rate") > 0.95, "{outcome:?}");
        }
    }
}

/// BBR leaves a queue that flows of this kind might make too. Only a push tells them apart.
#[test]
fn a_newcomer_beside_bbr_pushes_and_has_its_share() {
    // Without pushes these have 0.53 to 0.63.
    let found = beside_tcp(0, 1, 22, [9, 14, 16, 19]);
    let mean = found.iter().sum::<f64>() / 4.0;
    assert!(mean > 0.75, "{found:?}");
}

#[test]
fn a_stream_goes_on_beside_tcp_whichever_was_there_first() {
    let stream: Application = "cbr:10mbit,1200".parse().expect("traffic");
    let video: Application = "cbr:4mbit,16000".parse().expect("traffic");
    for (traffic, tcp, second) in [
        (stream, Sender::Cubic, 0),
        (stream, Sender::Bbr, 0),
        (video, Sender::Cubic, 0),
        (video, Sender::Bbr, 0),
        (stream, Sender::Cubic, 1),
        (stream, Sender::Bbr, 1),
        (video, Sender::Cubic, 1),
        (video, Sender::Bbr, 1),
    ] {
        let members = vec![member(Sender::Engine(traffic)), member(tcp)];
        let mut crowd = crowd(members, 60);
        crowd.forward = "rate=25mbit delay=30ms queue=200ms"
            .parse()
            .expect("a link");
        crowd.back = "rate=25mbit delay=30ms".parse().expect("a link");
        crowd.members[second].join = (SECOND * 6, SECOND * 7);
        for seed in 1..=3 {
            let outcome = crowd.run(seed);
            let delay = outcome.flows[0].delay.and_then(|delay| delay.p99);
            // The path and its queue take 230. A newcomer's first second has to catch up.
            let delay = delay.expect("messages arrived");
            let most = if second == 0 { 1800.0 } else { 700.0 };
            let case = format!("{traffic:?} beside {tcp:?}, {second} joins, seed {seed}");
            assert!(delay < most, "{case}: {delay} ms");
            let theirs = outcome.flows[1].last_mbit;
            assert!(theirs > 12.0, "{case}: {theirs} Mbit/s");
        }
    }
}

#[test]
fn a_video_beside_a_bulk_flow_keeps_room_for_its_frames_and_its_repairs() {
    let video: Application = "video:4mbit,1200".parse().expect("traffic");
    // Alone it takes 27 ms. Where its window does not grow again, and it does not repair before it is asked to, it takes
    // 46 to 52, and 109 to 132 with losses.
    for (loss, most) in [("", 45.5), (" loss=iid:5%", 60.0)] {
        let members = vec![
            member(Sender::Engine(Application::Bulk)),
            member(Sender::Engine(video)),
        ];
        let mut crowd = crowd(members, 30);
        crowd.forward = format!("rate=100mbit delay=20ms queue=60ms{loss}")
            .parse()
            .expect("a link");
        crowd.back = "rate=100mbit delay=20ms".parse().expect("a link");
        for seed in 1..=3 {
            let outcome = crowd.run(seed);
            let delay = outcome.flows[1].delay.and_then(|delay| delay.p99);
            let delay = delay.expect("messages arrived");
            assert!(delay < most, "{loss}, seed {seed}: {delay} ms");
            let bulk = outcome.flows[0].last_mbit;
            assert!(bulk > 78.0, "{loss}, seed {seed}: {bulk} Mbit/s");
        }
    }
}

#[test]
fn a_stream_that_is_too_much_for_its_path_does_not_take_its_queue_for_that_of_others() {
    // What the flow sends by itself fills the path's queue of 200 ms within seconds.
    for link in ["rate=9500kbit", "rate=10500kbit loss=iid:1%", "rate=5mbit"] {
        let stream: Application = "cbr:10mbit,1200".parse().expect("traffic");
        let mut crowd = crowd(vec![member(Sender::Engine(stream))], 30);
        crowd.forward = format!("{link} delay=30ms queue=200ms")
            .parse()
            .expect("a link");
        crowd.back = "delay=30ms".parse().expect("a link");
        let outcome = crowd.run(1);
        let [median, long, _] = outcome.queue_ms;
        assert!(median < 15.0 && long < 100.0, "{link}: {outcome:?}");
    }
}
