//! Strangers, and pages that do what no browser does.

use std::sync::{Arc, Mutex};

use quinn::{Connection, ConnectionError, SendDatagramError};
use weftline::{Refusal, WebAllowed, WebEndpoint};

use crate::page::{Http, Page, browser};
use crate::{URL, any, certificate, config, server, soon};

/// A page with the token gets in.
async fn open(endpoint: &WebEndpoint, hash: [u8; 32]) -> (Page, weftline::Connection) {
    let addr = endpoint.local_addr().unwrap();
    let page = Page::open(addr, hash, URL, config().session);
    let (page, connection) = soon(async { tokio::join!(page, endpoint.accept()) }).await;
    let (page, connection) = (page.unwrap(), connection.unwrap());
    soon(connection.send_message("hello", None)).await.unwrap();
    assert_eq!(soon(page.message()).await.data, "hello");
    (page, connection)
}

/// A connection of QUIC, of HTTP/3 by its name alone.
async fn stranger(endpoint: &WebEndpoint, hash: [u8; 32]) -> (quinn::Endpoint, Connection) {
    let browser = browser(hash, "h3");
    let addr = endpoint.local_addr().unwrap();
    let connection = soon(browser.connect(addr, "localhost").unwrap())
        .await
        .unwrap();
    (browser, connection)
}

#[tokio::test]
async fn a_page_without_the_token_gets_403_and_no_session() {
    let certificate = certificate();
    let endpoint = server(&certificate);
    let addr = endpoint.local_addr().unwrap();
    for url in [
        "https://localhost/view",
        "https://localhost/view?token=",
        "https://localhost/view?token=a-toke",
        "https://localhost/view?token=a-token2",
        "https://localhost/view?token=wrong&token=a-token",
        "https://localhost/view#token=a-token",
    ] {
        let http = soon(Http::to(addr, certificate.hash())).await.unwrap();
        let error = soon(http.ask(url)).await.unwrap_err();
        assert!(error.to_string().contains("403"), "{url}: {error}");
        let refused = soon(endpoint.refused()).await;
        assert!(matches!(refused, Some(Refusal::Page { .. })), "{refused:?}");
        let error = soon(http.connection.closed()).await;
        assert!(
            matches!(error, ConnectionError::ApplicationClosed(_)),
            "{error}"
        );
    }
    open(&endpoint, certificate.hash()).await;
}

#[tokio::test]
async fn the_rule_is_asked_once_and_sees_what_the_page_says() {
    let certificate = certificate();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let asked = seen.clone();
    let allowed = WebAllowed::from_fn(move |request| {
        let query = request.query("a b").map(str::to_owned);
        let origin = request.origin().map(str::to_owned);
        let path = request.path().to_owned();
        asked
            .lock()
            .unwrap()
            .push((path, query, origin, request.addr()));
        // What it holds is not for logs.
        !format!("{request:?}").contains("c%26d")
    });
    let endpoint = WebEndpoint::bind(any(), certificate.clone(), allowed, config()).unwrap();
    let addr = endpoint.local_addr().unwrap();
    let url = "https://localhost/view?a+b=c%26d";
    let page = Page::open(addr, certificate.hash(), url, config().session);
    let (page, connection) = soon(async { tokio::join!(page, endpoint.accept()) }).await;
    let (page, connection) = (page.unwrap(), connection.unwrap());
    assert_eq!(connection.web_path().as_deref(), Some("/view?a+b=c%26d"));
    let seen = seen.lock().unwrap();
    let [(path, query, origin, from)] = &seen[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(path, "/view?a+b=c%26d");
    assert_eq!(query.as_deref(), Some("c&d"));
    assert_eq!(origin.as_deref(), Some("https://page.example"));
    assert_eq!(*from, connection.remote_addr());
    drop(page);
}

#[tokio::test]
async fn another_protocol_than_http3_is_refused() {
    let certificate = certificate();
    let endpoint = server(&certificate);
    let browser = browser(certificate.hash(), "weftline/1");
    let connect = browser.connect(endpoint.local_addr().unwrap(), "localhost");
    assert!(soon(connect.unwrap()).await.is_err());
    let refused = soon(endpoint.refused()).await;
    assert!(
        matches!(refused, Some(Refusal::Handshake { .. })),
        "{refused:?}"
    );
    open(&endpoint, certificate.hash()).await;
}

#[tokio::test]
async fn one_that_stalls_after_quics_handshake_is_given_up() {
    let certificate = certificate();
    let endpoint = server(&certificate);
    let mut stalled = Vec::new();
    for _ in 0..20 {
        stalled.push(stranger(&endpoint, certificate.hash()).await);
    }
    // It keeps nobody out meanwhile.
    open(&endpoint, certificate.hash()).await;
    for (_browser, connection) in stalled {
        soon(connection.closed()).await;
    }
}

#[tokio::test]
async fn a_page_gets_the_streams_that_it_needs_and_no_more() {
    let certificate = certificate();
    let endpoint = server(&certificate);
    let (page, _far) = open(&endpoint, certificate.hash()).await;
    let connection = &page.http.connection;
    // The request's stream and the control stream are there already.
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = soon(connection.open_uni()).await.unwrap();
        stream.write_all(&[2]).await.unwrap();
        open.push(stream);
    }
    let more = async {
        tokio::select! {
            stream = connection.open_bi() => stream.map(|(send, _)| send),
            stream = connection.open_uni() => stream,
        }
    };
    let none = tokio::time::timeout(std::time::Duration::from_millis(300), more).await;
    assert!(none.is_err(), "{none:?}");
    // Nor does it get rid of more on those than their windows take.
    let stuffed = async {
        for stream in &mut open {
            stream.write_all(&[0; 1 << 20]).await.unwrap();
        }
    };
    let none = tokio::time::timeout(std::time::Duration::from_millis(300), stuffed).await;
    assert!(none.is_err(), "it took a megabyte");
}

