use std::task::Poll;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weftline::Receipt;
use weftline_proto::{ReadError, Session, StreamId, WriteError};

use crate::relay::Relay;
use crate::{Pair, pattern, soon};

/// Writes what can be written now of `data` from `done` on; `Some` when all of it is.
fn write(session: &mut Session, id: StreamId, data: &[u8], done: &mut usize) -> Option<()> {
    while *done < data.len() {
        match session.write(id, &data[*done..]) {
            Ok(count) => *done += count,
            Err(WriteError::Blocked) => return None,
            Err(error) => panic!("{error}"),
        }
    }
    session.finish(id).unwrap();
    Some(())
}

/// Reads what there is; `Some` at the end.
fn read(session: &mut Session, id: StreamId, data: &mut Vec<u8>) -> Option<()> {
    let mut buf = [0; 4096];
    loop {
        match session.read(id, &mut buf) {
            Ok(0) => return Some(()),
            Ok(count) => data.extend_from_slice(&buf[..count]),
            Err(ReadError::Blocked) => return None,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Messages of several lengths and a stream, both ways.
async fn everything(pair: &Pair) {
    for len in [0, 1, 1000, 50_000] {
        let data = pattern(len, 3);
        let receipt: Receipt = soon(pair.server.send_message(data.clone(), None))
            .await
            .unwrap();
        let message = soon(pair.page.message()).await;
        assert!(message.data == data && !message.late, "{len} to the page");
        assert_eq!(soon(receipt).await, Ok(()));
        let sent = data.clone();
        pair.page
            .with(|session, now| session.send_message(now, sent, None))
            .unwrap();
        let message = soon(pair.server.recv_message()).await.unwrap();
        assert!(message.data == data && !message.late, "{len} of the page");
    }
    let data = pattern(500_000, 5);
    let id = pair.page.with(|session, _| session.open_stream()).unwrap();
    let mut done = 0;
    let mut back = Vec::new();
    let there = pair
        .page
        .until(|session, _| write(session, id, &data, &mut done));
    let echo = async {
        let mut stream = pair.server.accept_stream().await.unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.unwrap();
        stream.write_all(&all).await.unwrap();
        stream.shutdown().await.unwrap();
        all
    };
    let ((), all) = soon(async { tokio::join!(there, echo) }).await;
    assert!(all == data);
    soon(pair.page.until(|session, _| read(session, id, &mut back))).await;
    assert!(back == data);
}

#[tokio::test]
async fn messages_and_streams_travel_both_ways() {
    let pair = Pair::new().await;
    assert_eq!(
        pair.server.web_path().as_deref(),
        Some("/view?token=a-token")
    );
    assert_eq!(pair.server.peer(), None);
    assert_eq!(pair.endpoint.fingerprint(), None);
    everything(&pair).await;
}

#[tokio::test]
async fn they_do_where_packets_are_lost() {
    let mut relay = None;
    let pair = Pair::through(|server| relay.insert(Relay::new(server)).addr).await;
    relay.as_ref().unwrap().lose(100);
    everything(&pair).await;
    let stats = pair.server.stats();
    assert!(stats.path.loss > 0.0, "{stats:?}");
}

#[tokio::test]
async fn a_datagram_of_the_engine_is_one_of_webtransport_at_its_full_size() {
    let pair = Pair::new().await;
    // QUIC finds the path's MTU.
    let full = soon(async {
        loop {
            let most = pair.server.message_alone_max();
            if most > 1300 {
                return most;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    let sent = pair.server.try_send_message_alone(vec![9; full], None);
    assert_eq!(soon(sent.unwrap()).await, Ok(()));
    assert_eq!(soon(pair.page.message()).await.data.len(), full);
}

#[tokio::test]
async fn datagrams_that_are_not_the_sessions_are_passed_over() {
    let pair = Pair::new().await;
    let page = &pair.page.http.connection;
    for garbage in [
        // CLOSE, for another session.
        &[4, 6, 0, 0][..],
        &[],
        &[4],
        &[0x40],
        &[1, 5, 0, 0],
        &[0],
        &[0; 900],
        &[255; 1100],
    ] {
        page.send_datagram(garbage.to_vec().into()).unwrap();
    }
    everything(&pair).await;
}

#[tokio::test]
async fn a_sender_waits_for_room() {
    let pair = Pair::new().await;
    let mut relay = std::pin::pin!(async {
        for n in 0..200_u8 {
            pair.server
                .send_message(vec![n; 20_000], None)
                .await
                .unwrap();
        }
    });
    // The page takes none: there is an end of what is sent.
    let all = std::future::poll_fn(|cx| Poll::Ready(relay.as_mut().poll(cx))).await;
    assert!(all.is_pending());
    let take = async {
        for _ in 0..200 {
            assert_eq!(pair.page.message().await.data.len(), 20_000);
        }
    };
    soon(async { tokio::join!(relay, take) }).await;
}
