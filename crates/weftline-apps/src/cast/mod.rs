//! UDP flows to one or many receivers by FECFRAME, with no way back (`docs/use/cast.md`).
//!
//! A [`Sender`] takes UDP from local programs and sends it, with repair packets, to a host or a
//! multicast group. A [`Receiver`] makes up for losses and hands the datagrams on. What both have to
//! agree on is in a session description ([`Description`]) that the sender makes.
//!
//! | file | what it is |
//! | --- | --- |
//! | `sender`, `receiver` | the two ends |
//! | `options`, `plan`, `joined` | what they are told; what a sender does; what a receiver reads |
//! | `seal`, `group_key`, `replay` | encryption and authentication with a key of the group |
//! | `socket`, `interface` | sockets for groups and for single hosts |
//! | `counts`, `event` | what an application learns |

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
pub use options::{OpenError, ReceiverOptions, SenderOptions};
pub use plan::PlanError;
pub use receiver::Receiver;
pub use sender::{Fragments, Sender};
/// What options, events and counters are made of.
pub use weftline_fecframe::{CodeRate, EncodingId, Order, SendError, SenderStats};
