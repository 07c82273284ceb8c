//! UDP flows over a session (`docs/use/relay.md`).
//!
//! The [`Client`] receives datagrams from local programs at the addresses of its [`Rule`]s. The
//! [`Server`] sends them to their targets, each flow from its own UDP port, and returns the
//! answers. Targets that the server does not [allow](crate::Allow) are refused.
//!
//! | file | contents |
//! | --- | --- |
//! | `options`, `rule`, `delivery` | options of the ends |
//! | `client`, `near` | the client end: its sessions; its flows |
//! | `server`, `far` | the server end: its clients; the flows of one client |
//! | `room` | what the server's clients may take |
//! | `table`, `inward` | the flow logic of both ends; a session's messages |
//! | `wire` | the ends' messages |
//! | `counts`, `event` | counters and events for the application |
//! | `fuzzing` | the fuzzer's entry |

mod client;
mod counts;
mod delivery;
mod event;
mod far;
mod fuzzing;
mod inward;
mod near;
mod options;
mod room;
mod rule;
mod server;
mod socket;
mod table;
mod wire;

#[cfg(test)]
mod tests;

pub use client::Client;
pub use counts::{Counts, Dropped, Snapshot, Traffic};
pub use delivery::{BadDelivery, Delivery};
pub use event::{Event, InPieces, Route};
pub use fuzzing::fuzz_entry;
pub use options::{ClientOptions, OpenError, ServerOptions};
pub use rule::{BadRule, Rule};
pub use server::Server;
pub use table::wireguard_mtu;
pub use wire::MOST_RULES;
