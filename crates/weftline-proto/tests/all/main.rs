//! Sessions in virtual time. All tests are one program: as one program each they would link the
//! crate once each.
#![allow(missing_docs)]

mod adaptive_feedback;
mod batches;
mod closing;
mod copies;
mod counters;
mod deadline;
mod delay;
mod discovery;
mod early_data;
mod event_log;
mod farewell;
mod fates;
mod frames;
mod held;
mod hostile_peer;
mod liveness;
mod memory;
mod messages;
mod messages_alone;
mod path_size;
mod paths;
mod price;
mod protocol_doc;
mod rate_control;
mod reliability;
mod rest;
mod riding;
mod rlc_block;
mod support;
mod udp_rc;
mod windows;
