//! Plain UDP alone, which is there without the feature `quic` too.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weftline::InsecureEndpoint;

#[tokio::test]
async fn streams_and_messages_go_over_plain_udp() {
    let config = weftline::EndpointConfig::default;
    let any = "127.0.0.1:0".parse().unwrap();
    let server = InsecureEndpoint::bind(any, config()).unwrap();
    let client = InsecureEndpoint::bind(any, config()).unwrap();
    let connecting = client.connect(server.local_addr().unwrap());
    let exchange = async {
        let (near, far) = tokio::join!(connecting, server.accept());
        let (near, far) = (near.unwrap(), far.unwrap());
        let mut stream = near.open_stream().await.unwrap();
        stream.write_all(b"hello").await.unwrap();
        stream.finish().unwrap();
        let mut text = String::new();
        let mut incoming = far.accept_stream().await.unwrap();
        incoming.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "hello");
        let receipt = far.send_message("back", None).await.unwrap();
        assert_eq!(near.recv_message().await.unwrap().data, "back");
        receipt.await.unwrap();
        near.close(0, "");
        client.wait_idle().await;
    };
    let patience = Duration::from_secs(15);
    tokio::time::timeout(patience, exchange).await.unwrap();
}

#[cfg(feature = "serde")]
#[test]
fn statistics_and_reasons_are_serde_types() {
    use weftline::{CloseReason, Stats, Violation};

    let mut stats = Stats::default();
    stats.sent.datagrams = 7;
    let json = serde_json::to_string(&stats).unwrap();
    assert!(json.contains("\"datagrams\":7"), "{json}");
    assert_eq!(serde_json::from_str::<Stats>(&json).unwrap(), stats);
    let reason = CloseReason::Violation(Violation::StreamEnd);
    let json = serde_json::to_string(&reason).unwrap();
    assert_eq!(json, "{\"violation\":\"stream_end\"}");
    assert_eq!(serde_json::from_str::<CloseReason>(&json).unwrap(), reason);
}
