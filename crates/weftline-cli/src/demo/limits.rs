//! The range of settings that the demo accepts.

use std::time::Duration;

use weftline_netem::units::duration;

use super::workload::STAMP;
use super::{DemoArgs, load_of};
use crate::ui::Failure;

const LONGEST_RTT: Duration = Duration::from_secs(10);
/// A shorter queue drops packets that arrived back to back.
const SHORTEST_QUEUE: Duration = Duration::from_millis(1);
const LONGEST_QUEUE: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(600);
const LEAST_RATE: u64 = 100_000;
const LEAST_MESSAGE_RATE: u64 = 1000;
const LARGEST_MESSAGE: usize = 1 << 20;
const MAX_MESSAGES: u64 = 2_000_000;
const MOST_LOSS: f64 = 0.9;

/// Refuses settings that cannot be run, or that would take too long.
///
/// # Errors
/// A setting is out of range; the message names its flag.
pub(super) fn check(args: &DemoArgs) -> Result<(), Failure> {
    problem(args).map_or(Ok(()), |message| Err(Failure::usage(message)))
}

fn problem(args: &DemoArgs) -> Option<String> {
    if args.rate < LEAST_RATE {
        return Some("--rate: give 100kbit or more".into());
    }
    if args.message_rate < LEAST_MESSAGE_RATE {
        return Some("--message-rate: give 1kbit or more".into());
    }
    if args.rtt > LONGEST_RTT {
        return Some(format!("--rtt {}: give 10s at most", duration(args.rtt)));
    }
    if !(SHORTEST_QUEUE..=LONGEST_QUEUE).contains(&args.queue) {
        return Some(format!("--queue {}: give 1ms to 10s", duration(args.queue)));
    }
    if !(STAMP..=LARGEST_MESSAGE).contains(&args.message_size) {
        return Some(format!(
            "--message-size {}: give {STAMP} to {LARGEST_MESSAGE} bytes",
            args.message_size
        ));
    }
    if args.file_size == Some(0) {
        return Some("--file-size 0: give 1 byte or more".into());
    }
    for (flag, model) in [("--loss", &args.loss), ("--back-loss", &args.back_loss)] {
        let share = model.mean_loss();
        if share > MOST_LOSS {
            return Some(format!(
                "{flag}: the demo cannot run with {:.0} % of the packets lost, give 90% at most",
                share * 100.0
            ));
        }
    }
    if args.duration.is_some_and(|time| time > LONGEST) {
        return Some("--duration: give 600s at most".into());
    }
    let (time, _, count) = load_of(args);
    (!(1..=MAX_MESSAGES).contains(&count)).then(|| {
        format!(
            "{count} messages in {}: change --duration, --message-rate or --message-size so that there are 1 to {MAX_MESSAGES}",
            duration(time)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::args;
    use super::*;

    #[test]
    fn impossible_settings_name_the_flag() {
        for (arguments, flag) in [
            (&["--message-size", "8"][..], "--message-size"),
            (&["--duration", "601s"][..], "--duration"),
            (&["--duration", "0s"][..], "--duration"),
            (&["--loss", "95%"][..], "--loss"),
            (&["--back-loss", "100%"][..], "--back-loss"),
            (&["--rate", "99kbit"][..], "--rate"),
            (&["--message-rate", "1bit"][..], "--message-rate"),
            (&["--rtt", "11s"][..], "--rtt"),
            (&["--queue", "0ms"][..], "--queue"),
            (&["--queue", "1000s"][..], "--queue"),
            (&["--file-size", "0"][..], "--file-size"),
        ] {
            let error = check(&args(arguments)).unwrap_err();
            assert!(
                error.message.contains(flag) && error.exit == crate::ui::Exit::Usage,
                "{error}"
            );
        }
    }

    #[test]
    fn settings_at_the_limits_are_accepted() {
        for arguments in [
            &[][..],
            &["--rtt", "10s", "--queue", "1ms", "--rate", "100kbit"],
            &["--duration", "600s", "--loss", "90%", "--file-size", "1"],
        ] {
            check(&args(arguments)).unwrap();
        }
    }
}
