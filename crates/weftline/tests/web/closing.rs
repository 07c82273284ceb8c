use weftline::CloseReason;

use crate::{Pair, soon};

#[tokio::test]
async fn a_page_hears_why_it_is_over() {
    let mut pair = Pair::new().await;
    pair.server.close(4711, "enough: ä");
    let told = soon(pair.page.closed()).await;
    assert_eq!(told, (4711, "enough: ä".to_owned()));
    let (code, reason) = (4711, "enough: ä".to_owned());
    assert_eq!(
        soon(pair.page.ended()).await,
        CloseReason::Peer { code, reason }
    );
    pair.page.http.connection.close(0x100_u32.into(), b"");
    soon(pair.endpoint.wait_idle()).await;
}

#[tokio::test]
async fn a_code_or_reason_that_webtransport_cannot_say_is_cut() {
    let mut pair = Pair::new().await;
    pair.server.close(1 << 40, &"ä".repeat(1000));
    let told = soon(pair.page.closed()).await;
    assert_eq!(told, (0xffff_ffef, "ä".repeat(512)));
}

#[tokio::test]
async fn a_page_that_does_not_answer_a_close_holds_nothing_up() {
    let pair = Pair::new().await;
    // It keeps its connection.
    pair.endpoint.close(3, "the end");
    soon(pair.endpoint.wait_idle()).await;
    let error = soon(pair.page.http.connection.closed()).await;
    let quinn::ConnectionError::ApplicationClosed(close) = error else {
        panic!("{error}");
    };
    let code = web_transport_proto::error_from_http3(close.error_code.into_inner());
    assert_eq!(code, Some(3));
}

#[tokio::test]
async fn what_a_page_says_when_it_closes_is_heard_and_printable() {
    for code in [0, 1, 77, 0xffff_ffef] {
        let mut pair = Pair::new().await;
        pair.page.close(code, "bye\x1b[31m").await;
        let CloseReason::Peer {
            code: heard,
            reason,
        } = soon(pair.server.closed()).await
        else {
            panic!("not the peer's");
        };
        assert_eq!(heard, u64::from(code));
        assert!(
            reason.starts_with("bye") && !reason.contains('\x1b'),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn the_runtimes_own_codes_mean_the_same_over_webtransport() {
    let mut pair = Pair::new().await;
    pair.page.close(0xffff_fff0, "that is no HELLO").await;
    let refused = CloseReason::Refused("that is no HELLO".to_owned());
    assert_eq!(soon(pair.server.closed()).await, refused);
    let mut pair = Pair::new().await;
    pair.page.close(0xffff_fff2, "").await;
    let reason = soon(pair.server.closed()).await;
    assert!(matches!(reason, CloseReason::TimedOut { .. }), "{reason}");
}

#[tokio::test]
async fn a_page_that_goes_is_noticed_at_once() {
    let mut pair = Pair::new().await;
    pair.page.reset();
    let reason = soon(pair.server.closed()).await;
    assert!(matches!(reason, CloseReason::Carrier(_)), "{reason}");
    for (code, good) in [(0x100_u32, true), (0x10c, false)] {
        let pair = Pair::new().await;
        pair.page.http.connection.close(code.into(), b"gone");
        match soon(pair.server.closed()).await {
            CloseReason::Peer { code: 0, reason } if good => assert_eq!(reason, "gone"),
            CloseReason::Carrier(reason) if !good => assert!(reason.contains("0x10c"), "{reason}"),
            other => panic!("{code:#x}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_page_that_vanishes_ends_its_connection_in_time() {
    let pair = Pair::new().await;
    // As a computer that falls asleep: nothing leaves any more, not even QUIC's acknowledgements.
    let idle = pair.server.clone();
    drop(pair.page);
    let reason = soon(idle.closed()).await;
    assert!(!matches!(reason, CloseReason::Local), "{reason}");
}

#[tokio::test]
async fn an_engines_close_reaches_the_other_end_without_webtransports() {
    let pair = Pair::new().await;
    pair.page
        .with(|session, now| session.close(now, 1 << 50, "of the engine"));
    let (code, reason) = (1 << 50, "of the engine".to_owned());
    assert_eq!(
        soon(pair.server.closed()).await,
        CloseReason::Peer { code, reason }
    );
}
