//! Pairing over real sockets.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::net::UdpSocket;
use weftline::{Allowed, ConnectError, Endpoint, EndpointConfig, Identity};

use super::codes::Codes;
use super::exchange::{ReceiverNext, Receiving};
use super::*;
use crate::{Address, Protocol, connect};

const CODE: &str = "7-amber-river";
const OTHER: &str = "8-amber-river";

/// A receiver that shows [`CODE`], and answers until it is dropped.
struct Receiver {
    endpoint: Endpoint,
    host: Arc<Host>,
    address: Address,
    results: tokio::sync::mpsc::UnboundedReceiver<Result<Paired, PairingError>>,
    _task: tokio::task::JoinSet<()>,
}

fn bind(allowed: Allowed, identity: Identity) -> Endpoint {
    let (local, mut config) = ((Ipv4Addr::LOCALHOST, 0).into(), EndpointConfig::default());
    Protocol::offer(&mut config);
    Endpoint::bind(local, identity, allowed, config).unwrap()
}

impl Receiver {
    fn new() -> Self {
        let identity = Identity::generate();
        let own = identity.fingerprint();
        let open = Allowed::only([own]).and_strangers_for(PROTOCOL);
        let endpoint = bind(open, identity);
        let host = Arc::new(Host::new(own, Some("inbox".parse().unwrap())));
        assert!(host.open(CODE.parse().unwrap()));
        let (told, results) = tokio::sync::mpsc::unbounded_channel();
        let mut task = tokio::task::JoinSet::new();
        let (accepting, answering) = (endpoint.clone(), host.clone());
        task.spawn(async move {
            while let Some(stranger) = accepting.accept_stranger().await {
                let (host, told) = (answering.clone(), told.clone());
                let endpoint = accepting.clone();
                tokio::spawn(async move {
                    let admit = |peer| endpoint.set_allowed(Allowed::only([own, peer])).unwrap();
                    let _ = told.send(host.answer(&stranger, admit).await);
                });
            }
        });
        let address = endpoint.local_addr().unwrap().to_string().parse().unwrap();
        Receiver {
            endpoint,
            host,
            address,
            results,
            _task: task,
        }
    }

    async fn pair(&self, code: &str, sender: &Identity) -> Result<Paired, PairingError> {
        let name = Some("laptop".parse().unwrap());
        let code = code.parse().unwrap();
        pair(
            &self.address,
            &code,
            sender,
            name,
            &EndpointConfig::default(),
        )
        .await
    }

    async fn result(&mut self) -> Result<Paired, PairingError> {
        self.results.recv().await.unwrap()
    }
}

#[tokio::test]
async fn a_sender_with_the_code_may_connect_from_then_on() {
    let mut receiver = Receiver::new();
    let sender = Identity::generate();
    assert_eq!(receiver.host.used(), None);
    let paired = receiver.pair(CODE, &sender).await.unwrap();
    assert_eq!(paired.peer, receiver.endpoint.fingerprint());
    assert_eq!(paired.name.unwrap().as_str(), "inbox");
    let there = receiver.result().await.unwrap();
    assert_eq!(there.peer, sender.fingerprint());
    assert_eq!(there.name.unwrap().as_str(), "laptop");
    assert!(receiver.host.used().is_some());
    let config = EndpointConfig::default();
    let identity = Some((paired.peer, sender.clone()));
    let (_port, connection) = connect(&receiver.address, identity, Protocol::Files, &config)
        .await
        .unwrap();
    let accepted = receiver.endpoint.accept().await.unwrap();
    assert_eq!(accepted.peer(), Some(sender.fingerprint()));
    assert_eq!(connection.peer(), Some(paired.peer));
    // The code is used.
    let again = receiver.pair(CODE, &Identity::generate()).await;
    assert!(matches!(again, Err(PairingError::NoCode(_))), "{again:?}");
}

#[tokio::test]
async fn a_code_is_for_the_key_that_the_endpoint_has_now() {
    let mut receiver = Receiver::new();
    let identity = Identity::generate();
    let (new, sender) = (identity.fingerprint(), Identity::generate());
    receiver.endpoint.set_identity(identity).unwrap();
    let wrong = receiver.pair(CODE, &sender).await;
    assert!(matches!(wrong, Err(PairingError::WrongCode)), "{wrong:?}");
    assert!(receiver.result().await.is_err());
    receiver.host.set_fingerprint(new);
    assert_eq!(receiver.pair(CODE, &sender).await.unwrap().peer, new);
    assert_eq!(receiver.result().await.unwrap().peer, sender.fingerprint());
}

