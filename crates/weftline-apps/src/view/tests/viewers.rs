//! Viewers of one source over loopback. The carrier is QUIC in place of WebTransport: it makes no difference here.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::time::timeout;
use weftline::{Allowed, Config, Connection, Endpoint, EndpointConfig, Identity};

use super::super::hub::Hub;
use super::super::session::{self, Ended, NoEntry};
use super::super::tokens::{TokenRules, Tokens};
use super::unit;

const DELAY: Duration = Duration::from_secs(2);

async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), work).await.expect("soon")
}

struct Server {
    endpoint: Endpoint,
    hub: Arc<Hub>,
    tokens: Arc<Tokens>,
    path: String,
}

impl Server {
    fn new(most: usize, once: bool) -> Self {
        let (any, identity) = ("127.0.0.1:0".parse().unwrap(), Identity::generate());
        let endpoint = Endpoint::bind(any, identity, Allowed::anyone(), EndpointConfig::default());
        let tokens = Tokens::new(TokenRules {
            once,
            ..TokenRules::default()
        });
        let token = tokens.add(Instant::now()).unwrap();
        Server {
            endpoint: endpoint.unwrap(),
            hub: Hub::new(most, DELAY),
            tokens: Arc::new(tokens),
            path: format!("/view?token={}", token.as_text()),
        }
    }

    fn addr(&self) -> SocketAddr {
        self.endpoint.local_addr().unwrap()
    }

    /// A viewer with a session, and how that ends.
    async fn viewer(&self, path: &str) -> (Viewer, tokio::task::JoinHandle<Ended>) {
        let (any, identity) = ("127.0.0.1:0".parse().unwrap(), Identity::generate());
        let mut config = Config::default();
        config.deliver_late_messages = true;
        let endpoint = Endpoint::bind(any, identity, Allowed::nobody(), config).unwrap();
        let connecting = endpoint.connect(self.addr(), self.endpoint.fingerprint());
        let (connected, accepted) =
            soon(async { tokio::join!(connecting, self.endpoint.accept()) }).await;
        let (tokens, accepted) = (self.tokens.clone(), accepted.unwrap());
        let (seat, admitted) = session::enter(&self.hub, &tokens, path).expect("a place");
        let serving =
            tokio::spawn(async move { session::serve(&accepted, &seat, &tokens, &admitted).await });
        let connection = connected.unwrap();
        (
            Viewer {
                connection,
                early: RefCell::default(),
                _endpoint: endpoint,
            },
            serving,
        )
    }
}

struct Viewer {
    connection: Connection,
    /// Messages that came before the welcome.
    early: RefCell<Vec<Bytes>>,
    _endpoint: Endpoint,
}

impl Viewer {
    async fn next(&self) -> Bytes {
        soon(self.connection.recv_message()).await.unwrap().data
    }

    /// The secret of the welcome.
    async fn welcomed(&self) -> String {
        loop {
            let message = self.next().await;
            if message[0] == 3 {
                assert_eq!(message[..4], [3, 1, 7, 208]);
                return String::from_utf8(message[4..].to_vec()).unwrap();
            }
            self.early.borrow_mut().push(message);
        }
    }

    /// The numbers of this many pictures.
    async fn pictures(&self, count: usize) -> BTreeSet<u32> {
        let mut numbers = BTreeSet::new();
        while numbers.len() < count {
            let early = self.early.borrow_mut().pop();
            let message = match early {
                Some(message) => message,
                None => self.next().await,
            };
            if message[0] == 1 {
                numbers.insert(u32::from_be_bytes([
                    message[2], message[3], message[4], message[5],
                ]));
            }
        }
        numbers
    }
}

#[tokio::test]
async fn one_source_has_many_viewers_and_a_newcomer_begins_with_the_newest_group() {
    let server = Server::new(8, false);
    let (first, _serving) = server.viewer(&server.path).await;
    assert_eq!(first.welcomed().await.len(), 32);
    for number in 0..5 {
        server.hub.publish(0, &unit(number % 3 == 0, 20_000));
    }
    assert_eq!(first.pictures(5).await, (0..5).collect());
    let (second, _serving) = server.viewer(&server.path).await;
    second.welcomed().await;
    // The group of the second key frame.
    assert_eq!(second.pictures(2).await, BTreeSet::from([3, 4]));
    server.hub.publish(0, &unit(false, 20_000));
    assert_eq!(first.pictures(1).await, second.pictures(1).await);
    assert_eq!(server.hub.counts().viewers, 2);
}

