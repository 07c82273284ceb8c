//! The client end: its device, and the session with the server.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use weftline::{CloseReason, Connection, PathEvent, Port};

use super::counts::{Counts, Snapshot};
use super::device::{Lease, System};
use super::event::{Event, OnEvent};
use super::ingress::ingress;
use super::link::Link;
use super::options::ClientOptions;
use super::packet::{Header, is_routable};
use super::pool::has;
use super::wire::{self, Answer, Hello, VERSION};
use crate::error::SessionError;
use crate::line;
use crate::lock::lock;
use crate::protocol::Protocol;
use crate::reconnect::{Rejoin, answered, begin, reconnect};
use crate::stopper::Stopper;

/// How long packets in flight may take to arrive when the tunnel is stopped.
const DRAIN: Duration = Duration::from_secs(1);

/// The client end of a tunnel.
pub struct Client<S: System> {
    options: ClientOptions,
    system: S,
    on_event: OnEvent,
    present: Mutex<Option<Present<S::Device>>>,
    /// Counts of the devices that are closed.
    before: Mutex<Counts>,
    /// The device's error.
    broken: watch::Sender<Option<String>>,
}

/// An open device, with the packets that pass it.
pub(crate) struct Opened<D> {
    device: Arc<D>,
    lease: Lease,
    link: Arc<Link>,
}

/// The device that is open now, and the task that reads from it.
struct Present<D> {
    opened: Arc<Opened<D>>,
    reader: JoinHandle<()>,
}

impl<D> Opened<D> {
    fn is_own(&self, header: &Header) -> bool {
        is_routable(header.source) && has(&self.lease.addresses, header.destination)
    }
}

impl<S: System> Client<S> {
    /// A client that opens its device with `system` when the server has answered.
    pub fn new(
        options: ClientOptions,
        system: S,
        on_event: impl Fn(Event<'_>) + Send + Sync + 'static,
    ) -> Self {
        Client {
            options,
            system,
            on_event: Arc::new(on_event),
            present: Mutex::default(),
            before: Mutex::default(),
            broken: watch::Sender::new(None),
        }
    }

    /// Current counters.
    pub fn snapshot(&self) -> Snapshot {
        let link = self.link();
        let mut snapshot = link.as_ref().map(|l| l.snapshot()).unwrap_or_default();
        let session = link.and_then(|link| link.session());
        snapshot.paths = session.map(|s| s.paths()).unwrap_or_default();
        snapshot.counts.merge(&self.before());
        snapshot.lane = self.options.lane.as_ref().map(|lane| lane.snapshot());
        snapshot
    }

    /// Carries packets and keeps a session, until `stopper` stops it. The device is closed then.
    ///
    /// # Errors
    /// The error of the first session is permanent, or the device fails.
    pub async fn run(&self, stopper: &Stopper) -> Result<(), SessionError> {
        let mut broken = self.broken.subscribe();
        let ended = tokio::select! {
            ended = reconnect(self, stopper) => ended,
            // This fails only without a sender, and `self` holds one.
            Ok(error) = broken.wait_for(Option::is_some) => {
                Err(SessionError::Device(error.clone().unwrap_or_default()))
            }
        };
        self.shut().await;
        ended
    }

    async fn agree(&self, connection: &Connection) -> Result<Lease, SessionError> {
        let lost = |error| SessionError::lost(connection, &error);
        let stream = connection.open_stream().await;
        let mut stream = stream.map_err(SessionError::Closed)?;
        let hello = Hello {
            weftline_tun: VERSION,
            name: self.options.name.clone(),
        };
        line::write(&mut stream, &hello).await.map_err(lost)?;
        let answer: Answer = wire::read(&mut stream).await.map_err(lost)?;
        if answer.weftline_tun != VERSION {
            return Err(SessionError::Version("the tunnel"));
        }
        let lease = answer.lease();
        lease.map_err(|wrong| SessionError::Failed(wrong.to_owned()))
    }

    /// The device with this lease: the present one, or a new one.
    async fn open(&self, lease: Lease) -> Result<Arc<Opened<S::Device>>, SessionError> {
        let present = self.present().as_ref().map(|p| p.opened.clone());
        if let Some(opened) = present.filter(|opened| opened.lease == lease) {
            return Ok(opened);
        }
        self.shut().await;
        let device = self.system.open(&lease).await;
        let device = device.map_err(|error| SessionError::Device(error.to_string()))?;
        let (device, link) = (Arc::new(device), Arc::new(Link::new(lease.mtu)));
        let reading = {
            let (device, link, lease) = (device.clone(), link.clone(), lease.clone());
            let broken = self.broken.clone();
            async move {
                let error = ingress(&*device, |frame, header| match header {
                    // What a host says to its own link, such as router solicitations, is for no tunnel.
                    Some(header) if !is_routable(header.destination) => {}
                    Some(header) if has(&lease.addresses, header.source) => {
                        link.push(frame, &header)
                    }
                    header => link.refuse(header.as_ref()),
                });
                let error = error.await.to_string();
                broken.send_replace(Some(error));
            }
        };
        let opened = Arc::new(Opened {
            device,
            lease,
            link,
        });
        *self.present() = Some(Present {
            opened: opened.clone(),
            reader: tokio::spawn(reading),
        });
        Ok(opened)
    }

    /// Closes the device, and waits until nothing has it any more.
    async fn shut(&self) {
        let present = self.present().take();
        let Some(Present { opened, reader }) = present else {
            return;
        };
        reader.abort();
        // An aborted task ends with an error.
        let _ = reader.await;
        self.before().merge(&opened.link.snapshot().counts);
    }

    fn before(&self) -> MutexGuard<'_, Counts> {
        lock(&self.before)
    }

