//! The receiving end of a transfer: the course, and the announcements.

mod current;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite};

use super::TransferError;
use super::blocking::blocking;
use super::event::{Event, OnEvent};
use super::folder::Folder;
use super::frames::{FrameReader, FrameWriter};
use super::patience::Patient;
use super::store::{Part, Plan, Store};
use super::summary::Summary;
use super::wire::{Entry, Frame, Kind, MAX_PENDING, VERSION, Verdict};

/// Destination of received files.
pub enum Sink {
    /// Into a directory.
    Directory(Folder),
    /// One file, written to a writer such as standard output.
    Writer(Box<dyn AsyncWrite + Send + Unpin>),
}

/// Receives what the peer sends over `stream` until it has sent everything. The transfer fails when
/// the sender makes no progress for `patience`.
///
/// # Errors
/// The transfer as a whole failed; entries that failed on their own are in the [`Summary`]. Part
/// files stay, so that the same transfer can be resumed.
pub async fn receive<S>(
    stream: S,
    sink: Sink,
    patience: Duration,
    on_event: OnEvent<'_>,
) -> Result<Summary, TransferError>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let (input, output) = tokio::io::split(Patient::new(stream, patience));
    let mut input = FrameReader::new(input);
    let mut receiver = Receiver {
        output: FrameWriter::new(output),
        sink: match sink {
            Sink::Directory(folder) => Target::Store(Arc::new(Store::new(folder))),
            Sink::Writer(writer) => Target::Writer(writer),
        },
        expected: 0,
        announced: 0,
        pending: VecDeque::new(),
        current: Current::Nothing,
        summary: Summary::default(),
        names: 0,
        on_event,
    };
    let result = receiver.run(&mut input).await;
    if let Err(error) = &result
        && !matches!(
            error,
            TransferError::Stream(_)
                | TransferError::Stalled { .. }
                | TransferError::Ended
                | TransferError::Aborted(_)
        )
    {
        // The stream may have failed as well; the first error is the one that matters.
        let _ = receiver
            .output
            .put(&Frame::Abort {
                text: error.to_string(),
            })
            .await;
        let _ = receiver.output.finish().await;
    }
    result.map(|()| receiver.summary)
}

enum Target {
    Store(Arc<Store>),
    Writer(Box<dyn AsyncWrite + Send + Unpin>),
}

/// An announced file that has not started.
struct Pending {
    entry: Entry,
    step: Step,
}

enum Step {
    /// `Want` was sent.
    Wanted(Option<Part>),
    /// `Have` was sent; the part is used if the files differ and may be replaced.
    Compared(Option<Part>),
    /// A verdict was sent already.
    Judged,
}

/// The file whose data is arriving.
enum Current {
    Nothing,
    File(Entry, Part),
    Writer {
        entry: Entry,
        hasher: Sha256,
        held: u64,
    },
    /// It has its verdict; its remaining data is dropped.
    Judged(Entry),
}

impl Current {
    fn entry(&self) -> Option<&Entry> {
        match self {
            Current::Nothing => None,
            Current::File(entry, _) | Current::Writer { entry, .. } | Current::Judged(entry) => {
                Some(entry)
            }
        }
    }
}

struct Receiver<'a, W> {
    output: FrameWriter<W>,
    sink: Target,
    expected: u32,
    announced: u32,
    pending: VecDeque<Pending>,
    current: Current,
    summary: Summary,
    /// Memory that the list of received entries in the summary takes.
    names: usize,
    on_event: OnEvent<'a>,
}

