//! Locking a mutex that a panic of another thread may have poisoned.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks it, poisoned or not: no panic leaves what Weftline's programs guard half changed.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
