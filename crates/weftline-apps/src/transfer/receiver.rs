//! The receiving end of a transfer.

use std::collections::VecDeque;
use std::path::PathBuf;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

use super::TransferError;
use super::blocking::blocking;
use super::event::{Event, OnEvent};
use super::frames::{FrameReader, FrameWriter};
use super::store::{FinishError, Part, Plan, Store};
use super::summary::Summary;
use super::wire::{Digest, Entry, Frame, Kind, MAX_PENDING, VERSION, Verdict};
use crate::printable::printable;

/// Destination of received files.
pub enum Sink {
    /// Into a directory.
    Directory {
        /// The directory; it must exist.
        root: PathBuf,
        /// Replace existing files whose content differs.
        overwrite: bool,
    },
    /// One file, written to a writer such as standard output.
    Writer(Box<dyn AsyncWrite + Send + Unpin>),
}

/// Receives what the peer sends over `stream` until it has sent everything.
///
/// # Errors
/// The transfer as a whole failed; entries that failed on their own are in the [`Summary`]. Part
/// files stay, so that the same transfer can be resumed.
pub async fn receive<S>(
    stream: S,
    sink: Sink,
    on_event: OnEvent<'_>,
) -> Result<Summary, TransferError>
where
    S: AsyncRead + AsyncWrite,
{
    let (input, output) = tokio::io::split(stream);
    let mut input = FrameReader::new(input);
    let mut receiver = Receiver {
        output: FrameWriter::new(output),
        sink: match sink {
            Sink::Directory { root, overwrite } => Target::Store(Store { root, overwrite }),
            Sink::Writer(writer) => Target::Writer(writer),
        },
        expected: 0,
        announced: 0,
        pending: VecDeque::new(),
        current: Current::Nothing,
        summary: Summary::default(),
        on_event,
    };
    let result = receiver.run(&mut input).await;
    if let Err(error) = &result
        && !matches!(
            error,
            TransferError::Stream(_) | TransferError::Ended | TransferError::Aborted(_)
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
    Store(Store),
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

struct Receiver<'a, W> {
    output: FrameWriter<W>,
    sink: Target,
    expected: u32,
    announced: u32,
    pending: VecDeque<Pending>,
    current: Current,
    summary: Summary,
    on_event: OnEvent<'a>,
}

impl<W: AsyncWrite + Unpin> Receiver<'_, W> {
    async fn run<R: AsyncRead + Unpin>(
        &mut self,
        input: &mut FrameReader<R>,
    ) -> Result<(), TransferError> {
        let (version, entries, bytes) = match input.next().await? {
            Frame::Offer {
                version,
                entries,
                bytes,
            } => (version, entries, bytes),
            Frame::Abort { text } => return Err(TransferError::Aborted(printable(&text))),
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
                Frame::Start { id, offset } => self.start(id, offset).await?,
                Frame::Same { id, same } => self.same(id, same).await?,
                Frame::Data(data) => self.data(data).await?,
                Frame::End { size, digest } => self.end(size, digest).await?,
                Frame::Fail { id, text } => self.fail(id, &text).await?,
                Frame::Done => break,
                Frame::Abort { text } => return Err(TransferError::Aborted(printable(&text))),
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
        let failed = u32::try_from(self.summary.failed.len()).unwrap_or(u32::MAX);
        self.output
            .put(&Frame::Final {
                complete: self.summary.complete,
                failed,
            })
            .await?;
        self.output.finish().await
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
            let path = entry.path.clone();
            let made = blocking(move || store.directory(&path)).await;
            return match made {
                Ok(()) => self.judge(&entry, Verdict::Complete, "").await,
                Err(e) => self.judge(&entry, Verdict::Refused, &e.to_string()).await,
            };
        }
        let planned = entry.clone();
        let step = match blocking(move || store.plan(&planned)).await {
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
                (self.on_event)(Event::Advanced {
                    bytes: entry.size.unwrap_or(0),
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

    async fn start(&mut self, id: u32, offset: u64) -> Result<(), TransferError> {
        let Pending {
            entry,
            step: Step::Wanted(part),
        } = self.next_pending(id)?
        else {
            return Err(TransferError::Protocol("a file was not requested"));
        };
        let path = printable(&entry.path);
        (self.on_event)(Event::File { path: &path });
        let Some(mut part) = part else {
            if offset != 0 {
                return Err(TransferError::Protocol(
                    "a file starts at an offset that this end does not hold",
                ));
            }
            self.current = Current::Writer {
                entry,
                hasher: Sha256::new(),
                held: 0,
            };
            return Ok(());
        };
        let held = part.len();
        if offset != 0 && offset != held {
            return Err(TransferError::Protocol(
                "a file starts at an offset that this end does not hold",
            ));
        }
        if offset == 0 && held > 0 {
            (self.on_event)(Event::StartedAgain { path: &path });
        }
        let begun = blocking(move || part.begin(offset).map(|()| part)).await;
        match begun {
            Ok(part) => {
                if offset > 0 {
                    (self.on_event)(Event::Resumed {
                        path: &path,
                        bytes: offset,
                    });
                    self.summary.resumed_bytes += offset;
                }
                self.current = Current::File(entry, part);
            }
            Err(e) => {
                self.give_up(entry, &format!("cannot write it: {e}"))
                    .await?
            }
        }
        Ok(())
    }

    async fn data(&mut self, data: Bytes) -> Result<(), TransferError> {
        let len = data.len() as u64;
        let failed = match std::mem::replace(&mut self.current, Current::Nothing) {
            Current::Nothing => {
                return Err(TransferError::Protocol("data without a file"));
            }
            Current::Judged(entry) => {
                self.current = Current::Judged(entry);
                return Ok(());
            }
            Current::File(entry, mut part) => {
                if entry.size.is_some_and(|size| part.len() + len > size) {
                    return Err(TransferError::Protocol("more data than the file's length"));
                }
                match blocking(move || part.write(&data).map(|()| part)).await {
                    Ok(part) => {
                        self.current = Current::File(entry, part);
                        None
                    }
                    Err(e) => Some((entry, e)),
                }
            }
            Current::Writer {
                entry,
                mut hasher,
                held,
            } => {
                hasher.update(&data);
                let Target::Writer(writer) = &mut self.sink else {
                    return Err(TransferError::Protocol("data without a file"));
                };
                match writer.write_all(&data).await {
                    Ok(()) => {
                        self.current = Current::Writer {
                            entry,
                            hasher,
                            held: held + len,
                        };
                        None
                    }
                    Err(e) => Some((entry, e)),
                }
            }
        };
        self.summary.bytes += len;
        (self.on_event)(Event::Advanced { bytes: len });
        match failed {
            Some((entry, e)) => self.give_up(entry, &format!("cannot write it: {e}")).await,
            None => Ok(()),
        }
    }

    async fn end(&mut self, size: u64, digest: Digest) -> Result<(), TransferError> {
        match std::mem::replace(&mut self.current, Current::Nothing) {
            Current::Nothing => Err(TransferError::Protocol("an end without a file")),
            Current::Judged(_) => Ok(()),
            Current::File(entry, part) => {
                let finished = entry.clone();
                let result = blocking(move || part.finish(&finished, size, &digest)).await;
                match result {
                    Ok(()) => self.judge(&entry, Verdict::Complete, "").await,
                    Err(FinishError::Corrupt(text)) => {
                        self.judge(&entry, Verdict::Corrupt, &text).await
                    }
                    Err(FinishError::Io(e)) => {
                        self.judge(
                            &entry,
                            Verdict::Failed,
                            &format!("cannot move it into place: {e}"),
                        )
                        .await
                    }
                }
            }
            Current::Writer {
                entry,
                hasher,
                held,
            } => {
                if let Target::Writer(writer) = &mut self.sink
                    && let Err(e) = writer.flush().await
                {
                    return self
                        .judge(&entry, Verdict::Failed, &format!("cannot write it: {e}"))
                        .await;
                }
                if held == size && Digest::from(hasher.finalize()) == digest {
                    return self.judge(&entry, Verdict::Complete, "").await;
                }
                let text = "verification failed: the written file differs from the sent one";
                self.judge(&entry, Verdict::Corrupt, text).await
            }
        }
    }

    /// Handles the sender's failure to read a file: the current one, or the next.
    async fn fail(&mut self, id: u32, text: &str) -> Result<(), TransferError> {
        let entry = match std::mem::replace(&mut self.current, Current::Nothing) {
            Current::Judged(entry) if entry.id == id => return Ok(()),
            Current::File(entry, _) | Current::Writer { entry, .. } if entry.id == id => entry,
            Current::Nothing => match self.next_pending(id)? {
                Pending {
                    step: Step::Judged, ..
                } => return Ok(()),
                Pending { entry, .. } => entry,
            },
            _ => {
                return Err(TransferError::Protocol(
                    "a failure was reported for a file that is not the current one",
                ));
            }
        };
        self.judge(
            &entry,
            Verdict::NotSent,
            &format!("the sender could not send it: {}", printable(text)),
        )
        .await
    }

    /// Handles a local failure while data for `entry` arrives.
    async fn give_up(&mut self, entry: Entry, text: &str) -> Result<(), TransferError> {
        self.judge(&entry, Verdict::Failed, text).await?;
        self.current = Current::Judged(entry);
        Ok(())
    }

    async fn judge(
        &mut self,
        entry: &Entry,
        verdict: Verdict,
        text: &str,
    ) -> Result<(), TransferError> {
        self.summary
            .record(&entry.path, verdict, text, self.on_event);
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
