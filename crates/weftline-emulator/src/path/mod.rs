//! An emulated path between two network namespaces, for real programs.
//!
//! A [`Lab`] has two sides, [`Side::A`] and [`Side::B`]: network namespaces whose only
//! connection is a TUN device each. The emulator, one thread of this process, reads
//! every packet from one device, lets a [`weftline_netem::Link`] decide its fate, and
//! writes it to the other device when it is due. Everything is removed when the `Lab`
//! is closed or dropped; what a killed process left behind, the next `Lab` removes.
//!
//! | file | what it is |
//! | --- | --- |
//! | `lab` | namespaces and emulator together: open, run commands inside, close |
//! | `config` | what the path is made of |
//! | `run` | a command on each side, from start to end |
//! | `namespace` | making, filling and removing a namespace |
//! | `files` | the folder of a namespace's own `/etc` |
//! | `name` | names that tell whose a namespace is, and whether its owner lives |
//! | `inhabitants` | the processes inside a namespace |
//! | `emulator` | the thread between the two devices |
//! | `direction` | one direction, in whatever time it is told |
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

pub use config::PathConfig;
pub use error::PathError;
pub use lab::{Lab, Side, running};
pub use report::{Delay, DirectionReport, Report};
pub use run::{Ended, Programs, Stop};
