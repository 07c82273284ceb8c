//! An impaired UDP path inside this process: a relay on loopback between two endpoints.
//!
//! One thread for each side reads packets and notes their arrival; one scheduler thread asks the
//! link models when each packet must leave, and sends it then. A wait on a channel with a timeout
//! wakes the thread within some tens of microseconds; an async runtime's timer would not.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::SockRef;
use weftline_netem::{Counters, LinkConfig, Pipe};

use super::lateness::Lateness;

/// Bytes of IPv4 and UDP headers, which the link carries too.
const HEADERS: usize = 28;
const SOCKET_BUFFER: usize = 4 << 20;
/// How soon a reader notices that the path must end.
const NOTICE: Duration = Duration::from_millis(50);

/// A running path. Dropping it ends its threads.
pub(crate) struct Path {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    events: Sender<Event>,
    readers: Vec<JoinHandle<()>>,
    scheduler: Option<JoinHandle<PathReport>>,
}

/// Counters of a path.
#[derive(Clone, Debug, Default)]
pub(super) struct PathReport {
    /// Client to server; bytes include IP and UDP headers.
    pub forward: Counters,
    /// Server to client.
    pub back: Counters,
    /// How much later than in the model packets left.
    pub lateness: Lateness,
}

enum Event {
    Packet {
        forward: bool,
        at: Instant,
        data: Vec<u8>,
    },
    Stop,
}

impl Path {
    /// Starts a path to `server`; clients send to [`Path::address`].
    ///
    /// # Errors
    /// Loopback sockets or threads cannot be created.
    pub(crate) fn start(
        server: SocketAddr,
        forward: LinkConfig,
        back: LinkConfig,
        seed: u64,
    ) -> io::Result<Path> {
        let near = Arc::new(socket()?);
        let far = Arc::new(socket()?);
        far.connect(server)?;
        let address = near.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let client = Arc::new(OnceLock::new());
        let (events, inbox) = channel();

        let (socket, known, sink, end) =
            (near.clone(), client.clone(), events.clone(), stop.clone());
        let reader = thread::Builder::new().name("path-forward".into());
        let first = reader.spawn(move || {
            read(&socket, true, &sink, &end, |from| {
                *known.get_or_init(|| from) == from
            });
        })?;
        let (socket, sink, end) = (far.clone(), events.clone(), stop.clone());
        let reader = thread::Builder::new().name("path-back".into());
        let second = reader.spawn(move || read(&socket, false, &sink, &end, |_| true))?;
        let pipes = [
            Pipe::new(forward, seed),
            Pipe::new(back, seed ^ 0x9e37_79b9_7f4a_7c15),
        ];
        let send = move |forward: bool, data: &[u8]| {
            // A packet that cannot be sent is lost; the endpoints recover it.
            let _ = if forward {
                far.send(data)
            } else if let Some(client) = client.get() {
                near.send_to(data, client)
            } else {
                Ok(0)
            };
        };
        let scheduler = thread::Builder::new().name("path-scheduler".into());
        let scheduler = scheduler.spawn(move || schedule(&inbox, pipes, send))?;
        Ok(Path {
            address,
            stop,
            events,
            readers: vec![first, second],
            scheduler: Some(scheduler),
        })
    }

    /// The address that the client sends to.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends the path and returns its counters.
    pub(super) fn finish(mut self) -> PathReport {
        self.end()
    }

    fn end(&mut self) -> PathReport {
        self.stop.store(true, Ordering::Relaxed);
        // The scheduler may have ended already; then nothing receives this.
        let _ = self.events.send(Event::Stop);
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        self.scheduler
            .take()
            .and_then(|s| s.join().ok())
            .unwrap_or_default()
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.end();
    }
}

fn socket() -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    let options = SockRef::from(&socket);
    // A smaller buffer is not an error; at the demo's rates the default nearly suffices.
    let _ = options.set_recv_buffer_size(SOCKET_BUFFER);
    let _ = options.set_send_buffer_size(SOCKET_BUFFER);
    socket.set_read_timeout(Some(NOTICE))?;
    Ok(socket)
}

