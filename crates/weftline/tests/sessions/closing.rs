use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weftline::CloseReason;

use crate::relay::Relay;
use crate::{Kind, Pair, config, soon};

fn peer(code: u64, reason: &str) -> CloseReason {
    CloseReason::Peer {
        code,
        reason: reason.to_owned(),
    }
}

#[tokio::test]
async fn the_code_and_reason_reach_the_peer() {
    for kind in [Kind::Quic, Kind::Udp] {
        let pair = Pair::new(kind).await;
        assert_eq!(pair.client.close_reason(), None);
        pair.client.close(42, "had enough");
        assert_eq!(soon(pair.client.closed()).await, CloseReason::Local);
        let reason = soon(pair.server.closed()).await;
        assert_eq!(reason, peer(42, "had enough"), "{kind:?}");
        assert_eq!(pair.server.close_reason(), Some(reason));
        assert_eq!(
            soon(pair.server.recv_message()).await.unwrap_err(),
            peer(42, "had enough")
        );
        assert!(pair.server.open_stream().await.is_err());
    }
}

#[tokio::test]
async fn a_peer_that_read_everything_and_closed_leaves_no_doubt() {
    for kind in [Kind::Quic, Kind::Udp] {
        for session in 0..20_usize {
            let data = vec![7; 1000 + 3000 * session];
            let pair = Pair::new(kind).await;
            let mut stream = soon(pair.client.open_stream()).await.unwrap();
            stream.write_all(&data).await.unwrap();
            stream.finish().unwrap();
            let read_and_close = async {
                let mut stream = pair.server.accept_stream().await.unwrap();
                let mut read = Vec::new();
                stream.read_to_end(&mut read).await.unwrap();
                pair.server.close(0, "thank you");
                read
            };
            let told = async { tokio::join!(stream.finished(), pair.client.flushed()) };
            let (read, told) = soon(async { tokio::join!(read_and_close, told) }).await;
            assert_eq!(read.len(), data.len());
            assert_eq!(told, (Ok(()), Ok(())), "{kind:?}, session {session}");
        }
    }
}

#[tokio::test]
async fn a_close_gets_through_a_lossy_path() {
    let mut relay = None;
    let pair = Pair::with(Kind::Quic, config(), |server| {
        relay.insert(Relay::new(server)).addr
    })
    .await;
    relay.as_ref().unwrap().lose(300);
    pair.server.close(7, "bye");
    assert_eq!(soon(pair.client.closed()).await, peer(7, "bye"));
}

#[tokio::test]
async fn dropping_the_last_handle_closes_the_session() {
    let pair = Pair::new(Kind::Quic).await;
    let mut stream = pair.client.open_stream().await.unwrap();
    stream.write_all(b"x").await.unwrap();
    drop(pair.client);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(pair.server.close_reason(), None, "a stream still holds it");
    drop(stream);
    assert_eq!(soon(pair.server.closed()).await, peer(0, "dropped"));
}

#[tokio::test]
async fn closing_an_endpoint_closes_its_sessions() {
    let pair = Pair::new(Kind::Quic).await;
    pair.server_endpoint.close(9, "maintenance");
    assert_eq!(soon(pair.client.closed()).await, peer(9, "maintenance"));
    soon(pair.server_endpoint.wait_idle()).await;
    assert_eq!(pair.server.close_reason(), Some(CloseReason::Local));
}

#[tokio::test]
async fn a_peer_that_vanishes_is_noticed_within_the_idle_timeout() {
    for kind in [Kind::Quic, Kind::Udp] {
        let mut config = config();
        config.session.idle_timeout = Duration::from_secs(1);
        config.session.keep_alive = Some(Duration::from_millis(300));
        let mut relay = None;
        let pair = Pair::with(kind, config, |server| relay.insert(Relay::new(server)).addr).await;
        // Keep-alives hold an idle session for longer than the timeout.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        assert_eq!(pair.client.close_reason(), None, "{kind:?}");

        relay.as_ref().unwrap().lose(1000);
        let cut = Instant::now();
        let mut stream = pair.client.open_stream().await.unwrap();
        stream.write_all(&[0; 100_000]).await.unwrap();
        let expected = CloseReason::TimedOut { seconds: 1 };
        assert_eq!(soon(pair.client.closed()).await, expected, "{kind:?}");
        assert_eq!(soon(pair.server.closed()).await, expected, "{kind:?}");
        let took = cut.elapsed();
        assert!(took < Duration::from_secs(2), "{kind:?} {took:?}");
        let error = stream.write_all(b"x").await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    }
}

#[tokio::test]
async fn nothing_is_flushed_that_the_peer_did_not_get() {
    let mut relay = None;
    let pair = Pair::with(Kind::Udp, config(), |server| {
        relay.insert(Relay::new(server)).addr
    })
    .await;
    soon(pair.client.flushed()).await.unwrap();
    relay.as_ref().unwrap().lose(1000);
    pair.client.send_message("x", None).await.unwrap();
    let early = tokio::time::timeout(Duration::from_millis(300), pair.client.flushed());
    assert!(early.await.is_err(), "flushed without an acknowledgement");
    relay.as_ref().unwrap().lose(0);
    soon(pair.client.flushed()).await.unwrap();
    soon(pair.server.recv_message()).await.unwrap();
}

#[tokio::test]
async fn no_task_outlives_its_session_and_endpoint() {
    let tasks = || {
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
    };
    let before = tasks();
    for kind in [Kind::Quic, Kind::Udp] {
        let pair = Pair::new(kind).await;
        let mut stream = pair.client.open_stream().await.unwrap();
        stream.write_all(b"x").await.unwrap();
        assert!(tasks() > before);
        pair.client.close(0, "");
        soon(pair.server.closed()).await;
        soon(pair.client_endpoint.wait_idle()).await;
        soon(pair.server_endpoint.wait_idle()).await;
        // A closed session's handles may be kept: they hold no tasks.
        let (client, server) = (pair.client, pair.server);
        drop((pair.client_endpoint, pair.server_endpoint));
        let gone = async {
            while tasks() > before {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        soon(gone).await;
        assert!(client.close_reason().is_some() && server.close_reason().is_some());
    }
}

#[tokio::test]
async fn sessions_of_an_endpoint_that_was_dropped_go_on() {
    for kind in [Kind::Quic, Kind::Udp] {
        let pair = Pair::new(kind).await;
        drop((pair.client_endpoint, pair.server_endpoint));
        tokio::time::sleep(Duration::from_millis(50)).await;
        pair.client.send_message("still", None).await.unwrap();
        let message = soon(pair.server.recv_message()).await.unwrap();
        assert_eq!(message.data, b"still"[..]);
    }
}
