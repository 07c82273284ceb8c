//! An emulated path between two network namespaces, for real programs.
//!
//! A [`Lab`] has two sides, [`Side::A`] and [`Side::B`]: network namespaces, each with a TUN
//! device for each link as its only connection. The emulator, one thread of this process, reads
//! every packet from one device, lets a [`weftline_netem::Link`] decide its fate, and writes it to
//! the device at the link's other end when it is due. Everything is removed when the `Lab` is closed or dropped. The next
//! `Lab` removes the remains of a killed process.
//!
//! | file | contents |
//! | --- | --- |
//! | `lab` | namespaces and emulator together: open, run commands inside, close |
//! | `config` | the configuration of the path |
//! | `run` | a command on each side, from start to end |
//! | `script` | shell commands at given times of a run |
//! | `namespace` | creates, fills and removes a namespace |
//! | `files` | the folder of a namespace's own `/etc` |
//! | `name` | names that identify a namespace's owner, and whether it is alive |
//! | `inhabitants` | the processes inside a namespace |
//! | `emulator` | the thread between the two devices |
//! | `direction` | one direction; the caller passes the time |
//! | `packet` | the congestion bits of an IP packet |
//! | `report` | counters, and whether they can be trusted |
//! | `pcap` | a capture file |
//! | `os` | the calls into the kernel that need `unsafe` |

mod config;
mod direction;
mod emulator;
mod error;
mod files;
mod inhabitants;
mod lab;
mod name;
mod namespace;
mod os;
mod packet;
mod pcap;
mod report;
mod run;
mod script;

pub use config::{MAX_LINKS, PathConfig};
pub use error::PathError;
pub use lab::{Lab, Side, running};
pub use report::{Delay, DirectionReport, LinkReport, Report};
pub use run::{Ended, Outcome, Programs, Stop};
pub use script::Script;
