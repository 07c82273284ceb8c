//! Who may send files, and how others get in while `recv` runs: by a code, or by the operator's answer.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep_until, timeout};
use weftline::{Allowed, Connection, Endpoint, Fingerprint, Refusal};
use weftline_apps::Protocol;
use weftline_apps::pairing::{Code, Host, Name, PROTOCOL, Paired, PairingError};

use super::RecvArgs;
use super::questions::{Answer, Questions};
use crate::book::{self, Book};
use crate::home;
use crate::listen::{Lists, reachable, turned_away};
use crate::nearby::Announcement;
use crate::ui::{OutputOptions, ask, output, peers, terminal};
use weftline_apps::lock;

/// How long a pair may take to be remembered before the program ends.
const LAST_WORDS: Duration = Duration::from_secs(4);

/// A sender that is paired connects at once. When none has begun to send after this time, a code comes again.
const SESSION: Duration = Duration::from_secs(10);

/// A peer that the operator is being asked about, with its address and the answer to come.
struct Asked {
    peer: Fingerprint,
    addr: SocketAddr,
    line: Pin<Box<dyn Future<Output = String> + Send>>,
}

/// The peers of an endpoint. Files are accepted from those who are allowed alone; a stranger's connection is
/// for its code, and nothing else is read on it.
pub(super) struct Guests {
    endpoint: Endpoint,
    output: OutputOptions,
    /// Who may send files, with those who were let in since this command began.
    allowed: Allowed,
    admitted: Arc<Mutex<BTreeSet<Fingerprint>>>,
    /// The side of pairing that shows codes, if there are any.
    host: Option<Host>,
    /// A code comes after one that was used, not only when no sender comes.
    keep: bool,
    /// Told while a code is open, if it may be.
    announces: bool,
    announcement: Mutex<Option<Announcement>>,
    asks: bool,
    changed: Notify,
    /// One at a time says who may connect.
    applying: Mutex<()>,
    /// Pairings, and lines of JSON that a reader may keep waiting.
    tasks: Mutex<JoinSet<()>>,
}

impl Guests {
    pub(super) fn new(
        args: &RecvArgs,
        output: OutputOptions,
        endpoint: Endpoint,
        allowed: Allowed,
    ) -> Result<Self> {
        let watched = output::is_watched(output);
        // An operator who names the senders needs no code for others.
        let named = !args.listen.peer.is_empty() || args.listen.peer_anyone;
        let host = args.code || (watched && !named);
        let host = host.then(|| Host::new(endpoint.fingerprint(), home::own_name()));
        let admitted = Arc::<Mutex<BTreeSet<Fingerprint>>>::default();
        let later = admitted.clone();
        let guests = Guests {
            endpoint,
            output,
            allowed: Allowed::from_fn(move |peer| {
                allowed.allows(peer) || lock(&later).contains(peer)
            }),
            admitted,
            host,
            keep: args.keep,
            announces: !args.no_announce,
            announcement: Mutex::default(),
            asks: watched && ask::is_possible() && !args.listen.peer_anyone,
            changed: Notify::new(),
            applying: Mutex::default(),
            tasks: Mutex::default(),
        };
        // Without a code too: the operator may let somebody in.
        guests.apply()?;
        guests.open_code(true)?;
        Ok(guests)
    }

    /// The code that is open now.
    pub(super) fn code(&self) -> Option<Code> {
        self.host.as_ref().and_then(Host::code)
    }

    /// Opens a code if one is due; `is_free`: there is room for another sender.
    fn open_code(&self, is_free: bool) -> Result<bool> {
        let Some(host) = &self.host else {
            return Ok(false);
        };
        let waits = |again| !is_free || Instant::now() < again;
        if host.code().is_some() || self.again(host).is_some_and(waits) {
            return Ok(false);
        }
        let opened = host.open(Code::random().context("cannot make a code")?);
        if opened {
            self.apply()?;
        }
        Ok(opened)
    }

    /// When a code may be due, unless a change comes first.
    fn next(&self, is_free: bool) -> Option<Instant> {
        let host = self.host.as_ref().filter(|host| host.code().is_none())?;
        let again = self.again(host);
        match again.is_some() && !is_free {
            true => None,
            false => host.next().max(again),
        }
    }

    /// A pair may have no session: its last message was lost, or the sender was stopped. If a code was used that
    /// was meant to be the only one, the next one comes at this time, unless a sender is there.
    fn again(&self, host: &Host) -> Option<Instant> {
        host.used()
            .filter(|_| !self.keep)
            .map(|used| used + SESSION)
    }

