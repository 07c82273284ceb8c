//! Where the options of a command with subcommands stand: before the subcommand or after it.
//!
//! clap reads `forward -v serve --allow HOST:PORT` as the client's options of `forward`, and then `serve` as
//! an operand, or not at all. So the subcommand is moved in front of what stands between.

use std::ffi::OsString;

use clap::{Arg, Command};

/// The words, with the subcommand directly after its command.
pub(crate) fn subcommand_first(mut words: Vec<OsString>, program: &Command) -> Vec<OsString> {
    // The program's name is the first one.
    let Some((at, command)) = subcommand(&words, 1, &[program]) else {
        return words;
    };
    let begin = at + 1;
    let mut known: Vec<&Command> = vec![command, program];
    known.extend(command.get_subcommands());
    if let Some((found, _)) = subcommand(&words, begin, &known) {
        words[begin..=found].rotate_right(1);
    }
    words
}

/// The first operand from `begin` on, if it is a subcommand of the first of the `known` commands, whose
/// options are skipped.
fn subcommand<'a>(
    words: &[OsString],
    begin: usize,
    known: &[&'a Command],
) -> Option<(usize, &'a Command)> {
    let named = |word: &OsString| known[0].find_subcommand(word);
    let mut at = begin;
    loop {
        let word = words.get(at)?;
        let text = word.to_string_lossy();
        if !text.starts_with('-') || text == "-" {
            return Some((at, named(word)?));
        }
        if text == "--" {
            return None;
        }
        let takes_next = match value(&text, known) {
            Value::None => false,
            Value::Next => true,
            // A command is more likely than a value of its name.
            Value::PerhapsNext => words.get(at + 1).is_some_and(|next| {
                named(next).is_none() && !next.to_string_lossy().starts_with('-')
            }),
        };
        at += 1 + usize::from(takes_next);
    }
}

/// Whether the word after an option is its value.
enum Value {
    None,
    Next,
    PerhapsNext,
}

fn value(option: &str, known: &[&Command]) -> Value {
    if let Some(long) = option.strip_prefix("--") {
        // With `=` it has its value.
        let arg = (!long.contains('=')).then(|| find(known, |arg| arg.get_long() == Some(long)));
        return arg.flatten().map_or(Value::None, of);
    }
    // Letters stand together up to the first one that takes a value.
    let mut letters = option.trim_start_matches('-').chars();
    while let Some(letter) = letters.next() {
        let arg = find(known, |arg| arg.get_short() == Some(letter));
        match arg.map_or(Value::None, of) {
            Value::None => {}
            // What follows in the word is the value.
            _ if !letters.as_str().is_empty() => return Value::None,
            its => return its,
        }
    }
    Value::None
}

fn find<'a>(known: &[&'a Command], is_it: impl Fn(&Arg) -> bool) -> Option<&'a Arg> {
    let mut all = known.iter().flat_map(|command| command.get_arguments());
    all.find(|arg| is_it(arg))
}

fn of(arg: &Arg) -> Value {
    let least = arg.get_num_args().map(|range| range.min_values());
    match (arg.get_action().takes_values(), least) {
        (false, _) => Value::None,
        (true, Some(0)) => Value::PerhapsNext,
        (true, _) => Value::Next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(line: &str) -> String {
        let words = line.split(' ').map(OsString::from).collect();
        let words = subcommand_first(words, &crate::command());
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn a_subcommand_goes_in_front_of_options() {
        for (line, expected) in [
            (
                "w forward -v serve --allow a:1",
                "w forward serve -v --allow a:1",
            ),
            (
                "w -q forward --stats 1s --check serve",
                "w -q forward serve --stats 1s --check",
            ),
            (
                "w forward --stats=1s -qv serve",
                "w forward serve --stats=1s -qv",
            ),
            (
                "w relay --allow a:1 serve --json",
                "w relay serve --allow a:1 --json",
            ),
            ("w cast -v send", "w cast send -v"),
        ] {
            assert_eq!(placed(line), expected);
        }
    }

    #[test]
    fn values_operands_and_other_commands_stay() {
        for line in [
            "w forward serve -v",
            "w forward h -L 8:h:8",
            "w forward -L 8:h:8 h",
            "w forward -L8:h:8 h -D 9",
            "w send serve host",
            "w -v serve --config f",
            "w --json",
            "w forward -- serve",
        ] {
            assert_eq!(placed(line), line);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_subcommands_of_a_tunnel_are_no_addresses() {
        for (line, expected) in [
            (
                "w tun --pool 10.0.0.0/24 -v serve --peer-anyone",
                "w tun serve --pool 10.0.0.0/24 -v --peer-anyone",
            ),
            ("w tun --peer x down", "w tun down --peer x"),
            ("w tun --name wl1 down", "w tun down --name wl1"),
            (
                "w tun --masquerade serve --pool a",
                "w tun serve --masquerade --pool a",
            ),
            (
                "w tun --masquerade eth0 serve",
                "w tun serve --masquerade eth0",
            ),
            ("w tun --peer down host", "w tun --peer down host"),
            ("w tun host --peer down", "w tun host --peer down"),
        ] {
            assert_eq!(placed(line), expected);
        }
    }
}
