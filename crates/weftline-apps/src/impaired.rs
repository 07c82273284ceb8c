//! A lossy path for tests: the path of the program's demo.

#[path = "../../weftline-cli/src/demo/lateness.rs"]
#[allow(dead_code, reason = "the demo uses more than the tests do")]
mod lateness;
#[path = "../../weftline-cli/src/demo/path.rs"]
mod path;

pub(crate) use path::Path;
