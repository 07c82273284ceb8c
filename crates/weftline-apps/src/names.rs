//! Looks up the addresses of names, within bounds: the system may take long, cannot be interrupted,
//! and keeps a thread for each name meanwhile.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use weftline::Fingerprint;

use crate::address::{Address, UnknownHost};
use crate::lock::lock;

/// How long a name may take, with its wait for others.
const LIMIT: Duration = Duration::from_secs(5);
/// Names that are looked up at once, in all and for one peer; further ones wait.
const MOST: usize = 64;
const MOST_OF_PEER: usize = 8;
/// Addresses of a name that are used.
const MOST_ADDRESSES: usize = 8;

/// Looks names up. A name counts for as long as the system is busy with it, even if nobody waits.
pub(crate) struct Names {
    ask: fn(&str, u16) -> io::Result<Vec<SocketAddr>>,
    limit: Duration,
    running: Arc<Semaphore>,
    /// By key; peers without one share theirs.
    peers: Mutex<HashMap<Option<Fingerprint>, Arc<Semaphore>>>,
    /// Last addresses of the hosts that this end's own user named.
    last: Mutex<HashMap<Address, Vec<SocketAddr>>>,
}

/// Those of the process.
pub(crate) fn names() -> &'static Names {
    static NAMES: LazyLock<Names> = LazyLock::new(|| {
        let ask = |host: &str, port| Ok((host, port).to_socket_addrs()?.collect());
        Names::new(ask, LIMIT)
    });
    &NAMES
}

