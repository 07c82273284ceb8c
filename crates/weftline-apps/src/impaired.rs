//! A lossy path for tests: the path of the program's demo.

#[path = "../../weftline-cli/src/demo/lateness.rs"]
#[allow(dead_code, reason = "the demo uses more than the tests do")]
mod lateness;
#[path = "../../weftline-cli/src/demo/path.rs"]
mod path;

use std::net::SocketAddr;

pub(crate) use path::Path;

/// A path to `server` over `link`, the same in both directions; none if `link` is empty. Such a path always has
/// the same client; without one the client may return from another port.
pub(crate) fn path(link: &str, server: SocketAddr) -> Option<Path> {
    let both = || link.parse().unwrap();
    (!link.is_empty()).then(|| Path::start(server, both(), both(), 7).unwrap())
}
