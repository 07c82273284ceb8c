//! Standard error, written by its own thread: a terminal that is stopped (Ctrl-S) or slow must not
//! hold up the transfer.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use weftline_apps::printable;

use super::journal::{self, Entry};
use weftline_apps::lock;

/// Length of the queue of lines; further lines are dropped while it is full.
const WAITING: usize = 1024;
/// Bars at once; a terminal has few lines, and a receiver may have many senders.
const MOST_BARS: usize = 8;
/// Time between two redraws of a bar.
const PERIOD: Duration = Duration::from_millis(100);

/// Queues a line for the terminal. Never waits: the line is dropped when the queue is full.
pub fn offer(text: String) {
    // Dropping is intended when the queue is full.
    let _ = queue().try_send(Job::Line(text));
}

/// Queues an entry for the journal, as [`offer`] does a line.
pub fn enter(entry: Entry) {
    let _ = queue().try_send(Job::Entry(entry));
}

/// Shows a line, and waits until it is written.
pub fn tell(text: String) {
    if queue().send(Job::Line(text)).is_ok() {
        flush();
    }
}

/// Waits until every line queued before is written.
pub fn flush() {
    let (done, wait) = sync_channel(1);
    if queue().send(Job::Flush(done)).is_ok() {
        // This fails when the thread is gone; then nothing is left to wait for.
        let _ = wait.recv();
    }
}

/// A writer that passes each write to [`offer`] as a printable line: the log of other crates quotes
/// peers as they are.
pub struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        offer(printable(text.strip_suffix('\n').unwrap_or(&text)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The contents of a progress bar. Changing them draws nothing; the console's thread draws.
#[derive(Debug, Default)]
pub struct Bar {
    position: AtomicU64,
    total: OnceLock<u64>,
    resumed: AtomicBool,
    over: AtomicBool,
    words: Mutex<Words>,
}

#[derive(Clone, Debug, Default)]
struct Words {
    before: String,
    after: String,
}

impl Bar {
    /// A bar that is shown until it [ends](Self::end).
    pub fn shown() -> Arc<Self> {
        let bar = Arc::new(Bar::default());
        // A full queue means that the terminal shows nothing anyway.
        let _ = queue().try_send(Job::Show(bar.clone()));
        bar
    }

    /// Sets the bar's total, in bytes; only the first call counts.
    pub fn expect(&self, total: u64) {
        let _ = self.total.set(total);
    }

    /// Advances the bar by this number of bytes.
    pub fn advance(&self, bytes: u64) {
        self.position.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Advances the bar by bytes that an earlier transfer brought.
    pub fn resume(&self, bytes: u64) {
        self.advance(bytes);
        self.resumed.store(true, Ordering::Relaxed);
    }

    /// Sets the text before the bar.
    pub fn before(&self, text: String) {
        self.words().before = text;
    }

    /// Sets the text after the bar.
    pub fn after(&self, text: String) {
        self.words().after = text;
    }

    /// Removes the bar, at the latest before the next line.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    fn words(&self) -> std::sync::MutexGuard<'_, Words> {
        lock(&self.words)
    }
}

enum Job {
    Line(String),
    Entry(Entry),
    Show(Arc<Bar>),
    Flush(SyncSender<()>),
}

fn queue() -> &'static SyncSender<Job> {
    static QUEUE: OnceLock<SyncSender<Job>> = OnceLock::new();
    QUEUE.get_or_init(|| {
        let (queue, jobs) = sync_channel(WAITING);
        std::thread::spawn(move || write(&jobs));
        queue
    })
}

fn write(jobs: &Receiver<Job>) {
    let screen = MultiProgress::new();
    let mut drawn: Vec<Drawn> = Vec::new();
    let for_journal = journal::is_reading();
    loop {
        let job = match drawn.is_empty() {
            false => jobs.recv_timeout(PERIOD),
            true => jobs.recv().map_err(RecvTimeoutError::from),
        };
        for over in drawn.extract_if(.., |d| d.bar.over.load(Ordering::Acquire)) {
            over.on_screen.finish_and_clear();
            screen.remove(&over.on_screen);
        }
        drawn.iter_mut().for_each(Drawn::draw);
        match job {
            Ok(Job::Entry(entry)) if entry.write() => {}
            Ok(Job::Line(text) | Job::Entry(Entry { text, .. })) => {
                let text = match for_journal {
                    true => journal::with_priority(&text),
                    false => text,
                };
                let print = || {
                    // Nothing can be done about a closed standard error.
                    let _ = writeln!(io::stderr(), "{text}");
                };
                match drawn.is_empty() {
                    false => screen.suspend(print),
                    true => print(),
                }
            }
            Ok(Job::Show(bar)) if drawn.len() < MOST_BARS => drawn.push(Drawn::new(bar, &screen)),
            Ok(Job::Show(_)) => {}
            Ok(Job::Flush(done)) => {
                // The thread that asked may have ended.
                let _ = done.send(());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// A bar on the screen.
struct Drawn {
    bar: Arc<Bar>,
    on_screen: ProgressBar,
}

impl Drawn {
    fn new(bar: Arc<Bar>, screen: &MultiProgress) -> Self {
        let on_screen = screen.add(ProgressBar::no_length());
        on_screen.set_style(style("{spinner} {prefix} {bytes} {wide_msg}"));
        Drawn { bar, on_screen }
    }

    fn draw(&mut self) {
        let screen = &self.on_screen;
        if let (None, Some(total)) = (screen.length(), self.bar.total.get()) {
            // With the longest texts the line fits in 80 columns.
            screen.set_style(style(
                "{prefix} [{bar:6}] {percent:>3}% {eta:>3} {wide_msg}",
            ));
            screen.set_length(*total);
        }
        let Words { before, after } = self.bar.words().clone();
        screen.set_prefix(before);
        screen.set_message(after);
        screen.set_position(self.bar.position.load(Ordering::Relaxed));
        if self.bar.resumed.swap(false, Ordering::Relaxed) {
            screen.reset_eta();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates are constants that parse")
}
