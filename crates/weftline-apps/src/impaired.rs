//! A lossy path for tests: the one that the program's demo runs over.

#[path = "../../weftline-cli/src/demo/lateness.rs"]
#[allow(dead_code, reason = "the demo asks for more than the tests do")]
mod lateness;
#[path = "../../weftline-cli/src/demo/path.rs"]
mod path;

pub(crate) use path::Path;
