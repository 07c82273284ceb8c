//! Application error codes of closed sessions.

/// The session is complete.
pub const DONE: u64 = 0;
/// A person stopped it.
pub const INTERRUPTED: u64 = 1;
/// The session failed; the reason says why.
pub const FAILED: u64 = 2;
/// The receiver accepts one sender only, and is serving another one.
pub const BUSY: u64 = 3;
/// The server speaks another protocol than the client asks for; the reason is its name
/// ([`Protocol::of_server`](crate::Protocol::of_server)).
pub const OTHER_PROTOCOL: u64 = 4;
/// The server does not let this client use what it asks for; the reason is the protocol's name.
pub const NOT_ALLOWED: u64 = 5;
/// The same client has a newer session.
pub const REPLACED: u64 = 6;
