//! SOCKS version 5 (RFC 1928), as a program on this host speaks it: no authentication, `CONNECT`
//! only.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::wire::Status;
use crate::target::Target;

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;

/// A program's request is refused.
#[derive(Debug, thiserror::Error)]
pub(super) enum SocksError {
    /// The program does not speak SOCKS 5.
    #[error("the program does not speak SOCKS 5: it starts with byte {0}")]
    Version(u8),
    /// The program insists on authentication.
    #[error("the program insists on authentication: use the proxy without a password")]
    Method,
    /// The program asks for a command other than CONNECT.
    #[error("the program asks for command {0}: only CONNECT (1) is supported")]
    Command(u8),
    /// The address type is unknown.
    #[error("the program uses the unknown address type {0}")]
    Kind(u8),
    /// The target is invalid.
    #[error("the program names an invalid target")]
    Target,
    /// The program closed the connection.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads the target that a program wants to connect to, and sends the replies that it needs at
/// once.
///
/// It reads at most 520 bytes and none after the request. The caller limits the time.
///
/// # Errors
/// See [`SocksError`]; the program has been answered.
pub(super) async fn request(
    tcp: &mut (impl AsyncRead + AsyncWrite + Unpin),
) -> Result<Target, SocksError> {
    expect_version(tcp).await?;
    let mut methods = [0; 255];
    let count = usize::from(tcp.read_u8().await?);
    tcp.read_exact(&mut methods[..count]).await?;
    if !methods[..count].contains(&NO_AUTHENTICATION) {
        tcp.write_all(&[VERSION, NO_METHOD]).await?;
        return Err(SocksError::Method);
    }
    tcp.write_all(&[VERSION, NO_AUTHENTICATION]).await?;

    expect_version(tcp).await?;
    let command = tcp.read_u8().await?;
    let _reserved = tcp.read_u8().await?;
    let host = match tcp.read_u8().await? {
        1 => Ipv4Addr::from(tcp.read_u32().await?).to_string(),
        4 => format!("[{}]", Ipv6Addr::from(tcp.read_u128().await?)),
        3 => {
            let mut name = [0; 255];
            let len = usize::from(tcp.read_u8().await?);
            tcp.read_exact(&mut name[..len]).await?;
            // Invalid text becomes an invalid name: an address that is refused below.
            String::from_utf8(name[..len].to_vec()).unwrap_or_default()
        }
        kind => {
            tcp.write_all(&answer(8)).await?;
            return Err(SocksError::Kind(kind));
        }
    };
    let port = tcp.read_u16().await?;
    if command != CONNECT {
        tcp.write_all(&answer(7)).await?;
        return Err(SocksError::Command(command));
    }
    match format!("{host}:{port}").parse() {
        Ok(target) => Ok(target),
        Err(_) => {
            tcp.write_all(&answer(1)).await?;
            Err(SocksError::Target)
        }
    }
}

/// Sends the program the result of its request.
///
/// # Errors
/// The program closed the connection.
pub(super) async fn reply(tcp: &mut (impl AsyncWrite + Unpin), status: Status) -> io::Result<()> {
    let code = match status {
        Status::Done => 0,
        Status::NotAllowed => 2,
        Status::Unreachable => 3,
        Status::UnknownName => 4,
        Status::Refused => 5,
        Status::TimedOut => 6,
        Status::TooMany | Status::Leaving | Status::Version | Status::Other => 1,
    };
    tcp.write_all(&answer(code)).await
}

/// A reply. It hides the address from which the target was reached: 0.0.0.0:0.
fn answer(code: u8) -> [u8; 10] {
    [VERSION, code, 0, 1, 0, 0, 0, 0, 0, 0]
}

async fn expect_version(tcp: &mut (impl AsyncRead + Unpin)) -> Result<(), SocksError> {
    match tcp.read_u8().await? {
        VERSION => Ok(()),
        other => Err(SocksError::Version(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result for the bytes `words`, and the bytes sent to the program.
    async fn exchange(words: &[u8]) -> (Result<String, SocksError>, Vec<u8>) {
        let (mut here, mut there) = tokio::io::duplex(1024);
        here.write_all(words).await.unwrap();
        here.shutdown().await.unwrap();
        let target = request(&mut there).await.map(|target| target.to_string());
        drop(there);
        let mut answers = Vec::new();
        here.read_to_end(&mut answers).await.unwrap();
        (target, answers)
    }

    #[tokio::test]
    async fn each_kind_of_address_is_read() {
        let v6: Vec<u8> = [&[5, 1, 0, 5, 1, 0, 4][..], &[0; 15], &[1, 0, 53]].concat();
        for (words, target) in [
            (
                &[5, 1, 0, 5, 1, 0, 1, 10, 0, 0, 7, 0, 80][..],
                "10.0.0.7:80",
            ),
            (&v6, "[::1]:53"),
            (
                b"\x05\x02\x02\x00\x05\x01\x00\x03\x06a.test\x01\xbb",
                "a.test:443",
            ),
        ] {
            let (got, answers) = exchange(words).await;
            assert_eq!((got.unwrap().as_str(), &answers[..]), (target, &[5, 0][..]));
        }
    }

    #[tokio::test]
    async fn each_unsupported_request_has_its_own_error() {
        let (got, answers) = exchange(b"GET / HTTP/1.1\r\n").await;
        assert!(matches!(got, Err(SocksError::Version(b'G'))) && answers.is_empty());
        let (got, answers) = exchange(&[5, 1, 2]).await;
        assert!(matches!(got, Err(SocksError::Method)) && answers == [5, 0xff]);
        let (got, answers) = exchange(&[5, 1, 0, 5, 3, 0, 1, 10, 0, 0, 7, 0, 80]).await;
        assert!(matches!(got, Err(SocksError::Command(3))) && answers[3] == 7);
        let (got, answers) = exchange(&[5, 1, 0, 5, 1, 0, 2, 9]).await;
        assert!(matches!(got, Err(SocksError::Kind(2))) && answers[3] == 8);
        for name in [&b"\x03a b"[..], b"\x02\xff\xfe", b"\x00"] {
            let words = [&[5, 1, 0, 5, 1, 0, 3], name, &[0, 80]].concat();
            let (got, answers) = exchange(&words).await;
            assert!(matches!(got, Err(SocksError::Target)), "{name:?}: {got:?}");
            assert_eq!(answers[3], 1);
        }
        let (got, _) = exchange(&[5, 9, 0]).await;
        assert!(matches!(got, Err(SocksError::Io(_))));
    }
}
