use std::time::{Duration, SystemTime};

use weftline::{BindError, WebAllowed, WebCertificate, WebCertificateError, WebEndpoint};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::der::asn1::ObjectIdentifier;

use crate::page::{Http, Page, browser};
use crate::{URL, any, certificate, config, server, soon};

/// What W3C's WebTransport asks of a certificate that a page names by its hash.
#[test]
fn a_generated_certificate_is_one_that_browsers_take_by_its_hash() {
    let names = ["localhost".to_owned(), "192.0.2.7".to_owned()];
    let certificate = WebCertificate::generate(&names).unwrap();
    let [leaf] = certificate.chain() else {
        panic!("a chain");
    };
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, leaf);
    assert_eq!(certificate.hash(), digest.as_ref());
    let parsed = Certificate::from_der(leaf).unwrap();
    let parsed = parsed.tbs_certificate();
    let validity = parsed.validity();
    let (from, to) = (
        validity.not_before.to_system_time(),
        validity.not_after.to_system_time(),
    );
    assert_eq!(certificate.not_after(), to);
    let day = Duration::from_secs(24 * 3600);
    assert!(to.duration_since(from).unwrap() <= 14 * day);
    let now = SystemTime::now();
    assert!(from < now && to > now + 12 * day);
    // ecPublicKey, prime256v1; version 3.
    let key = &parsed.subject_public_key_info().algorithm;
    assert_eq!(key.oid.to_string(), "1.2.840.10045.2.1");
    let curve: ObjectIdentifier = key.parameters.as_ref().unwrap().decode_as().unwrap();
    assert_eq!(curve.to_string(), "1.2.840.10045.3.1.7");
    assert_eq!(parsed.version(), x509_cert::certificate::Version::V3);
    assert_ne!(crate::certificate().hash(), certificate.hash());
}

#[test]
fn a_name_that_cannot_stand_in_a_certificate_is_refused_by_name() {
    let error = WebCertificate::generate(&["häh?".to_owned()]).unwrap_err();
    assert!(matches!(error, WebCertificateError::Names { ref names, .. } if names == &["häh?"]));
}

#[tokio::test]
async fn a_certificate_of_an_authority_comes_from_pem() {
    let names = vec!["localhost".to_owned()];
    let own = rcgen::generate_simple_self_signed(names.clone()).unwrap();
    let other = rcgen::generate_simple_self_signed(names).unwrap();
    let pem = |der: &[u8], label: &str| {
        let text = data_encoding::BASE64.encode(der);
        format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
    };
    let cert = |of: &rcgen::CertifiedKey<rcgen::KeyPair>| pem(of.cert.der(), "CERTIFICATE");
    let key = pem(&own.signing_key.serialize_der(), "PRIVATE KEY");
    let chain = cert(&own) + &cert(&other);
    let certificate = WebCertificate::from_pem(chain, &key).unwrap();
    assert_eq!(certificate.chain().len(), 2);
    let endpoint = server(&certificate);
    let addr = endpoint.local_addr().unwrap();
    let page = Page::open(addr, certificate.hash(), URL, config().session);
    assert!(soon(page).await.is_ok());
    let wrong = |chain: &str, key: &str| WebCertificate::from_pem(chain, key).unwrap_err();
    assert!(matches!(wrong("", &key), WebCertificateError::Chain(_)));
    assert!(matches!(wrong(&key, &key), WebCertificateError::Chain(_)));
    assert!(matches!(
        wrong(&cert(&own), ""),
        WebCertificateError::Key(_)
    ));
    assert!(matches!(
        wrong(&cert(&other), &key),
        WebCertificateError::Pair(_)
    ));
    let junk = pem(b"junk", "CERTIFICATE");
    assert!(matches!(wrong(&junk, &key), WebCertificateError::Chain(_)));
}

#[tokio::test]
async fn the_certificate_is_replaced_while_the_endpoint_runs() {
    let (first, second) = (certificate(), certificate());
    let endpoint = server(&first);
    let addr = endpoint.local_addr().unwrap();
    let early = soon(Page::open(addr, first.hash(), URL, config().session));
    let early = early.await.unwrap();
    let connection = soon(endpoint.accept()).await.unwrap();
    endpoint.set_certificate(second.clone()).unwrap();
    assert!(soon(Http::to(addr, first.hash())).await.is_err());
    let refused = soon(endpoint.refused()).await.unwrap().to_string();
    assert!(refused.contains("certificate"), "{refused}");
    let late = soon(Page::open(addr, second.hash(), URL, config().session));
    assert!(late.await.is_ok());
    // The one that was open goes on.
    soon(connection.send_message("still here", None))
        .await
        .unwrap();
    assert_eq!(soon(early.message()).await.data, "still here");
}

#[tokio::test]
async fn it_serves_https_too() {
    let certificate = certificate();
    let tls = certificate.server_config(&["http/1.1"]).unwrap();
    assert_eq!(tls.alpn_protocols, [b"http/1.1"]);
    let tls = quinn::crypto::rustls::QuicServerConfig::try_from(tls).unwrap();
    let config = quinn::ServerConfig::with_crypto(std::sync::Arc::new(tls));
    let server = quinn::Endpoint::server(config, any()).unwrap();
    let client = browser(certificate.hash(), "http/1.1");
    let connect = client.connect(server.local_addr().unwrap(), "localhost");
    let accept = async { server.accept().await.unwrap().await };
    let (near, far) = soon(async { tokio::join!(connect.unwrap(), accept) }).await;
    assert!(near.is_ok() && far.is_ok());
}

#[tokio::test]
async fn names_of_protocols_are_refused() {
    let mut config = config();
    config.application_protocols = vec!["chat/1".to_owned()];
    let allowed = WebAllowed::from_fn(|_| true);
    let refused = WebEndpoint::bind(any(), certificate(), allowed, config);
    let Err(BindError::Invalid { field, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(field, "application_protocols");
}
