//! The thread between the two devices.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use super::config::PathConfig;
use super::direction::Direction;
use super::error::PathError;
use super::os;
use super::pcap::Capture;
use super::report::{LinkReport, Report};

/// Packets read from, or written to, one device before the next device gets its turn.
const BATCH: usize = 32;
/// Longest packet.
const MAX_PACKET: usize = 65_535;
/// Longest sleep; another event wakes the thread long before.
const IDLE: Duration = Duration::from_secs(3600);

/// The running emulator. It stops when dropped.
#[derive(Debug)]
pub(crate) struct Emulator {
    requests: Sender<Request>,
    wake: OwnedFd,
    thread: Option<JoinHandle<Result<(), PathError>>>,
}

#[derive(Debug)]
enum Request {
    Report(Sender<Report>),
    BeginTraces,
    Stop,
}

impl Emulator {
    /// Starts the emulator between the devices: for each link that of side A and that of side B.
    pub(crate) fn start(config: &PathConfig, devices: Vec<OwnedFd>) -> Result<Self, PathError> {
        let no = |e: Errno| PathError::Emulator(e.to_string());
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).map_err(no)?;
        let woken = wake
            .try_clone()
            .map_err(|e| PathError::Emulator(e.to_string()))?;
        let (requests, asked) = channel();
        let capture = config.pcap.as_deref().map(Capture::create).transpose()?;
        let config = config.clone();
        let directions = config.links.iter().zip(0u64..).flat_map(|(links, n)| {
            // As in a simulation: the losses of the links and their directions must be independent.
            let seed = config.seed ^ n << 32;
            [
                Direction::new(links.forward.clone(), seed),
                Direction::new(links.back.clone(), !seed),
            ]
        });
        let mut work = Work {
            directions: directions.collect(),
            seen_empty: vec![Duration::ZERO; devices.len()],
            config,
            devices,
            woken,
            asked,
            epoch: Instant::now(),
            capture,
        };
        let run = move || {
            os::hurry();
            let ended = work.run();
            let captured = work.finish_capture();
            ended.and(captured)
        };
        let thread = thread::Builder::new()
            .name("emulator".to_owned())
            .spawn(run);
        let thread = thread.map_err(|e| PathError::Emulator(e.to_string()))?;
        Ok(Self {
            requests,
            wake,
            thread: Some(thread),
        })
    }

    /// Counters so far.
    pub(crate) fn report(&self) -> Result<Report, PathError> {
        let (reply, report) = channel();
        self.ask(Request::Report(reply));
        let gone = |_| PathError::Emulator("it has ended early".to_owned());
        report.recv().map_err(gone)
    }

    /// Starts the traces now.
    pub(crate) fn begin_traces(&self) {
        self.ask(Request::BeginTraces);
    }

    /// Stops the emulator and returns its error, if any.
    pub(crate) fn stop(mut self) -> Result<(), PathError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), PathError> {
        self.ask(Request::Stop);
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(ended)) => ended,
            Some(Err(_)) => Err(PathError::Emulator("it panicked".to_owned())),
        }
    }

    fn ask(&self, request: Request) {
        // A caller that waits for the answer notices a thread that has ended.
        let _ = self.requests.send(request);
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // A caller that needs the error calls `stop`.
        let _ = self.end();
    }
}

/// The thread's state. Link n has the devices 2n, on side A, and 2n + 1; the direction from a device
/// has its number.
struct Work {
    config: PathConfig,
    directions: Vec<Direction>,
    devices: Vec<OwnedFd>,
    woken: OwnedFd,
    asked: Receiver<Request>,
    epoch: Instant,
    capture: Option<Capture>,
    /// When each device was last known to have no unread packet.
    seen_empty: Vec<Duration>,
}

