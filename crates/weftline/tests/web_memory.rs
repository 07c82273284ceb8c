//! What refused pages leave behind in a server: nothing. In a process of its own, where nothing else takes
//! memory meanwhile.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use weftline::{EndpointConfig, Port, WebAllowed, WebCertificate, WebEndpoint};

#[path = "web/page.rs"]
#[allow(dead_code, reason = "the tests of pages use more of it")]
mod page;

use page::{Http, browser};

/// Refused until caches and pools are filled, and then.
const WARM: usize = 200;
const REFUSED: usize = 1000;
/// Bytes for each that would be noticed: a connection takes more.
const EACH: u64 = 5000;

#[tokio::test]
async fn pages_that_are_refused_leave_nothing_behind() {
    let certificate = WebCertificate::generate(&[]).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let allowed = WebAllowed::from_fn(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        false
    });
    let any = "127.0.0.1:0".parse().unwrap();
    let config = EndpointConfig::default();
    let endpoint = WebEndpoint::bind(any, certificate.clone(), allowed, config).unwrap();
    let browser = browser(certificate.hash(), "h3");
    soon(refuse(&endpoint, &browser, WARM)).await;
    let (tasks_before, before) = (tasks(), resident());
    soon(refuse(&endpoint, &browser, REFUSED)).await;
    assert_eq!(asked.load(Ordering::SeqCst), WARM + REFUSED);
    assert!(
        tasks() <= tasks_before,
        "{} tasks, {tasks_before} before",
        tasks()
    );
    let (Some(before), Some(after)) = (before, resident()) else {
        weftline_testkit::unable("proc", "the system does not tell how much memory it uses");
        return;
    };
    let most = before + REFUSED as u64 * EACH;
    assert!(after <= most, "{after} bytes, {before} before");
}

async fn soon(work: impl Future<Output = ()>) {
    let ended = tokio::time::timeout(Duration::from_secs(60), work).await;
    ended.expect("this should have taken some seconds");
}

async fn refuse(server: &Port, browser: &quinn::Endpoint, pages: usize) {
    let addr = server.local_addr().unwrap();
    for _ in 0..pages {
        let http = Http::of(browser.clone(), addr).await.unwrap();
        assert!(http.ask("https://localhost/").await.is_err());
        http.connection.closed().await;
    }
    server.wait_idle().await;
    browser.wait_idle().await;
}

fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// Bytes of memory that this process uses, where the system tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}
