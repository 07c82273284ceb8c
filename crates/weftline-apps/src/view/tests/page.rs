//! The page over HTTP and HTTPS.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use weftline::WebCertificate;
use weftline_testkit::has_command;

use super::super::http::Site;
use super::super::page::Pages;
use super::super::{Source, SourceOptions, View, ViewOptions};
use crate::stopper::Stopper;

async fn soon<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), work).await.expect("soon")
}

fn pages() -> Pages {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "the page").unwrap();
    std::fs::write(folder.path().join("page.js"), "1").unwrap();
    Pages::read(folder.path()).unwrap()
}

/// Asks with this head; returns head and body of the answer.
async fn ask(mut stream: impl AsyncRead + AsyncWrite + Unpin, head: &str) -> (String, String) {
    let request = format!("{head} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    // Without a last word of TLS an answer is whole all the same: its length is in its head.
    let _ = soon(stream.read_to_end(&mut answer)).await;
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

/// A site, and its address. It ends with the runtime.
async fn serve(site: Site) -> (Arc<Site>, std::net::SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (addr, site) = (listener.local_addr().unwrap(), Arc::new(site));
    let serving = site.clone();
    tokio::spawn(async move { serving.serve(&listener).await });
    (site, addr)
}

#[tokio::test]
async fn files_have_strict_headers_and_nothing_else_is_there() {
    let site = Site::new(pages(), None, &[7; 32], |path| path == "/view?token=good");
    let (site, addr) = serve(site).await;
    let get = async |head: &str| ask(TcpStream::connect(addr).await.unwrap(), head).await;
    let (head, body) = get("GET /").await;
    assert!(
        head.starts_with("http/1.1 200") && body == "the page",
        "{head}"
    );
    for line in [
        "content-type: text/html; charset=utf-8",
        "x-content-type-options: nosniff",
        "referrer-policy: no-referrer",
        "content-security-policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval';",
    ] {
        assert!(head.contains(line), "{line}: {head}");
    }
    assert!(get("GET /page.js?x").await.0.contains("text/javascript"));
    assert!(get("GET /other").await.0.starts_with("http/1.1 404"));
    assert!(get("GET /../page.js").await.0.starts_with("http/1.1 404"));
    let (head, _) = get("POST /").await;
    assert!(
        head.starts_with("http/1.1 405") && head.contains("allow: get"),
        "{head}"
    );
    let (head, body) = get("GET /certificate?token=good").await;
    assert!(head.contains("cache-control: no-store"), "{head}");
    let hash = "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=";
    assert_eq!(body, format!(r#"{{"admitted":true,"hash":"{hash}"}}"#));
    site.set_hash(&[0; 32]);
    let (_, body) = get("GET /certificate?token=bad").await;
    assert!(body.contains(r#""admitted":false,"hash":"AAAA"#), "{body}");
}

/// The page from a server with this certificate.
async fn get(addr: SocketAddr, certificate: &WebCertificate) -> Option<String> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.chain()[0].clone()).unwrap();
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(addr).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream);
    Some(ask(soon(stream).await.ok()?, "GET /").await.1)
}

#[tokio::test]
async fn https_shows_the_certificate_and_takes_a_new_one() {
    let certificate = || WebCertificate::generate(&["localhost".to_owned()]).unwrap();
    let tls = |certificate: &WebCertificate| {
        Some(Arc::new(certificate.server_config(&["http/1.1"]).unwrap()))
    };
    let [old, new] = [certificate(), certificate()];
    let (site, addr) = serve(Site::new(pages(), tls(&old), &old.hash(), |_| false)).await;
    assert_eq!(get(addr, &old).await.as_deref(), Some("the page"));
    assert_eq!(get(addr, &new).await, None);
    site.set_tls(tls(&new).unwrap());
    assert_eq!(get(addr, &new).await.as_deref(), Some("the page"));
    // Nobody gets the page without encryption.
    let mut plain = TcpStream::connect(addr).await.unwrap();
    plain
        .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::new();
    let _ = soon(plain.read_to_end(&mut answer)).await;
    assert!(!String::from_utf8_lossy(&answer).contains("the page"));
}

/// Makes a certificate as an authority does, into these files.
fn make(chain: &Path, key: &Path) -> WebCertificate {
    let options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
                   -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:localhost";
    let mut command = Command::new("openssl");
    command.args(options.split_whitespace());
    command.arg("-out").arg(chain).arg("-keyout").arg(key);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let read = |file| std::fs::read(file).unwrap();
    WebCertificate::from_pem(read(chain), read(key)).unwrap()
}

#[tokio::test]
async fn a_certificate_that_somebody_renews_is_read_again() {
    if !has_command("openssl", "version", "openssl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [chain, key, page] = ["chain", "key", "page"].map(|name| folder.path().join(name));
    std::fs::create_dir(&page).unwrap();
    std::fs::write(page.join("index.html"), "the page").unwrap();
    make(&chain, &key);
    let any = "127.0.0.1:0".parse().unwrap();
    let mut options = ViewOptions::new(any);
    (options.certificate, options.page) = (Some((chain.clone(), key.clone())), Some(page));
    let source = SourceOptions::new(Source::Udp(any));
    let view = View::open(options, source, |_| {}).await.unwrap();
    let new = make(&chain, &key);
    let renewed = async {
        while get(view.local_addr(), &new).await.is_none() {
            tokio::task::yield_now().await;
        }
    };
    let stopper = Stopper::new();
    tokio::select! {
        ended = view.run(&stopper) => panic!("{ended:?}"),
        () = soon(renewed) => {}
    }
    // What cannot be used does not take the place of what can.
    std::fs::write(&key, "half a key").unwrap();
    assert!(view.read_again().is_err());
}

#[tokio::test]
async fn one_stranger_does_not_take_all_places() {
    let (_site, addr) = serve(Site::new(pages(), None, &[0; 32], |_| false)).await;
    let mut stalled = Vec::new();
    for _ in 0..33 {
        stalled.push(TcpStream::connect(addr).await.unwrap());
    }
    // The one beyond its share is let go at once, long before the patience with the others is over.
    let read = soon(stalled.pop().unwrap().read(&mut [0])).await;
    assert!(matches!(read, Ok(0) | Err(_)));
    let (head, _) = ask(stalled.swap_remove(0), "GET /").await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
}

#[tokio::test]
async fn a_build_without_a_page_says_what_to_do() {
    let (_site, addr) = serve(Site::new(Pages::default(), None, &[0; 32], |_| false)).await;
    let (head, body) = ask(TcpStream::connect(addr).await.unwrap(), "GET /").await;
    assert!(
        head.starts_with("http/1.1 503") && body.contains("packaging/web"),
        "{head}"
    );
}
