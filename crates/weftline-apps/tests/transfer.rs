//! Transfers over an in-memory stream: what arrives, what is refused, what is resumed.
// The helpers outside of the test functions may panic too.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex, empty,
};
use weftline_apps::transfer::wire::{Entry, Frame, Kind, VERSION, Verdict};
use weftline_apps::transfer::{
    Event, Listing, Sink, Summary, TransferError, collect, receive, send,
};

type Outcome = Result<Summary, TransferError>;

/// A stream on which reading or writing more than so many bytes fails or ends.
struct Cut {
    inner: DuplexStream,
    left: usize,
}

impl AsyncRead for Cut {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for Cut {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let len = data.len().min(self.left);
        if len == 0 {
            return Poll::Ready(Err(std::io::ErrorKind::ConnectionReset.into()));
        }
        let written = std::task::ready!(Pin::new(&mut self.inner).poll_write(cx, &data[..len]))?;
        self.left -= written;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

fn into(root: &Path, overwrite: bool) -> Sink {
    Sink::Directory {
        root: root.to_owned(),
        overwrite,
    }
}

/// Sends `listing` to `sink`; the sender's side of the stream breaks after `cut` bytes.
async fn exchange(listing: &Listing, sink: Sink, cut: usize) -> (Outcome, Outcome) {
    let (a, b) = duplex(16 << 10);
    let silent = |_: Event<'_>| {};
    let sending = async {
        let cut = Cut {
            inner: a,
            left: cut,
        };
        send(cut, listing, empty(), &silent).await
    };
    tokio::join!(sending, receive(b, sink, &silent))
}

async fn complete(listing: &Listing, sink: Sink) -> (Summary, Summary) {
    let (sent, received) = exchange(listing, sink, usize::MAX).await;
    (sent.unwrap(), received.unwrap())
}

fn random(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

/// A directory `tree` with files of awkward lengths, and what it holds.
fn tree(at: &Path) -> (PathBuf, Vec<(&'static str, Vec<u8>)>) {
    let files = vec![
        ("tree/empty", vec![]),
        ("tree/one", vec![1]),
        ("tree/a/chunk", random(64 << 10, 1)),
        ("tree/a/chunk and one", random((64 << 10) + 1, 2)),
        ("tree/a/b/big", random(700_000, 3)),
        ("tree/ünïcode", random(100, 4)),
    ];
    for (path, bytes) in &files {
        let path = at.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    fs::create_dir(at.join("tree/nothing inside")).unwrap();
    (at.join("tree"), files)
}

#[tokio::test]
async fn a_directory_arrives_as_it_was() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (top, files) = tree(from.path());
    let listing = collect(&[top], "stdin").unwrap();
    let (sent, received) = complete(&listing, into(to.path(), false)).await;
    assert_eq!(sent, received);
    assert_eq!((sent.complete, sent.failed.len()), (10, 0));
    for (path, bytes) in files {
        assert_eq!(fs::read(to.path().join(path)).unwrap(), bytes, "{path}");
        let modified = |root: &Path| fs::metadata(root.join(path)).unwrap().modified().unwrap();
        assert_eq!(modified(to.path()), modified(from.path()), "{path}");
    }
    assert!(to.path().join("tree/nothing inside").is_dir());
}

#[tokio::test]
async fn more_files_than_may_be_announced_at_once_arrive() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let top = from.path().join("many");
    fs::create_dir(&top).unwrap();
    for i in 0..300 {
        fs::write(top.join(i.to_string()), i.to_string()).unwrap();
    }
    // Some of them are refused, which must not upset the order of the others.
    fs::create_dir(to.path().join("many")).unwrap();
    for i in (0..300).step_by(3) {
        fs::write(to.path().join("many").join(i.to_string()), "another").unwrap();
    }
    let listing = collect(&[top], "stdin").unwrap();
    let (mut sent, received) = complete(&listing, into(to.path(), false)).await;
    // The sender says where it went wrong; else both tell the same.
    for failed in &mut sent.failed {
        let reason = failed.reason.strip_prefix("at the receiver: ").unwrap();
        failed.reason = reason.to_owned();
    }
    assert_eq!(sent, received);
    assert_eq!((sent.complete, sent.failed.len()), (201, 100));
    assert_eq!(
        fs::read_to_string(to.path().join("many/299")).unwrap(),
        "299"
    );
    assert_eq!(
        fs::read_to_string(to.path().join("many/3")).unwrap(),
        "another"
    );
}

#[tokio::test]
async fn a_transfer_cut_anywhere_goes_on_and_ends_right() {
    let from = tempfile::tempdir().unwrap();
    let (top, files) = tree(from.path());
    let listing = collect(&[top], "stdin").unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut resumed = 0;
    for _ in 0..25 {
        let to = tempfile::tempdir().unwrap();
        let cut = (random.next_u64() % 900_000) as usize;
        let (sent, received) = exchange(&listing, into(to.path(), false), cut).await;
        if cut < 800_000 {
            assert!(
                matches!(sent, Err(TransferError::Stream(_))),
                "cut at {cut}: {sent:?}"
            );
            assert!(
                matches!(
                    received,
                    Err(TransferError::Ended | TransferError::Stream(_))
                ),
                "cut at {cut}: {received:?}"
            );
        }
        let (sent, received) = complete(&listing, into(to.path(), false)).await;
        assert!(
            sent.is_complete() && received.is_complete(),
            "cut at {cut}: {sent:?}"
        );
        assert_eq!(sent.resumed_bytes, received.resumed_bytes);
        resumed += sent.resumed_bytes;
        for (path, bytes) in &files {
            assert_eq!(
                &fs::read(to.path().join(path)).unwrap(),
                bytes,
                "{path} cut at {cut}"
            );
        }
        let left = fs::read_dir(to.path().join("tree/a/b")).unwrap().count();
        assert_eq!(left, 1, "no part file stays");
    }
    assert!(
        resumed > 1_000_000,
        "only {resumed} bytes were ever resumed"
    );
}

#[tokio::test]
async fn a_part_of_another_version_is_begun_again() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(from.path().join("f"), random(200_000, 5)).unwrap();
    fs::write(to.path().join(".f.weftline-part"), random(100_000, 6)).unwrap();
    let listing = collect(&[from.path().join("f")], "stdin").unwrap();
    let (sent, _) = complete(&listing, into(to.path(), false)).await;
    assert_eq!((sent.bytes, sent.resumed_bytes), (200_000, 0));
    assert_eq!(fs::read(to.path().join("f")).unwrap(), random(200_000, 5));
}

#[tokio::test]
async fn existing_files_are_kept_unless_replacing_was_asked_for() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (name, here, there) in [
        ("same", "abc", "abc"),
        ("differs", "abc", "abd"),
        ("longer", "abc", "abcd"),
    ] {
        fs::write(from.path().join(name), here).unwrap();
        fs::write(to.path().join(name), there).unwrap();
    }
    let paths = ["same", "differs", "longer"].map(|n| from.path().join(n));
    let listing = collect(&paths, "stdin").unwrap();

