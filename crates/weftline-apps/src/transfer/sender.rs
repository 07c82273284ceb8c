//! The sending end of a transfer.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek};
use std::path::PathBuf;
use std::pin::pin;

use bytes::BytesMut;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::mpsc;

use super::blocking::blocking;
use super::event::{Event, OnEvent};
use super::frames::{FrameReader, FrameWriter};
use super::source::Source;
use super::store::{hash_file, hash_prefix};
use super::summary::Summary;
use super::wire::{Digest, Frame, Kind, MAX_DATA, MAX_PENDING, VERSION, Verdict};
use super::{Listing, TransferError};
use crate::printable::printable;

/// Sends everything in `listing` over `stream`, and waits until the receiver has handled all of
/// it. `stdin` is read for the entry without a file, if there is one.
///
/// # Errors
/// The transfer as a whole failed; entries that failed on their own are in the [`Summary`].
pub async fn send<S, I>(
    stream: S,
    listing: &Listing,
    stdin: I,
    on_event: OnEvent<'_>,
) -> Result<Summary, TransferError>
where
    S: AsyncRead + AsyncWrite,
    I: AsyncRead + Unpin,
{
    let (input, output) = tokio::io::split(stream);
    let (answers, inbox) = mpsc::channel(2 * MAX_PENDING);
    let mut sender = Sender {
        output: FrameWriter::new(output),
        inbox,
        answers: BTreeMap::new(),
        judged: vec![false; listing.sources.len()],
        sources: &listing.sources,
        summary: Summary {
            failed: listing.failed.clone(),
            skipped: listing.skipped.clone(),
            ..Summary::default()
        },
        on_event,
        done: false,
    };
    // Answers are read while data is written, so that the ends never wait for each other.
    let mut listening = pin!(listen(FrameReader::new(input), answers));
    {
        let mut sending = pin!(sender.run(listing, stdin));
        tokio::select! {
            result = &mut sending => result,
            () = &mut listening => sending.await,
        }?;
    }
    Ok(sender.summary)
}

async fn listen<R: AsyncRead + Unpin>(
    mut input: FrameReader<R>,
    answers: mpsc::Sender<Result<Frame, TransferError>>,
) {
    loop {
        let frame = input.next().await;
        let last = matches!(
            frame,
            Err(_) | Ok(Frame::Final { .. } | Frame::Abort { .. })
        );
        if answers.send(frame).await.is_err() || last {
            return;
        }
    }
}

struct Sender<'a, W> {
    output: FrameWriter<W>,
    inbox: mpsc::Receiver<Result<Frame, TransferError>>,
    /// `Want` and `Have` of entries that have not started.
    answers: BTreeMap<u32, Frame>,
    judged: Vec<bool>,
    sources: &'a [Source],
    summary: Summary,
    on_event: OnEvent<'a>,
    /// The receiver has sent its final frame.
    done: bool,
}

impl<'a, W: AsyncWrite + Unpin> Sender<'a, W> {
    async fn run<I: AsyncRead + Unpin>(
        &mut self,
        listing: &Listing,
        mut stdin: I,
    ) -> Result<(), TransferError> {
        let result = self.transfer(listing, &mut stdin).await;
        if let Err(TransferError::Stream(_)) = &result {
            // If the peer sent a reason before the stream broke, report that.
            while let Ok(Ok(frame)) = self.inbox.try_recv() {
                self.on_frame(frame)?;
            }
        }
        result
    }

    async fn transfer<I: AsyncRead + Unpin>(
        &mut self,
        listing: &Listing,
        stdin: &mut I,
    ) -> Result<(), TransferError> {
        let sources = self.sources;
        let entries = u32::try_from(sources.len())
            .map_err(|_| TransferError::Protocol("too many entries"))?;
        self.output
            .put(&Frame::Offer {
                version: VERSION,
                entries,
                bytes: listing.bytes(),
            })
            .await?;
        self.output.flush().await?;
        match self.frame().await? {
            Frame::Accept { version: VERSION } => {}
            Frame::Accept { version } => {
                return Err(TransferError::Version {
                    got: version,
                    ours: VERSION,
                });
            }
            Frame::Abort { text } => return Err(aborted(&text)),
            _ => {
                return Err(TransferError::Protocol(
                    "an answer to the offer was expected",
                ));
            }
        }
        let mut announced = 0;
        for (i, source) in sources.iter().enumerate() {
            while announced < sources.len().min(i + MAX_PENDING) {
                self.output
                    .put(&Frame::Entry(sources[announced].entry.clone()))
                    .await?;
                announced += 1;
            }
            if source.entry.kind == Kind::File {
                self.file(source, stdin).await?;
            }
        }
        self.output.put(&Frame::Done).await?;
        self.output.flush().await?;
        while !self.done {
            let frame = self.frame().await?;
            self.on_frame(frame)?;
        }
        if self.judged.contains(&false) {
            return Err(TransferError::Protocol(
                "the receiver finished without a verdict on every entry",
            ));
        }
        // The receiver has sent its final frame and may be gone: an error here loses nothing.
        let _ = self.output.finish().await;
        Ok(())
    }

