//! The speed of the codec beside others, on this machine.
//!
//! A [workload](workloads) is a task that users have, such as a repair symbol
//! over a window. All contenders that can do it enter the same [`Contest`]: our
//! code with each kernel or kind of coefficients, other libraries (*peers*),
//! and limits that no code can beat (*ceilings*: memcpy, XOR). Each result is
//! checked once; then a [`Visitor`] uses the contest. [`Runner`] measures it
//! and lets the contenders take turns, so that a machine that slows down slows
//! all of them. The benchmarks of `weftline-codec` pass it to criterion.
//!
//! This crate is the only one that depends on peers.
#![deny(unsafe_code)]

mod clock;
mod contest;
mod cycles;
mod data;
mod machine;
mod measure;
#[cfg(feature = "peers")]
pub mod peers;
mod plan;
pub mod report;
pub mod workloads;

pub use contest::{Case, Contender, Contest, Error, Kind, Published, Skipped, Visitor};
pub use machine::Machine;
pub use measure::{Measurement, Outcome, Runner, Samples, Timing};
pub use plan::{Plan, Scope};

/// The environment variable that names a kernel of `weftline-codec` for
/// everything that is not measured kernel by kernel.
pub use weftline_codec::kernel::ENVIRONMENT as KERNEL_VARIABLE;
pub use weftline_codec::kernel::{Kernel, selection};
