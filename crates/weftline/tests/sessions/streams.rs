use tokio::io::{AsyncReadExt, AsyncWriteExt};
use weftline::{CloseReason, Connection, StreamError};

use crate::{Kind, Pair, pattern, soon};

/// The least that a peer may be allowed to send on a stream unread.
const WINDOW: u64 = 256 << 10;

fn inner(error: std::io::Error) -> StreamError {
    *error.into_inner().unwrap().downcast().unwrap()
}

/// Sends every stream back to where it came from.
async fn echo(connection: Connection) {
    while let Ok(stream) = connection.accept_stream().await {
        tokio::spawn(async move {
            let (mut read, mut write) = stream.into_split();
            tokio::io::copy(&mut read, &mut write).await.unwrap();
            write.finish().unwrap();
            write.finished().await.ok();
        });
    }
}

#[tokio::test]
async fn an_echo_comes_back_whole() {
    for kind in [Kind::Quic, Kind::Udp] {
        let pair = Pair::new(kind).await;
        tokio::spawn(echo(pair.server.clone()));
        let data = pattern(300_000, 1);
        let stream = soon(pair.client.open_stream()).await.unwrap();
        let (mut read, mut write) = stream.into_split();
        let send = async {
            write.write_all(&data).await.unwrap();
            write.shutdown().await.unwrap();
            write.finished().await.unwrap();
        };
        let mut back = Vec::new();
        soon(async { tokio::join!(send, read.read_to_end(&mut back)) })
            .await
            .1
            .unwrap();
        assert!(back == data, "{kind:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_streams_at_once_do_not_mix() {
    let pair = Pair::new(Kind::Quic).await;
    tokio::spawn(echo(pair.server.clone()));
    let streams: Vec<_> = (0..100)
        .map(|seed| {
            let connection = pair.client.clone();
            tokio::spawn(async move {
                let data = pattern(10_000 + 37 * seed as usize, seed);
                let (mut read, mut write) = connection.open_stream().await.unwrap().into_split();
                write.write_all(&data).await.unwrap();
                write.finish().unwrap();
                let mut back = Vec::new();
                read.read_to_end(&mut back).await.unwrap();
                assert!(back == data, "stream {seed}");
            })
        })
        .collect();
    for stream in streams {
        soon(stream).await.unwrap();
    }
}

#[tokio::test]
async fn more_streams_than_allowed_at_once_wait_for_their_turn() {
    let mut config = crate::config();
    config.session.limits.streams = 8;
    let pair = Pair::with(Kind::Quic, config, |addr| addr).await;
    tokio::spawn(echo(pair.server.clone()));
    let streams: Vec<_> = (0..20)
        .map(|seed| {
            let connection = pair.client.clone();
            tokio::spawn(async move {
                let data = pattern(5_000, seed);
                let mut stream = connection.open_stream().await.unwrap();
                stream.write_all(&data).await.unwrap();
                stream.finish().unwrap();
                let mut back = Vec::new();
                stream.read_to_end(&mut back).await.unwrap();
                assert!(back == data);
            })
        })
        .collect();
    for stream in streams {
        soon(stream).await.unwrap();
    }
}

#[tokio::test]
async fn one_direction_goes_on_after_the_other_has_finished() {
    let pair = Pair::new(Kind::Quic).await;
    let mut near = pair.client.open_stream().await.unwrap();
    near.write_all(b"question").await.unwrap();
    near.finish().unwrap();
    let mut far = soon(pair.server.accept_stream()).await.unwrap();
    assert_eq!(far.id(), near.id());
    let mut question = String::new();
    soon(far.read_to_string(&mut question)).await.unwrap();
    assert_eq!(question, "question");

    far.write_all(b"answer").await.unwrap();
    far.finish().unwrap();
    let mut answer = String::new();
    soon(near.read_to_string(&mut answer)).await.unwrap();
    assert_eq!(answer, "answer");
    soon(far.finished()).await.unwrap();
    let error = near.write_all(b"more").await.unwrap_err();
    assert_eq!(inner(error), StreamError::Finished);
}

#[tokio::test]
async fn a_reset_reaches_the_reader_with_its_code() {
    let pair = Pair::new(Kind::Quic).await;
    let mut near = pair.client.open_stream().await.unwrap();
    near.write_all(b"half of it").await.unwrap();
    let mut far = soon(pair.server.accept_stream()).await.unwrap();
    let mut buffer = [0; 10];
    soon(far.read_exact(&mut buffer)).await.unwrap();
    near.reset(77);
    let error = soon(far.read(&mut buffer)).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(inner(error), StreamError::Reset(77));
}

#[tokio::test]
async fn a_stop_reaches_a_writer_that_waits() {
    let pair = Pair::new(Kind::Quic).await;
    let mut near = pair.client.open_stream().await.unwrap();
    near.write_all(b"x").await.unwrap();
    let mut far = soon(pair.server.accept_stream()).await.unwrap();
    let endless = tokio::spawn(async move {
        let data = vec![0; 1 << 20];
        loop {
            if let Err(error) = near.write_all(&data).await {
                return inner(error);
            }
        }
    });
    // Long enough for the writer to fill every buffer on the way and wait.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    far.stop(5);
    assert_eq!(soon(endless).await.unwrap(), StreamError::Stopped(5));
}

#[tokio::test]
async fn finished_reports_a_stop() {
    let mut config = crate::config();
    config.session.limits.stream_data = WINDOW;
    let pair = Pair::with(Kind::Quic, config, |addr| addr).await;
    let mut near = pair.client.open_stream().await.unwrap();
    // More than the reader's window, so that it cannot all have been acknowledged.
    let data = vec![1; WINDOW as usize + 10_000];
    soon(near.write_all(&data)).await.unwrap();
    near.finish().unwrap();
    let mut far = soon(pair.server.accept_stream()).await.unwrap();
    far.stop(6);
    let error = soon(near.finished()).await.unwrap_err();
    assert_eq!(error, StreamError::Stopped(6));
}

#[tokio::test]
async fn a_stop_is_told_even_when_the_other_half_is_over_too() {
    let pair = Pair::new(Kind::Quic).await;
    let mut near = pair.client.open_stream().await.unwrap();
    near.write_all(b"x").await.unwrap();
    let mut far = soon(pair.server.accept_stream()).await.unwrap();
    near.reset(7);
    let error = soon(far.read_to_end(&mut Vec::new())).await.unwrap_err();
    assert_eq!(inner(error), StreamError::Reset(7));
    near.stop(9);
    // The stop has arrived, and what answers it too: nothing is left of the stream.
    soon(pair.client.flushed()).await.unwrap();
    soon(pair.server.flushed()).await.unwrap();
    let error = soon(far.write_all(b"y")).await.unwrap_err();
    assert_eq!(inner(error), StreamError::Stopped(9));
    assert_eq!(far.finish(), Err(StreamError::Stopped(9)));
}

#[tokio::test]
async fn dropping_an_unfinished_stream_resets_it() {
    let pair = Pair::new(Kind::Quic).await;
    let mut near = pair.client.open_stream().await.unwrap();
    near.write_all(b"x").await.unwrap();
    let far = soon(pair.server.accept_stream()).await.unwrap();
    drop(near);
    let (mut read, mut write) = far.into_split();
    let error = soon(read.read_to_end(&mut Vec::new())).await.unwrap_err();
    assert_eq!(inner(error), StreamError::Reset(0));
    let stopped = async {
        loop {
            if let Err(error) = write.write_all(&[0; 1000]).await {
                return inner(error);
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    assert_eq!(soon(stopped).await, StreamError::Stopped(0));
}

#[tokio::test]
async fn both_ends_open_streams() {
    let pair = Pair::new(Kind::Udp).await;
    for (here, there) in [(&pair.client, &pair.server), (&pair.server, &pair.client)] {
        let mut near = here.open_stream().await.unwrap();
        near.write_all(b"hello").await.unwrap();
        near.finish().unwrap();
        let mut far = soon(there.accept_stream()).await.unwrap();
        let mut text = String::new();
        soon(far.read_to_string(&mut text)).await.unwrap();
        assert_eq!(text, "hello");
    }
}

#[tokio::test]
async fn what_waits_on_a_stream_learns_that_the_session_is_over() {
    let pair = Pair::new(Kind::Quic).await;
    let mut near = pair.client.open_stream().await.unwrap();
    near.write_all(b"x").await.unwrap();
    let reader = tokio::spawn(async move { near.read(&mut [0; 10]).await });
    let accept = {
        let client = pair.client.clone();
        tokio::spawn(async move { client.accept_stream().await.err() })
    };
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    pair.server.close(3, "enough");
    let expected = CloseReason::Peer {
        code: 3,
        reason: "enough".to_owned(),
    };
    let error = soon(reader).await.unwrap().unwrap_err();
    assert_eq!(inner(error), StreamError::Closed(expected.clone()));
    assert_eq!(soon(accept).await.unwrap(), Some(expected));
}

#[tokio::test]
async fn finished_before_finish_is_an_error_and_no_hang() {
    let pair = Pair::new(Kind::Quic).await;
    let mut near = pair.client.open_stream().await.unwrap();
    near.write_all(b"x").await.unwrap();
    assert_eq!(soon(near.finished()).await, Err(StreamError::NotFinished));
    near.finish().unwrap();
    assert_eq!(soon(near.finished()).await, Ok(()));
    near.finish().unwrap();
    let mut reset = pair.client.open_stream().await.unwrap();
    reset.reset(3);
    assert_eq!(soon(reset.finished()).await, Err(StreamError::Finished));
    assert_eq!(reset.finish(), Err(StreamError::Finished));
}

/// How often a future was polled.
struct Counted<F> {
    future: std::pin::Pin<Box<F>>,
    polls: std::sync::Arc<std::sync::atomic::AtomicUsize>,
}

impl<F: Future> Future for Counted<F> {
    type Output = F::Output;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<F::Output> {
        let order = std::sync::atomic::Ordering::SeqCst;
        self.polls.fetch_add(1, order);
        self.future.as_mut().poll(cx)
    }
}

#[tokio::test]
async fn the_end_of_one_stream_wakes_nobody_who_waits_for_another() {
    // Nobody reads it: the peer's window ends before the stream does.
    let mut config = crate::config();
    config.session.limits.stream_data = WINDOW;
    let slow = Pair::with(Kind::Quic, config, |addr| addr).await;
    let mut waiting = slow.client.open_stream().await.unwrap();
    let data = vec![1; WINDOW as usize + 10_000];
    soon(waiting.write_all(&data)).await.unwrap();
    waiting.finish().unwrap();
    let polls = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Counted {
        polls: polls.clone(),
        future: Box::pin(async move { waiting.finished().await }),
    };
    let task = tokio::spawn(counted);
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    for _ in 0..20 {
        let mut other = slow.client.open_stream().await.unwrap();
        other.write_all(b"x").await.unwrap();
        other.finish().unwrap();
        soon(other.finished()).await.unwrap();
    }
    assert_eq!(polls.load(std::sync::atomic::Ordering::SeqCst), 1);
    task.abort();
}
