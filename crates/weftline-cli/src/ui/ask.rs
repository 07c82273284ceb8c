//! Questions to the person at the terminal.

use std::io::IsTerminal;

use super::terminal;

/// Whether somebody can be asked: standard input and standard error are terminals, and the program may read
/// from it. In the background the system would stop it for that.
pub fn is_possible() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && in_foreground()
}

#[cfg(unix)]
fn in_foreground() -> bool {
    use rustix::{process::getpgrp, termios::tcgetpgrp};
    // A terminal that controls no process group stops nobody.
    tcgetpgrp(std::io::stdin()).map_or(true, |group| group == getpgrp())
}

#[cfg(not(unix))]
fn in_foreground() -> bool {
    true
}

/// What was typed before a question is no answer to it.
#[cfg(unix)]
fn forget_typed() {
    use rustix::termios::{QueueSelector, tcflush};
    // Without a terminal there is nothing to forget.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
}

#[cfg(not(unix))]
fn forget_typed() {}

/// Asks, and waits for a line; an empty one means no answer. When this is dropped, the line that comes is
/// read all the same.
pub async fn ask(question: String) -> String {
    let asked = tokio::task::spawn_blocking(move || {
        forget_typed();
        terminal::tell(question);
        let mut line = String::new();
        match std::io::stdin().read_line(&mut line) {
            Ok(_) => line,
            Err(_) => String::new(),
        }
    });
    asked.await.unwrap_or_default()
}
