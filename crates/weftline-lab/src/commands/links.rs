//! Options `--link` and `--back`.

use weftline_cli::ui::{Exit, Failure};
use weftline_emulator::{Links, UnreadableLink};

/// Both directions, as they were typed.
///
/// # Errors
/// Names the option that cannot be read.
pub(super) fn links(link: &str, back: Option<&str>) -> Result<Links, Failure> {
    Links::parse(link, back).map_err(|error| {
        let message = match error {
            UnreadableLink::Forward(why) => format!("--link: {why}"),
            UnreadableLink::Back(why) => format!("--back: {why}"),
        };
        Failure::new(Exit::Usage, message)
    })
}
