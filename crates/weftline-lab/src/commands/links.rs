//! Options `--link` and `--back`.

use weftline_cli::ui::Failure;
use weftline_emulator::{Links, UnreadableLink};
use weftline_sim::engine::Path;

use crate::sim::paths::Profile;

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
        Failure::usage(message)
    })
}

/// Several links: the pair of this name, or those that were typed; the return path of each is the one
/// given in the same place.
///
/// # Errors
/// Names the option that cannot be read; there are more return paths than links.
pub(super) fn several(
    pair: Option<&str>,
    links: &[String],
    back: &[String],
) -> Result<Vec<Links>, Failure> {
    if let Some(name) = pair {
        let found = Profile::find(name);
        let found = found.map_err(|error| Failure::usage(format!("--paths: {error}")))?;
        let paths = found.0.paths(found.1).into_iter();
        return Ok(paths
            .map(|Path { forward, back }| Links { forward, back })
            .collect());
    }
    if back.len() > links.len() {
        let message = "give --link once for each path, and --back not more often";
        return Err(Failure::usage(message.to_owned()));
    }
    pairs(links, back)
        .map(|(link, back)| self::links(link, back))
        .collect()
}

/// Each link with the return path given in the same place, if there is one.
pub(super) fn pairs<'a>(
    links: &'a [String],
    back: &'a [String],
) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
    let back = back.iter().map(|back| Some(back.as_str()));
    let back = back.chain(std::iter::repeat(None));
    links.iter().map(String::as_str).zip(back)
}
