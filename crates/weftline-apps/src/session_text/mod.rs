//! A session's configuration as text: `preset=streaming l=5`.

mod engine;
mod random;
mod settings;

use weftline::Config;

pub use engine::{preset, session};
pub use settings::{SettingError, Settings};

/// The configuration that `NAME=VALUE` settings describe: what is not given is the preset's, or the
/// library's default.
///
/// # Errors
/// A setting is unknown or twice there, has a value that it cannot have, or contradicts another one.
pub fn session_config(arguments: &[String]) -> Result<Config, SettingError> {
    let mut settings = Settings::parse(arguments)?;
    let config = engine::take(&mut settings)?;
    settings.finish("the engine")?;
    Ok(config)
}
