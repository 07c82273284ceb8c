//! The sending end of a transfer.

mod answers;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Seek};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use bytes::BytesMut;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::blocking::blocking;
use super::event::{Event, OnEvent};
use super::frames::{FrameReader, FrameWriter, WAIT_PERIOD};
use super::hashing::{hash_file, hash_prefix};
use super::meta::Moment;
use super::patience::Patient;
use super::source::Source;
use super::summary::Summary;
use super::wire::{Digest, Frame, Kind, MAX_DATA, MAX_PENDING, Meta, VERSION};
use super::{Listing, TransferError};
use answers::{Answers, listen};

/// How often a file is sent that changes meanwhile.
const TRIES: usize = 2;

/// Sends everything in `listing` over `stream`, and waits until the receiver has handled all of
/// it. `stdin` is read for the entry without a file, if there is one. The transfer fails when the
/// receiver makes no progress for `patience`.
///
/// # Errors
/// The transfer as a whole failed; entries that failed on their own are in the [`Summary`].
pub async fn send<S, I>(
    stream: S,
    listing: &Listing,
    stdin: I,
    patience: Duration,
    on_event: OnEvent<'_>,
) -> Result<Summary, TransferError>
where
    S: AsyncRead + AsyncWrite + Unpin,
    I: AsyncRead + Unpin,
{
    let (input, output) = tokio::io::split(Patient::new(stream, patience));
    let (answers, inbox) = mpsc::channel(2 * MAX_PENDING);
    let mut sender = Sender {
        output: FrameWriter::new(output),
        answers: Answers {
            inbox,
            open: BTreeMap::new(),
            judged: vec![false; listing.sources.len()],
            sources: &listing.sources,
            summary: Summary {
                not_complete: left_out(listing),
                failed: listing.failed.clone(),
                skipped: listing.skipped.clone(),
                ..Summary::default()
            },
            on_event,
            done: false,
        },
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
    Ok(sender.answers.summary)
}

/// Number of entries that cannot be announced.
fn left_out(listing: &Listing) -> u32 {
    u32::try_from(listing.failed.len()).unwrap_or(u32::MAX)
}

struct Sender<'a, W> {
    output: FrameWriter<W>,
    answers: Answers<'a>,
}

