//! The port of a server of viewers: the page by TCP, and the sessions by UDP.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tokio_rustls::rustls::ServerConfig;
use weftline::{
    CloseReason, Connection, Limits, Port, Refusal, WebAllowed, WebCertificate, WebEndpoint,
    printable,
};

use super::counts::Counts;
use super::event::{OnEvent, ViewEvent};
use super::http::Site;
use super::hub::Hub;
use super::options::{MOST_VIEWERS, OpenError, SourceOptions, ViewOptions};
use super::page::Pages;
use super::session::{self, Ended, NoEntry};
use super::source::{Opened, SourceError};
use super::tokens::{NoToken, Secret, Tokens};
use super::wire::{LONGEST_DELAY, SHORTEST_DELAY};
use crate::close;
use crate::error::SessionError;
use crate::lock::lock;
use crate::session::farewell;
use crate::stopper::Stopper;

/// The certificate is renewed so long before it ends: a page may have its hash in hand for a while.
const RENEWAL: Duration = Duration::from_secs(2 * 86_400);
/// How often that is looked at.
const CHECK: Duration = Duration::from_secs(3600);
/// How long viewers get the last frames when the source has ended.
const LAST_FRAMES: Duration = Duration::from_secs(2);
/// Connections beyond those of viewers, whose pages are told that there is no place.
const SPARE: usize = 16;

/// A page and a port for viewers. It runs with [`run`](Self::run).
pub struct View {
    listener: TcpListener,
    web: WebEndpoint,
    site: Arc<Site>,
    /// When the certificate of the sessions ends.
    until: SystemTime,
    tokens: Arc<Tokens>,
    hub: Arc<Hub>,
    options: ViewOptions,
    /// Until it is played.
    source: Mutex<Option<Opened>>,
    on_event: OnEvent,
}

impl View {
    /// Whether these options are right, and their files can be read. Opens nothing.
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    pub fn check(options: &ViewOptions) -> Result<(), OpenError> {
        checked(options).map(drop)
    }