    /// Sends one file, unless the receiver does not want it.
    async fn file<I: AsyncRead + Unpin>(
        &mut self,
        source: &Source,
        stdin: &mut I,
    ) -> Result<(), TransferError> {
        let id = source.entry.id;
        (self.on_event)(Event::File {
            path: &source.entry.path,
        });
        self.output.flush().await?;
        while !self.judged[id as usize] {
            match (self.answers.remove(&id), &source.file) {
                (Some(Frame::Want { offset, prefix, .. }), Some(path)) => {
                    return self.stored(source, path.clone(), offset, prefix).await;
                }
                (Some(Frame::Want { .. }), None) => {
                    self.output.put(&Frame::Start { id, offset: 0 }).await?;
                    return self.data(source, stdin, Sha256::new(), 0).await;
                }
                (Some(Frame::Have { size, digest, .. }), path) => {
                    let same = match path.clone() {
                        Some(path) => {
                            blocking(move || hash_file(&path)).await.ok() == Some((size, digest))
                        }
                        None => false,
                    };
                    self.output.put(&Frame::Same { id, same }).await?;
                    self.output.flush().await?;
                    if same {
                        (self.on_event)(Event::Advanced { bytes: size });
                    }
                }
                _ => {
                    let frame = self.frame().await?;
                    self.on_frame(frame)?;
                }
            }
        }
        Ok(())
    }

    /// Sends a file from the receiver's offset, if the receiver's prefix matches.
    async fn stored(
        &mut self,
        source: &Source,
        path: PathBuf,
        offset: u64,
        prefix: Digest,
    ) -> Result<(), TransferError> {
        let id = source.entry.id;
        let opened = blocking(move || {
            let mut file = File::open(path)?;
            let known = hash_prefix(&mut file, offset)?;
            let known = known.filter(|hasher| Digest::from(hasher.clone().finalize()) == prefix);
            if known.is_none() {
                file.rewind()?;
            }
            Ok::<_, io::Error>((file, known))
        });
        let (file, hasher, offset) = match opened.await {
            Ok((file, Some(hasher))) => (file, hasher, offset),
            Ok((file, None)) => (file, Sha256::new(), 0),
            Err(e) => return self.fail(source, &format!("cannot read it: {e}")).await,
        };
        if offset > 0 {
            (self.on_event)(Event::Resumed {
                path: &source.entry.path,
                bytes: offset,
            });
            self.summary.resumed_bytes += offset;
        }
        self.output.put(&Frame::Start { id, offset }).await?;
        self.data(source, &mut tokio::fs::File::from_std(file), hasher, offset)
            .await
    }

    /// Sends the content of `input` as the rest of a file whose beginning `hasher` has digested. A
    /// file that grows meanwhile is sent with the announced length.
    async fn data<I: AsyncRead + Unpin>(
        &mut self,
        source: &Source,
        input: &mut I,
        mut hasher: Sha256,
        mut offset: u64,
    ) -> Result<(), TransferError> {
        let announced = source.entry.size;
        let mut input = input.take(announced.map_or(u64::MAX, |size| size.saturating_sub(offset)));
        let mut buffer = BytesMut::new();
        loop {
            buffer.reserve(MAX_DATA);
            let chunk = match (&mut input)
                .take(MAX_DATA as u64)
                .read_buf(&mut buffer)
                .await
            {
                Ok(0) => break,
                Ok(n) => buffer.split_to(n).freeze(),
                Err(e) => return self.fail(source, &format!("cannot read it: {e}")).await,
            };
            hasher.update(&chunk);
            offset += chunk.len() as u64;
            self.summary.bytes += chunk.len() as u64;
            (self.on_event)(Event::Advanced {
                bytes: chunk.len() as u64,
            });
            self.output.put(&Frame::Data(chunk)).await?;
            while let Ok(frame) = self.inbox.try_recv() {
                self.on_frame(frame?)?;
            }
            if self.judged[source.entry.id as usize] {
                return self.fail(source, "no longer wanted").await;
            }
        }
        if announced.is_some_and(|size| size != offset) {
            return self
                .fail(source, "it became shorter while it was being sent")
                .await;
        }
        self.output
            .put(&Frame::End {
                size: offset,
                digest: hasher.finalize().into(),
            })
            .await
    }

    async fn fail(&mut self, source: &Source, text: &str) -> Result<(), TransferError> {
        let id = source.entry.id;
        self.output
            .put(&Frame::Fail {
                id,
                text: text.to_owned(),
            })
            .await
    }

    async fn frame(&mut self) -> Result<Frame, TransferError> {
        self.inbox.recv().await.unwrap_or(Err(TransferError::Ended))
    }

    fn on_frame(&mut self, frame: Frame) -> Result<(), TransferError> {
        match frame {
            Frame::Want { id, .. } | Frame::Have { id, .. } => {
                let source = self.open_entry(id)?;
                if source.entry.kind == Kind::Directory || self.answers.len() >= MAX_PENDING {
                    return Err(TransferError::Protocol("an answer was not requested"));
                }
                self.answers.insert(id, frame);
            }
            Frame::Verdict { id, verdict, text } => {
                let source = self.open_entry(id)?;
                self.judged[id as usize] = true;
                let text = match verdict {
                    Verdict::Refused | Verdict::Failed | Verdict::Corrupt => {
                        format!("at the receiver: {text}")
                    }
                    _ => text,
                };
                self.summary
                    .record(&source.entry.path, verdict, &text, self.on_event);
            }
            Frame::Final { .. } => self.done = true,
            Frame::Abort { text } => return Err(aborted(&text)),
            _ => {
                return Err(TransferError::Protocol(
                    "the receiver sent a frame that only a sender may send",
                ));
            }
        }
        Ok(())
    }

    /// The entry `id`, which must not have a verdict yet.
    fn open_entry(&self, id: u32) -> Result<&'a Source, TransferError> {
        let index = id as usize;
        match (self.sources.get(index), self.judged.get(index)) {
            (Some(source), Some(false)) => Ok(source),
            _ => Err(TransferError::Protocol(
                "an answer concerns an entry that is not open",
            )),
        }
    }
}

fn aborted(text: &str) -> TransferError {
    TransferError::Aborted(printable(text))
}
