//! `weftline key`

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::home;
use crate::ui::{Exit, OutputOptions, output};

const EXAMPLES: &str = "\
Examples:
  weftline key                   this host's fingerprint
  weftline key --json            the same for scripts
  weftline key --identity FILE   the fingerprint of another key

The fingerprint identifies this host: give it to people who should accept your files
(weftline recv --peer FINGERPRINT). The key file holds the secret key: keep it safe.";

/// Show this host's identity; create it if there is none
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KeyArgs {
    /// Key file [default: ~/.config/weftline/identity.pem]
    #[arg(long, value_name = "FILE")]
    pub identity: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// The key can neither be read nor created.
pub(crate) fn run(args: &KeyArgs, output: OutputOptions) -> Result<Exit> {
    let new = !home::identity_file(args.identity.as_deref())?.exists();
    let (identity, path) = home::identity(args.identity.as_deref())?;
    if new && !output.quiet {
        output::line("made a new key");
    }
    let fingerprint = identity.fingerprint().to_string();
    if output.json {
        output::print(json!({ "fingerprint": fingerprint, "path": path }));
    } else {
        output::print(fingerprint);
        if !output.quiet {
            output::line(&format!("key file {}", path.display()));
        }
    }
    Ok(Exit::Ok)
}
