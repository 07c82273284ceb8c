//! The path between both ends: loopback datagrams that are lost, cut off, and seen from new ports.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Draws;

/// How soon a thread notices a new socket, and the end.
const NOTICE: Duration = Duration::from_millis(20);

/// A running path. Dropping it ends its threads.
pub(super) struct Wire {
    address: SocketAddr,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    server: SocketAddr,
    has_ended: AtomicBool,
    is_cut: AtomicBool,
    /// Largest datagram that passes.
    most: AtomicUsize,
    /// Datagrams lost of a thousand.
    loss: u64,
    draws: Mutex<Draws>,
    far: Mutex<Arc<UdpSocket>>,
    /// The near end's address, that of its last datagram: a near end that starts again has another port.
    near: Mutex<Option<SocketAddr>>,
}

impl Wire {
    /// A path from `host`, at a port that [`address`](Self::address) tells, to `server`.
    pub(super) fn start(
        host: Ipv4Addr,
        server: SocketAddr,
        loss: u64,
        draws: Draws,
    ) -> io::Result<Self> {
        let near = Arc::new(UdpSocket::bind((host, 0))?);
        near.set_read_timeout(Some(NOTICE))?;
        let address = near.local_addr()?;
        let shared = Arc::new(Shared {
            server,
            has_ended: AtomicBool::new(false),
            is_cut: AtomicBool::new(false),
            most: AtomicUsize::new(usize::MAX),
            loss,
            draws: Mutex::new(draws),
            far: Mutex::new(Arc::new(socket(server)?)),
            near: Mutex::new(None),
        });
        let (there, back) = (shared.clone(), shared.clone());
        let answers = near.clone();
        let threads = vec![
            std::thread::spawn(move || there.carry_there(&near)),
            std::thread::spawn(move || back.carry_back(&answers)),
        ];
        Ok(Wire {
            address,
            shared,
            threads,
        })
    }

    /// Where the near end sends.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether nothing passes.
    pub(super) fn cut(&self, is_cut: bool) {
        self.shared.is_cut.store(is_cut, Ordering::Relaxed);
    }

    /// The largest datagram that passes.
    pub(super) fn narrow(&self, most: usize) {
        self.shared.most.store(most, Ordering::Relaxed);
    }

    /// From now on the server sees another port.
    pub(super) fn rebind(&self) -> io::Result<()> {
        *lock(&self.shared.far) = Arc::new(socket(self.shared.server)?);
        Ok(())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.shared.has_ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn passes(&self, len: usize) -> bool {
        let is_lost = lock(&self.draws).between(0, 999) < self.loss;
        !is_lost && !self.is_cut.load(Ordering::Relaxed) && len <= self.most.load(Ordering::Relaxed)
    }

    fn carry_there(&self, near: &UdpSocket) {
        let mut buffer = vec![0; 1 << 16];
        while !self.has_ended.load(Ordering::Relaxed) {
            // A timeout, or a late report that an end is gone.
            let Ok((len, from)) = near.recv_from(&mut buffer) else {
                continue;
            };
            *lock(&self.near) = Some(from);
            let far = lock(&self.far).clone();
            if self.passes(len) {
                // What cannot be sent is lost.
                let _ = far.send(&buffer[..len]);
            }
        }
    }

    fn carry_back(&self, near: &UdpSocket) {
        let mut buffer = vec![0; 1 << 16];
        while !self.has_ended.load(Ordering::Relaxed) {
            let far = lock(&self.far).clone();
            let Ok(len) = far.recv(&mut buffer) else {
                continue;
            };
            let to = *lock(&self.near);
            if let Some(to) = to
                && self.passes(len)
            {
                let _ = near.send_to(&buffer[..len], to);
            }
        }
    }
}

fn socket(server: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    socket.set_read_timeout(Some(NOTICE))?;
    socket.connect(server)?;
    Ok(socket)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_carries_both_ways_and_can_be_cut_narrowed_and_moved() {
        let server = UdpSocket::bind("127.0.0.1:0").unwrap();
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        for socket in [&server, &client] {
            socket
                .set_read_timeout(Some(Duration::from_secs(5)))
                .unwrap();
        }
        let address = server.local_addr().unwrap();
        let wire = Wire::start(Ipv4Addr::LOCALHOST, address, 0, Draws::new(1, 1)).unwrap();
        let mut buffer = [0; 100];
        let mut ask = |data: &[u8]| {
            client.send_to(data, wire.address()).unwrap();
            let (len, from) = server.recv_from(&mut buffer).unwrap();
            assert_eq!(&buffer[..len], data);
            server.send_to(b"answer", from).unwrap();
            assert_eq!(client.recv(&mut buffer).unwrap(), 6);
            from
        };
        let first = ask(b"one");
        wire.rebind().unwrap();
        assert_ne!(ask(b"two"), first);
        let passes = |len| wire.shared.passes(len);
        wire.narrow(7);
        client.send_to(b"too long", wire.address()).unwrap();
        ask(b"fits");
        assert!(passes(7) && !passes(8));
        wire.cut(true);
        assert!(!passes(7));
        wire.cut(false);
        ask(b"last");
    }
}
