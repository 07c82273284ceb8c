//! HTTP for `--metrics`: reading only, a bounded number of clients, and none for long.

use std::convert::Infallible;
use std::future::pending;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

use super::{Views, openmetrics, serve_each};
use crate::home;

/// A client that asks for nothing, or reads nothing, is let go after this time.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the head of a request may take.
const HEAD: Duration = Duration::from_secs(5);
/// Most bytes of a request's head.
const LARGEST: usize = 16 << 10;

const PAGE: &str = include_str!("page.html");

pub(super) async fn serve(listener: Option<&TcpListener>, views: &Views) -> Infallible {
    let Some(listener) = listener else {
        return pending().await;
    };
    let accept = async || Ok(listener.accept().await?.0);
    serve_each(accept, PATIENCE, |stream| talk(stream, views.clone())).await
}

async fn talk(stream: TcpStream, views: Views) {
    let service = service_fn(|request| answer(request, views.clone()));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(LARGEST)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = served.await {
        tracing::debug!(%error, "a client of --metrics");
    }
}

/// Whether the request names this server in a way that no page of the internet can: the browser of a user of this
/// host asks for what such a page wants, under the page's name, once that name leads here (DNS rebinding).
fn is_own(request: &Request<Incoming>) -> bool {
    let host = request.headers().get(HOST);
    host.and_then(|host| host.to_str().ok())
        .is_some_and(|host| is_safe(host, home::host_name().as_deref()))
}

/// Names without a dot and those under `.local` are of networks alone, and `own` is this host's name.
fn is_safe(host: &str, own: Option<&str>) -> bool {
    let address = host.trim_matches(['[', ']']);
    if host.parse::<SocketAddr>().is_ok() || address.parse::<IpAddr>().is_ok() {
        return true;
    }
    let name = host.split(':').next().unwrap_or_default();
    let name = name.to_ascii_lowercase();
    let is_of_network = !name.contains('.') || name.ends_with(".local");
    let is_this_host = own.is_some_and(|own| own.eq_ignore_ascii_case(&name));
    !name.is_empty() && (is_of_network || is_this_host)
}

async fn answer(
    request: Request<Incoming>,
    views: Views,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let reply = |status, kind, body: String| {
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    };
    const TEXT: &str = "text/plain; charset=utf-8";
    if request.method() != Method::GET {
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return Ok(reply(status, TEXT, "GET alone\n".to_owned()));
    }
    if !is_own(&request) {
        let text = "this host does not know itself by this name: ask for its address, or for a name without a dot\n".to_owned();
        return Ok(reply(StatusCode::FORBIDDEN, TEXT, text));
    }
    let path = request.uri().path();
    if path == "/" {
        let kind = "text/html; charset=utf-8";
        return Ok(reply(StatusCode::OK, kind, PAGE.to_owned()));
    }
    if !["/metrics", "/status.json"].contains(&path) {
        let text = "there are /, /metrics and /status.json\n".to_owned();
        return Ok(reply(StatusCode::NOT_FOUND, TEXT, text));
    }
    let Some(view) = views.now().await else {
        let text = "the command ends\n".to_owned();
        return Ok(reply(StatusCode::SERVICE_UNAVAILABLE, TEXT, text));
    };
    Ok(match path {
        "/metrics" => reply(
            StatusCode::OK,
            openmetrics::CONTENT_TYPE,
            openmetrics::text(view),
        ),
        _ => reply(StatusCode::OK, "application/json", view.json().to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_page_of_the_internet_can_have_is_refused() {
        let own = Some("db1.corp.example");
        for host in [
            "127.0.0.1",
            "127.0.0.1:9339",
            "[::1]",
            "[::1]:9339",
            "localhost",
            "localhost:9339",
            "db1:9339",
            "Studio.local:9339",
            "DB1.corp.example:9339",
        ] {
            assert!(is_safe(host, own), "{host}");
        }
        for host in [
            "",
            ":9339",
            "rebound.example",
            "rebound.example:9339",
            "db1.evil.example:9339",
            "localhost.evil.example",
            "local.",
        ] {
            assert!(!is_safe(host, own), "{host}");
        }
        assert!(!is_safe("db1.corp.example", None));
    }
}
