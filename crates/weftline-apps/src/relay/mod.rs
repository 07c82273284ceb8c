//! UDP flows over a session (`docs/use/relay.md`).
//!
//! The [`Client`] takes datagrams from local programs at the addresses of its [`Rule`]s. The
//! [`Server`] sends them on to their targets, each flow from a UDP port of its own, and the answers
//! come back. Targets that the server does not [allow](crate::Allow) are refused.
//!
//! | file | what it is |
//! | --- | --- |
//! | `options`, `rule`, `delivery` | what the ends are told |
//! | `client`, `near` | the client end: its sessions; its flows |
//! | `server`, `far` | the server end: its clients; the flows of one client |
//! | `table`, `order`, `inward` | what both do with a flow, with its order, with a session's messages |
//! | `wire` | what the ends say to each other |
//! | `counts`, `event` | what an application learns |

mod client;
mod counts;
mod delivery;
mod event;
mod far;
mod inward;
mod near;
mod options;
mod order;
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
pub use event::{Event, Route, TooLong};
pub use options::{ClientOptions, OpenError, ServerOptions};
pub use rule::{BadRule, Rule};
pub use server::Server;
pub use table::wireguard_mtu;
pub use wire::MOST_RULES;