impl Names {
    fn new(ask: fn(&str, u16) -> io::Result<Vec<SocketAddr>>, limit: Duration) -> Self {
        Names {
            ask,
            limit,
            running: Arc::new(Semaphore::new(MOST)),
            peers: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// The addresses of a host that this end's own user named, at least one. Where they cannot be found
    /// now, they are those of the last time: name servers may be beyond the session that is to be opened.
    ///
    /// # Errors
    /// There are none, or not in time.
    pub(crate) async fn own(&self, address: &Address) -> Result<Vec<SocketAddr>, UnknownHost> {
        let found = self.within_limit(address, async { None }).await;
        let mut last = lock(&self.last);
        match found {
            Ok(found) => {
                last.insert(address.clone(), found.clone());
                Ok(found)
            }
            Err(error) => last.get(address).cloned().ok_or(error),
        }
    }

    /// The addresses of a host that a peer named, at least one.
    ///
    /// # Errors
    /// As with [`Names::own`].
    pub(crate) async fn of_peer(
        &self,
        peer: Option<Fingerprint>,
        address: &Address,
    ) -> Result<Vec<SocketAddr>, UnknownHost> {
        let place = async { self.places(peer).acquire_owned().await.ok() };
        self.within_limit(address, place).await
    }

    async fn within_limit(
        &self,
        address: &Address,
        place: impl Future<Output = Option<OwnedSemaphorePermit>>,
    ) -> Result<Vec<SocketAddr>, UnknownHost> {
        let (host, port) = (address.host().to_owned(), address.port());
        if let Ok(ip) = host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, port)]);
        }
        let late = UnknownHost::NoAnswer {
            host: host.clone(),
            seconds: self.limit.as_secs(),
        };
        let unknown = UnknownHost::NoAddress(host.clone());
        let ask = self.ask;
        let looking = async {
            let place = place.await;
            let running = self.running.clone().acquire_owned().await;
            let look = move || {
                let found = ask(&host, port);
                drop((place, running));
                found
            };
            spawn_blocking(look).await.map_err(io::Error::other)?
        };
        match timeout(self.limit, looking).await {
            Ok(Ok(mut found)) if !found.is_empty() => {
                found.truncate(MOST_ADDRESSES);
                Ok(found)
            }
            Ok(_) => Err(unknown),
            Err(_) => Err(late),
        }
    }

    fn places(&self, peer: Option<Fingerprint>) -> Arc<Semaphore> {
        let mut peers = lock(&self.peers);
        // Permits hold their semaphore too.
        peers.retain(|_, places| Arc::strong_count(places) > 1);
        let new = || Arc::new(Semaphore::new(MOST_OF_PEER));
        peers.entry(peer).or_insert_with(new).clone()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Condvar;

    use tokio::task::JoinSet;

    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    /// A name server that does not answer before it is let go.
    struct Stuck {
        asked: Mutex<(usize, bool)>,
        changed: Condvar,
    }

    /// One for each test.
    static STUCK: Stuck = Stuck::new();
    static OF_ONE_PEER: Stuck = Stuck::new();

    /// Lets a name server go. Threads that wait would keep a failed test from ending.
    struct LetGo(&'static Stuck);

    impl Drop for LetGo {
        fn drop(&mut self) {
            self.0.asked.lock().unwrap().1 = true;
            self.0.changed.notify_all();
        }
    }

    impl Stuck {
        const fn new() -> Self {
            Stuck {
                asked: Mutex::new((0, false)),
                changed: Condvar::new(),
            }
        }

        fn ask(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
            let mut asked = self.asked.lock().unwrap();
            if host == "quick" {
                return Ok(vec![SocketAddr::from(([192, 0, 2, 1], port)); 100]);
            }
            asked.0 += 1;
            while !asked.1 {
                asked = self.changed.wait(asked).unwrap();
            }
            Err(io::Error::other("too late"))
        }
    }

    #[tokio::test]
    async fn names_that_are_not_answered_keep_few_threads_and_nobody_waiting() {
        let let_go = LetGo(&STUCK);
        let ask: fn(&str, u16) -> _ = |host, port| STUCK.ask(host, port);
        let names = Arc::new(Names::new(ask, Duration::from_millis(200)));
        let mut lookups = JoinSet::new();
        for n in 0..100 {
            // Ten names of each of ten peers.
            let (names, peer) = (names.clone(), Some(Fingerprint::from([n % 10; 20])));
            lookups.spawn(async move { names.of_peer(peer, &address("stuck:1")).await });
        }
        while let Some(result) = lookups.join_next().await {
            let error = result.unwrap().unwrap_err();
            assert!(matches!(error, UnknownHost::NoAnswer { .. }), "{error}");
        }
        // The last threads may begin late.
        while STUCK.asked.lock().unwrap().0 < MOST {
            tokio::task::yield_now().await;
        }
        // They keep their places while the system is busy with them; numbers need none.
        let waiting = names.own(&address("quick:1")).await;
        assert!(waiting.is_err());
        let number = names.own(&address("192.0.2.7:1")).await.unwrap();
        assert_eq!(number, ["192.0.2.7:1".parse().unwrap()]);
        let asked = STUCK.asked.lock().unwrap().0;
        assert_eq!(asked, MOST);
        drop(let_go);
        let names = Names::new(ask, Duration::from_secs(20));
        let found = names.of_peer(None, &address("quick:1")).await.unwrap();
        assert_eq!(found.len(), MOST_ADDRESSES);
        assert_eq!(names.peers.lock().unwrap().len(), 1);
    }

    #[tokio::test]
    async fn a_host_that_was_found_before_is_found_without_name_servers() {
        static GONE: Mutex<bool> = Mutex::new(false);
        let ask: fn(&str, u16) -> _ = |_, port| match *GONE.lock().unwrap() {
            true => Err(io::Error::other("no name server")),
            false => Ok(vec![SocketAddr::from(([192, 0, 2, 1], port))]),
        };
        let names = Names::new(ask, Duration::from_secs(20));
        let before = names.own(&address("host:1")).await.unwrap();
        *GONE.lock().unwrap() = true;
        assert_eq!(names.own(&address("host:1")).await, Ok(before));
        let other = names.own(&address("other:1")).await;
        assert_eq!(other, Err(UnknownHost::NoAddress("other".to_owned())));
        assert!(names.of_peer(None, &address("host:1")).await.is_err());
    }

    #[tokio::test]
    async fn one_peer_cannot_keep_others_waiting() {
        let _let_go = LetGo(&OF_ONE_PEER);
        let ask: fn(&str, u16) -> _ = |host, port| OF_ONE_PEER.ask(host, port);
        let names = Arc::new(Names::new(ask, Duration::from_secs(1)));
        let (one, other) = (Fingerprint::from([1; 20]), Fingerprint::from([2; 20]));
        let mut lookups = JoinSet::new();
        for _ in 0..10 * MOST {
            let names = names.clone();
            let look = async move { names.of_peer(Some(one), &address("stuck:1")).await };
            lookups.spawn(look);
        }
        // All of them ask before the other peer does.
        for _ in 0..10 * MOST {
            tokio::task::yield_now().await;
        }
        let quick = names.of_peer(Some(other), &address("quick:1")).await;
        quick.expect("there is a place for another peer");
        lookups.shutdown().await;
    }
}
