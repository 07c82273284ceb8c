//! Peers that break the rules of the transfer protocol, and what they can reach.

use super::*;

/// Plays a sender that says `frames`, and returns the receiver's answers and outcome.
pub(crate) async fn play(root: &Path, frames: &[Frame]) -> (Vec<Frame>, Outcome) {
    let (a, b) = duplex(1 << 20);
    let (mut input, mut output) = tokio::io::split(a);
    let mut out = BytesMut::new();
    frames.iter().for_each(|f| f.encode(&mut out));
    let saying = async {
        // The receiver may end before it has read everything.
        let _ = output.write_all(&out).await;
        let _ = output.shutdown().await;
    };
    let hearing = async {
        let mut answers = BytesMut::new();
        while input.read_buf(&mut answers).await.unwrap() > 0 {}
        answers
    };
    let receiving = receive(b, into(root, false), PATIENCE, &|_| {});
    let ((), mut answers, outcome) = tokio::join!(saying, hearing, receiving);
    let frames = std::iter::from_fn(|| Frame::split(&mut answers).unwrap()).collect();
    (frames, outcome)
}

pub(crate) fn offer(entries: u32) -> Frame {
    Frame::Offer {
        version: VERSION,
        entries,
        left_out: 0,
        bytes: None,
    }
}

pub(crate) fn file(id: u32, path: &str, size: u64) -> Frame {
    let path = path.to_owned();
    Frame::Entry(Entry {
        id,
        kind: Kind::File,
        meta: Meta {
            size: Some(size),
            ..Meta::default()
        },
        path,
    })
}

fn start_at(id: u32, offset: u64, size: u64) -> Frame {
    let meta = Meta {
        size: Some(size),
        ..Meta::default()
    };
    Frame::Start { id, offset, meta }
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
        start_at(0, 0, 3),
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
    let start = start_at(0, 0, 1);
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
        vec![offer(1), file(0, "f", 1), start_at(0, 7, 1)],
        vec![offer(1), file(0, "f", 1), start.clone(), data(2)],
        vec![offer(1), file(0, "f", 1), Frame::Same { id: 0, same: true }],
        vec![offer(1), file(0, "f", 1), start.clone(), Frame::Done],
        vec![
            offer(2),
            file(0, "f", 1),
            file(1, "g", 1),
            start.clone(),
            start_at(1, 0, 1),
        ],
        // What changed while it was sent starts from its beginning.
        vec![
            offer(1),
            file(0, "f", 9),
            start_at(0, 0, 9),
            data(2),
            start_at(0, 2, 9),
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
        left_out: 0,
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
        let outcome = send(a, &listing, empty(), PATIENCE, &|_| {}).await;
        assert!(
            matches!(outcome, Err(TransferError::Protocol(_))),
            "{frames:?}: {outcome:?}"
        );
    }
}