impl<W: AsyncWrite + Unpin> Sender<'_, W> {
    async fn run<I: AsyncRead + Unpin>(
        &mut self,
        listing: &Listing,
        mut stdin: I,
    ) -> Result<(), TransferError> {
        let result = self.transfer(listing, &mut stdin).await;
        if let Err(TransferError::Stream(_)) = &result {
            // If the peer sent a reason before the stream broke, report that.
            while let Ok(Ok(frame)) = self.answers.inbox.try_recv() {
                self.answers.on_frame(frame)?;
            }
        }
        result
    }

    async fn transfer<I: AsyncRead + Unpin>(
        &mut self,
        listing: &Listing,
        stdin: &mut I,
    ) -> Result<(), TransferError> {
        let sources = self.answers.sources;
        let entries = u32::try_from(sources.len())
            .map_err(|_| TransferError::Protocol("too many entries"))?;
        self.put(&Frame::Offer {
            version: VERSION,
            entries,
            left_out: left_out(listing),
            bytes: listing.bytes(),
        })
        .await?;
        self.flush().await?;
        match self.answers.frame().await? {
            Frame::Accept { version: VERSION } => {}
            Frame::Accept { version } => {
                return Err(TransferError::Version {
                    got: version,
                    ours: VERSION,
                });
            }
            Frame::Abort { text } => return Err(TransferError::Aborted(text)),
            _ => {
                return Err(TransferError::Protocol(
                    "an answer to the offer was expected",
                ));
            }
        }
        let mut announced = 0;
        for (i, source) in sources.iter().enumerate() {
            while announced < sources.len().min(i + MAX_PENDING) {
                self.put(&Frame::Entry(sources[announced].entry.clone()))
                    .await?;
                announced += 1;
            }
            if source.entry.kind == Kind::File {
                self.file(source, stdin).await?;
            }
        }
        self.put(&Frame::Done).await?;
        self.flush().await?;
        while !self.answers.done {
            self.answers.next().await?;
        }
        if self.answers.judged.contains(&false) {
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
        let path = &source.entry.path;
        (self.answers.on_event)(Event::File { path });
        self.flush().await?;
        while !self.answers.judged[id as usize] {
            match (self.answers.open.remove(&id), &source.file) {
                (Some(Frame::Want { offset, prefix, .. }), Some(path)) => {
                    return self.stored(source, path, offset, prefix).await;
                }
                (Some(Frame::Want { .. }), None) => return self.streamed(source, stdin).await,
                (Some(Frame::Have { size, digest, .. }), path) => {
                    let same = match path.clone() {
                        Some(path) => {
                            let hashed = blocking(move || hash_file(File::open(path)?));
                            self.during(hashed).await?.ok() == Some((size, digest))
                        }
                        None => false,
                    };
                    self.put(&Frame::Same { id, same }).await?;
                    self.flush().await?;
                    if same {
                        (self.answers.on_event)(Event::Passed { bytes: size });
                    }
                }
                _ => self.answers.next().await?,
            }
        }
        Ok(())
    }

    /// Sends standard input.
    async fn streamed<I: AsyncRead + Unpin>(
        &mut self,
        source: &Source,
        stdin: &mut I,
    ) -> Result<(), TransferError> {
        let (id, meta) = (source.entry.id, source.entry.meta);
        let start = Frame::Start {
            id,
            offset: 0,
            meta,
        };
        self.put(&start).await?;
        match self.data(source, stdin, Sha256::new(), 0).await? {
            Some(end) => self.put(&end).await,
            None => Ok(()),
        }
    }

    /// Sends a file from the receiver's offset, if the receiver's prefix matches. A file that
    /// changes meanwhile is sent again: a mixture of two versions must not arrive.
    async fn stored(
        &mut self,
        source: &Source,
        path: &Path,
        mut offset: u64,
        prefix: Digest,
    ) -> Result<(), TransferError> {
        for _ in 0..TRIES {
            let at = path.to_owned();
            let opening = blocking(move || open(&at, offset, prefix));
            let opened = match self.during(opening).await? {
                Ok(opened) => opened,
                Err(e) => return self.fail(source, &format!("cannot read it: {e}")).await,
            };
            let start = Frame::Start {
                id: source.entry.id,
                offset: opened.offset,
                meta: opened.meta,
            };
            self.put(&start).await?;
            if opened.offset > 0 {
                (self.answers.on_event)(Event::Resumed {
                    path: &source.entry.path,
                    bytes: opened.offset,
                });
                self.answers.summary.resumed_bytes += opened.offset;
            }
            let mut file = tokio::fs::File::from_std(opened.file);
            let sent = self
                .data(source, &mut file, opened.hasher, opened.offset)
                .await?;
            let Some(end) = sent else {
                return Ok(());
            };
            let at = path.to_owned();
            let now = blocking(move || fs::metadata(at)).await;
            if now.is_ok_and(|now| Moment::of(&now) == opened.moment) {
                return self.put(&end).await;
            }
            (self.answers.on_event)(Event::Changed {
                path: &source.entry.path,
            });
            offset = 0;
        }
        let text =
            "it changed while it was sent, each time; send it again when nothing writes to it";
        self.fail(source, text).await
    }

    /// Sends the content of `input` as the rest of a file whose beginning `hasher` has digested.
    /// Returns the frame that ends it; None if it was given up.
    async fn data<I: AsyncRead + Unpin>(
        &mut self,
        source: &Source,
        input: &mut I,
        mut hasher: Sha256,
        mut offset: u64,
    ) -> Result<Option<Frame>, TransferError> {
        let mut buffer = BytesMut::new();
        loop {
            buffer.reserve(MAX_DATA);
            let mut chunk = (&mut *input).take(MAX_DATA as u64);
            let chunk = match self.during(chunk.read_buf(&mut buffer)).await? {
                Ok(0) => break,
                Ok(n) => buffer.split_to(n).freeze(),
                Err(e) => {
                    self.fail(source, &format!("cannot read it: {e}")).await?;
                    return Ok(None);
                }
            };
            hasher.update(&chunk);
            let bytes = chunk.len() as u64;
            offset += bytes;
            self.answers.summary.bytes += bytes;
            (self.answers.on_event)(Event::Advanced { bytes });
            self.put(&Frame::Data(chunk)).await?;
            if self.answers.judged[source.entry.id as usize] {
                self.fail(source, "no longer wanted").await?;
                return Ok(None);
            }
        }
        Ok(Some(Frame::End {
            size: offset,
            digest: hasher.finalize().into(),
        }))
    }

    async fn fail(&mut self, source: &Source, text: &str) -> Result<(), TransferError> {
        let (id, text) = (source.entry.id, text.to_owned());
        self.put(&Frame::Fail { id, text }).await
    }

    /// Queues a frame, and writes once enough bytes wait.
    async fn put(&mut self, frame: &Frame) -> Result<(), TransferError> {
        match self.output.queue(frame) {
            true => self.flush().await,
            false => Ok(()),
        }
    }

    /// Writes what is queued. The receiver reads on only if its answers are read.
    async fn flush(&mut self) -> Result<(), TransferError> {
        let mut writing = pin!(self.output.flush());
        loop {
            tokio::select! {
                written = &mut writing => return written,
                answered = self.answers.next(), if !self.answers.done => answered?,
            }
        }
    }

    /// Does `work` of this end, and tells the receiver to wait for as long as that takes.
    async fn during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, TransferError> {
        let mut work = pin!(work);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = sleep(WAIT_PERIOD) => {
                    self.output.queue(&Frame::Wait);
                    self.flush().await?;
                }
            }
        }
    }
}

/// A file that is about to be sent.
struct Opened {
    file: File,
    /// Of what is before `offset`.
    hasher: Sha256,
    offset: u64,
    meta: Meta,
    moment: Moment,
}

/// Opens a file to send it from `offset`, or from its beginning if the digest of what is before
/// differs. Blocks.
fn open(path: &Path, offset: u64, prefix: Digest) -> io::Result<Opened> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let known = hash_prefix(&mut file, offset)?;
    let known = known.filter(|hasher| Digest::from(hasher.clone().finalize()) == prefix);
    if known.is_none() {
        file.rewind()?;
    }
    Ok(Opened {
        file,
        offset: known.as_ref().map_or(0, |_| offset),
        hasher: known.unwrap_or_default(),
        meta: Meta::of(&metadata),
        moment: Moment::of(&metadata),
    })
}
