//! Files over one reliable byte stream, resumable and verified
//! (`docs/reference/transfer-protocol.md`).
//!
//! [`send`] and [`receive`] speak the protocol of [`wire`] over any byte stream: Weftline, a pipe
//! or a test. They report their progress by [`Event`]s.

mod blocking;
mod error;
mod event;
mod folder;
mod frames;
mod hashing;
mod meta;
pub mod path;
mod patience;
mod receiver;
mod sender;
mod source;
mod store;
mod summary;
mod windows;
#[doc(hidden)]
pub mod wire;

pub use error::TransferError;
pub use event::{Event, OnEvent};
pub use folder::Folder;
pub use receiver::{Sink, receive};
pub use sender::send;
pub use source::{Listing, Source, SourceError, collect};
pub use summary::{Outcome, Received, Summary};
