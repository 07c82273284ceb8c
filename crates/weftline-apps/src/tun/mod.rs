//! IP packets of a whole host over a session (`docs/use/tun.md`).
//!
//! The [`Client`] has a device whose packets the [`Server`] passes on from a device of its own. Inner
//! TCP sees neither the path's losses nor a deep queue: what is lost is repaired, the packets of a TCP
//! flow stay in order, and what waits to be sent waits in a fair queue that is kept short.
//!
//! | file | contents |
//! | --- | --- |
//! | `device` | what the system gives: a [`Device`], opened by a [`System`] for a [`Lease`] |
//! | `options`, `event`, `counts` | options of the ends; events and counters for the application |
//! | `client` | the client end: its device and its sessions |
//! | `server`, `clients`, `pool` | the server end: its sessions; the clients' tunnels; their addresses |
//! | `link`, `ingress` | packets to and from one peer; packets of this host |
//! | `queue`, `codel` | what waits to be sent: FQ-CoDel |
//! | `flows` | what is counted of the flows inside |
//! | `reorder` | what waits for earlier packets of its TCP flow |
//! | `packet` | the headers of IP packets |
//! | `wire` | the ends' messages |
//! | `fuzzing` | the fuzzer's entry |

mod client;
mod clients;
mod codel;
mod counts;
mod device;
mod event;
mod flows;
mod fuzzing;
mod ingress;
mod link;
mod options;
mod packet;
mod pool;
mod queue;
mod reorder;
mod server;
mod wire;

#[cfg(test)]
mod tests;

pub use client::Client;
pub use counts::{Counts, Dropped, Snapshot, Traffic};
pub use device::{Device, Lease, System};
pub use event::Event;
pub use fuzzing::fuzz_entry;
pub use ipnet::IpNet;
pub use options::{BadOptions, ClientOptions, LEAST_MTU, MOST_MTU, MTU, ServerOptions};
pub use server::Server;
