//! Lines for people on standard error, results on standard output.

use std::fmt::Display;
use std::io::{IsTerminal, Write};

use clap::Args;

use super::terminal;

/// What is shown.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct OutputOptions {
    /// Print the result as one line of JSON on standard output
    #[arg(long, global = true, help_heading = "Output")]
    pub json: bool,
    /// Show nothing but warnings and errors
    #[arg(short, long, global = true, help_heading = "Output")]
    pub quiet: bool,
    /// Log what happens: -v connections, -vv details, -vvv everything
    #[arg(short, long, global = true, help_heading = "Output", action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// Whether a person sees the program's lines as they come.
pub fn is_watched(output: OutputOptions) -> bool {
    !output.quiet && !output.json && std::io::stderr().is_terminal()
}

/// A line for people.
pub fn line(text: &str) {
    terminal::tell(text.to_owned());
}

/// A line for programs, and for people who asked for this output.
pub fn print(text: impl Display) {
    // A reader that has closed the pipe wants no more output.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// The warning that goes with `--insecure-udp`.
pub fn insecure() {
    line(
        "WARNING: --insecure-udp: nothing is encrypted or authenticated; anyone on the path can read",
    );
    line("WARNING: and change what is sent, and anyone can send. Use it only on links you own.");
}

/// The command as typed, with `more` added, quoted for a shell.
pub fn quoted_command(program: &str, more: &str) -> String {
    let arguments = std::env::args().skip(1).map(|argument| quoted(&argument));
    let words: Vec<_> = [program.to_owned()]
        .into_iter()
        .chain(arguments)
        .chain([more.to_owned()])
        .collect();
    words.join(" ")
}

/// `word` quoted for a POSIX shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_words_are_unchanged_by_a_shell() {
        assert_eq!(quoted("a/b.c"), "a/b.c");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