/// What comes on the request's stream, and what becomes of it.
#[tokio::test]
async fn a_request_that_is_none_is_refused() {
    let certificate = certificate();
    let endpoint = server(&certificate);
    let addr = endpoint.local_addr().unwrap();
    let huge = [&[1, 0x80, 0, 0xff, 0xff][..], &[0; 20_000]].concat();
    for request in [
        // A HEADERS frame of 64 KiB; one of 2^62 bytes; DATA first; headers that are none.
        &huge[..],
        &[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
        &[0, 2, 0, 0],
        &[1, 4, 0xff, 0xff, 0xff, 0xff],
    ] {
        let http = soon(Http::to(addr, certificate.hash())).await.unwrap();
        let (mut send, _recv) = soon(http.connection.open_bi()).await.unwrap();
        send.write_all(request).await.ok();
        let refused = soon(endpoint.refused()).await;
        assert!(
            matches!(refused, Some(Refusal::Handshake { .. })),
            "{refused:?}"
        );
        soon(http.connection.closed()).await;
    }
    open(&endpoint, certificate.hash()).await;
}

#[tokio::test]
async fn settings_that_are_none_are_refused() {
    let certificate = certificate();
    let endpoint = server(&certificate);
    for settings in [
        // Another kind of stream; a frame that is none of SETTINGS; SETTINGS without WebTransport.
        &[2, 0][..],
        &[0, 7, 1, 0],
        &[0, 4, 2, 0x33, 0],
        &[0, 4, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
    ] {
        let (_browser, connection) = stranger(&endpoint, certificate.hash()).await;
        let mut send = soon(connection.open_uni()).await.unwrap();
        send.write_all(settings).await.unwrap();
        let refused = soon(endpoint.refused()).await;
        assert!(
            matches!(refused, Some(Refusal::Handshake { .. })),
            "{refused:?}"
        );
        soon(connection.closed()).await;
    }
}

#[tokio::test]
async fn unknown_capsules_without_end_do_no_harm() {
    let certificate = certificate();
    let endpoint = server(&certificate);
    let http = soon(Http::to(endpoint.local_addr().unwrap(), certificate.hash()));
    let http = http.await.unwrap();
    let (mut send, _recv) = soon(http.ask(URL)).await.unwrap();
    // DATA frames of a thousand unknown capsules, unknown frames, and then one capsule in many frames.
    let capsules = [0x3f_u8, 0].repeat(1000);
    for _ in 0..100 {
        let frame = [
            &[0, 0x40 | (capsules.len() >> 8) as u8, capsules.len() as u8],
            &capsules[..],
        ];
        soon(send.write_all(&frame.concat())).await.unwrap();
        soon(send.write_all(&[0x21, 2, 9, 9])).await.unwrap();
    }
    soon(send.write_all(&[0, 5, 0x3f, 0x80, 0, 0xff, 0xff]))
        .await
        .unwrap();
    for _ in 0..1000 {
        soon(send.write_all(&[0, 1, 7])).await.unwrap();
    }
    // A capsule that is longer than any may be breaks the session off.
    assert!(http.connection.close_reason().is_none());
    send.finish().unwrap();
    soon(http.connection.closed()).await;
    open(&endpoint, certificate.hash()).await;
}

/// The reader of capsules waits for more of a close whose length is under 4, though nothing is missing.
#[tokio::test]
async fn a_close_that_is_too_short_is_not_collected_without_end() {
    let certificate = certificate();
    let endpoint = server(&certificate);
    let http = soon(Http::to(endpoint.local_addr().unwrap(), certificate.hash()));
    let http = http.await.unwrap();
    let (mut send, _recv) = soon(http.ask(URL)).await.unwrap();
    send.write_all(&[0, 3, 0x68, 0x43, 0]).await.unwrap();
    let frame = [&[0, 0x80, 0, 0x40, 0][..], &[0; 0x4000]].concat();
    let endless = async {
        let mut frames = 0;
        while send.write_all(&frame).await.is_ok() {
            frames += 1;
            assert!(frames < 64, "it took a megabyte");
        }
    };
    soon(endless).await;
    soon(http.connection.closed()).await;
    open(&endpoint, certificate.hash()).await;
}

#[tokio::test]
async fn a_flood_of_datagrams_before_the_request_keeps_nobody_out() {
    let certificate = certificate();
    let endpoint = server(&certificate);
    let (_browser, connection) = stranger(&endpoint, certificate.hash()).await;
    let flood = async {
        loop {
            for early in [&[][..], &[0], &[0, 5, 99, 99, 99, 99], &[9; 1000]] {
                let sent = connection.send_datagram_wait(early.to_vec().into());
                if let Err(error) = sent.await {
                    return error;
                }
            }
            tokio::task::yield_now().await;
        }
    };
    let (error, _) = tokio::join!(soon(flood), open(&endpoint, certificate.hash()));
    assert!(
        matches!(error, SendDatagramError::ConnectionLost(_)),
        "{error}"
    );
}
