//! TCP connections over a session (`docs/use/forward.md`).
//!
//! The [`Client`] takes connections from local programs; the [`Server`] makes them again to their
//! targets. Reverse rules turn that round. Targets that the server does not
//! [allow](crate::Allow) are refused.
//!
//! | file | what it is |
//! | --- | --- |
//! | `options`, `bounds` | what the ends are told |
//! | `client`, `near`, `agree` | the client end: its sessions; its connections; how a session begins |
//! | `server`, `far`, `service` | the server end; one of its sessions; what all of them share |
//! | `carry`, `dial`, `listeners` | one connection; one that is made for the other end; ports for the other end |
//! | `wire`, `socks` | what the ends say to each other; what a program says |
//! | `counts`, `event` | what an application learns |

mod agree;
mod bounds;
mod carry;
mod client;
mod counts;
mod dial;
mod event;
mod far;
mod listeners;
mod near;
mod options;
mod server;
mod service;
mod socks;
mod wire;

#[cfg(test)]
mod tests;

pub use bounds::{Bounds, MOST_RULES, OutOfRange};
pub use client::Client;
pub use counts::Snapshot;
pub use event::Event;
pub use options::{ClientOptions, Entry, OpenError, ServerOptions};
pub use server::Server;
