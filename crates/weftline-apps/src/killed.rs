//! A server that can be killed as a process is: nothing is said to its clients.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

/// Everything that `start` has spawned, in a runtime of its own.
pub(crate) struct Killable {
    pub(crate) addr: SocketAddr,
    kill: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Killable {
    /// `start` starts the server and gives its address.
    pub(crate) async fn start<F>(start: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = SocketAddr>,
    {
        let (tell, told) = oneshot::channel();
        let (kill, killed) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                tell.send(start().await).unwrap();
                let _ = killed.await;
            });
            // Its tasks end here and are not polled again, so that none can say goodbye.
        });
        let addr = told.await.unwrap();
        Killable { addr, kill, thread }
    }

    pub(crate) async fn kill(self) {
        self.kill.send(()).unwrap();
        let joined = tokio::task::spawn_blocking(|| self.thread.join()).await;
        joined.unwrap().unwrap();
    }
}

mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::{sleep, timeout};
    use weftline::{Allowed, Endpoint, EndpointConfig, Fingerprint, Identity, Port};

    use super::Killable;
    use crate::host::{Hosted, Service, host};
    use crate::protocol::Protocol;
    use crate::quota::{Budget, Limits};
    use crate::stopper::Stopper;
    use crate::{forward, relay};

    /// A second, a round trip, and what a busy machine needs; the idle timeout is 30 s.
    const SOON: Duration = Duration::from_secs(4);
    /// Longer than any acknowledgement is delayed.
    const QUIET: Duration = Duration::from_millis(500);
    const TARGET: &str = "127.0.0.1:9";

    struct Ends {
        near: Identity,
        far: Identity,
    }

    impl Ends {
        fn new() -> Self {
            let [near, far] = [(); 2].map(|()| Identity::generate());
            Ends { near, far }
        }

        /// What a client needs.
        fn identity(&self) -> (Fingerprint, Identity) {
            (self.far.fingerprint(), self.near.clone())
        }

        /// The server's endpoint.
        fn bind(&self, addr: std::net::SocketAddr, mut config: EndpointConfig) -> Port {
            Protocol::offer(&mut config);
            let allowed = Allowed::only([self.near.fingerprint()]);
            let bound = Endpoint::bind(addr, self.far.clone(), allowed, config);
            bound.unwrap().into()
        }
    }

    /// Serves one service.
    async fn serve(port: Port, service: Arc<impl Service>) {
        let (services, budget) = ([Hosted::new(service)], Budget::new(Limits::default()));
        let _ = host(&port, &services, &budget, &Stopper::new()).await;
    }

    /// Kills the server and starts it at its old address; the client, which is idle, must have
    /// another session soon.
    async fn come_back<F>(
        start: impl Fn(std::net::SocketAddr) -> F + Clone + Send + 'static,
        sessions: impl Fn() -> u64,
        first: Killable,
    ) where
        F: Future<Output = std::net::SocketAddr>,
    {
        let until = async |count| {
            let waiting = async {
                while sessions() < count {
                    sleep(Duration::from_millis(5)).await;
                }
            };
            timeout(SOON, waiting).await.expect("a session, soon");
        };
        until(1).await;
        // Now it is idle, and says nothing unless it asks whether the server is there.
        sleep(QUIET).await;
        let addr = first.addr;
        first.kill().await;
        let second = Killable::start(move || start(addr)).await;
        until(2).await;
        second.kill().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_forward_comes_back_to_a_server_that_was_killed() {
        let ends = Arc::new(Ends::new());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target = listener.local_addr().unwrap().to_string();
        let (theirs, allow) = (ends.clone(), target.clone());
        let start = move |addr| {
            let (ends, allow) = (theirs.clone(), allow.clone());
            async move {
                let options = forward::ServerOptions {
                    allow: vec![allow.parse::<crate::Allow>().unwrap()].into(),
                    ..Default::default()
                };
                let mut config = EndpointConfig::default();
                options.bounds.apply(&mut config);
                let port = ends.bind(addr, config);
                let addr = port.local_addr().unwrap();
                let server = forward::Server::new(options, |_| {});
                tokio::spawn(serve(port, server));
                addr
            }
        };
        let any = "127.0.0.1:0".parse().unwrap();
        let (starting, at) = (start.clone(), any);
        let first = Killable::start(move || starting(at)).await;
        let via = first.addr.to_string().parse().unwrap();
        let mut options = forward::ClientOptions::new(via, ends.identity());
        options.listen = vec![(any, forward::Entry::To(target.parse().unwrap()))];
        let client = forward::Client::open(options, |_| {}).await.unwrap();
        let (counts, entry) = (client.counts(), client.entries()[0].0);
        let running = tokio::spawn(async move { client.run(&Stopper::new()).await });
        come_back(start, || counts().sessions, first).await;
        // The local listener was there all the time.
        TcpStream::connect(entry).await.unwrap();
        running.abort();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_relay_comes_back_to_a_server_that_was_killed() {
        let ends = Arc::new(Ends::new());
        let theirs = ends.clone();
        let start = move |addr| {
            let ends = theirs.clone();
            async move {
                let port = ends.bind(addr, EndpointConfig::default());
                let addr = port.local_addr().unwrap();
                let options = relay::ServerOptions::new(vec![TARGET.parse().unwrap()]);
                let server = relay::Server::new(options, |_| {});
                tokio::spawn(serve(port, server));
                addr
            }
        };
        let (starting, any) = (start.clone(), "127.0.0.1:0".parse().unwrap());
        let first = Killable::start(move || starting(any)).await;
        let via = first.addr.to_string().parse().unwrap();
        let rules = vec![format!("0={TARGET}").parse().unwrap()];
        let options = relay::ClientOptions::new(via, Some(ends.identity()), rules);
        let client = Arc::new(relay::Client::open(options, |_| {}).unwrap());
        let runner = client.clone();
        let running = tokio::spawn(async move { runner.run(&Stopper::new()).await });
        come_back(start, || client.snapshot().counts.sessions, first).await;
        running.abort();
    }
}
