//! The workloads and their contenders.

mod block;
mod ceilings;
mod kernels;
mod repair;
mod stream;

use crate::contest::{Error, Visitor};
use crate::plan::Plan;

/// Passes the contests of a plan to `visitor`. It is asked about every case of
/// the plan's scope, filtered or not.
///
/// # Errors
///
/// When a contender's result is wrong, or the visitor returns an error.
pub fn visit(plan: &Plan, visitor: &mut dyn Visitor) -> Result<(), Error> {
    kernels::visit(plan, visitor)?;
    repair::visit(plan, visitor)?;
    stream::visit(plan, visitor)?;
    block::visit(plan, visitor)
}
