//! Standard input, as it comes.

use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::{CHUNK, Feed};
use crate::view::media::detect::{Detect, Format};

/// Programs write whole pictures; then they are quiet until the next one.
const QUIET: Duration = Duration::from_millis(1);

/// Reads to the end.
pub(super) async fn play(format: Option<Format>, mut feed: Feed<'_>) -> io::Result<()> {
    let (mut input, mut parser) = (tokio::io::stdin(), Detect::new(format));
    let mut buffer = vec![0; CHUNK];
    let mut is_quiet = true;
    loop {
        let read = input.read(&mut buffer);
        let length = match is_quiet {
            true => read.await?,
            false => match timeout(QUIET, read).await {
                Ok(length) => length?,
                Err(_) => {
                    is_quiet = true;
                    feed.quiet(&mut parser);
                    continue;
                }
            },
        };
        if length == 0 {
            break;
        }
        is_quiet = false;
        feed.push(&mut parser, &buffer[..length]);
    }
    feed.end(&mut parser);
    Ok(())
}
