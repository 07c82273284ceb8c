//! The page over HTTP or HTTPS: reading only, a bounded number of clients, and none for long.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use data_encoding::BASE64;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::page::Pages;
use crate::lock::lock;

/// Connections at a time, and those of one host; a browser opens up to six.
const MOST: usize = 256;
const OF_ONE: usize = 32;
/// A client is let go after this time.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a handshake, and the head of a request, may take.
const HEAD: Duration = Duration::from_secs(5);
/// Most bytes of a request's head.
const LARGEST: usize = 16 << 10;
/// The pause when no connection can be accepted, as without file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Scripts, style and engine are files of this server. WebTransport counts as a connection to it.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; \
    style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'";
const TEXT: &str = "text/plain; charset=utf-8";
const MISSING: &str =
    "This build of weftline has no page. Run packaging/web, then build the program again.\n";

/// What the page's server needs to know.
pub(super) struct Site {
    pages: Pages,
    /// `None`: without encryption.
    tls: Option<Mutex<Arc<ServerConfig>>>,
    /// The hash of the sessions' certificate, base64.
    hash: Mutex<String>,
    /// Whether a page with this path and query would be admitted.
    admits: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

impl Site {
    pub(super) fn new(
        pages: Pages,
        tls: Option<Arc<ServerConfig>>,
        hash: &[u8],
        admits: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Site {
            pages,
            tls: tls.map(Mutex::new),
            hash: Mutex::new(BASE64.encode(hash)),
            admits: Box::new(admits),
        }
    }

    /// The certificate of the sessions is the one with this hash from now on.
    pub(super) fn set_hash(&self, hash: &[u8]) {
        *lock(&self.hash) = BASE64.encode(hash);
    }

    /// The page's certificate is this one from now on, if the page is encrypted.
    pub(super) fn set_tls(&self, tls: Arc<ServerConfig>) {
        if let Some(current) = &self.tls {
            *lock(current) = tls;
        }
    }

    pub(super) fn has_page(&self) -> bool {
        self.pages.is_there()
    }

    fn hash(&self) -> String {
        lock(&self.hash).clone()
    }

    /// Serves the page for as long as it is polled.
    pub(super) async fn serve(self: &Arc<Self>, listener: &TcpListener) -> Infallible {
        let (places, hosts) = (Arc::new(Semaphore::new(MOST)), Hosts::default());
        loop {
            // Without a place clients wait in the system.
            let place = places.clone().acquire_owned().await;
            let Ok((stream, from)) = listener.accept().await else {
                sleep(PAUSE).await;
                continue;
            };
            let Some(of_host) = hosts.take(from.ip()) else {
                continue;
            };
            let site = self.clone();
            tokio::spawn(async move {
                let _places = (place, of_host);
                let _ = timeout(PATIENCE, site.encrypt(stream)).await;
            });
        }
    }

    async fn encrypt(self: Arc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let tls = (self.tls.as_ref()).map(|tls| lock(tls).clone());
        let Some(tls) = tls else {
            return self.talk(stream).await;
        };
        match timeout(HEAD, TlsAcceptor::from(tls).accept(stream)).await {
            Ok(Ok(stream)) => self.talk(stream).await,
            // A browser that does not trust the certificate yet.
            Ok(Err(error)) => debug(&error),
            Err(_) => {}
        }
    }

    async fn talk(self: Arc<Self>, stream: impl AsyncRead + AsyncWrite + Unpin) {
        let service = service_fn(|request| {
            let response = self.answer(&request);
            async move { Ok::<_, Infallible>(response) }
        });
        let served = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD)
            .max_buf_size(LARGEST)
            .serve_connection(TokioIo::new(stream), service);
        if let Err(error) = served.await {
            debug(&io::Error::other(error));
        }
    }

    fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        if request.method() != Method::GET {
            let mut response = reply(StatusCode::METHOD_NOT_ALLOWED, TEXT, "GET alone\n");
            let headers = response.headers_mut();
            headers.insert(ALLOW, HeaderValue::from_static("GET"));
            return response;
        }
        let path = request.uri().path();
        if path == "/certificate" {
            let query = request.uri().query().unwrap_or_default();
            return self.certificate(query);
        }
        match self.pages.file(path) {
            Some((contents, kind)) => reply(StatusCode::OK, kind, contents),
            None if path == "/" && !self.has_page() => {
                reply(StatusCode::SERVICE_UNAVAILABLE, TEXT, MISSING)
            }
            None => reply(StatusCode::NOT_FOUND, TEXT, "there is no such file\n"),
        }
    }

    /// What a page needs to connect, and whether it will be admitted: a refused session looks to it like a
    /// network that fails.
    fn certificate(&self, query: &str) -> Response<Full<Bytes>> {
        let admitted = (self.admits)(&format!("/view?{query}"));
        let json = serde_json::json!({ "hash": self.hash(), "admitted": admitted });
        let mut response = reply(StatusCode::OK, "application/json", json.to_string());
        let headers = response.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // Pages of other sites may show the stream to those who have a token.
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        response
    }
}

/// How many connections hosts have.
#[derive(Clone, Debug, Default)]
struct Hosts(Arc<Mutex<HashMap<IpAddr, usize>>>);

impl Hosts {
    /// A place for a connection of this host; `None`: it has its share.
    fn take(&self, addr: IpAddr) -> Option<OfHost> {
        let host = match addr.to_canonical() {
            // The 64 bits that a host does not choose.
            IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
            v4 => v4,
        };
        let mut all = lock(&self.0);
        let taken = all.entry(host).or_default();
        if *taken >= OF_ONE {
            return None;
        }
        *taken += 1;
        let hosts = self.clone();
        Some(OfHost { hosts, host })
    }
}

/// A place of a host. Dropping it gives the place back.
#[derive(Debug)]
struct OfHost {
    hosts: Hosts,
    host: IpAddr,
}

impl Drop for OfHost {
    fn drop(&mut self) {
        let mut all = lock(&self.hosts.0);
        match all.get_mut(&self.host) {
            Some(taken @ 2..) => *taken -= 1,
            _ => drop(all.remove(&self.host)),
        }
    }
}

fn debug(error: &io::Error) {
    tracing::debug!(%error, "a client of the page");
}

fn reply(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    secure(response.headers_mut(), kind);
    response
}

fn secure(headers: &mut HeaderMap, kind: &'static str) {
    const RESOURCES: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
    for (name, value) in [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
        (RESOURCES, "cross-origin"),
        // A new program may have a new page.
        (CACHE_CONTROL, "no-cache"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_host_takes_its_share_of_the_places() {
        let hosts = Hosts::default();
        let take = |addr: &str| hosts.take(addr.parse().unwrap());
        let mut taken: Vec<_> = (0..OF_ONE).map(|_| take("192.0.2.7").unwrap()).collect();
        assert!(take("192.0.2.7").is_none() && take("::ffff:192.0.2.7").is_none());
        taken.extend((0..OF_ONE).map(|n| take(&format!("2001:db8::{n}")).unwrap()));
        assert!(take("2001:db8::ffff:0").is_none());
        assert!(take("192.0.2.8").is_some() && take("2001:db8:0:1::").is_some());
        taken.remove(0);
        assert!(take("192.0.2.7").is_some());
        drop(taken);
        assert!(hosts.0.lock().unwrap().is_empty());
    }
}
