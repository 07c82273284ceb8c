use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::relay::Relay;
use crate::{Kind, Pair, config, pattern, soon};

/// Sends `len` bytes from the client, compares them at the server, waits for the acknowledgement.
async fn transfer(pair: &Pair, len: usize) {
    let data = pattern(len, 99);
    let mut near = pair.client.open_stream().await.unwrap();
    let send = async {
        near.write_all(&data).await.unwrap();
        near.finish().unwrap();
        near.finished().await.unwrap();
        pair.client.flushed().await.unwrap();
    };
    let receive = async {
        let mut far = pair.server.accept_stream().await.unwrap();
        let mut got = Vec::with_capacity(len);
        far.read_to_end(&mut got).await.unwrap();
        got
    };
    let ((), got) = soon(async { tokio::join!(send, receive) }).await;
    assert!(got == data, "{} of {len} bytes", got.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_megabytes_arrive_exactly_over_quic() {
    transfer(&Pair::new(Kind::Quic).await, 20_000_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_megabytes_arrive_exactly_over_plain_udp() {
    transfer(&Pair::new(Kind::Udp).await, 20_000_000).await;
}

#[tokio::test]
async fn one_thread_is_enough() {
    transfer(&Pair::new(Kind::Quic).await, 3_000_000).await;
}

#[tokio::test]
async fn quics_own_congestion_control_serves_too() {
    let mut config = config();
    config.session.rate = weftline::RateControl::Carrier;
    let pair = Pair::with(Kind::Quic, config, |addr| addr).await;
    transfer(&pair, 3_000_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_loses_a_tenth_of_the_packets_delivers_everything() {
    for kind in [Kind::Quic, Kind::Udp] {
        let mut relay = None;
        let mut config = config();
        config.session.rate = weftline::RateControl::Fixed {
            rate: Some(40_000_000),
            window: None,
        };
        let pair = Pair::with(kind, config, |server| relay.insert(Relay::new(server)).addr).await;
        relay.as_ref().unwrap().lose(100);
        transfer(&pair, 1_000_000).await;
        let stats = pair.server.stats();
        assert!(stats.received.recovered_symbols > 0, "{kind:?} {stats:?}");
    }
}

#[tokio::test]
async fn a_handshake_gets_through_a_lossy_path() {
    for kind in [Kind::Quic, Kind::Udp] {
        let mut relay = None;
        let pair = Pair::with(kind, config(), |server| {
            let relay = relay.insert(Relay::new(server));
            relay.lose(250);
            relay.addr
        })
        .await;
        relay.as_ref().unwrap().lose(50);
        transfer(&pair, 10_000).await;
    }
}

#[tokio::test]
async fn a_symbol_size_that_the_path_cannot_carry_is_lowered() {
    let mut config = config();
    config.session.symbol_size = 9_000;
    config.session.limits.symbol_size = 9_000;
    for kind in [Kind::Quic, Kind::Udp] {
        let pair = Pair::with(kind, config.clone(), |addr| addr).await;
        transfer(&pair, 100_000).await;
    }
}

/// Sends a megabyte; bytes of a symbol in the mean.
async fn mean_symbol(pair: &Pair) -> u64 {
    let before = pair.client.stats().sent.source_symbols;
    transfer(pair, 1_000_000).await;
    1_000_000 / (pair.client.stats().sent.source_symbols - before)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn loopback_carries_long_symbols() {
    for kind in [Kind::Udp, Kind::Quic] {
        let mut config = config();
        // They need not wait for a high rate.
        config.session.symbol_size = 9000;
        let pair = Pair::with(kind, config, |addr| addr).await;
        soon(async { while mean_symbol(&pair).await < 8000 {} }).await;
        assert_eq!(pair.client.stats().path.loss, 0.0, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn symbols_stay_short_at_a_low_rate() {
    for kind in [Kind::Udp, Kind::Quic] {
        let mut config = config();
        config.session.rate = weftline::RateControl::Fixed {
            rate: Some(30_000_000),
            window: None,
        };
        let pair = Pair::with(kind, config, |addr| addr).await;
        let bytes = mean_symbol(&pair).await;
        assert!((1100..1400).contains(&bytes), "{kind:?}: {bytes}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_takes_less_than_its_first_hop_is_found_out() {
    for kind in [Kind::Udp, Kind::Quic] {
        let mut config = config();
        config.session.symbol_size = 9000;
        let mut relay = None;
        let pair = Pair::with(kind, config, |server| {
            let relay = relay.insert(Relay::new(server));
            relay.drop_longer_than(1472);
            relay.addr
        })
        .await;
        let relay = relay.unwrap();
        // Ethernet's size is found among the long ones.
        soon(async { while mean_symbol(&pair).await < 1300 {} }).await;
        let dropped = relay.dropped();
        // Three probes of each of seven sizes, each way.
        assert!((3..=42).contains(&dropped), "{kind:?}: {dropped}");
        // The path becomes shorter than what was found.
        relay.drop_longer_than(1330);
        soon(async { while mean_symbol(&pair).await > 1290 {} }).await;
    }
}

#[tokio::test]
async fn a_session_with_nothing_to_send_uses_no_time() {
    let pair = Pair::new(Kind::Quic).await;
    soon(pair.client.flushed()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.worker_total_busy_duration(0);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let busy = metrics.worker_total_busy_duration(0) - before;
    assert!(busy < Duration::from_millis(100), "{busy:?}");
}

#[tokio::test]
async fn the_statistics_tell_when_the_peer_was_last_heard() {
    let mut config = config();
    config.session.keep_alive = None;
    let pair = Pair::with(Kind::Quic, config, |addr| addr).await;
    soon(pair.client.flushed()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let silence = pair.client.last_heard();
    assert!(silence >= Duration::from_millis(200), "{silence:?}");
    let before = pair.client.stats().received.last_heard;
    soon(pair.server.send_message("hello", None)).await.unwrap();
    soon(pair.client.recv_message()).await.unwrap();
    assert!(pair.client.stats().received.last_heard > before);
    assert!(pair.client.last_heard() < silence);
}