fn read(
    socket: &UdpSocket,
    forward: bool,
    events: &Sender<Event>,
    stop: &AtomicBool,
    expected: impl Fn(SocketAddr) -> bool,
) {
    let mut buffer = vec![0; 1 << 16];
    while !stop.load(Ordering::Relaxed) {
        // Timeouts let the thread see the flag; other errors are late reports of a closed
        // endpoint.
        let Ok((len, from)) = socket.recv_from(&mut buffer) else {
            continue;
        };
        let packet = Event::Packet {
            forward,
            at: Instant::now(),
            data: buffer[..len].to_vec(),
        };
        if expected(from) && events.send(packet).is_err() {
            return;
        }
    }
}

fn schedule(
    inbox: &Receiver<Event>,
    mut pipes: [Pipe<Vec<u8>>; 2],
    send: impl Fn(bool, &[u8]),
) -> PathReport {
    let zero = Instant::now();
    let mut lateness = Lateness::default();
    loop {
        let next = pipes.iter().filter_map(Pipe::next_arrival).min();
        let event = match next {
            Some(due) => inbox.recv_timeout(due.saturating_sub(zero.elapsed())),
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match event {
            Ok(Event::Packet { forward, at, data }) => {
                let len = data.len() + HEADERS;
                let now = at.saturating_duration_since(zero);
                pipes[usize::from(!forward)].send(now, data, len);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(Event::Stop) | Err(RecvTimeoutError::Disconnected) => break,
        }
        for (pipe, forward) in pipes.iter_mut().zip([true, false]) {
            while let Some(due) = pipe.next_arrival()
                && let Some(late) = zero.elapsed().checked_sub(due)
                && let Some(data) = pipe.recv(due)
            {
                lateness.add(late);
                send(forward, &data);
            }
        }
    }
    let [forward, back] = pipes.map(|pipe| pipe.link().counters().clone());
    PathReport {
        forward,
        back,
        lateness,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weftline_netem::LossModel;

    fn pair(forward: LinkConfig, back: LinkConfig) -> (UdpSocket, UdpSocket, Path) {
        let (client, server) = (socket().unwrap(), socket().unwrap());
        for socket in [&client, &server] {
            socket
                .set_read_timeout(Some(Duration::from_secs(5)))
                .unwrap();
        }
        let path = Path::start(server.local_addr().unwrap(), forward, back, 1).unwrap();
        client.connect(path.address()).unwrap();
        (client, server, path)
    }

    #[test]
    fn packets_take_the_delay_of_each_direction_and_are_counted() {
        let delay = |ms| LinkConfig::default().with_delay(Duration::from_millis(ms));
        let (client, server, path) = pair(delay(20), delay(30));
        let started = Instant::now();
        client.send(b"ping").unwrap();
        let mut buffer = [0; 10];
        let (len, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"ping");
        assert!(started.elapsed() >= Duration::from_millis(20));
        server.send_to(b"pong!", from).unwrap();
        assert_eq!(client.recv(&mut buffer).unwrap(), 5);
        assert!(started.elapsed() >= Duration::from_millis(50));
        let report = path.finish();
        assert_eq!(
            (report.forward.offered_bytes, report.back.offered_bytes),
            (32, 33)
        );
        assert_eq!(report.lateness.packets, 2);
    }

    #[test]
    fn lost_packets_do_not_arrive() {
        let lossy = LinkConfig::default().with_loss(LossModel::Periodic { n: 2 });
        let (client, server, path) = pair(lossy, LinkConfig::default());
        // The last one arrives: all others were there before it.
        for i in 0..9u8 {
            client.send(&[i]).unwrap();
        }
        let mut buffer = [0; 10];
        for _ in 0..5 {
            assert_eq!(server.recv(&mut buffer).unwrap(), 1);
        }
        let report = path.finish();
        assert_eq!(
            (report.forward.lost, report.forward.delivered_packets),
            (4, 5)
        );
    }

    #[test]
    fn an_idle_path_ends_at_once() {
        let (_client, _server, path) = pair(LinkConfig::default(), LinkConfig::default());
        let started = Instant::now();
        drop(path);
        assert!(started.elapsed() < Duration::from_secs(1));
    }
}
