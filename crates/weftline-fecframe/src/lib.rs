#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod adui;
mod code_rate;
mod encoding_id;
mod error;
pub mod ffci;
mod flows;
mod fssi;
pub mod payload_id;
mod receiver;
mod sender;
mod serial;
pub mod sizing;
mod time;

pub use code_rate::{CodeRate, CodeRateError};
pub use encoding_id::EncodingId;
pub use error::{ConfigError, PacketError, SendError};
pub use flows::FlowSet;
pub use fssi::{Fssi, FssiError};
pub use receiver::{
    Adu, BlockReceiver, Elimination, Limits, Order, Outcome, Receiver, ReceiverConfig,
    ReceiverStats, WindowReceiver,
};
pub use sender::{BlockSender, Repair, Sender, SenderConfig, SenderStats, Sent, WindowSender};
pub use time::Time;
