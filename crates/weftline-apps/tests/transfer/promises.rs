//! What a transfer promises to both ends, whatever the peer and the disk do.

use std::sync::Mutex;
use std::time::SystemTime;

use tokio::io::split;

use super::hostile::{file, offer, play};
use super::*;

/// One file to send, with its content and an old modification time.
fn source(at: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = at.join(name);
    fs::write(&path, content).unwrap();
    let old = SystemTime::now() - Duration::from_secs(1000);
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_modified(old)
        .unwrap();
    path
}

/// Sends the file `path` and replaces its content, as often as `times`, after the first chunk.
async fn send_while_it_changes(
    path: &Path,
    to: &Path,
    times: usize,
) -> (Outcome, Outcome, Vec<Vec<u8>>) {
    let listing = collect(&[path.to_owned()], "stdin").unwrap();
    let versions = Mutex::new(vec![fs::read(path).unwrap()]);
    let changing = |event: Event<'_>| {
        let mut versions = versions.lock().unwrap();
        if matches!(event, Event::Advanced { .. }) && versions.len() <= times {
            let next = vec![versions.len() as u8; versions[0].len()];
            fs::write(path, &next).unwrap();
            versions.push(next);
        }
    };
    let (a, b) = duplex(16 << 10);
    let sending = send(a, &listing, empty(), PATIENCE, &changing);
    let (sent, received) = tokio::join!(sending, receive(b, into(to, false), PATIENCE, &|_| {}));
    (sent, received, versions.into_inner().unwrap())
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_sent_is_sent_again() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = source(from.path(), "f", &random(300_000, 1));
    let (sent, received, versions) = send_while_it_changes(&path, to.path(), 1).await;
    let (sent, received) = (sent.unwrap(), received.unwrap());
    assert!(sent.is_complete() && received.is_complete(), "{sent:?}");
    assert!(fs::read(to.path().join("f")).unwrap() == versions[1]);
}

#[tokio::test]
async fn a_file_that_keeps_changing_is_never_called_verified() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = source(from.path(), "f", &random(300_000, 1));
    let (sent, received, _) = send_while_it_changes(&path, to.path(), usize::MAX).await;
    for summary in [sent.unwrap(), received.unwrap()] {
        assert!(!summary.is_complete(), "{summary:?}");
        let reason = &summary.failed[0].reason;
        assert!(reason.contains("changed while it was sent"), "{reason}");
    }
    assert!(!to.path().join("f").exists());
}

const FLOOD: u32 = 20_000;

fn text_of(summary: &Summary) -> usize {
    let failed = summary.failed.iter();
    failed.map(|f| f.path.len() + f.reason.len()).sum()
}

#[tokio::test]
async fn refused_entries_take_bounded_memory_at_the_receiver() {
    let to = tempfile::tempdir().unwrap();
    let name = format!("../{}", "\u{9b}".repeat(2000));
    let mut frames = vec![offer(FLOOD)];
    frames.extend((0..FLOOD).map(|id| file(id, &name, 1)));
    frames.push(Frame::Done);
    let (answers, outcome) = play(to.path(), &frames).await;
    let summary = outcome.unwrap();
    assert!(!summary.is_complete());
    assert!(text_of(&summary) < 1 << 20, "{} bytes", text_of(&summary));
    let last = answers.last().unwrap();
    assert!(
        matches!(last, Frame::Final { failed: FLOOD, .. }),
        "{last:?}"
    );
}