    /// Looks again whether a code is due: a sender has gone.
    pub(super) fn look(&self) {
        self.changed.notify_one();
    }

    /// Tells the endpoint who may connect now, and the network whether a sender may come.
    fn apply(&self) -> Result<()> {
        let _one = lock(&self.applying);
        let (allowed, code) = (self.allowed.clone(), self.code());
        let allowed = match code {
            Some(_) => allowed.and_strangers_for(PROTOCOL),
            None => allowed,
        };
        self.endpoint.set_allowed(allowed)?;
        let mut announcement = lock(&self.announcement);
        if code.is_none() {
            *announcement = None;
        } else if self.announces && announcement.is_none() {
            *announcement = Announcement::of(self.bound()?);
        }
        Ok(())
    }

    fn bound(&self) -> Result<SocketAddr> {
        let local = self.endpoint.local_addr();
        local.context("cannot read the bound address")
    }

    fn admit(&self, peer: Fingerprint) {
        lock(&self.admitted).insert(peer);
    }

    fn applied(&self) {
        if let Err(error) = self.apply() {
            terminal::offer(format!("warning: who may connect is unchanged: {error:#}"));
        }
    }

    /// The commands that send files with this code; as JSON too, for programs that pass it on.
    fn commands(&self, code: Code) -> Result<(Vec<String>, Option<String>)> {
        let at = reachable(self.bound()?);
        let is_announced = lock(&self.announcement).is_some();
        let event = self.output.json.then(|| {
            let fingerprint = self.endpoint.fingerprint().to_string();
            let event = json!({
                "command": "recv",
                "event": "code",
                "code": code.to_string(),
                "address": at,
                "announced": is_announced,
                "fingerprint": fingerprint,
            });
            event.to_string()
        });
        let mut lines = vec![format!("  weftline send FILE... {at} --code {code}")];
        if is_announced {
            lines.push(format!(
                "  weftline send FILE... {code}  # on this host or in its private networks"
            ));
        }
        Ok((lines, event))
    }

    /// The endpoint has another key: codes are for that from now on. A program that was told the code is told
    /// the new fingerprint.
    pub(super) fn on_new_key(&self) {
        let Some(host) = &self.host else { return };
        host.set_fingerprint(self.endpoint.fingerprint());
        match host.code().map(|code| self.commands(code)).transpose() {
            Ok(shown) => self.print(shown.and_then(|(_, event)| event)),
            Err(error) => {
                terminal::offer(format!("warning: the code is not told again: {error:#}"))
            }
        }
    }

    /// Prints a line for programs; a reader that is stopped keeps nobody waiting.
    fn print(&self, event: Option<String>) {
        if let Some(event) = event {
            lock(&self.tasks).spawn_blocking(move || output::print(event));
        }
    }

    /// Prints the commands that send files with this code.
    pub(super) fn show(&self, code: Code) -> Result<()> {
        let (lines, event) = self.commands(code)?;
        lines.iter().for_each(|line| output::line(line));
        if let Some(event) = event {
            output::print(event);
        }
        Ok(())
    }

    /// Lets peers in, or says that they were refused, until it is dropped. The operator is asked about one
    /// only while `is_free`: there is room for another sender.
    pub(super) async fn watch(self: &Arc<Self>, is_free: impl Fn() -> bool) -> Infallible {
        let (mut questions, mut asked) = (Questions::new(), None);
        loop {
            self.renew(is_free());
            let next = self.next(is_free());
            tokio::select! {
                Some(stranger) = self.endpoint.accept_stranger() => self.meet(stranger),
                () = self.changed.notified() => {}
                () = sleep_until(next.unwrap_or_else(Instant::now).into()), if next.is_some() => {}
                Some(refusal) = self.endpoint.refused() => {
                    self.on_refusal(&refusal, &questions, &mut asked, is_free());
                }
                (peer, addr, answer) = answer(&mut asked) => {
                    questions.on_answer(peer, answer, Instant::now());
                    self.on_answer(peer, addr, answer);
                }
            }
        }
    }

    /// Shows the next code when it is due. A terminal that is stopped keeps nobody else waiting.
    fn renew(&self, is_free: bool) {
        match self.open_code(is_free).and_then(|opened| {
            let code = self.code().filter(|_| opened);
            code.map(|code| self.commands(code)).transpose()
        }) {
            Ok(None) => {}
            Ok(Some((lines, event))) => {
                terminal::offer("a new code; on the other host, run:".to_owned());
                lines.into_iter().for_each(terminal::offer);
                self.print(event);
            }
            Err(error) => terminal::offer(format!("warning: no new code: {error:#}")),
        }
    }

