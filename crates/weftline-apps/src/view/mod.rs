//! A live stream for many viewers with a browser (`docs/use/view.md`).
//!
//! A [`View`] reads H.264 or AV1, and Opus, from a program such as ffmpeg, and serves a page that plays it.
//! Frames travel as messages with deadlines over WebTransport.
//!
//! | file | contents |
//! | --- | --- |
//! | `server` | the port: page and sessions |
//! | `session`, `outbox` | one viewer: what it gets next, and what not |
//! | `hub` | from one source to all viewers |
//! | `source`, `media`, `clock` | where the stream comes from; formats; time stamps |
//! | `wire` | messages (`docs/reference/view-protocol.md`) |
//! | `tokens` | who may watch |
//! | `http`, `page` | the page |
//! | `options`, `counts`, `event` | options, counters and events for the application |

mod clock;
mod counts;
mod event;
mod http;
mod hub;
mod media;
mod options;
mod outbox;
mod page;
mod server;
mod session;
mod source;
mod tokens;
mod wire;

#[cfg(test)]
mod tests;

pub use counts::Counts;
pub use event::ViewEvent;
pub use media::detect::{BadFormat, Format};
pub use options::{MOST_VIEWERS, OpenError, SourceOptions, ViewOptions};
pub use server::View;
pub use source::{BadSource, Source, SourceError};
pub use tokens::{NoRandom, NoToken, Secret, TokenRules};
