//! The system's journal: it reads how important a line is from the line's beginning (sd-daemon(3)), and takes
//! entries with fields at a socket (systemd.journal-fields(7)).

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;
use weftline_apps::printable;

/// Whether standard error leads to the journal.
pub(super) fn is_reading() -> bool {
    #[cfg(unix)]
    if let Ok(stream) = std::env::var("JOURNAL_STREAM")
        && let Ok(stat) = rustix::fs::fstat(std::io::stderr())
    {
        return stream == format!("{}:{}", stat.st_dev, stat.st_ino);
    }
    false
}

/// The lines of `text`, each with its priority.
pub(super) fn with_priority(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| format!("<{}>{line}", priority(text)))
        .collect();
    lines.join("\n")
}

/// Priorities of syslog (RFC 5424, section 6.2.1).
const ERROR: u8 = 3;
const WARNING: u8 = 4;
const NOTICE: u8 = 5;
const INFORMATION: u8 = 6;
const DEBUG: u8 = 7;

/// The priority of a message.
fn priority(text: &str) -> u8 {
    let begins = |words: &[&str]| words.iter().any(|word| text.starts_with(word));
    match text {
        _ if begins(&["error: "]) => ERROR,
        _ if begins(&["warning: ", "WARNING: "]) => WARNING,
        _ if begins(&["refused "]) => NOTICE,
        _ => INFORMATION,
    }
}

/// What `-v` says once.
pub struct Entry {
    /// For people, with its fields.
    pub(super) text: String,
    /// As the journal's socket takes it: NAME=VALUE, a line for each field.
    fields: String,
}

impl Entry {
    /// Gives it to the journal, unless that has no room or is not there. Never waits.
    pub(super) fn write(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(socket) = socket() {
            return socket.send(self.fields.as_bytes()).is_ok();
        }
        false
    }
}

#[cfg(target_os = "linux")]
fn socket() -> Option<&'static std::os::unix::net::UnixDatagram> {
    use std::os::unix::net::UnixDatagram;
    static SOCKET: std::sync::OnceLock<Option<UnixDatagram>> = std::sync::OnceLock::new();
    let open = || {
        let socket = UnixDatagram::unbound().ok()?;
        socket.set_nonblocking(true).ok()?;
        socket.connect("/run/systemd/journal/socket").ok()?;
        Some(socket)
    };
    SOCKET.get_or_init(open).as_ref()
}

/// Makes an entry of each event of `tracing`, with the fields of the spans that it is in, and passes it on.
pub(super) struct Events(pub(super) fn(Entry));

/// Fields of an event or a span. All of it is printable, so it has no line breaks.
#[derive(Default)]
struct Fields {
    message: String,
    text: String,
    fields: String,
}

impl Fields {
    fn add(&mut self, field: &Field, value: &str) {
        let value = printable(value);
        if field.name() == "message" {
            self.message = value;
            return;
        }
        // Writing to a string cannot fail.
        let _ = write!(self.text, " {field}={value}");
        let plain = |c: char| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_uppercase()
            } else {
                '_'
            }
        };
        let name: String = field.name().chars().map(plain).collect();
        let _ = writeln!(self.fields, "F_{name}={value}");
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, &format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Events {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut all = Fields::default();
        event.record(&mut all);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(its) = span.extensions().get::<Fields>() {
                all.text += &its.text;
                all.fields += &its.fields;
            }
        }
        let text = all.message + &all.text;
        let priority = match *event.metadata().level() {
            Level::ERROR => ERROR,
            Level::WARN => WARNING,
            Level::INFO => INFORMATION,
            _ => DEBUG,
        };
        let target = event.metadata().target();
        let fields = all.fields
            + &format!(
                "PRIORITY={priority}\nSYSLOG_IDENTIFIER=weftline\nTARGET={target}\nMESSAGE={text}\n"
            );
        (self.0)(Entry { text, fields });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tracing_subscriber::prelude::*;

    use super::*;

    thread_local! {
        static ENTRIES: RefCell<Vec<Entry>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn an_event_has_its_fields_and_those_of_its_span() {
        let events = Events(|entry| ENTRIES.with_borrow_mut(|all| all.push(entry)));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(events), || {
            let span = tracing::info_span!("connection", peer = %"abcd");
            let _in = span.enter();
            tracing::warn!(reason = "a\nb", "connection closed");
        });
        let entries = ENTRIES.take();
        let [entry] = &entries[..] else {
            panic!("{} entries", entries.len())
        };
        assert_eq!(entry.text, "connection closed reason=a\\nb peer=abcd");
        let mut lines: Vec<&str> = entry.fields.lines().collect();
        lines.sort_unstable();
        let [f_peer, f_reason, message, priority, name, target] = lines[..] else {
            panic!("{lines:?}")
        };
        assert_eq!((f_peer, f_reason), ("F_PEER=abcd", "F_REASON=a\\nb"));
        assert_eq!(message, "MESSAGE=connection closed reason=a\\nb peer=abcd");
        assert_eq!(
            (priority, name),
            ("PRIORITY=4", "SYSLOG_IDENTIFIER=weftline")
        );
        assert!(target.starts_with("TARGET=weftline_cli"), "{target}");
    }

    #[test]
    fn each_line_has_the_priority_of_its_message() {
        assert_eq!(with_priority("error: no\n  why"), "<3>error: no\n<3>  why");
        assert_eq!(with_priority("warning: hm"), "<4>warning: hm");
        assert_eq!(with_priority("refused abcd at x"), "<5>refused abcd at x");
        assert_eq!(with_priority("stopped"), "<6>stopped");
    }
}
