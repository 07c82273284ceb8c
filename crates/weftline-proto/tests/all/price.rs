//! What `auto` spends where repairs cannot help: on a fading link, beyond the link's capacity.

use std::time::Duration;

use weftline_netem::{LinkConfig, Trace};
use weftline_proto::{Config, Preset};

const MESSAGE: usize = 1000;
const SEEDS: u64 = 8;

struct Outcome {
    /// The delay that 99 of 100 messages did not exceed.
    p99: Duration,
    /// Repair symbols for each source symbol.
    repairs: f64,
}

/// A stream of messages of 1000 bytes for ten seconds or more.
fn stream(
    preset: Preset,
    link: &LinkConfig,
    period: Duration,
    messages: u64,
    seed: u64,
) -> Outcome {
    let config = Config::preset(preset);
    let mut sim = crate::support::live(
        config,
        (period, MESSAGE, messages),
        link.clone(),
        "delay=20ms".parse().expect("well-formed"),
        seed,
    );
    sim.run_until(period * messages as u32 + Duration::from_secs(15));
    let mut delays = sim.b.live_delays.clone();
    assert_eq!(delays.len() as u64, messages, "every message arrives");
    delays.sort();
    let sent = sim.a.session.stats().sent;
    Outcome {
        p99: delays[delays.len() * 99 / 100],
        repairs: sent.repair_symbols as f64 / sent.source_symbols as f64,
    }
}

fn link(text: &str) -> LinkConfig {
    text.parse().expect("well-formed")
}

/// A link of 6 Mbit/s that falls to 1.2 Mbit/s for 400 ms of each second, as a radio link fades.
fn fading() -> LinkConfig {
    let opportunities = (0..1000).filter(|ms| *ms < 600 && ms % 2 == 0 || ms % 10 == 0);
    let lines: Vec<String> = opportunities.map(|ms| (ms + 1).to_string()).collect();
    let trace = Trace::parse("fading", &lines.join("\n")).expect("well-formed");
    link("delay=20ms queue=500ms loss=iid:1%").with_trace(trace)
}

/// `auto` must not be worse than without coding.
fn compare(link: &LinkConfig, period: Duration, repairs: f64, within: f64) {
    let run = |preset, seed| stream(preset, link, period, 5000, seed);
    // One run may be worse by chance.
    let (mut auto, mut arq) = (Duration::ZERO, Duration::ZERO);
    for seed in 1..=SEEDS {
        let with = run(Preset::Auto, seed);
        assert!(with.repairs < repairs, "{}", with.repairs);
        auto += with.p99;
        arq += run(Preset::Arq, seed).p99;
    }
    assert!(auto <= arq.mul_f64(within), "{auto:?} {arq:?}");
}

#[test]
fn on_a_fading_link_repairs_do_not_compete_with_the_data() {
    // 2 Mbit/s: less than the link carries on average, more than it does in a fade.
    compare(&fading(), Duration::from_millis(4), 0.03, 1.05);
}

#[test]
fn where_the_link_has_little_room_repairs_do_not_fill_its_queue() {
    // 4 Mbit/s.
    let link = link("rate=4900kbit delay=30ms queue=100ms loss=iid:1%");
    compare(&link, Duration::from_millis(2), 0.06, 1.1);
}

#[test]
fn a_source_that_offers_more_than_the_link_carries_sends_hardly_any_repairs() {
    // 3 Mbit/s are offered.
    let over = link("rate=2mbit delay=30ms queue=200ms");
    let run = stream(Preset::Auto, &over, Duration::from_micros(2667), 4000, 42);
    assert!(run.repairs < 0.01, "{}", run.repairs);
}

#[test]
fn a_busy_flow_on_a_short_path_sends_lost_symbols_again_and_a_sparse_one_codes() {
    let repairs = |period_us, size, messages, delay| {
        let link: LinkConfig = format!("rate=10gbit delay={delay}ms queue=5ms loss=iid:5%")
            .parse()
            .expect("well-formed");
        let back = format!("delay={delay}ms").parse().expect("well-formed");
        let period = Duration::from_micros(period_us);
        let config = Config::preset(Preset::Auto);
        let mut sim = crate::support::live(config, (period, size, messages), link, back, 1);
        sim.run_until(period * messages as u32 + Duration::from_secs(2));
        assert_eq!(sim.b.live_delays.len() as u64, messages);
        let sent = sim.a.session.stats().sent;
        sent.repair_symbols as f64 / sent.source_symbols as f64
    };
    // Two hundred symbols in a round trip, and a tenth of one.
    let busy = repairs(1, MESSAGE, 50_000, 0.1);
    assert!(busy < 0.01, "{busy}");
    // The application is at work elsewhere for half a round trip at a time.
    let uneven = repairs(100, 60_000, 2000, 0.1);
    assert!(uneven < 0.01, "{uneven}");
    let sparse = repairs(2000, MESSAGE, 2000, 0.1);
    assert!(sparse > 0.05, "{sparse}");
    // As many in a round trip that is not short.
    let longer = repairs(50, MESSAGE, 20_000, 5.0);
    assert!(longer > 0.05, "{longer}");
}

#[test]
fn the_end_of_a_burst_on_a_short_path_does_not_wait_for_a_timer() {
    // Frames of a hundred symbols or more.
    const FRAME: usize = 150_000;
    const FRAMES: u64 = 600;
    let period = Duration::from_millis(16);
    let link = link("rate=10gbit delay=0.1ms queue=5ms loss=iid:5%");
    let config = Config::preset(Preset::Auto);
    let back = "delay=0.1ms".parse().expect("well-formed");
    let mut sim = crate::support::live(config, (period, FRAME, FRAMES), link, back, 1);
    sim.run_until(period * FRAMES as u32 + Duration::from_secs(2));
    let mut delays = sim.b.live_delays.clone();
    assert_eq!(delays.len() as u64, FRAMES);
    delays.sort();
    let p99 = delays[delays.len() * 99 / 100];
    assert!(p99 < Duration::from_millis(4), "{p99:?}");
    let sent = sim.a.session.stats().sent;
    let repairs = sent.repair_symbols as f64 / sent.source_symbols as f64;
    assert!(repairs < 0.1, "{repairs}");
}