impl Work {
    fn run(&mut self) -> Result<(), PathError> {
        let mut buffer = vec![0; MAX_PACKET];
        let mut readable = vec![true; self.devices.len()];
        loop {
            for (from, readable) in readable.iter_mut().enumerate() {
                if *readable {
                    *readable = self.read(from, &mut buffer)?;
                }
            }
            let mut due = false;
            for from in 0..self.devices.len() {
                due |= self.write(from);
            }
            if due || readable.contains(&true) {
                // Busy: look for new packets without sleeping.
                if !self.answer() {
                    return Ok(());
                }
                readable.fill(true);
                continue;
            }
            let next = self.directions.iter().filter_map(Direction::next_due).min();
            let sleep = next.map_or(IDLE, |at| at.saturating_sub(self.now()));
            let asked = self.sleep(sleep, &mut readable)?;
            if asked && !self.answer() {
                return Ok(());
            }
        }
    }

    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// Reads a batch of packets from a device. Returns whether there may be more.
    fn read(&mut self, from: usize, buffer: &mut [u8]) -> Result<bool, PathError> {
        for _ in 0..BATCH {
            match rustix::io::read(&self.devices[from], &mut *buffer) {
                Ok(length) => {
                    let now = self.now();
                    let unread = now - self.seen_empty[from];
                    self.directions[from].offer(now, unread, &buffer[..length]);
                }
                Err(Errno::AGAIN) => {
                    self.seen_empty[from] = self.now();
                    return Ok(false);
                }
                Err(Errno::INTR) => {}
                Err(error) => {
                    return Err(PathError::Emulator(format!("reading a device: {error}")));
                }
            }
        }
        Ok(true)
    }

    /// Writes a batch of due packets. Returns whether there may be more.
    fn write(&mut self, from: usize) -> bool {
        let now = self.now();
        for _ in 0..BATCH {
            let Some((due, packet)) = self.directions[from].take_due(now) else {
                return false;
            };
            let taken = rustix::io::write(&self.devices[from ^ 1], &packet).is_ok();
            let now = self.now();
            self.directions[from].wrote(due, now, taken);
            if let Some(capture) = &mut self.capture
                && taken
            {
                capture.add(now, packet);
            }
        }
        true
    }

    /// Sleeps until a packet can be read, a request comes, or `most` has passed. Tells which devices are
    /// readable, and whether there is a request.
    fn sleep(&mut self, most: Duration, readable: &mut [bool]) -> Result<bool, PathError> {
        let most = most.min(IDLE);
        let timeout = Timespec {
            tv_sec: most.as_secs() as i64,
            tv_nsec: i64::from(most.subsec_nanos()),
        };
        let asked = PollFd::new(&self.woken, PollFlags::IN);
        let devices = self.devices.iter();
        let devices = devices.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
        let mut fds: Vec<PollFd<'_>> = devices.chain([asked]).collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(PathError::Emulator(format!("waiting: {error}"))),
        }
        for (readable, fd) in readable.iter_mut().zip(&fds) {
            *readable = !fd.revents().is_empty();
        }
        let is_asked = fds.last().is_some_and(|fd| !fd.revents().is_empty());
        // An earlier packet would have ended the sleep earlier.
        let now = self.now();
        self.seen_empty.fill(now);
        Ok(is_asked)
    }

    /// Answers requests. Returns whether to continue.
    fn answer(&mut self) -> bool {
        let _ = rustix::io::read(&self.woken, &mut [0; 8]);
        while let Ok(request) = self.asked.try_recv() {
            match request {
                Request::Report(reply) => {
                    // The caller may have gone.
                    let _ = reply.send(self.report());
                }
                Request::BeginTraces => {
                    let now = self.now();
                    self.directions.iter_mut().for_each(|d| d.begin_trace(now));
                }
                Request::Stop => return false,
            }
        }
        true
    }

    fn report(&self) -> Report {
        let links = self.config.links.iter();
        let mut links = links
            .zip(self.directions.chunks(2))
            .map(|(links, both)| LinkReport::new(links, both));
        let first = links.next().expect("a lab has a link");
        let more = links.collect();
        let (seed, busy) = (self.config.seed, os::thread_time());
        let mut report = Report::new(seed, self.now(), busy, first, more);
        report.capture_missed = self.capture.as_ref().map_or(0, Capture::missed);
        report
    }

    fn finish_capture(&mut self) -> Result<(), PathError> {
        match (self.capture.take(), &self.config.pcap) {
            (Some(capture), Some(path)) => capture.finish().map_err(PathError::file(path)),
            _ => Ok(()),
        }
    }
}
