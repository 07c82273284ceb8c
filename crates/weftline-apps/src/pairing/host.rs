//! The receiver's end of pairing, over connections.

use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::time::timeout;
use weftline::{Connection, Fingerprint, Stream};

use super::codes::Codes;
use super::exchange::{ReceiverNext, Receiving};
use super::wire::Message;
use super::{Code, EXCHANGE, Name, Paired, PairingError, binding, read, write, write_last};
use crate::SessionError;
use crate::close;
use crate::lock::lock;

/// How long a sender that is paired may take to say its name.
const LAST_WORD: Duration = Duration::from_secs(3);

/// What is left after the sender's proof: the answer to it, and where it goes.
type Last = (Stream, Receiving, Message);

/// The end that shows codes, and answers those who claim to have one. The endpoint must
/// [accept strangers](weftline::Allowed::and_strangers_for) for [`PROTOCOL`](super::PROTOCOL) while a code is
/// open, and only then.
#[derive(Debug)]
pub struct Host {
    ours: Mutex<Fingerprint>,
    name: Option<Name>,
    codes: Mutex<Codes>,
}

impl Host {
    /// Without a code yet. `ours` is the endpoint's fingerprint, and `name` what this end calls itself.
    pub fn new(ours: Fingerprint, name: Option<Name>) -> Self {
        Host {
            ours: Mutex::new(ours),
            name,
            codes: Mutex::new(Codes::new()),
        }
    }

    /// The endpoint has another key, with this fingerprint: exchanges that begin from now on are bound to it.
    /// A code that is open stays open.
    pub fn set_fingerprint(&self, ours: Fingerprint) {
        *lock(&self.ours) = ours;
    }

    /// Opens a code in place of another one. False: not before [`next`](Self::next).
    pub fn open(&self, code: Code) -> bool {
        self.codes().open(code, Instant::now())
    }

    /// The code that is open. A code ends when it is used, and after [`TRIES`](super::TRIES) wrong tries.
    pub fn code(&self) -> Option<Code> {
        self.codes().code()
    }

    /// When a sender was last paired by one of the codes.
    pub fn used(&self) -> Option<Instant> {
        self.codes().used()
    }

    /// When the next code may be opened, if the last one ended by wrong tries: later each time.
    pub fn next(&self) -> Option<Instant> {
        self.codes().next()
    }

    /// Does the exchange with a stranger, and closes its connection. As soon as the sender has proved that
    /// it has the code, `admit` lets it in: it may connect at once.
    ///
    /// # Errors
    /// The stranger does not have the code, or does not keep to the protocol.
    pub async fn answer(
        &self,
        connection: &Connection,
        admit: impl Fn(Fingerprint),
    ) -> Result<Paired, PairingError> {
        let exchange = timeout(EXCHANGE, self.exchange(connection)).await;
        let result = match exchange.unwrap_or(Err(PairingError::Silent)) {
            Ok((mut paired, last)) => {
                admit(paired.peer);
                // That it has no name to tell, or tells none in time, is no matter.
                let named = timeout(LAST_WORD, self.name_of(last)).await;
                paired.name = named.ok().and_then(Result::ok).flatten();
                Ok(paired)
            }
            Err(error) => Err(error),
        };
        connection.close(close::DONE, "");
        result
    }

    /// Ends with the sender's proof; the answer to it is still to be sent.
    async fn exchange(&self, connection: &Connection) -> Result<(Paired, Last), PairingError> {
        // That of the handshake, which may change while this waits.
        let ours = *lock(&self.ours);
        connection.confirmed().await.map_err(SessionError::Closed)?;
        let (binding, peer) = binding(connection, ours, false)?;
        let stream = connection.accept_stream().await;
        let mut stream = stream.map_err(SessionError::Closed)?;
        let mut receiving = Receiving::new(binding, self.name.clone());
        loop {
            let message = read(&mut stream).await?;
            let next = receiving.handle(message, &mut self.codes(), Instant::now())?;
            match next {
                ReceiverNext::Send(message) => write(&mut stream, &message).await?,
                ReceiverNext::Paired(message) => {
                    let (name, addr) = (None, connection.remote_addr());
                    let last = (stream, receiving, message);
                    return Ok((Paired { peer, name, addr }, last));
                }
                ReceiverNext::Wrong(message) => {
                    // The code was wrong even if the stranger is gone.
                    let _ = write_last(&mut stream, &message).await;
                    let _ = connection.flushed().await;
                    return Err(PairingError::WrongCode);
                }
                ReceiverNext::Named(_) => return Err(PairingError::Protocol),
            }
        }
    }

    /// Answers the proof, and hears the name of the sender.
    async fn name_of(&self, last: Last) -> Result<Option<Name>, PairingError> {
        let (mut stream, mut receiving, message) = last;
        write_last(&mut stream, &message).await?;
        let message = read(&mut stream).await?;
        match receiving.handle(message, &mut self.codes(), Instant::now())? {
            ReceiverNext::Named(name) => Ok(name),
            _ => Err(PairingError::Protocol),
        }
    }

    fn codes(&self) -> MutexGuard<'_, Codes> {
        lock(&self.codes)
    }
}
