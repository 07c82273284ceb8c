//! Schemes from outside the engine.

use core::fmt;
use std::sync::Arc;

use super::rule::Rule;
use crate::time::Time;

/// A scheme from outside the engine: a name, and a function that makes its [`Rule`]. Two of them are
/// equal if they are clones of one.
#[derive(Clone)]
pub struct Custom {
    name: &'static str,
    make: Arc<dyn Fn(Time) -> Box<dyn Rule> + Send + Sync>,
}

impl Custom {
    /// A scheme for whose flows `make` makes the rules. Its argument is the time at which the flow
    /// begins.
    pub fn new<R: Rule + 'static>(
        name: &'static str,
        make: impl Fn(Time) -> R + Send + Sync + 'static,
    ) -> Self {
        Custom {
            name,
            make: Arc::new(move |now| Box::new(make(now))),
        }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn rule(&self, now: Time) -> Box<dyn Rule> {
        (self.make)(now)
    }
}

impl fmt::Debug for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Custom").field(&self.name).finish()
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}