    /// Opens source and port. Nobody is served before [`run`](Self::run).
    ///
    /// # Errors
    /// See [`OpenError`].
    pub async fn open(
        mut options: ViewOptions,
        source: SourceOptions,
        on_event: impl Fn(ViewEvent<'_>) + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        let (pages, own) = checked(&options)?;
        let addr = options.listen;
        let failed = |source| OpenError::Page { addr, source };
        let source = Mutex::new(Some(Opened::open(source).await?));
        let listener = TcpListener::bind(addr).await.map_err(failed)?;
        options.listen = listener.local_addr().map_err(failed)?;
        let certificate = generate(options.listen)?;
        let on_event: OnEvent = Arc::new(on_event);
        let tokens = Arc::new(Tokens::new(options.tokens));
        let hub = Hub::new(options.viewers, options.delay);
        let admits = {
            let (tokens, hub, on_event) = (tokens.clone(), hub.clone(), on_event.clone());
            WebAllowed::from_fn(move |request| {
                let admits = tokens.admits(request.path(), Instant::now());
                if !admits {
                    hub.count(|counts| counts.refused_tokens += 1);
                    let remote = request.addr();
                    on_event(ViewEvent::NotAdmitted { remote });
                }
                admits
            })
        };
        let mut endpoint = options.endpoint.clone();
        // Pages send a few bytes now and then.
        endpoint.session.limits = Limits::LEAST;
        endpoint.max_sessions = options.viewers + SPARE;
        let tls = match (options.http, own) {
            (true, _) => None,
            (false, Some(own)) => Some(own),
            (false, None) => Some(tls_of(&certificate)?),
        };
        let (hash, until) = (certificate.hash(), certificate.not_after());
        let web = WebEndpoint::bind(options.listen, certificate, admits, endpoint)?;
        let asked = tokens.clone();
        let site = Site::new(pages, tls, &hash, move |path| {
            asked.admits(path, Instant::now())
        });
        Ok(View {
            listener,
            web,
            site: Arc::new(site),
            until,
            tokens,
            hub,
            options,
            source,
            on_event,
        })
    }

    /// The address of the page and of the sessions.
    pub fn local_addr(&self) -> SocketAddr {
        self.options.listen
    }

    /// Whether there is a page: this build has none if `packaging/web` was not run before it.
    pub fn has_page(&self) -> bool {
        self.site.has_page()
    }

    /// A further token.
    ///
    /// # Errors
    /// See [`NoToken`].
    pub fn invite(&self) -> Result<Secret, NoToken> {
        self.tokens.add(Instant::now())
    }

    /// The page's URL for this token, if the page's host is called `host`: `HOST:PORT`.
    pub fn url(&self, host: &str, token: &Secret) -> String {
        let scheme = if self.options.http { "http" } else { "https" };
        format!("{scheme}://{host}/#{}", token.as_text())
    }

    /// Counters so far.
    pub fn counts(&self) -> Counts {
        self.hub.counts()
    }

    /// Serves viewers until the source ends or `stopper` stops it.
    ///
    /// # Errors
    /// The source cannot be read further, or was played already, or the port is closed.
    pub async fn run(&self, stopper: &Stopper) -> Result<(), SessionError> {
        let failed = |error: SourceError| SessionError::Failed(error.to_string());
        let mut sessions = JoinSet::new();
        let source = self.take_source();
        let source =
            source.ok_or_else(|| SessionError::Failed("the stream was played already".into()))?;
        let (code, reason, ended) = tokio::select! {
            ended = source.play(&self.hub, &self.on_event) => match ended {
                Ok(()) => {
                    (self.on_event)(ViewEvent::SourceEnded);
                    (close::DONE, "the stream has ended", Ok(()))
                }
                Err(error) => (close::FAILED, "the source failed", Err(failed(error))),
            },
            error = self.admit(&mut sessions) => (close::FAILED, "the port is closed", Err(error)),
            never = self.site.serve(&self.listener) => match never {},
            never = self.renew() => match never {},
            () = stopper.asked() => (close::INTERRUPTED, "stopped", Ok(())),
        };
        if code == close::DONE {
            let drained = async {
                while !self.hub.is_drained() {
                    sleep(LAST_FRAMES / 100).await;
                }
                // What is in flight may need a repair.
                sleep(LAST_FRAMES / 4).await;
            };
            let _ = timeout(LAST_FRAMES, drained).await;
        }
        let port: &Port = &self.web;
        farewell(port, code, reason).await;
        sessions.shutdown().await;
        ended
    }

    fn take_source(&self) -> Option<Opened> {
        lock(&self.source).take()
    }

    /// Serves sessions until the port is closed.
    async fn admit(&self, sessions: &mut JoinSet<()>) -> SessionError {
        loop {
            tokio::select! {
                connection = self.web.accept() => match connection {
                    None => return SessionError::EndpointClosed,
                    Some(connection) => self.welcome(connection, sessions),
                },
                Some(refusal) = self.web.refused() => {
                    // That a page was not admitted was told already.
                    if !matches!(refusal, Refusal::Page { .. }) {
                        (self.on_event)(ViewEvent::TurnedAway(&refusal));
                    }
                }
                Some(_) = sessions.join_next() => {}
            }
        }
    }

    fn welcome(&self, connection: Connection, sessions: &mut JoinSet<()>) {
        let remote = connection.remote_addr();
        let path = connection.web_path().unwrap_or_default();
        let (seat, admitted) = match session::enter(&self.hub, &self.tokens, &path) {
            Ok(entry) => entry,
            // Of two that came at once with a token for one page, one is late.
            Err(NoEntry::Token) => {
                self.hub.count(|counts| counts.refused_tokens += 1);
                (self.on_event)(ViewEvent::NotAdmitted { remote });
                return connection.close(close::NOT_ALLOWED, "the link was used, or has expired");
            }
            Err(NoEntry::Full) => {
                (self.on_event)(ViewEvent::Full { remote });
                return connection.close(close::BUSY, "all places are taken");
            }
        };
        (self.on_event)(ViewEvent::Joined { remote });
        let (tokens, on_event) = (self.tokens.clone(), self.on_event.clone());
        sessions.spawn(async move {
            let ended = session::serve(&connection, &seat, &tokens, &admitted).await;
            let reason = match ended {
                // The server stops.
                Ended::Closed(CloseReason::Local) => return,
                Ended::Closed(reason) => reason.to_string(),
                Ended::Invalid => {
                    connection.close(close::FAILED, "no page of this version sends this");
                    "the page sent an invalid message".to_owned()
                }
                Ended::Replaced => {
                    connection.close(close::REPLACED, "this page has a newer session");
                    "the page has a newer session".to_owned()
                }
            };
            let reason = printable(&reason);
            on_event(ViewEvent::Left { remote, reason });
        });
    }

    /// Reads the page's own certificate once more: somebody else renews it.
    pub(super) fn read_again(&self) -> Result<(), OpenError> {
        if let Some((chain, key)) = &self.options.certificate {
            self.site.set_tls(read(chain, key)?);
        }
        Ok(())
    }

    /// Renews the certificates, for as long as it is polled.
    async fn renew(&self) -> Infallible {
        let mut until = self.until;
        let mut check = interval(CHECK);
        loop {
            check.tick().await;
            if let Err(error) = self.read_again() {
                (self.on_event)(ViewEvent::NotRenewed(&error.to_string()));
            }
            let left = until.duration_since(SystemTime::now());
            if left.is_ok_and(|left| left > RENEWAL) {
                continue;
            }
            let renewed = generate(self.options.listen).and_then(|certificate| {
                let tls = tls_of(&certificate)?;
                let (hash, end) = (certificate.hash(), certificate.not_after());
                self.web.set_certificate(certificate)?;
                self.site.set_hash(&hash);
                if self.options.certificate.is_none() {
                    self.site.set_tls(tls);
                }
                Ok(end)
            });
            match renewed {
                Ok(end) => until = end,
                Err(error) => (self.on_event)(ViewEvent::NotRenewed(&error.to_string())),
            }
        }
    }
}

/// What the server of a page needs: its files, and its own certificate, if it has one.
fn checked(options: &ViewOptions) -> Result<(Pages, Option<Arc<ServerConfig>>), OpenError> {
    let wrong = |why| Err(OpenError::Options(why));
    if options.http && !options.listen.ip().is_loopback() {
        return wrong(
            "without encryption (http) browsers play the stream only on this host itself: listen on 127.0.0.1 or [::1], or use https",
        );
    }
    if !(1..=MOST_VIEWERS).contains(&options.viewers) {
        return wrong("the number of viewers must be 1 to 4096");
    }
    if !(SHORTEST_DELAY..=LONGEST_DELAY).contains(&options.delay) {
        return wrong("the delay must be 50 ms to 10 s");
    }
    let own = options.certificate.as_ref();
    let own = own.map(|(chain, key)| read(chain, key)).transpose()?;
    let pages = match &options.page {
        Some(folder) => Pages::read(folder),
        None => Ok(Pages::built_in()),
    };
    let folder = options.page.clone().unwrap_or_default();
    let pages = pages.map_err(|source| OpenError::Folder { folder, source })?;
    Ok((pages, own))
}

/// A certificate for sessions with this address.
fn generate(addr: SocketAddr) -> Result<WebCertificate, OpenError> {
    let mut names = vec!["localhost".to_owned()];
    names.push(addr.ip().to_string());
    WebCertificate::generate(&names).map_err(|error| OpenError::Generate(error.to_string()))
}

/// The page's own certificate.
fn read(chain: &Path, key: &Path) -> Result<Arc<ServerConfig>, OpenError> {
    let load = |file: &Path| {
        std::fs::read(file).map_err(|error| OpenError::Certificate {
            file: file.to_owned(),
            reason: error.to_string(),
        })
    };
    let certificate = WebCertificate::from_pem(load(chain)?, load(key)?);
    let certificate = certificate.map_err(|error| OpenError::Certificate {
        file: chain.to_owned(),
        reason: error.to_string(),
    })?;
    tls_of(&certificate)
}

fn tls_of(certificate: &WebCertificate) -> Result<Arc<ServerConfig>, OpenError> {
    Ok(Arc::new(certificate.server_config(&["http/1.1"])?))
}
