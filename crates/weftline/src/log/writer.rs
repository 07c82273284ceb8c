//! The thread that writes the logs of all connections.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, DirBuilder};
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weftline_proto::{LogEntry, Role};

use super::file::{About, LogFile};
use super::{CAPACITY, EventLogs};
use crate::shared::Shared;

/// How often entries are taken from the connections.
const EVERY: Duration = Duration::from_millis(100);

/// What the thread is told.
enum Order {
    Begin(u64, About, Weak<Shared>),
    /// With the entries that were left.
    End(u64, VecDeque<LogEntry>),
    Flush(SyncSender<()>),
}

/// The thread, as seen from outside. It ends after this is dropped.
pub(super) struct Writer {
    orders: Sender<Order>,
    next: u64,
    open: usize,
}

impl Writer {
    pub(super) fn start(folder: &Path, size: u64) -> io::Result<Self> {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt;
            builder.mode(0o700);
        }
        builder.create(folder)?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since = since.unwrap_or(Duration::ZERO).as_secs();
        let (orders, told) = channel();
        let work = Work {
            folder: folder.to_owned(),
            name: format!("{since}-{}", process::id()),
            most: size / 2,
            open: BTreeMap::new(),
            over: VecDeque::new(),
            spare: VecDeque::new(),
        };
        let thread = thread::Builder::new().name("weftline-log".to_owned());
        thread.spawn(move || work.run(&told))?;
        Ok(Writer {
            orders,
            next: 0,
            open: 0,
        })
    }

    /// The number of the connection's log, if there is room for it.
    pub(super) fn begin(&mut self, role: Role, shared: &Arc<Shared>) -> Option<u64> {
        if self.open == EventLogs::MOST {
            tracing::warn!("no event log of this connection: there are too many at once");
            return None;
        }
        let carrier = &shared.first.carrier;
        let about = About {
            role,
            began: SystemTime::now() - shared.age(),
            peer: carrier.peer().map(|peer| peer.to_string()),
            remote: carrier.remote_addr().to_string(),
        };
        let number = self.next;
        (self.next, self.open) = (number + 1, self.open + 1);
        shared.start_log(CAPACITY);
        self.tell(Order::Begin(number, about, Arc::downgrade(shared)));
        Some(number)
    }

    pub(super) fn end(&mut self, number: u64, shared: &Shared) {
        let mut left = VecDeque::new();
        shared.take_log(&mut left);
        self.open -= 1;
        self.tell(Order::End(number, left));
    }

    /// Something comes, or an error, when all before this is written.
    pub(super) fn flush(&self) -> Receiver<()> {
        let (done, flushed) = sync_channel(1);
        self.tell(Order::Flush(done));
        flushed
    }

    fn tell(&self, order: Order) {
        // The thread goes on until this is dropped.
        self.orders.send(order).ok();
    }
}

/// The thread, as seen from inside.
struct Work {
    folder: PathBuf,
    /// What the names of all files begin with.
    name: String,
    /// Bytes of a file.
    most: u64,
    open: BTreeMap<u64, (LogFile, Weak<Shared>)>,
    /// Files of logs that are over, the oldest first.
    over: VecDeque<[PathBuf; 2]>,
    /// An empty queue, to be exchanged for a full one.
    spare: VecDeque<LogEntry>,
}

impl Work {
    fn run(mut self, told: &Receiver<Order>) {
        let mut due = Instant::now();
        loop {
            let order = match self.open.is_empty() {
                // Nothing happens until a connection begins.
                true => told.recv().map_err(|_| RecvTimeoutError::Disconnected),
                false => told.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match order {
                Ok(Order::Begin(number, about, shared)) => self.begin(number, about, shared),
                Ok(Order::End(number, left)) => self.end(number, left),
                Ok(Order::Flush(done)) => {
                    self.take_all();
                    // The one who waited may have gone.
                    done.send(()).ok();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.take_all();
                    return;
                }
            }
            // Connections that come and go must not keep the others waiting.
            if Instant::now() >= due {
                self.take_all();
                due = Instant::now() + EVERY;
            }
        }
    }

    fn begin(&mut self, number: u64, about: About, shared: Weak<Shared>) {
        while self.open.len() + self.over.len() >= EventLogs::MOST {
            let Some(files) = self.over.pop_front() else {
                break;
            };
            for file in files {
                // The one before the last exists only in a long log.
                fs::remove_file(file).ok();
            }
        }
        let role = match about.role {
            Role::Client => "client",
            Role::Server => "server",
        };
        let name = format!("{}-{number}-{role}", self.name);
        match LogFile::create(&self.folder, &name, about, self.most) {
            Ok(file) => {
                self.open.insert(number, (file, shared));
            }
            Err(error) => give_up(&shared, &error),
        }
    }

    fn end(&mut self, number: u64, mut left: VecDeque<LogEntry>) {
        // A log that could not be written is not there.
        if let Some((mut file, shared)) = self.open.remove(&number) {
            if let Err(error) = file.write(left.drain(..)) {
                give_up(&shared, &error);
            }
            self.over.push_back(file.into_paths());
        }
    }

    /// Writes what the connections have in their queues.
    fn take_all(&mut self) {
        let spare = &mut self.spare;
        let mut over = Vec::new();
        for (number, (file, shared)) in &mut self.open {
            let Some(open) = shared.upgrade() else {
                continue;
            };
            open.take_log(spare);
            drop(open);
            if let Err(error) = file.write(spare.drain(..)) {
                give_up(shared, &error);
                over.push(*number);
            }
        }
        for number in over {
            if let Some((file, _)) = self.open.remove(&number) {
                self.over.push_back(file.into_paths());
            }
        }
    }
}

/// The log of a connection cannot be written: the connection goes on without.
fn give_up(shared: &Weak<Shared>, error: &io::Error) {
    tracing::warn!(%error, "the event log of a connection ends here");
    if let Some(shared) = shared.upgrade() {
        shared.stop_log();
    }
}
