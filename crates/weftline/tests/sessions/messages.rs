use std::pin::pin;
use std::time::Duration;

use weftline::{Bytes, CloseReason, Receipt, SendError, Undelivered};

use crate::relay::Relay;
use crate::{Kind, Pair, config, pattern, soon};

#[tokio::test]
async fn messages_arrive_whole_both_ways() {
    for kind in [Kind::Quic, Kind::Udp] {
        let pair = Pair::new(kind).await;
        for (here, there) in [(&pair.client, &pair.server), (&pair.server, &pair.client)] {
            for len in [0, 1, 1000, 100_000] {
                let data = pattern(len, 3);
                soon(here.send_message(data.clone(), None)).await.unwrap();
                let message = soon(there.recv_message()).await.unwrap();
                assert!(message.data == data && !message.late, "{kind:?} {len}");
            }
        }
    }
}

#[tokio::test]
async fn a_message_with_room_before_its_deadline_arrives() {
    let pair = Pair::new(Kind::Quic).await;
    let deadline = Some(Duration::from_secs(5));
    let receipt = pair.client.send_message("in time", deadline).await.unwrap();
    let message = soon(pair.server.recv_message()).await.unwrap();
    assert_eq!(message.data, b"in time"[..]);
    assert_eq!(message.id, receipt.id());
    assert_eq!(soon(receipt).await, Ok(()));
}

#[tokio::test]
async fn a_message_whose_deadline_passed_is_not_delivered() {
    let mut relay = None;
    let pair = Pair::with(Kind::Udp, config(), |server| {
        relay.insert(Relay::new(server)).addr
    })
    .await;
    let relay = relay.unwrap();
    relay.lose(1000);
    let deadline = Some(Duration::from_millis(50));
    let late = pair.client.send_message("too late", deadline);
    let late = late.await.unwrap();
    assert_eq!(soon(late).await, Err(Undelivered::Expired));
    tokio::time::sleep(Duration::from_millis(200)).await;
    relay.lose(0);
    pair.client.send_message("next", None).await.unwrap();
    let message = soon(pair.server.recv_message()).await.unwrap();
    assert_eq!(message.data, b"next"[..]);
}

#[tokio::test]
async fn a_message_longer_than_the_peer_accepts_is_refused_with_the_limit() {
    let mut config = config();
    config.session.limits.message_size = 200_000;
    let pair = Pair::with(Kind::Quic, config, |addr| addr).await;
    let (got, limit) = (200_001, 200_000);
    let error = pair.client.send_message(vec![0; got], None).await;
    assert_eq!(error.unwrap_err(), SendError::TooLong { got, limit });
    soon(pair.client.send_message(vec![0; limit], None))
        .await
        .unwrap();
    let message = soon(pair.server.recv_message()).await.unwrap();
    assert_eq!(message.data.len(), limit);
}

#[tokio::test]
async fn a_sender_waits_for_room_and_loses_nothing() {
    let pair = Pair::new(Kind::Quic).await;
    let client = pair.client.clone();
    let sender = tokio::spawn(async move {
        for i in 0..400_u32 {
            let mut data = vec![0; 10_000];
            data[..4].copy_from_slice(&i.to_be_bytes());
            client.send_message(data, None).await.unwrap();
        }
        client
    });
    let mut seen = [false; 400];
    for _ in 0..400 {
        let message = soon(pair.server.recv_message()).await.unwrap();
        let number = message.data.first_chunk().map(|n| u32::from_be_bytes(*n));
        let place = &mut seen[number.unwrap() as usize];
        assert!(!*place, "delivered twice");
        *place = true;
    }
    soon(sender).await.unwrap();
}