impl<W: AsyncWrite + Unpin> Receiver<'_, W> {
    async fn run<R: AsyncRead + Unpin>(
        &mut self,
        input: &mut FrameReader<R>,
    ) -> Result<(), TransferError> {
        let (version, entries, left_out, bytes) = match input.next().await? {
            Frame::Offer {
                version,
                entries,
                left_out,
                bytes,
            } => (version, entries, left_out, bytes),
            Frame::Abort { text } => return Err(TransferError::Aborted(text)),
            _ => return Err(TransferError::Protocol("an offer was expected")),
        };
        if version != VERSION {
            return Err(TransferError::Version {
                got: version,
                ours: VERSION,
            });
        }
        if matches!(self.sink, Target::Writer(_)) && entries != 1 {
            return Err(TransferError::Unacceptable(format!(
                "{entries} files and directories were offered, but only one file can go to standard output"
            )));
        }
        self.expected = entries;
        (self.on_event)(Event::Expected { bytes });
        self.output.put(&Frame::Accept { version: VERSION }).await?;
        self.output.flush().await?;
        loop {
            match input.next().await? {
                Frame::Entry(entry) => self.announce(entry).await?,
                Frame::Start { id, offset, meta } => self.start(id, offset, meta).await?,
                Frame::Same { id, same } => self.same(id, same).await?,
                Frame::Data(data) => self.data(data).await?,
                Frame::End { size, digest } => self.end(size, digest).await?,
                Frame::Fail { id, text } => self.fail(id, &text).await?,
                Frame::Done => break,
                Frame::Abort { text } => return Err(TransferError::Aborted(text)),
                _ => {
                    return Err(TransferError::Protocol(
                        "the sender sent a frame that only a receiver may send",
                    ));
                }
            }
            self.output.flush().await?;
        }
        let open = !matches!(self.current, Current::Nothing)
            || self.pending.iter().any(|p| !matches!(p.step, Step::Judged));
        if open || self.announced != self.expected {
            return Err(TransferError::Protocol(
                "the sender finished before it had sent everything",
            ));
        }
        self.summary.record_left_out(left_out, self.on_event);
        self.output.queue(&Frame::Final {
            complete: self.summary.complete,
            failed: self.summary.not_complete,
        });
        // Everything has its verdict, and a sender that has the last frame closes the session at
        // once: an error here loses nothing.
        let _ = self.output.finish().await;
        Ok(())
    }

    async fn announce(&mut self, entry: Entry) -> Result<(), TransferError> {
        // Entries that were judged at once wait for no answer, and the sender skips them.
        while self
            .pending
            .front()
            .is_some_and(|p| matches!(p.step, Step::Judged))
        {
            self.pending.pop_front();
        }
        if entry.id != self.announced
            || self.announced >= self.expected
            || self.pending.len() >= MAX_PENDING
        {
            return Err(TransferError::Protocol(
                "an entry was announced out of order",
            ));
        }
        self.announced += 1;
        let id = entry.id;
        let store = match &self.sink {
            Target::Store(store) => store.clone(),
            Target::Writer(_) if entry.kind == Kind::Directory => {
                return self
                    .judge(
                        &entry,
                        Verdict::Refused,
                        "a directory cannot go to standard output",
                    )
                    .await;
            }
            Target::Writer(_) => {
                self.output
                    .put(&Frame::Want {
                        id,
                        offset: 0,
                        prefix: Sha256::digest(b"").into(),
                    })
                    .await?;
                self.pending.push_back(Pending {
                    entry,
                    step: Step::Wanted(None),
                });
                return Ok(());
            }
        };
        if entry.kind == Kind::Directory {
            let wanted = entry.clone();
            let made = blocking(move || store.directory(&wanted));
            let made = self.output.during(made).await?;
            return match made {
                Ok(()) => self.judge(&entry, Verdict::Complete, "").await,
                Err(e) => self.judge(&entry, Verdict::Refused, &e.to_string()).await,
            };
        }
        let planned = entry.clone();
        let plan = blocking(move || store.plan(&planned));
        let step = match self.output.during(plan).await? {
            Ok(Plan::Write(part)) => {
                self.want(id, &part).await?;
                Step::Wanted(Some(part))
            }
            Ok(Plan::Compare {
                size,
                digest,
                otherwise,
            }) => {
                self.output.put(&Frame::Have { id, size, digest }).await?;
                Step::Compared(otherwise)
            }
            Err(e) => {
                self.judge(&entry, Verdict::Refused, &e.to_string()).await?;
                Step::Judged
            }
        };
        self.pending.push_back(Pending { entry, step });
        Ok(())
    }

    async fn want(&mut self, id: u32, part: &Part) -> Result<(), TransferError> {
        let (offset, prefix) = part.prefix();
        self.output.put(&Frame::Want { id, offset, prefix }).await
    }

    async fn same(&mut self, id: u32, same: bool) -> Result<(), TransferError> {
        let Pending {
            entry,
            step: Step::Compared(otherwise),
        } = self.next_pending(id)?
        else {
            return Err(TransferError::Protocol("a comparison was not requested"));
        };
        match (same, otherwise) {
            (true, _) => {
                (self.on_event)(Event::Passed {
                    bytes: entry.meta.size.unwrap_or(0),
                });
                self.judge(&entry, Verdict::AlreadyThere, "").await
            }
            (false, Some(part)) => {
                self.want(id, &part).await?;
                self.pending.push_front(Pending {
                    entry,
                    step: Step::Wanted(Some(part)),
                });
                Ok(())
            }
            (false, None) => {
                let text =
                    "a different file of that name exists; to replace it, receive with --overwrite";
                self.judge(&entry, Verdict::Refused, text).await
            }
        }
    }

    async fn judge(
        &mut self,
        entry: &Entry,
        verdict: Verdict,
        text: &str,
    ) -> Result<(), TransferError> {
        self.summary
            .record(&entry.path, verdict, text, self.on_event);
        if verdict == Verdict::Complete {
            self.summary.name(entry, &mut self.names);
        }
        let frame = Frame::Verdict {
            id: entry.id,
            verdict,
            text: text.to_owned(),
        };
        self.output.put(&frame).await
    }

    /// Removes and returns the announced file `id`. It must be the next, and no other file may be
    /// in transfer.
    fn next_pending(&mut self, id: u32) -> Result<Pending, TransferError> {
        if !matches!(self.current, Current::Nothing) {
            return Err(TransferError::Protocol(
                "a file starts before the previous one has ended",
            ));
        }
        while let Some(next) = self.pending.pop_front() {
            if next.entry.id == id {
                return Ok(next);
            }
            if !matches!(next.step, Step::Judged) {
                break;
            }
        }
        Err(TransferError::Protocol("a file is out of order"))
    }
}