#[tokio::test]
async fn refused_entries_take_bounded_memory_at_the_sender() {
    let from = tempfile::tempdir().unwrap();
    let path = source(from.path(), "f", b"1");
    let mut listing = collect(&[path], "stdin").unwrap();
    let first = listing.sources[0].clone();
    listing.sources = (0..FLOOD).map(|_| first.clone()).collect();
    for (id, source) in (0..).zip(&mut listing.sources) {
        source.entry.id = id;
    }
    let (a, b) = duplex(64 << 10);
    let (mut input, mut output) = split(b);
    let hostile = async {
        let mut frames = BytesMut::new();
        Frame::Accept { version: VERSION }.encode(&mut frames);
        for id in 0..FLOOD {
            let (verdict, text) = (Verdict::Refused, "\u{9b}".repeat(500));
            Frame::Verdict { id, verdict, text }.encode(&mut frames);
        }
        let (complete, failed) = (0, FLOOD);
        Frame::Final { complete, failed }.encode(&mut frames);
        // The sender may close the stream before it has read everything.
        let said = async {
            let _ = output.write_all(&frames).await;
        };
        let mut heard = tokio::io::sink();
        let hearing = tokio::io::copy(&mut input, &mut heard);
        let _ = tokio::join!(said, hearing);
    };
    let (sent, _) = tokio::join!(send(a, &listing, empty(), PATIENCE, &|_| {}), hostile);
    let summary = sent.unwrap();
    assert!(!summary.is_complete());
    assert!(text_of(&summary) < 1 << 20, "{} bytes", text_of(&summary));
}

#[tokio::test]
async fn very_many_directories_do_not_make_both_ends_wait() {
    let from = tempfile::tempdir().unwrap();
    let to = tempfile::tempdir().unwrap();
    let mut listing = collect(&[from.path().to_owned()], "stdin").unwrap();
    let mut directory = listing.sources[0].clone();
    "d".clone_into(&mut directory.entry.path);
    listing.sources = vec![directory; 10_000];
    for (id, source) in (0..).zip(&mut listing.sources) {
        source.entry.id = id;
    }
    let (a, b) = duplex(256);
    let ends = async {
        tokio::join!(
            send(a, &listing, empty(), PATIENCE, &|_| {}),
            receive(b, into(to.path(), false), PATIENCE, &|_| {})
        )
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), ends).await;
    let (sent, received) = ended.expect("both ends wait for each other");
    assert_eq!(
        (sent.unwrap().complete, received.unwrap().complete),
        (10_000, 10_000)
    );
}

