//! A hop between sender and receivers that drops packets.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What the hop does to a packet.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fate {
    Forward,
    Drop,
    /// Forward it, and again a little later.
    Repeat,
}

/// Carries packets from some sockets to as many addresses.
pub(super) struct Hop {
    stopping: Arc<AtomicBool>,
    dropped: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

impl Hop {
    /// Starts it; `fate` is asked about each packet.
    pub(super) fn start(
        pairs: Vec<(UdpSocket, SocketAddr)>,
        fate: impl FnMut() -> Fate + Send + 'static,
    ) -> Self {
        let stopping = Arc::new(AtomicBool::new(false));
        let dropped = Arc::new(AtomicU64::new(0));
        let fate = Arc::new(Mutex::new(fate));
        let carry = |(from, to): (UdpSocket, SocketAddr)| {
            let (stopping, dropped, fate) = (stopping.clone(), dropped.clone(), fate.clone());
            std::thread::spawn(move || {
                let out = bind(([127, 0, 0, 1], 0));
                socket2::SockRef::from(&out)
                    .set_multicast_if_v4(&Ipv4Addr::LOCALHOST)
                    .unwrap();
                let mut buffer = [0; 2000];
                while !stopping.load(Ordering::Relaxed) {
                    let Ok(length) = from.recv(&mut buffer) else {
                        continue;
                    };
                    let packet = &buffer[..length];
                    let fate = (fate.lock().unwrap())();
                    if fate == Fate::Drop {
                        dropped.fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                    out.send_to(packet, to).unwrap();
                    if fate == Fate::Repeat {
                        out.send_to(packet, to).unwrap();
                    }
                }
            })
        };
        let threads = pairs.into_iter().map(carry).collect();
        Hop {
            stopping,
            dropped,
            threads,
        }
    }

    /// Drops one packet of twenty.
    pub(super) fn lossy(pairs: Vec<(UdpSocket, SocketAddr)>) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        Hop::start(pairs, move || match random.next_u64() % 20 {
            0 => Fate::Drop,
            _ => Fate::Forward,
        })
    }

    /// Stops it; returns how many packets it dropped.
    pub(super) fn end(self) -> u64 {
        self.stopping.store(true, Ordering::Relaxed);
        self.threads.into_iter().for_each(|t| t.join().unwrap());
        self.dropped.load(Ordering::Relaxed)
    }
}

/// A socket whose reads end soon.
pub(super) fn bind(at: impl Into<SocketAddr>) -> UdpSocket {
    let socket = UdpSocket::bind(at.into()).unwrap();
    let short = Duration::from_millis(50);
    socket.set_read_timeout(Some(short)).unwrap();
    socket
}
