//! What happens at a given time of a run, and its text form.

use std::str::FromStr;
use std::time::Duration;

use weftline_netem::units::parse_duration;

/// A shell command for side A, and when it is due. As text: a time, a space and the command, as in
/// `5s ip link set lab1 down`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// After the start of the main command.
    pub at: Duration,
    /// The shell command.
    pub command: String,
}

/// A text is not an [`Event`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` has no time and command: write for example '5s ip link set lab1 down'; `weftline-lab on b COMMAND` \
     acts on side b"
)]
pub struct NotAnEvent(String);

impl FromStr for Event {
    type Err = NotAnEvent;

    fn from_str(text: &str) -> Result<Self, NotAnEvent> {
        let parts = text.trim().split_once(char::is_whitespace);
        let event = parts.and_then(|(at, command)| {
            Some(Event {
                at: parse_duration(at).ok()?,
                command: command.trim().to_owned(),
            })
        });
        event.ok_or_else(|| NotAnEvent(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_a_time_and_a_command() {
        let event: Event = "1500ms  ip link set lab1 down ".parse().unwrap();
        assert_eq!(event.at, Duration::from_millis(1500));
        assert_eq!(event.command, "ip link set lab1 down");
        for bad in ["", "5s", "ip link set lab1 down", "5 true"] {
            let error = bad.parse::<Event>().unwrap_err().to_string();
            assert!(error.contains("5s ip link set lab1 down"), "{error}");
        }
    }
}
