//! What the receiver says.

use std::collections::BTreeMap;

use tokio::io::AsyncRead;
use tokio::sync::mpsc;

use super::super::TransferError;
use super::super::event::OnEvent;
use super::super::frames::FrameReader;
use super::super::source::Source;
use super::super::summary::Summary;
use super::super::wire::{Frame, Kind, MAX_PENDING, Verdict};

/// Reads frames until the last one, or an error.
pub(super) async fn listen<R: AsyncRead + Unpin>(
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

/// What the receiver said.
pub(super) struct Answers<'a> {
    pub(super) inbox: mpsc::Receiver<Result<Frame, TransferError>>,
    /// `Want` and `Have` of entries that have not started.
    pub(super) open: BTreeMap<u32, Frame>,
    pub(super) judged: Vec<bool>,
    pub(super) sources: &'a [Source],
    pub(super) summary: Summary,
    pub(super) on_event: OnEvent<'a>,
    /// The receiver has sent its final frame.
    pub(super) done: bool,
}

impl<'a> Answers<'a> {
    pub(super) async fn frame(&mut self) -> Result<Frame, TransferError> {
        self.inbox.recv().await.unwrap_or(Err(TransferError::Ended))
    }

    /// Waits for the next answer and handles it.
    pub(super) async fn next(&mut self) -> Result<(), TransferError> {
        let frame = self.frame().await?;
        self.on_frame(frame)
    }

    pub(super) fn on_frame(&mut self, frame: Frame) -> Result<(), TransferError> {
        match frame {
            Frame::Want { id, .. } | Frame::Have { id, .. } => {
                let source = self.open_entry(id)?;
                if source.entry.kind == Kind::Directory || self.open.len() >= MAX_PENDING {
                    return Err(TransferError::Protocol("an answer was not requested"));
                }
                self.open.insert(id, frame);
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
            Frame::Abort { text } => return Err(TransferError::Aborted(text)),
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
