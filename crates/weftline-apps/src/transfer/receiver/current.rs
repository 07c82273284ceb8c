//! The file whose data arrives.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::super::TransferError;
use super::super::blocking::blocking;
use super::super::event::Event;
use super::super::store::FinishError;
use super::super::wire::{Digest, Entry, Meta, Verdict};
use super::{Current, Pending, Receiver, Step, Target};
use crate::printable;

impl<W: AsyncWrite + Unpin> Receiver<'_, W> {
    pub(super) async fn start(
        &mut self,
        id: u32,
        offset: u64,
        meta: Meta,
    ) -> Result<(), TransferError> {
        if self.current.entry().is_some_and(|entry| entry.id == id) {
            return self.restart(offset, meta).await;
        }
        let Pending {
            mut entry,
            step: Step::Wanted(part),
        } = self.next_pending(id)?
        else {
            return Err(TransferError::Protocol("a file was not requested"));
        };
        entry.meta = meta;
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
        let begun = blocking(move || part.begin(offset).map(|()| part));
        match self.output.during(begun).await? {
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

    /// The current file changed while it was sent: its new content follows.
    async fn restart(&mut self, offset: u64, meta: Meta) -> Result<(), TransferError> {
        if offset != 0 {
            return Err(TransferError::Protocol(
                "a file that changed is not sent from its beginning",
            ));
        }
        match std::mem::replace(&mut self.current, Current::Nothing) {
            Current::File(mut entry, mut part) => {
                let path = printable(&entry.path);
                (self.on_event)(Event::Changed { path: &path });
                entry.meta = meta;
                let begun = blocking(move || part.begin(0).map(|()| part));
                match self.output.during(begun).await? {
                    Ok(part) => self.current = Current::File(entry, part),
                    Err(e) => {
                        self.give_up(entry, &format!("cannot write it: {e}"))
                            .await?
                    }
                }
            }
            Current::Writer { entry, .. } => {
                let text = "it changed while it was sent, and is on standard output in part";
                self.give_up(entry, text).await?;
            }
            judged => self.current = judged,
        }
        Ok(())
    }

    pub(super) async fn data(&mut self, data: Bytes) -> Result<(), TransferError> {
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
                if entry.meta.size.is_some_and(|size| part.len() + len > size) {
                    return Err(TransferError::Protocol("more data than the file's length"));
                }
                let written = blocking(move || part.write(&data).map(|()| part));
                match self.output.during(written).await? {
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
                match self.output.during(writer.write_all(&data)).await? {
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

    pub(super) async fn end(&mut self, size: u64, digest: Digest) -> Result<(), TransferError> {
        match std::mem::replace(&mut self.current, Current::Nothing) {
            Current::Nothing => Err(TransferError::Protocol("an end without a file")),
            Current::Judged(_) => Ok(()),
            Current::File(entry, part) => {
                let Target::Store(store) = &self.sink else {
                    return Err(TransferError::Protocol("an end without a file"));
                };
                let (store, finished) = (store.clone(), entry.clone());
                let result = blocking(move || store.finish(part, &finished, size, &digest));
                match self.output.during(result).await? {
                    Ok(()) => self.complete(entry, size).await,
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
                    return self.complete(entry, size).await;
                }
                let text = "verification failed: the written file differs from the sent one";
                self.judge(&entry, Verdict::Corrupt, text).await
            }
        }
    }

    /// Judges a file that is in place and verified.
    async fn complete(&mut self, mut entry: Entry, size: u64) -> Result<(), TransferError> {
        // Nobody knows the length of standard input before its end.
        entry.meta.size = Some(size);
        self.judge(&entry, Verdict::Complete, "").await
    }

    /// Handles the sender's failure to read a file: the current one, or the next.
    pub(super) async fn fail(&mut self, id: u32, text: &str) -> Result<(), TransferError> {
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
            &format!("the sender could not send it: {text}"),
        )
        .await
    }

    /// Handles a local failure while data for `entry` arrives.
    async fn give_up(&mut self, entry: Entry, text: &str) -> Result<(), TransferError> {
        self.judge(&entry, Verdict::Failed, text).await?;
        self.current = Current::Judged(entry);
        Ok(())
    }
}
