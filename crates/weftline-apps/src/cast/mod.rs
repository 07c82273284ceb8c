//! UDP flows to one or many receivers by FECFRAME, without a return path (`docs/use/cast.md`).
//!
//! A [`Sender`] receives UDP from local programs and sends it, with repair packets, to a host or a
//! multicast group. A [`Receiver`] recovers losses and delivers the datagrams. The sender makes a
//! session description ([`Description`]) that configures both.
//!
//! | file | contents |
//! | --- | --- |
//! | `sender`, `receiver` | the two ends |
//! | `options`, `plan`, `joined` | their options; a sender's configuration; a receiver's description |
//! | `seal`, `group_key`, `replay` | encryption and authentication with a key of the group |
//! | `socket`, `interface` | sockets for groups and for single hosts |
//! | `counts`, `event` | counters and events for the application |

mod counts;
mod event;
mod group_key;
mod interface;
mod joined;
mod options;
mod plan;
mod receiver;
mod replay;
mod seal;
mod sender;
mod socket;

pub use counts::{Receiving, Sending, Traffic};
pub use event::{ReceiverEvent, SenderEvent};
pub use group_key::{BadKey, GroupKey};
pub use interface::{Interface, InterfaceError};
pub use joined::{BadDescription, Description};
pub use options::{LONGEST_LINEAR_SYSTEM, OpenError, ReceiverOptions, SenderOptions};
pub use plan::PlanError;
pub use receiver::Receiver;
pub use sender::{Fragments, Sender};
/// Types of options, events and counters.
pub use weftline_fecframe::{CodeRate, EncodingId, Order, SendError, SenderStats};