#[tokio::test]
async fn three_wrong_tries_of_different_senders_end_the_code() {
    let mut receiver = Receiver::new();
    for _ in 0..TRIES {
        assert!(receiver.host.code().is_some());
        let wrong = receiver.pair(OTHER, &Identity::generate()).await;
        let wrong = wrong.unwrap_err();
        assert!(matches!(wrong, PairingError::WrongCode), "{wrong}");
        assert_eq!(wrong.to_string(), "wrong code");
        let there = receiver.result().await;
        assert!(matches!(there, Err(PairingError::WrongCode)));
    }
    assert!(receiver.host.code().is_none() && receiver.host.next().is_some());
    assert!(!receiver.host.open(CODE.parse().unwrap()));
    let right = receiver.pair(CODE, &Identity::generate()).await;
    assert!(matches!(right, Err(PairingError::WrongCode)), "{right:?}");
}

#[tokio::test]
async fn the_ends_of_a_connection_export_the_same_and_each_connection_something_else() {
    let open = Allowed::nobody().and_strangers_for(PROTOCOL);
    let server = bind(open, Identity::generate());
    let client = bind(Allowed::nobody(), Identity::generate());
    let there = server.local_addr().unwrap();
    let mut bindings = Vec::new();
    for _ in 0..2 {
        let ours = client.connect_stranger(there, PROTOCOL).await.unwrap();
        let theirs = server.accept_stranger().await.unwrap();
        theirs.confirmed().await.unwrap();
        let (here, peer) = binding(&ours, client.fingerprint(), true).unwrap();
        assert_eq!(peer, server.fingerprint());
        let (there, peer) = binding(&theirs, server.fingerprint(), false).unwrap();
        assert_eq!(peer, client.fingerprint());
        let ends = [here, there].map(|end| (end.sender, end.receiver, end.exported));
        assert!(ends[0] == ends[1]);
        bindings.push(here.exported);
    }
    assert_ne!(bindings[0], bindings[1]);
}

#[tokio::test]
async fn the_last_message_is_there_for_a_reader_that_is_late() {
    let open = Allowed::nobody().and_strangers_for(PROTOCOL);
    let server = bind(open, Identity::generate());
    let client = bind(Allowed::nobody(), Identity::generate());
    let there = server.local_addr().unwrap();
    let ours = client.connect_stranger(there, PROTOCOL).await.unwrap();
    let theirs = server.accept_stranger().await.unwrap();
    let mut stream = ours.open_stream().await.unwrap();
    write_last(&mut stream, &Message::Wrong).await.unwrap();
    ours.flushed().await.unwrap();
    drop(stream);
    // It comes after all that a dropped stream causes.
    let receipt = ours.send_message(vec![1], None).await.unwrap();
    receipt.await.unwrap();
    let mut late = theirs.accept_stream().await.unwrap();
    assert_eq!(read(&mut late).await.unwrap(), Message::Wrong);
}

#[tokio::test]
async fn an_open_code_lets_strangers_in_for_nothing_else() {
    let receiver = Receiver::new();
    let stranger = Identity::generate();
    let identity = Some((receiver.endpoint.fingerprint(), stranger.clone()));
    let refused = connect(
        &receiver.address,
        identity,
        Protocol::Files,
        &EndpointConfig::default(),
    )
    .await;
    let refused = refused.err().unwrap();
    assert!(
        matches!(refused, SessionError::Connect(ConnectError::Refused { .. })),
        "{refused}"
    );
    // A stranger's connection is never one of those that may bring files.
    receiver.pair(OTHER, &stranger).await.unwrap_err();
    let accepted = tokio::time::timeout(Duration::from_millis(200), receiver.endpoint.accept());
    assert!(accepted.await.is_err());
}

/// It knows both ends' messages, but ends two TLS sessions: one with each.
#[tokio::test]
async fn a_man_in_the_middle_between_two_real_sessions_is_refused() {
    let mut receiver = Receiver::new();
    let middle = bind(
        Allowed::nobody().and_strangers_for(PROTOCOL),
        Identity::generate(),
    );
    let at: Address = middle.local_addr().unwrap().to_string().parse().unwrap();
    let there = receiver.endpoint.local_addr().unwrap();
    let client = bind(Allowed::nobody(), Identity::generate());
    let passing = tokio::spawn(async move {
        let victim = middle.accept_stranger().await.unwrap();
        let onward = client.connect_stranger(there, PROTOCOL).await.unwrap();
        let mut left = victim.accept_stream().await.unwrap();
        let mut right = onward.open_stream().await.unwrap();
        let _ = tokio::io::copy_bidirectional(&mut left, &mut right).await;
    });
    let (sender, code) = (Identity::generate(), CODE.parse().unwrap());
    let paired = pair(&at, &code, &sender, None, &EndpointConfig::default()).await;
    assert!(matches!(paired, Err(PairingError::WrongCode)), "{paired:?}");
    let there = receiver.result().await;
    assert!(matches!(there, Err(PairingError::WrongCode)), "{there:?}");
    passing.abort();
}

