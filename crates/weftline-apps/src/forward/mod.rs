//! TCP connections over a session (`docs/use/forward.md`).
//!
//! The [`Client`] accepts connections from local programs. The [`Server`] makes the matching
//! connections to the targets. Reverse rules swap these roles. Targets that the server does not
//! [allow](crate::Allow) are refused.
//!
//! | file | contents |
//! | --- | --- |
//! | `options`, `bounds` | options of the ends |
//! | `client`, `agree` | the client end: its sessions; how a session begins |
//! | `lane`, `near` | listeners of local programs for any session; their connections |
//! | `server`, `far`, `service` | the server end; one of its sessions; the state that all of them share |
//! | `carry`, `dial`, `listeners` | a connection; connecting for the peer; listening for the peer |
//! | `moving` | how connections leave a session whose server stops |
//! | `wire`, `socks`, `redirected` | the ends' messages; what names the target, if no rule does: a SOCKS request, or the kernel |
//! | `counts`, `event` | counters and events for the application |
//! | `fuzzing` | the fuzzer's entry |

mod agree;
mod bounds;
mod carry;
mod client;
mod counts;
mod dial;
mod event;
mod far;
mod fuzzing;
mod lane;
mod listeners;
mod moving;
mod near;
mod options;
#[cfg(target_os = "linux")]
mod redirected;
mod server;
mod service;
mod socks;
mod wire;

#[cfg(test)]
pub(crate) mod tests;

pub use bounds::{Bounds, MOST_RULES, OutOfRange};
pub use client::Client;
pub use counts::Snapshot;
pub use event::Event;
pub use fuzzing::fuzz_entry;
pub use lane::Lane;
pub use moving::{Left, Waiting};
pub use options::{ClientOptions, Entry, OpenError, ServerOptions};
pub use server::Server;
