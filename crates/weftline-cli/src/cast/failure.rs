//! Messages for an end of a cast that cannot be opened.

use weftline_apps::cast::{InterfaceError, OpenError, PlanError};

use crate::ui::{Exit, Failure};

/// The error with its exit code, and the options to change.
pub(super) fn cannot_open(error: &OpenError) -> Failure {
    let (exit, message) = match error {
        OpenError::TooManyFlows { most, .. } => (
            Exit::Usage,
            format!("more than {most} flows: start a second sender for the rest"),
        ),
        OpenError::UnknownHost(error) => (Exit::Lost, error.to_string()),
        OpenError::NoGroup(at) => (
            Exit::Usage,
            format!("--interface is for multicast groups, and {at} is not one"),
        ),
        OpenError::NoRoute(group) => (
            Exit::Usage,
            format!(
                "this host has no route to the group {group}: give --interface NAME, for example --interface eth0"
            ),
        ),
        OpenError::Interface(error @ InterfaceError::Unknown { .. }) => {
            (Exit::Usage, error.to_string())
        }
        OpenError::Plan(error) => (Exit::Usage, plan(error)),
        OpenError::Config(error) => (Exit::General, format!("the session description: {error}")),
        OpenError::Listen { .. } => (
            Exit::General,
            format!("{error}; choose another address in --in"),
        ),
        OpenError::Outputs { flows, outputs } => (
            Exit::Usage,
            format!(
                "the description has {flows} flows: give --out once for each, not {outputs} times"
            ),
        ),
        OpenError::NoLinearSystem => (
            Exit::Usage,
            "--ls is for sliding windows, and the description has Reed-Solomon blocks".to_owned(),
        ),
        OpenError::LinearSystem(_) => (Exit::Usage, format!("--ls: {error}")),
        OpenError::KeyNeeded => (
            Exit::Refused,
            "the packets are sealed with a group key: give --group-key FILE".to_owned(),
        ),
        error => (Exit::General, error.to_string()),
    };
    Failure::new(exit, message)
}

fn plan(error: &PlanError) -> String {
    match error {
        PlanError::Window(error) => {
            format!("with this --rate, --max-latency and --symbol-size: {error}")
        }
        PlanError::RateNeeded => {
            "--encoding-id 8 needs --rate: the length of a block follows from it".to_owned()
        }
        PlanError::SamePort { .. } => format!("{error}: see --to and --repair-to"),
        PlanError::TwoFamilies => {
            "--to and --repair-to must be of the same kind, IPv4 or IPv6".to_owned()
        }
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_go_together_names_the_options_to_change() {
        let at = |port| std::net::SocketAddr::from(([127, 0, 0, 1], port));
        let refused = |error: PlanError| {
            let failure = cannot_open(&OpenError::Plan(error));
            assert_eq!(failure.exit, Exit::Usage);
            failure.message
        };
        let same = PlanError::SamePort {
            repair: at(5),
            to: at(5),
        };
        assert!(refused(same).contains("--repair-to"));
        assert!(refused(PlanError::PortsEnd(at(65_535))).contains("lower"));
        assert!(refused(PlanError::RateNeeded).contains("--rate"));
        assert!(refused(PlanError::TwoFamilies).contains("--repair-to"));
    }
}
