//! Entries as text.

use std::io;

use serde::Serialize;
use weftline_proto::{LogEntry, LogEvent, LogReport, PathId, Time};

/// Adds an entry to `text`. What each datagram leaves is written here: `serde_json`, which writes the same, looks
/// at each byte of each key.
pub(super) fn put(text: &mut Vec<u8>, entry: &LogEntry) -> io::Result<()> {
    let LogEntry {
        time, path, event, ..
    } = entry;
    let mut to = Text(text);
    match event {
        LogEvent::Written {
            stream,
            message,
            bytes,
        } => {
            to.begin(
                *time,
                *path,
                br#","name":"weftline:written","data":{"stream":"#,
            );
            to.number_or_null(*stream);
            to.raw(br#","message":"#);
            to.number_or_null(*message);
            to.field(br#","bytes":"#, *bytes);
        }
        LogEvent::SourceSent {
            number,
            size,
            esi,
            edge,
            again,
            fin,
            riders,
            streams,
            messages,
        } => {
            to.begin(
                *time,
                *path,
                br#","name":"weftline:source_sent","data":{"number":"#,
            );
            to.number(*number);
            to.field(br#","size":"#, (*size).into());
            to.field(br#","esi":"#, *esi);
            to.field(br#","edge":"#, *edge);
            to.raw(br#","again":"#);
            to.truth(*again);
            to.raw(br#","fin":"#);
            to.truth(*fin);
            to.riders(*riders);
            if !streams.is_empty() {
                to.raw(br#","streams":["#);
                to.list(streams, |to, pair| to.pair(pair));
            }
            if !messages.is_empty() {
                to.raw(br#","messages":["#);
                to.list(messages, |to, message| to.number(*message));
            }
        }
        LogEvent::SourceReceived {
            number,
            size,
            esi,
            useful,
            riders,
            delivered,
        } => {
            to.begin(
                *time,
                *path,
                br#","name":"weftline:source_received","data":{"number":"#,
            );
            to.number(*number);
            to.field(br#","size":"#, (*size).into());
            to.field(br#","esi":"#, *esi);
            to.raw(br#","useful":"#);
            to.truth(*useful);
            to.riders(*riders);
            if *delivered != 0 {
                to.field(br#","delivered":"#, *delivered);
            }
        }
        LogEvent::EdgeMoved {
            previous,
            edge,
            next,
        } => {
            to.begin(
                *time,
                *path,
                br#","name":"weftline:edge_moved","data":{"previous":"#,
            );
            to.number(*previous);
            to.field(br#","edge":"#, *edge);
            to.field(br#","next":"#, *next);
        }
        LogEvent::ReportSent(report) => {
            let name = br#","name":"weftline:report_sent","data":{"report":"#;
            to.begin(*time, *path, name);
            to.report(report)?;
        }
        LogEvent::ReportReceived { report, news } => {
            let name = br#","name":"weftline:report_received","data":{"report":"#;
            to.begin(*time, *path, name);
            to.report(report)?;
            to.raw(br#","news":"#);
            to.truth(*news);
        }
        LogEvent::Estimates {
            loss,
            mean_burst,
            rtt_us,
            in_flight,
            planned_loss,
            share,
            apart,
        } => {
            let name = br#","name":"weftline:estimates","data":{"loss":"#;
            to.begin(*time, *path, name);
            to.value(loss)?;
            to.raw(br#","mean_burst":"#);
            to.value(mean_burst)?;
            to.field(br#","rtt_us":"#, *rtt_us);
            to.field(br#","in_flight":"#, *in_flight);
            to.raw(br#","planned_loss":"#);
            to.value(planned_loss)?;
            to.raw(br#","share":"#);
            to.value(share)?;
            to.raw(br#","apart":"#);
            to.value(apart)?;
        }
        _ => return Ok(serde_json::to_writer(text, entry)?),
    }
    to.raw(b"}}");
    Ok(())
}

/// JSON, piece by piece.
struct Text<'a>(&'a mut Vec<u8>);

impl Text<'_> {
    #[inline]
    fn raw(&mut self, piece: &[u8]) {
        self.0.extend_from_slice(piece);
    }

    /// All that is before the first value of `data`, which ends `rest`.
    #[inline]
    fn begin(&mut self, time: Time, path: PathId, rest: &[u8]) {
        self.raw(br#"{"time":"#);
        self.millis(time);
        if path != PathId::FIRST {
            self.field(br#","path":"#, path.index() as u64);
        }
        self.raw(rest);
    }

    /// Milliseconds, with no more decimals than it takes, but one.
    fn millis(&mut self, time: Time) {
        let micros = time.as_micros();
        self.number(micros / 1000);
        let rest = (micros % 1000) as u16;
        let digits = [rest / 100, rest / 10 % 10, rest % 10].map(|digit| b'0' + digit as u8);
        let zeros = digits[1..]
            .iter()
            .rev()
            .take_while(|digit| **digit == b'0')
            .count();
        self.raw(b".");
        self.raw(&digits[..digits.len() - zeros]);
    }

    /// A number and its key.
    #[inline]
    fn field(&mut self, key: &[u8], number: u64) {
        self.raw(key);
        self.number(number);
    }

    fn number(&mut self, mut number: u64) {
        // As many as the largest has.
        let mut digits = [0; 20];
        let mut first = digits.len();
        loop {
            first -= 1;
            digits[first] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.raw(&digits[first..]);
    }

    fn number_or_null(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.number(number),
            None => self.raw(b"null"),
        }
    }

    fn truth(&mut self, truth: bool) {
        self.raw(if truth { b"true" } else { b"false" });
    }

    /// A number with a fraction, or none.
    fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        Ok(serde_json::to_writer(&mut *self.0, value)?)
    }

    /// From the number of the report on.
    fn report(&mut self, report: &LogReport) -> io::Result<()> {
        self.number(report.report);
        self.field(br#","size":"#, report.size.into());
        self.field(br#","largest":"#, report.largest);
        self.field(br#","next":"#, report.next);
        self.field(br#","extent":"#, report.extent);
        self.raw(br#","missing":["#);
        self.list(&report.missing, |to, pair| to.pair(pair));
        self.field(br#","rank":"#, report.rank);
        self.field(br#","credit":"#, report.credit);
        self.field(br#","delay_us":"#, report.delay_us);
        self.field(br#","queue_us":"#, report.queue_us);
        self.raw(br#","loss":"#);
        self.value(&report.loss)
    }

    fn pair(&mut self, (first, second): &(u64, u64)) {
        self.raw(b"[");
        self.number(*first);
        self.raw(b",");
        self.number(*second);
        self.raw(b"]");
    }

    fn riders(&mut self, riders: u8) {
        if riders != 0 {
            self.field(br#","riders":"#, riders.into());
        }
    }

    /// The elements of a list that has begun, and its end.
    fn list<T>(&mut self, elements: &[T], put: impl Fn(&mut Self, &T)) {
        for (index, element) in elements.iter().enumerate() {
            if index > 0 {
                self.raw(b",");
            }
            put(self, element);
        }
        self.raw(b"]");
    }
}
