use std::time::Duration;

use weftline::SendError;

use crate::relay::Relay;
use crate::{Kind, Pair, config, pattern, soon};

#[tokio::test]
async fn messages_arrive_whole_both_ways() {
    for kind in [Kind::Quic, Kind::Udp] {
        let pair = Pair::new(kind).await;
        for (here, there) in [(&pair.client, &pair.server), (&pair.server, &pair.client)] {
            for len in [0, 1, 1000, 100_000] {
                let data = pattern(len, 3);
                soon(here.send_message(&data, None)).await.unwrap();
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
    pair.client
        .send_message(b"in time", deadline)
        .await
        .unwrap();
    let message = soon(pair.server.recv_message()).await.unwrap();
    assert_eq!(message.data, b"in time"[..]);
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
    pair.client
        .send_message(b"too late", deadline)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    relay.lose(0);
    pair.client.send_message(b"next", None).await.unwrap();
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
    assert_eq!(error, Err(SendError::TooLong { got, limit }));
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
    let full = |sent: Result<_, SendError>| matches!(sent, Err(SendError::Full));
    let mut taken = 0;
    // The peer's credit for symbols ends first, then the room for what waits.
    while !full(pair.client.try_send_message_alone(vec![0; most], None)) {
        taken += 1;
        assert!(taken < 100_000);
        if taken % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    relay.lose(0);
    for _ in 0..taken {
        let message = soon(pair.server.recv_message()).await.unwrap();
        assert_eq!(message.data.len(), most);
    }
    assert!(!full(pair.client.try_send_message(b"more", None)));
    soon(pair.server.recv_message()).await.unwrap();
}