#[tokio::test]
async fn a_viewer_that_takes_nothing_holds_up_nobody() {
    let server = Server::new(8, false);
    let (quick, _serving) = server.viewer(&server.path).await;
    let (_slow, _serving) = server.viewer(&server.path).await;
    quick.welcomed().await;
    for round in 0..40 {
        for number in 0..5 {
            server.hub.publish(0, &unit(number == 0, 60_000));
        }
        let newest = quick.pictures(5).await;
        assert_eq!(newest, (round * 5..round * 5 + 5).collect());
    }
}

#[tokio::test]
async fn a_decoder_that_failed_gets_the_group_again() {
    let server = Server::new(8, false);
    let (viewer, _serving) = server.viewer(&server.path).await;
    viewer.welcomed().await;
    for number in 0..4 {
        server.hub.publish(0, &unit(number == 0, 5000));
    }
    assert_eq!(viewer.pictures(4).await.len(), 4);
    viewer
        .connection
        .send_message(&[2_u8][..], None)
        .await
        .unwrap();
    assert_eq!(viewer.pictures(4).await, (0..4).collect());
}

#[tokio::test]
async fn what_no_page_sends_ends_the_session() {
    for message in [&b"hello"[..], b"", &[1, 0, 49]] {
        let server = Server::new(8, false);
        let (viewer, serving) = server.viewer(&server.path).await;
        viewer.connection.send_message(message, None).await.unwrap();
        assert!(matches!(soon(serving).await.unwrap(), Ended::Invalid));
    }
}

#[tokio::test]
async fn a_page_that_comes_again_takes_the_place_of_itself() {
    let server = Server::new(8, true);
    let (first, serving) = server.viewer(&server.path).await;
    let secret = first.welcomed().await;
    assert!(!server.tokens.admits(&server.path, Instant::now()));
    let again = format!("{}&resume={secret}", server.path);
    let (second, _serving) = server.viewer(&again).await;
    assert_eq!(second.welcomed().await, secret);
    assert!(matches!(soon(serving).await.unwrap(), Ended::Replaced));
    server.hub.publish(0, &unit(true, 100));
    assert_eq!(second.pictures(1).await.len(), 1);
}

#[tokio::test]
async fn places_are_bounded_and_given_back() {
    let server = Server::new(1, false);
    let (viewer, serving) = server.viewer(&server.path).await;
    assert!(server.hub.join().is_none());
    viewer.connection.close(0, "bye");
    assert!(matches!(soon(serving).await.unwrap(), Ended::Closed(_)));
    assert!(server.hub.join().is_some());
    let counts = server.hub.counts();
    assert_eq!(
        (counts.viewers, counts.sessions, counts.refused_viewers),
        (0, 2, 1)
    );
}

#[tokio::test]
async fn a_link_is_not_used_up_by_a_page_that_never_knew_its_secret() {
    let server = Server::new(1, true);
    let enter = || session::enter(&server.hub, &server.tokens, &server.path).err();
    // There was no place.
    let seat = server.hub.join().unwrap();
    assert_eq!(enter(), Some(NoEntry::Full));
    drop(seat);
    // The path was lost at once.
    let (viewer, serving) = server.viewer(&server.path).await;
    assert_eq!(enter(), Some(NoEntry::Token));
    viewer.connection.close(0, "bye");
    assert!(matches!(soon(serving).await.unwrap(), Ended::Closed(_)));
    assert_eq!(enter(), None);
}

#[tokio::test]
async fn a_gap_in_the_source_ends_the_group_for_newcomers_too() {
    let server = Server::new(8, false);
    server.hub.publish(0, &unit(true, 100));
    let mut gap = unit(false, 0);
    gap.kind = super::super::media::Kind::Gap;
    server.hub.publish(0, &gap);
    let (viewer, _serving) = server.viewer(&server.path).await;
    viewer.welcomed().await;
    server.hub.publish(0, &unit(true, 100));
    assert_eq!(viewer.pictures(1).await, BTreeSet::from([1]));
    assert_eq!(server.hub.counts().source_gaps, 1);
}
