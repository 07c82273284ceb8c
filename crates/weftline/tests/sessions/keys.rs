//! What the TLS handshake gives to the application: its protocol's name, and keys.

use weftline::{Allowed, ConnectError, Connection, EndpointConfig, ExportError};

use crate::{Kind, Pair, config, quic, soon};

fn speaking(protocols: &[&str]) -> EndpointConfig {
    let mut config = config();
    config.application_protocols = protocols.iter().map(|p| (*p).to_owned()).collect();
    config
}

/// What the two ends agree on.
async fn agreed(server: &[&str], client: &[&str]) -> Result<[Option<String>; 2], ConnectError> {
    let server = quic(Allowed::anyone(), speaking(server));
    let client = quic(Allowed::nobody(), speaking(client));
    let near = client.connect(server.local_addr().unwrap(), server.fingerprint());
    let near = soon(near).await?;
    let far = soon(server.accept()).await.unwrap();
    Ok([near, far].map(|end| end.application_protocol()))
}

#[tokio::test]
async fn the_two_ends_agree_on_a_protocol_of_the_application() {
    let name = |name: &str| [Some(name.to_owned()), Some(name.to_owned())];
    assert_eq!(agreed(&[], &[]).await.unwrap(), [None, None]);
    assert_eq!(
        agreed(&["chat/1"], &["chat/1"]).await.unwrap(),
        name("chat/1")
    );
    let both = agreed(&["chat/2", "chat/1"], &["chat/1", "chat/0"]).await;
    assert_eq!(both.unwrap(), name("chat/1"));
}

#[tokio::test]
async fn without_a_common_protocol_nobody_connects() {
    for (server, client) in [
        (&["chat/1"][..], &["mail/1"][..]),
        (&[], &["chat/1"]),
        (&["chat/1"], &[]),
    ] {
        let error = agreed(server, client).await.unwrap_err();
        let ConnectError::ApplicationProtocol { .. } = error else {
            panic!("{error}")
        };
        assert!(!error.is_retryable());
    }
}

#[tokio::test]
async fn a_protocol_has_the_engine_that_the_port_has_for_it() {
    let mut config = speaking(&["short", "usual"]);
    let mut short = config.session.clone();
    short.limits.message_size = 16 << 10;
    config.sessions_by_protocol.insert("short".into(), short);
    let server = quic(Allowed::anyone(), config);
    for (protocol, takes_it) in [("short", false), ("usual", true)] {
        let client = quic(Allowed::nobody(), speaking(&[protocol]));
        let near = client.connect(server.local_addr().unwrap(), server.fingerprint());
        let near = soon(near).await.unwrap();
        let sent = soon(near.send_message(vec![7; 20 << 10], None)).await;
        assert_eq!(sent.is_ok(), takes_it, "{protocol}");
    }
}

fn keys(connection: &Connection, label: &str, context: &str) -> [u8; 32] {
    let mut keys = [0; 32];
    let (label, context) = (label.as_bytes(), context.as_bytes());
    connection
        .export_keying_material(&mut keys, label, context)
        .unwrap();
    keys
}

#[tokio::test]
async fn both_ends_export_the_same_keys_and_others_for_another_label() {
    let pair = Pair::new(Kind::Quic).await;
    let (near, far) = (&pair.client, &pair.server);
    let first = keys(near, "EXPERIMENTAL a", "x");
    assert_eq!(first, keys(far, "EXPERIMENTAL a", "x"));
    assert_ne!(first, keys(far, "EXPERIMENTAL b", "x"));
    assert_ne!(first, keys(far, "EXPERIMENTAL a", "y"));
    let mut much = vec![0; 1 << 20];
    let length = much.len();
    let error = near.export_keying_material(&mut much, b"EXPERIMENTAL a", b"");
    assert_eq!(error, Err(ExportError::TooLong { length }));
    let other = Pair::new(Kind::Quic).await;
    assert_ne!(first, keys(&other.client, "EXPERIMENTAL a", "x"));
}

#[tokio::test]
async fn plain_udp_has_no_keys() {
    let pair = Pair::new(Kind::Udp).await;
    let error = pair.client.export_keying_material(&mut [0; 8], b"a", b"");
    assert_eq!(error, Err(ExportError::Insecure));
}
