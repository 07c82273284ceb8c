//! What a process that measures prints.

use serde_json::Value;

/// Parses a line that is a result.
pub(super) fn json(line: &str) -> Option<Value> {
    serde_json::from_str(line).ok().filter(Value::is_object)
}
