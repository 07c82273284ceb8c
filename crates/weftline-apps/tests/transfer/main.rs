//! Transfers over an in-memory stream: what arrives, what is refused, what is resumed.
// The helpers outside of the test functions may panic too.
#![allow(clippy::unwrap_used)]

mod hostile;
mod promises;

use std::fs;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use sha2::{Digest, Sha256};
use tokio::io::{
    AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, duplex, empty,
};
use weftline_apps::transfer::wire::{Entry, Frame, Kind, Meta, VERSION, Verdict};
use weftline_apps::transfer::{
    Event, Folder, Listing, Received, Sink, Summary, TransferError, collect, receive, send,
};

/// Longest time without progress.
const PATIENCE: Duration = Duration::from_secs(60);

type Outcome = Result<Summary, TransferError>;

/// A stream on which writing fails after `left` more bytes.
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
    let mut folder = Folder::new(root);
    folder.overwrite = overwrite;
    Sink::Directory(folder)
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
        send(cut, listing, empty(), PATIENCE, &silent).await
    };
    tokio::join!(sending, receive(b, sink, PATIENCE, &silent))
}

async fn complete(listing: &Listing, sink: Sink) -> (Summary, Summary) {
    let (sent, received) = exchange(listing, sink, usize::MAX).await;
    (sent.unwrap(), received.unwrap())
}

/// `received`, which alone has the names, as the sender tells it.
fn nameless(received: Summary) -> Summary {
    Summary {
        received: Vec::new(),
        ..received
    }
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
    assert_eq!(received.received.len(), 10);
    let listed = |name: &str| received.received.iter().find(|entry| entry.name == name);
    assert_eq!(listed("tree/a/b/").unwrap().bytes, None);
    for (path, bytes) in &files {
        assert_eq!(listed(path).unwrap().bytes, Some(bytes.len() as u64));
    }
    assert_eq!(sent, nameless(received));
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
    assert_eq!(sent, nameless(received));
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
    fs::write(from.path().join("same"), "abc").unwrap();
    let same = collect(&[from.path().join("same")], "stdin").unwrap();
    complete(&same, into(to.path(), false)).await;
    for (name, here, there) in [("differs", "abc", "abd"), ("longer", "abc", "abcd")] {
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
            let sending = send(a, listing, &input[..], PATIENCE, silent);
            let receiving = receive(b, Sink::Writer(Box::new(writer)), PATIENCE, silent);
            let (sent, received) = tokio::join!(sending, receiving);
            let mut out = Vec::new();
            reader.read_to_end(&mut out).await.unwrap();
            (sent.unwrap(), received.unwrap(), out)
        }
    };
    let (sent, received, out) = run(Bytes::from(data.clone())).await;
    assert_eq!((sent.complete, received.bytes), (1, 300_000));
    assert!(out == data);
    // Its length was not known when it was offered.
    let bytes = Some(300_000);
    let name = "stdin".to_owned();
    assert_eq!(received.received, [Received { name, bytes }]);
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
    assert_eq!(sent, nameless(received));
    assert_eq!((sent.complete, sent.failed.len()), (2, 1));
    assert!(
        sent.failed[0].reason.contains("cannot read it"),
        "{:?}",
        sent.failed
    );
    // What changed before its turn arrives as it is then.
    assert_eq!(fs::read_to_string(to.path().join("c")).unwrap(), "");
}