    /// Hears the code that a stranger says.
    fn meet(self: &Arc<Self>, stranger: Connection) {
        let guests = self.clone();
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            let Some(host) = &guests.host else { return };
            let result = host.answer(&stranger, |peer| guests.admit(peer)).await;
            guests.on_pairing(&stranger, result);
            guests.changed.notify_one();
        });
    }

    fn on_pairing(&self, stranger: &Connection, result: Result<Paired, PairingError>) {
        let addr = stranger.remote_addr();
        match result {
            Ok(paired) => {
                self.remember(paired.peer, paired.name, paired.addr, "paired with");
            }
            Err(PairingError::WrongCode) => {
                self.tell(format!("{addr} gave a wrong code"));
                if let Some(next) = self.host.as_ref().and_then(Host::next)
                    && self.code().is_none()
                {
                    let wait = next.saturating_duration_since(Instant::now()).as_secs_f64();
                    terminal::offer(format!(
                        "warning: three wrong codes: the code is no longer good; the next one comes in {wait:.0} s"
                    ));
                }
            }
            Err(error) => self.tell(format!("{addr} was not paired: {error}")),
        }
        if self.code().is_none() {
            self.applied();
        }
    }

    /// A message that a stranger causes.
    fn tell(&self, text: String) {
        if !self.output.quiet {
            peers::tell(text);
        }
    }

    /// Lets a peer in from now on, in later runs too.
    fn remember(&self, peer: Fingerprint, name: Option<Name>, addr: SocketAddr, how: &str) {
        let address = Name::like(&addr.ip().to_canonical().to_string());
        let name = name.or(address);
        let remembered = Book::edit(|book| Ok(book.remember(peer, name, None)))
            .and_then(|name| home::allow(Protocol::Files, peer, name.as_str()));
        let line = match remembered {
            Ok(()) => format!(
                "{how} {}: it may send files here from now on",
                book::shown(&peer)
            ),
            Err(error) => format!("warning: {how} {peer}, for this run only: {error:#}"),
        };
        terminal::offer(line);
    }

    fn on_refusal(
        &self,
        refusal: &Refusal,
        questions: &Questions,
        asked: &mut Option<Asked>,
        is_free: bool,
    ) {
        let Refusal::UnknownPeer { peer, addr } = refusal else {
            return turned_away(refusal, Lists::Of(Protocol::Files));
        };
        if !self.asks || !is_free {
            return turned_away(refusal, Lists::Of(Protocol::Files));
        }
        // A sender that waits for the answer comes again and again.
        let is_asked = asked.as_ref().is_some_and(|asked| asked.peer == *peer);
        if is_asked || questions.is_unwanted(peer) || self.allowed.allows(peer) {
            return;
        }
        if asked.is_some() || !questions.may_ask(peer, Instant::now()) || !ask::is_possible() {
            return turned_away(refusal, Lists::Of(Protocol::Files));
        }
        let who = book::shown(peer);
        let question = format!("allow {who} at {addr} to send files? [y/N/always]");
        *asked = Some(Asked {
            peer: *peer,
            addr: *addr,
            line: Box::pin(ask::ask(question)),
        });
    }

    fn on_answer(&self, peer: Fingerprint, addr: SocketAddr, answer: Answer) {
        match answer {
            // It was paired before the answer came.
            Answer::No if self.allowed.allows(&peer) => {}
            Answer::No => terminal::offer(format!("{peer} stays refused")),
            Answer::Yes => {
                self.admit(peer);
                terminal::offer(format!("{peer} may send files until this command ends"));
            }
            Answer::Always => {
                self.admit(peer);
                self.remember(peer, None, addr, "allowed");
            }
        }
    }

    /// Waits until pairs are remembered and codes printed.
    pub(super) async fn finish(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        let all = async { while tasks.join_next().await.is_some() {} };
        let _ = timeout(LAST_WORDS, all).await;
    }
}

/// The operator's answer, if there is a question.
async fn answer(asked: &mut Option<Asked>) -> (Fingerprint, SocketAddr, Answer) {
    let Some(Asked { peer, addr, line }) = asked else {
        return std::future::pending().await;
    };
    let answered = (*peer, *addr, Answer::read(&line.await));
    *asked = None;
    answered
}
