//! How fast the codec is, beside others, on the machine at hand.
//!
//! A [workload](workloads) is something people want done, such as a repair
//! symbol over a window. Everyone who can do it enters the same [`Contest`]: our
//! code with each kernel or kind of coefficients, other libraries (*peers*), and
//! what no code can beat (*ceilings*: memcpy, XOR). Each checks its result once;
//! then a [`Visitor`] does with the contest what it likes. [`Runner`] measures
//! it, contenders in turn, so that a machine that slows down slows all of them;
//! the benchmarks of `weftline-codec` hand it to their own harness.
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