#[tokio::test]
async fn a_message_without_room_is_refused_at_once_and_room_comes_again() {
    let mut relay = None;
    let pair = Pair::with(Kind::Udp, config(), |server| {
        relay.insert(Relay::new(server)).addr
    })
    .await;
    let relay = relay.unwrap();
    let most = pair.client.message_alone_max();
    assert!(matches!(
        pair.client.try_send_message_alone(vec![0; most + 1], None),
        Err(SendError::TooLong { got, limit }) if got == most + 1 && limit == most
    ));
    relay.lose(1000);
    let full = |sent: Result<Receipt, SendError>| matches!(sent, Err(SendError::Full));
    let mut taken = 0;
    // The peer's credit for symbols ends first, then the room for what waits.
    while !full(pair.client.try_send_message_alone(vec![0; most], None)) {
        taken += 1;
        assert!(taken < 100_000);
        if taken % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let mut writable = pin!(pair.client.message_writable(most));
    tokio::select! {
        biased;
        ended = &mut writable => panic!("there is no room: {ended:?}"),
        () = tokio::task::yield_now() => {}
    }
    relay.lose(0);
    for _ in 0..taken {
        let message = soon(pair.server.recv_message()).await.unwrap();
        assert_eq!(message.data.len(), most);
    }
    assert_eq!(soon(writable).await, Ok(()));
    assert!(!full(pair.client.try_send_message("more", None)));
    soon(pair.server.recv_message()).await.unwrap();
    pair.client.close(0, "");
    assert!(soon(pair.client.message_writable(1)).await.is_err());
}

#[tokio::test]
async fn a_receipt_tells_that_the_peer_has_the_message_or_that_the_connection_ended() {
    let mut relay = None;
    let pair = Pair::with(Kind::Udp, config(), |server| {
        relay.insert(Relay::new(server)).addr
    })
    .await;
    let delivered = pair.client.send_message("one", None).await.unwrap();
    assert_eq!(soon(delivered).await, Ok(()));
    relay.unwrap().lose(1000);
    let (waited_for, asked_later, dropped) = (
        pair.client.send_message("two", None).await.unwrap(),
        pair.client.send_message("three", None).await.unwrap(),
        pair.client.send_message("four", None).await.unwrap(),
    );
    drop(dropped);
    let waiting = tokio::spawn(waited_for);
    tokio::time::sleep(Duration::from_millis(50)).await;
    pair.client.close(0, "");
    let ended = Err(Undelivered::Closed(CloseReason::Local));
    assert_eq!(soon(waiting).await.unwrap(), ended);
    assert_eq!(soon(asked_later).await, ended);
}

#[tokio::test]
async fn a_receipt_does_not_keep_the_connection_open() {
    let pair = Pair::new(Kind::Quic).await;
    let receipt = pair.client.send_message("one", None).await.unwrap();
    soon(pair.client.flushed()).await.unwrap();
    drop(pair.client);
    soon(pair.server.closed()).await;
    assert_eq!(soon(receipt).await, Ok(()));
}

#[tokio::test]
async fn a_messages_bytes_are_not_copied_to_be_sent() {
    let mut relay = None;
    let pair = Pair::with(Kind::Udp, config(), |server| {
        relay.insert(Relay::new(server)).addr
    })
    .await;
    // Nothing is acknowledged, so that the message stays in the queue.
    relay.unwrap().lose(1000);
    let data = Bytes::from(vec![7; 200_000]);
    let before = data.is_unique();
    let _receipt = pair.client.send_message(data.clone(), None).await.unwrap();
    assert!(
        before && !data.is_unique(),
        "the engine holds the same bytes"
    );
}

/// The peer reports each of them, and QUIC acknowledges each report.
#[tokio::test]
async fn acknowledgements_ride_with_the_messages_of_a_sparse_flow() {
    let mut relay = None;
    let pair = Pair::with(Kind::Quic, config(), |server| {
        let relay = relay.insert(Relay::new(server));
        relay.delay(50);
        relay.addr
    })
    .await;
    let relay = relay.unwrap();
    let mut sent = Vec::new();
    for _ in 0..40 {
        pair.client.send_message("x", None).await.unwrap();
        // Half a round trip after each report.
        tokio::time::sleep(Duration::from_millis(75)).await;
        sent.push(relay.client_packets());
    }
    // At first QUIC also finds out what the path takes.
    let packets = sent[39] - sent[29];
    assert!(packets <= 15, "{packets} packets for 10 messages");
}
