//! Each workload over each transport, on loopback.

use std::net::{TcpListener, UdpSocket};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::mpsc;
use weftline_lab::load::{Failed, LISTENING, LoadError, Mode, Request, Side};

/// Reliable transports, each with the settings that it needs.
const RELIABLE: [(&str, &[&str]); 6] = [
    ("weftline", &[]),
    ("weftline", &["preset=arq", "cc=cubic"]),
    (
        "weftline",
        &["carrier=udp", "fixed_rate=200", "preset=block"],
    ),
    ("tcp", &[]),
    ("quinn", &["cc=bbr"]),
    ("kcp", &[]),
];

/// A port that is free for UDP and TCP.
fn port() -> u16 {
    loop {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = udp.local_addr().unwrap().port();
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

fn request(
    side: Side,
    transport: &str,
    mode: Mode,
    port: u16,
    settings: &[&str],
) -> Result<Request, LoadError> {
    let settings: Vec<String> = settings.iter().map(|s| (*s).to_owned()).collect();
    Request::new(side, transport, mode, "127.0.0.1", port, &settings)
}

/// Runs both ends; what the receiver and the sender tell.
async fn measure(transport: &str, mode: Mode, settings: &[&str]) -> (Value, Value) {
    let (port, start) = (port(), Instant::now());
    let recv = request(Side::Recv, transport, mode, port, settings).unwrap();
    let send = request(Side::Send, transport, mode, port, settings).unwrap();
    let (print, mut receiver) = mpsc::unbounded_channel();
    let receiving = tokio::spawn(async move {
        let line = |line: &str| print.send(line.to_owned()).unwrap();
        recv.run(line).await
    });
    assert_eq!(receiver.recv().await.as_deref(), Some(LISTENING));
    let sent = tokio::spawn(async move { result(&send).await });
    let what = format!("{} over {transport} {settings:?}", mode.name());
    let parse = |line: Result<String, LoadError>| {
        let line = line.unwrap_or_else(|e| panic!("{what}: {e}"));
        assert!(!line.contains('\n'), "{what}: {line}");
        eprintln!("{what}: {line}");
        serde_json::from_str::<Value>(&line).unwrap()
    };
    let sent = parse(sent.await.unwrap());
    receiving.await.unwrap().unwrap();
    let received = parse(Ok(receiver.recv().await.unwrap()));
    eprintln!("{what}: {:?}", start.elapsed());
    (received, sent)
}

/// The last line that this end prints.
async fn result(request: &Request) -> Result<String, LoadError> {
    let mut last = String::new();
    request.run(|line| last = line.to_owned()).await?;
    Ok(last)
}

fn number(line: &Value, name: &str) -> f64 {
    line[name]
        .as_f64()
        .unwrap_or_else(|| panic!("{name} in {line}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_arrives_whole_and_soon() {
    for (transport, settings) in RELIABLE {
        let settings = [settings, &["secs=0.6", "skip=0.1", "rate=5", "size=1000"]].concat();
        let (received, sent) = measure(transport, Mode::Stream, &settings).await;
        // 5 Mbit/s of 8000 bits each: 625 in a second.
        assert_eq!(received["sent"], 312, "{received}");
        assert_eq!(received["missing"], 0, "{transport}: {received}");
        assert_eq!(sent["sent"], 375);
        assert_eq!(sent["done"], true, "{transport}: {sent}");
        let [p50, p99, max] = ["p50", "p99", "max"].map(|name| number(&received, name));
        assert!(0.0 < p50 && p50 <= p99 && p99 <= max, "{received}");
        // A bound for busy machines: the point is that units and clocks are right.
        assert!(p50 < 100.0, "{transport}: {received}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_and_datagrams_arrive_soon() {
    for (transport, settings) in [("udp", &[][..]), ("weftline", &["as=messages"])] {
        let settings = [settings, &["secs=0.6", "rate=5", "size=1000", "cdf=1"]].concat();
        let (received, sent) = measure(transport, Mode::Stream, &settings).await;
        assert_eq!(received["missing"], 0, "{transport}: {received}");
        assert!(number(&received, "p50") < 100.0, "{transport}: {received}");
        assert!(received["cdf"].as_array().unwrap().len() > 100);
        assert_eq!(sent["done"], true, "{transport}: {sent}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bulk_has_a_goodput() {
    for (transport, settings) in RELIABLE {
        let settings = [settings, &["secs=0.6", "skip=0.2", "series=0.2"]].concat();
        let (received, sent) = measure(transport, Mode::Bulk, &settings).await;
        let (bytes, secs) = (number(&received, "bytes"), number(&received, "secs"));
        assert_eq!(secs, 0.4, "{transport}: {received}");
        let goodput = number(&received, "goodput");
        assert!((goodput - bytes * 8e-6 / secs).abs() < 0.01, "{received}");
        assert!(goodput > 5.0, "{transport}: {received}");
        assert!(number(&sent, "bytes") >= bytes, "{transport}: {sent}");
        assert_eq!(received["series"].as_array().unwrap().len(), 3);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bulk_datagrams_come_at_the_rate_asked_for() {
    let settings = ["secs=1", "skip=0.2", "rate=20"];
    let (received, _) = measure("udp", Mode::Bulk, &settings).await;
    let goodput = number(&received, "goodput");
    assert!((goodput - 20.0).abs() < 2.0, "{received}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_transfer_has_a_time() {
    for (transport, settings) in RELIABLE {
        for reuse in ["reuse=0", "reuse=1"] {
            let settings = [settings, &["n=4", "size=300000", "gap=0.01", reuse]].concat();
            let (received, sent) = measure(transport, Mode::Xfer, &settings).await;
            assert_eq!(received["got"], 4, "{transport}: {received}");
            assert_eq!(sent["failed"], 0, "{transport}: {sent}");
            let times = sent["times"].as_array().unwrap();
            assert_eq!(times.len(), 4);
            for time in times {
                let time = time.as_f64().unwrap();
                assert!(0.0 < time && time < 5000.0, "{transport}: {sent}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receiver_that_starts_late_tells_what_it_missed() {
    let settings = ["secs=1", "rate=4", "size=1000", "drain=0.2"];
    let port = port();
    let send = request(Side::Send, "udp", Mode::Stream, port, &settings).unwrap();
    let recv = request(Side::Recv, "udp", Mode::Stream, port, &settings).unwrap();
    let sender = tokio::spawn(async move { result(&send).await });
    tokio::time::sleep(Duration::from_millis(400)).await;
    let line = tokio::spawn(async move { result(&recv).await }).await;
    let received: Value = serde_json::from_str(&line.unwrap().unwrap()).unwrap();
    sender.await.unwrap().unwrap();
    assert_eq!(received["sent"], 500);
    let [got, missing] = ["got", "missing"].map(|name| number(&received, name));
    assert_eq!(got + missing, 500.0, "{received}");
    // 0.4 of a second at 500 messages per second, less the 20 ms before the first.
    assert!((100.0..450.0).contains(&missing), "{received}");
    // Message 0 has waited until 0.2 s after the last.
    assert_eq!(number(&received, "max"), 1198.0, "{received}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_that_is_not_there_is_told() {
    for (transport, settings) in RELIABLE {
        // Over KCP and plain UDP nobody answers who could say that nobody is there.
        let settings = [settings, &["timeout=0.5", "n=1"]].concat();
        let send = request(Side::Send, transport, Mode::Xfer, port(), &settings).unwrap();
        let error = result(&send).await.unwrap_err();
        assert_eq!(error.kind(), Failed::Lost, "{transport}: {error}");
        let recv = request(Side::Recv, transport, Mode::Xfer, port(), &settings).unwrap();
        let error = result(&recv).await.unwrap_err();
        assert!(
            matches!(error, LoadError::NobodyCame { .. }),
            "{transport}: {error}"
        );
        assert!(error.to_json().starts_with(r#"{"error":"no sender"#));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_port_that_is_taken_is_told() {
    let port = port();
    let _udp = UdpSocket::bind(("127.0.0.1", port)).unwrap();
    let _tcp = TcpListener::bind(("127.0.0.1", port)).unwrap();
    for (transport, settings) in RELIABLE {
        let recv = request(Side::Recv, transport, Mode::Xfer, port, settings).unwrap();
        let error = recv
            .run(|line| panic!("it prints {line}"))
            .await
            .unwrap_err();
        assert!(
            matches!(error, LoadError::Listen { .. }),
            "{transport}: {error}"
        );
        assert!(error.to_string().contains(&port.to_string()), "{error}");
    }
}

/// Longer, and with numbers worth a look: `cargo test --release -p weftline-lab --test all long
/// -- --ignored --nocapture`.
#[ignore = "takes a minute; see the comment"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_runs() {
    for (transport, settings) in RELIABLE {
        let bulk = [settings, &["secs=5", "skip=1"]].concat();
        measure(transport, Mode::Bulk, &bulk).await;
        let stream = [settings, &["secs=5", "skip=1"]].concat();
        let (received, _) = measure(transport, Mode::Stream, &stream).await;
        assert_eq!(received["missing"], 0, "{transport}: {received}");
    }
    let (received, sent) = measure("udp", Mode::Stream, &["secs=5", "skip=1"]).await;
    assert!(number(&received, "mean") < 1.0, "{received} {sent}");
}