#[cfg(unix)]
#[tokio::test]
async fn permissions_are_never_wider_than_at_the_source() {
    use std::os::unix::fs::PermissionsExt;
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let top = from.path().join("top");
    fs::create_dir(&top).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    let set =
        |path: &Path, mode| fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let modes = [0o600, 0o400, 0o640, 0o644, 0o700, 0o755, 0o4755, 0o666];
    for mode in modes {
        let path = top.join(format!("{mode:o}"));
        fs::write(&path, "x").unwrap();
        set(&path, mode);
    }
    // Directories that not even their owner can change.
    let fixed = [0o500, 0o555, 0o550];
    for mode in fixed {
        let path = top.join(format!("d{mode:o}"));
        fs::create_dir(&path).unwrap();
        fs::write(path.join("f"), "x").unwrap();
        set(&path, mode);
    }
    set(&top, 0o700);
    let listing = collect(std::slice::from_ref(&top), "stdin").unwrap();
    complete(&listing, into(to.path(), false)).await;
    for mode in fixed {
        // So that it can be removed.
        set(&top.join(format!("d{mode:o}")), 0o700);
    }
    // What this process may give: the umask takes the rest.
    let plain = to.path().join("plain");
    fs::write(&plain, "").unwrap();
    set(&plain, 0o666);
    let umask = {
        let probe = to.path().join("probe");
        fs::create_dir(&probe).unwrap();
        0o777 & !mode(&probe)
    };
    for source in modes {
        let got = mode(&to.path().join(format!("top/{source:o}")));
        assert_eq!(got, source & 0o777 & !umask, "from {source:o} to {got:o}");
    }
    assert_eq!(mode(&to.path().join("top")), 0o700);
    for source in fixed {
        // The receiver's owner can, and nobody else.
        let got = mode(&to.path().join(format!("top/d{source:o}")));
        assert_eq!(got, (source | 0o700) & !umask, "from {source:o} to {got:o}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn both_ends_know_of_names_that_cannot_be_sent() {
    use std::os::unix::ffi::OsStrExt;
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let top = from.path().join("top");
    fs::create_dir(&top).unwrap();
    fs::write(top.join(std::ffi::OsStr::from_bytes(b"\xff")), "x").unwrap();
    fs::write(top.join("good"), "x").unwrap();
    let listing = collect(&[top], "stdin").unwrap();
    let (sent, received) = complete(&listing, into(to.path(), false)).await;
    assert!(!sent.is_complete());
    assert!(!received.is_complete(), "{received:?}");
    assert!(to.path().join("top/good").exists());
}

/// The receiver's side of a stream whose peer closes the session as soon as it has FINAL.
struct ClosedAtFinal {
    inner: DuplexStream,
    closed: bool,
}

impl ClosedAtFinal {
    fn end(&self) -> std::io::Result<()> {
        match self.closed {
            true => Err(std::io::ErrorKind::ConnectionAborted.into()),
            false => Ok(()),
        }
    }
}

impl AsyncRead for ClosedAtFinal {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for ClosedAtFinal {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        self.end()?;
        let written = std::task::ready!(Pin::new(&mut self.inner).poll_write(cx, data))?;
        // FINAL has type 13 and a body of 8 bytes.
        self.closed = written == data.len() && data.windows(5).any(|w| w == [13, 0, 0, 0, 8]);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(self.end())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(self.end())
    }
}

#[tokio::test]
async fn a_sender_that_closes_at_the_last_frame_does_not_fail_the_receiver() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let listing = collect(&[source(from.path(), "f", b"1")], "stdin").unwrap();
    let (a, b) = duplex(16 << 10);
    let closing = ClosedAtFinal {
        inner: b,
        closed: false,
    };
    let (sent, received) = tokio::join!(
        send(a, &listing, empty(), PATIENCE, &|_| {}),
        receive(closing, into(to.path(), false), PATIENCE, &|_| {})
    );
    assert!(sent.unwrap().is_complete());
    assert!(received.unwrap().is_complete());
}

#[tokio::test]
async fn hidden_names_are_refused_unless_asked_for() {
    let to = tempfile::tempdir().unwrap();
    let names = [".ssh/authorized_keys", "a/.hidden", ".profile"];
    let mut frames = vec![offer(3)];
    frames.extend((0..).zip(names).map(|(id, name)| file(id, name, 1)));
    frames.push(Frame::Done);
    let (_, outcome) = play(to.path(), &frames).await;
    let summary = outcome.unwrap();
    assert_eq!(summary.failed.len(), 3, "{summary:?}");
    assert!(summary.failed[0].reason.contains("--hidden"), "{summary:?}");
    assert_eq!(fs::read_dir(to.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_sender_learns_nothing_of_files_that_it_did_not_send() {
    let to = tempfile::tempdir().unwrap();
    fs::write(to.path().join("secret"), "abc").unwrap();
    let mut said = Vec::new();
    for size in [3, 4] {
        let frames = [offer(1), file(0, "secret", size), Frame::Done];
        let (answers, _) = play(to.path(), &frames).await;
        said.push(answers);
    }
    assert_eq!(said[0], said[1], "the answer depends on the file");
}

#[tokio::test]
async fn a_peer_that_makes_no_progress_ends_the_transfer() {
    let from = tempfile::tempdir().unwrap();
    let to = tempfile::tempdir().unwrap();
    let listing = collect(&[source(from.path(), "f", &random(300_000, 1))], "stdin").unwrap();
    let long = Duration::from_secs(3600);
    tokio::time::pause();
    // One end is there, and says nothing.
    let (a, _silent) = duplex(16 << 10);
    let sent = tokio::time::timeout(long, send(a, &listing, empty(), PATIENCE, &|_| {})).await;
    let sent = sent.expect("the sender waits for ever");
    assert!(sent.unwrap_err().to_string().contains("no progress"));
    let (_silent, b) = duplex(16 << 10);
    let received = receive(b, into(to.path(), false), PATIENCE, &|_| {});
    let received = tokio::time::timeout(long, received).await;
    let received = received.expect("the receiver waits for ever");
    assert!(received.unwrap_err().to_string().contains("no progress"));
}
