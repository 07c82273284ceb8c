//! What pages ask for, and which may come in.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use web_transport_proto::ConnectRequest;

/// Names and values in the query of a URL that are looked at.
const PAIRS: usize = 64;

/// A page wants to connect. All that it says came from the network: it is a claim, but for its address.
#[derive(Clone)]
pub struct WebRequest {
    addr: SocketAddr,
    path: String,
    origin: Option<String>,
    query: Vec<(String, String)>,
}

impl WebRequest {
    pub(crate) fn new(addr: SocketAddr, request: &ConnectRequest) -> Self {
        let url = &request.url;
        let query = url
            .query()
            .map_or(String::new(), |query| format!("?{query}"));
        let origin = request.headers.get("origin").and_then(|o| o.to_str().ok());
        let pairs = url.query_pairs().into_owned().take(PAIRS);
        WebRequest {
            addr,
            path: url.path().to_owned() + &query,
            origin: origin.map(str::to_owned),
            query: pairs.collect(),
        }
    }

    /// Path and query of the URL that the page asks for: `/view?token=TOKEN`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Where the page is from, as its browser says: `https://example.org:8443`. A browser tells the truth,
    /// so this protects its user from pages of others; another program says what it likes.
    pub fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
    }

    /// The address of the browser.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The value of this name in the query, decoded; the first one, if there are several. Of a long query
    /// the first 64 names are looked at.
    ///
    /// Compare a secret by [`WebRequest::has`] in place of this.
    pub fn query(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.iter();
        let (_, value) = pairs.find(|(own, _)| own == name)?;
        Some(value)
    }

    /// Has this name in the query this value? The time that this takes depends on lengths alone, so that nobody
    /// finds a secret by trying how long its refusal takes.
    pub fn has(&self, name: &str, value: &str) -> bool {
        let own = self.query(name);
        own.is_some_and(|own| verify_slices_are_equal(own.as_bytes(), value.as_bytes()).is_ok())
    }

    pub(crate) fn into_path(self) -> String {
        self.path
    }
}

/// Its path may hold a secret.
impl fmt::Debug for WebRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebRequest")
            .field("addr", &self.addr)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// Which pages a [`WebEndpoint`](crate::WebEndpoint) accepts. A page proves no key: what it asks for, with a
/// secret in it that the application has given to its reader, is all that tells it from others.
#[derive(Clone)]
pub struct WebAllowed(Arc<Check>);

type Check = dyn Fn(&WebRequest) -> bool + Send + Sync;

impl WebAllowed {
    /// The pages for which `check` returns true. It is asked once for each request, on a task of the
    /// runtime: a look into a table, not a query over the network.
    pub fn from_fn(check: impl Fn(&WebRequest) -> bool + Send + Sync + 'static) -> Self {
        WebAllowed(Arc::new(check))
    }

    pub(crate) fn allows(&self, request: &WebRequest) -> bool {
        (self.0)(request)
    }
}

impl fmt::Debug for WebAllowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebAllowed(..)")
    }
}