    let (sent, _) = complete(&listing, into(to.path(), false)).await;
    assert_eq!((sent.already_there, sent.complete, sent.bytes), (1, 1, 0));
    let reasons: Vec<_> = sent
        .failed
        .iter()
        .map(|f| f.reason.contains("--overwrite"))
        .collect();
    assert_eq!(reasons, [true, true]);
    assert_eq!(
        fs::read_to_string(to.path().join("differs")).unwrap(),
        "abd"
    );

    let (sent, _) = complete(&listing, into(to.path(), true)).await;
    assert_eq!((sent.already_there, sent.complete, sent.bytes), (1, 3, 6));
    assert_eq!(
        fs::read_to_string(to.path().join("differs")).unwrap(),
        "abc"
    );
    assert_eq!(fs::read_to_string(to.path().join("longer")).unwrap(), "abc");
}

#[tokio::test]
async fn standard_input_and_output_carry_one_file() {
    let listing = collect(&["-".into()], "stdin").unwrap();
    let silent = |_: Event<'_>| {};
    let data = random(300_000, 7);
    let run = |input: Bytes| {
        let (a, b) = duplex(16 << 10);
        let (writer, mut reader) = duplex(1 << 20);
        let (listing, silent) = (&listing, &silent);
        async move {
            let sending = send(a, listing, &input[..], silent);
            let receiving = receive(b, Sink::Writer(Box::new(writer)), silent);
            let (sent, received) = tokio::join!(sending, receiving);
            let mut out = Vec::new();
            reader.read_to_end(&mut out).await.unwrap();
            (sent.unwrap(), received.unwrap(), out)
        }
    };
    let (sent, received, out) = run(Bytes::from(data.clone())).await;
    assert_eq!((sent.complete, received.bytes), (1, 300_000));
    assert!(out == data);
    assert_eq!(run(Bytes::new()).await.2, b"");
}

#[tokio::test]
async fn two_files_do_not_go_to_standard_output() {
    let from = tempfile::tempdir().unwrap();
    let (top, _) = tree(from.path());
    let listing = collect(&[top], "stdin").unwrap();
    let (sent, received) = exchange(
        &listing,
        Sink::Writer(Box::new(tokio::io::sink())),
        usize::MAX,
    )
    .await;
    assert!(
        matches!(received, Err(TransferError::Unacceptable(_))),
        "{received:?}"
    );
    assert!(matches!(sent, Err(TransferError::Aborted(text)) if text.contains("only one file")));
}

#[tokio::test]
async fn a_file_that_vanishes_before_its_turn_is_reported_and_the_rest_arrives() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["a", "b", "c"] {
        fs::write(from.path().join(name), name).unwrap();
    }
    let listing = collect(&["a", "b", "c"].map(|n| from.path().join(n)), "stdin").unwrap();
    fs::remove_file(from.path().join("b")).unwrap();
    fs::write(from.path().join("c"), "").unwrap();
    let (sent, received) = complete(&listing, into(to.path(), false)).await;
    assert_eq!(sent, received);
    assert_eq!((sent.complete, sent.failed.len()), (1, 2));
    assert!(
        sent.failed[0].reason.contains("cannot read it"),
        "{:?}",
        sent.failed
    );
    assert!(
        sent.failed[1].reason.contains("became shorter"),
        "{:?}",
        sent.failed
    );
}