#[tokio::test]
async fn garbage_and_messages_that_are_too_long_end_the_exchange() {
    let mut receiver = Receiver::new();
    let there = receiver.endpoint.local_addr().unwrap();
    let client = bind(Allowed::nobody(), Identity::generate());
    for bytes in [&[1, 255, 0][..], &[9, 0], &[3, 32], &[0xff; 300]] {
        let connection = client.connect_stranger(there, PROTOCOL).await.unwrap();
        let mut stream = connection.open_stream().await.unwrap();
        stream.write_all(bytes).await.unwrap();
        stream.finish().unwrap();
        let there = receiver.result().await.unwrap_err();
        let is_over = matches!(there, PairingError::Protocol | PairingError::Session(_));
        assert!(is_over, "{bytes:?}: {there}");
    }
    assert!(receiver.host.code().is_some());
}

#[tokio::test]
async fn where_no_code_is_open_the_sender_is_told_so() {
    let identity = Identity::generate();
    let endpoint = bind(Allowed::only([identity.fingerprint()]), identity);
    let address = endpoint.local_addr().unwrap().to_string().parse().unwrap();
    let (sender, code) = (Identity::generate(), CODE.parse().unwrap());
    let none = pair(&address, &code, &sender, None, &EndpointConfig::default()).await;
    assert!(matches!(none, Err(PairingError::NoCode(_))), "{none:?}");
}

/// Passes datagrams on between the first that writes to it and `there`; those to `there` while `open` only.
/// Returns its address.
async fn wire(there: std::net::SocketAddr, open: Arc<AtomicBool>) -> Address {
    let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    far.connect(there).await.unwrap();
    let address = near.local_addr().unwrap().to_string().parse().unwrap();
    tokio::spawn(async move {
        let (mut out, mut back, mut from) = ([0; 2048], [0; 2048], None);
        loop {
            tokio::select! {
                Ok((length, addr)) = near.recv_from(&mut out) => {
                    from = Some(addr);
                    if open.load(Ordering::SeqCst) {
                        far.send(&out[..length]).await.unwrap();
                    }
                }
                Ok(length) = far.recv(&mut back) => {
                    near.send_to(&back[..length], from.unwrap()).await.unwrap();
                }
            }
        }
    });
    address
}

#[tokio::test]
async fn a_proved_pair_is_one_when_the_last_message_is_lost() {
    let identity = Identity::generate();
    let ours = identity.fingerprint();
    let endpoint = bind(Allowed::nobody().and_strangers_for(PROTOCOL), identity);
    let open = Arc::new(AtomicBool::new(true));
    let at = wire(endpoint.local_addr().unwrap(), open.clone()).await;
    let receiving = tokio::spawn(async move {
        let mut codes = Codes::new();
        codes.open(CODE.parse().unwrap(), std::time::Instant::now());
        let stranger = endpoint.accept_stranger().await.unwrap();
        stranger.confirmed().await.unwrap();
        let (binding, _) = binding(&stranger, ours, false).unwrap();
        let mut stream = stranger.accept_stream().await.unwrap();
        let mut receiving = Receiving::new(binding, None);
        loop {
            let message = read(&mut stream).await.unwrap();
            let next = receiving.handle(message, &mut codes, std::time::Instant::now());
            match next.unwrap() {
                ReceiverNext::Send(message) => write(&mut stream, &message).await.unwrap(),
                ReceiverNext::Paired(message) => {
                    // Nothing that the sender says from now on arrives.
                    open.store(false, Ordering::SeqCst);
                    write(&mut stream, &message).await.unwrap();
                }
                other => panic!("{other:?}"),
            }
        }
    });
    let (sender, code) = (Identity::generate(), CODE.parse().unwrap());
    let paired = pair(&at, &code, &sender, None, &EndpointConfig::default()).await;
    assert_eq!(paired.unwrap().peer, ours);
    assert!(!receiving.is_finished());
    receiving.abort();
}