    fn present(&self) -> MutexGuard<'_, Option<Present<S::Device>>> {
        lock(&self.present)
    }

    /// The packets of the open device.
    fn link(&self) -> Option<Arc<Link>> {
        let present = self.present();
        present.as_ref().map(|present| present.opened.link.clone())
    }

    fn detach(&self) {
        if let Some(link) = self.link() {
            link.end();
        }
        if let Some(lane) = &self.options.lane {
            lane.detach();
        }
    }
}

impl<S: System> Rejoin for Client<S> {
    type Agreed = Arc<Opened<S::Device>>;

    async fn begin(&self) -> Result<(Port, Connection, Self::Agreed), SessionError> {
        let options = &self.options;
        let (identity, mut config) = (options.identity.clone(), options.endpoint.clone());
        if let Some(lane) = &options.lane {
            lane.apply(&mut config);
        }
        let agree = async |connection: &Connection| {
            let lease = answered(options.timeout, self.agree(connection)).await?;
            let opened = self.open(lease).await?;
            opened.link.attach(connection.clone());
            if let Some(lane) = &options.lane {
                lane.attach(connection);
            }
            (self.on_event)(Event::Connected {
                remote: connection.remote_addr(),
                lease: &opened.lease,
            });
            Ok(opened)
        };
        begin(&options.server, identity, Protocol::Tun, config, agree).await
    }

    async fn carry(&self, connection: &Connection, opened: Self::Agreed) -> CloseReason {
        let device = &*opened.device;
        let carried = opened
            .link
            .carry(connection, device, |header| opened.is_own(header));
        carried.await
    }

    fn on_path(&self, event: &PathEvent) {
        (self.on_event)(Event::Path(event));
    }

    fn on_lost(&self) {
        self.detach();
    }

    fn on_retry(&self, error: &SessionError, wait: Duration) {
        (self.on_event)(Event::Retrying { error, wait });
    }

    async fn leave(
        &self,
        connection: &Connection,
        carried: Pin<&mut (impl Future<Output = CloseReason> + Send)>,
        stopper: &Stopper,
    ) {
        let drained = async {
            if let Some(lane) = &self.options.lane {
                lane.drain(connection, stopper).await;
            }
            if let Some(link) = self.link() {
                let _ = timeout(DRAIN, link.flush()).await;
            }
        };
        tokio::select! {
            () = drained => {}
            _ = carried => {}
        }
        self.detach();
    }

    async fn left(&self) {
        if let Some(lane) = &self.options.lane {
            lane.settle().await;
        }
    }
}
