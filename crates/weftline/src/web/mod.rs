//! WebTransport: a port that pages in browsers connect to.

mod certificate;
mod endpoint;
mod request;

pub use certificate::{WebCertificate, WebCertificateError};
pub use endpoint::WebEndpoint;
pub use request::{WebAllowed, WebRequest};