/// Plays a sender that says `frames`, and returns the receiver's answers and outcome.
async fn play(root: &Path, frames: &[Frame]) -> (Vec<Frame>, Outcome) {
    let (mut a, b) = duplex(1 << 20);
    let mut out = BytesMut::new();
    frames.iter().for_each(|f| f.encode(&mut out));
    a.write_all(&out).await.unwrap();
    a.shutdown().await.unwrap();
    let outcome = receive(b, into(root, false), &|_| {}).await;
    let mut answers = BytesMut::new();
    while a.read_buf(&mut answers).await.unwrap() > 0 {}
    let frames = std::iter::from_fn(|| Frame::split(&mut answers).unwrap()).collect();
    (frames, outcome)
}

fn offer(entries: u32) -> Frame {
    Frame::Offer {
        version: VERSION,
        entries,
        bytes: None,
    }
}

fn file(id: u32, path: &str, size: u64) -> Frame {
    let path = path.to_owned();
    Frame::Entry(Entry {
        id,
        kind: Kind::File,
        executable: false,
        size: Some(size),
        modified: None,
        path,
    })
}

#[tokio::test]
async fn hostile_paths_are_refused_one_by_one_and_nothing_leaves_the_directory() {
    let outer = tempfile::tempdir().unwrap();
    let root = outer.path().join("root");
    fs::create_dir(&root).unwrap();
    let hostile = [
        "../out",
        "/tmp/out",
        "a/../../out",
        "a\0b",
        "",
        ".",
        "a//b",
        ".x.weftline-part",
    ];
    let mut frames = vec![offer(hostile.len() as u32)];
    frames.extend(
        hostile
            .iter()
            .enumerate()
            .map(|(i, path)| file(i as u32, path, 1)),
    );
    frames.push(Frame::Done);
    let (answers, outcome) = play(&root, &frames).await;
    let refused = answers.iter().filter(|f| {
        matches!(
            f,
            Frame::Verdict {
                verdict: Verdict::Refused,
                ..
            }
        )
    });
    assert_eq!(refused.count(), hostile.len());
    assert_eq!(outcome.unwrap().failed.len(), hostile.len());
    assert_eq!(fs::read_dir(&root).unwrap().count(), 0);
    assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn a_wrong_digest_is_reported_as_damage_and_nothing_is_kept() {
    let to = tempfile::tempdir().unwrap();
    let frames = [
        offer(1),
        file(0, "f", 3),
        Frame::Start { id: 0, offset: 0 },
        Frame::Data(Bytes::from_static(b"abc")),
        Frame::End {
            size: 3,
            digest: Sha256::digest("abd").into(),
        },
        Frame::Done,
    ];
    let (answers, outcome) = play(to.path(), &frames).await;
    assert!(answers.iter().any(|f| matches!(
        f,
        Frame::Verdict {
            verdict: Verdict::Corrupt,
            ..
        }
    )));
    assert!(outcome.unwrap().is_corrupt());
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_sender_that_breaks_the_rules_is_cut_off() {
    let start = Frame::Start { id: 0, offset: 0 };
    let data = |n: usize| Frame::Data(Bytes::from(vec![0; n]));
    let end = Frame::End {
        size: 0,
        digest: [0; 32],
    };
    let flood = |n: u32| {
        (0..n)
            .map(|i| file(i, &format!("f{i}"), 1))
            .collect::<Vec<_>>()
    };
    let cases: Vec<Vec<Frame>> = vec![
        vec![file(0, "f", 1)],
        vec![offer(1), data(1)],
        vec![offer(1), end.clone()],
        vec![offer(1), start.clone()],
        vec![offer(1), Frame::Done],
        vec![offer(1), file(1, "f", 1)],
        vec![offer(1), file(0, "f", 1), file(1, "g", 1)],
        vec![offer(1), file(0, "f", 1), Frame::Start { id: 0, offset: 7 }],
        vec![offer(1), file(0, "f", 1), start.clone(), data(2)],
        vec![offer(1), file(0, "f", 1), Frame::Same { id: 0, same: true }],
        vec![offer(1), file(0, "f", 1), start.clone(), Frame::Done],
        vec![
            offer(2),
            file(0, "f", 1),
            file(1, "g", 1),
            start.clone(),
            Frame::Start { id: 1, offset: 0 },
        ],
        vec![offer(1), Frame::Accept { version: VERSION }],
        [vec![offer(1000)], flood(65)].concat(),
    ];
    for frames in cases {
        let to = tempfile::tempdir().unwrap();
        let (answers, outcome) = play(to.path(), &frames).await;
        assert!(
            matches!(outcome, Err(TransferError::Protocol(_))),
            "{frames:?}: {outcome:?}"
        );
        assert!(
            matches!(answers.last(), Some(Frame::Abort { .. })),
            "{frames:?}"
        );
    }
}

#[tokio::test]
async fn another_version_is_named_on_both_sides() {
    let to = tempfile::tempdir().unwrap();
    let offer = Frame::Offer {
        version: 99,
        entries: 0,
        bytes: None,
    };
    let (answers, outcome) = play(to.path(), &[offer]).await;
    assert!(matches!(
        outcome,
        Err(TransferError::Version { got: 99, .. })
    ));
    assert!(matches!(&answers[..], [Frame::Abort { text }] if text.contains("version 99")));
}

#[tokio::test]
async fn a_receiver_that_breaks_the_rules_is_noticed() {
    let from = tempfile::tempdir().unwrap();
    fs::write(from.path().join("f"), "abc").unwrap();
    let listing = collect(&[from.path().join("f")], "stdin").unwrap();
    let accept = Frame::Accept { version: VERSION };
    let verdict = |id| Frame::Verdict {
        id,
        verdict: Verdict::Complete,
        text: String::new(),
    };
    let cases: Vec<Vec<Frame>> = vec![
        vec![Frame::Done],
        vec![accept.clone(), verdict(1)],
        vec![accept.clone(), verdict(0), verdict(0)],
        vec![
            accept.clone(),
            Frame::Want {
                id: 9,
                offset: 0,
                prefix: [0; 32],
            },
        ],
        vec![accept.clone(), Frame::Data(Bytes::new())],
        vec![
            accept.clone(),
            Frame::Want {
                id: 0,
                offset: 0,
                prefix: [0; 32],
            },
            Frame::Final {
                complete: 1,
                failed: 0,
            },
        ],
    ];
    for frames in cases {
        let (a, mut b) = duplex(1 << 20);
        let mut out = BytesMut::new();
        frames.iter().for_each(|f| f.encode(&mut out));
        b.write_all(&out).await.unwrap();
        let outcome = send(a, &listing, empty(), &|_| {}).await;
        assert!(
            matches!(outcome, Err(TransferError::Protocol(_))),
            "{frames:?}: {outcome:?}"
        );
    }
}
