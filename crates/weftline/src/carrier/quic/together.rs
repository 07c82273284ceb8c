//! QUIC's task of a connection and the engine's are one task.
//!
//! They work hand in hand: the engine fills QUIC's queue of datagrams, QUIC empties it into the
//! socket, and what arrives goes the other way. As two tasks they would wake each other through the
//! scheduler for each few datagrams, mostly on another processor.

use std::future::Future;
use std::io;
use std::net::UdpSocket;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

use crate::lock::lock;
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, TokioRuntime};
use tokio::task::coop::has_budget_remaining;

type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Turns of one task before others on its thread have theirs.
const TURNS: u32 = 64;

/// The runtime of an endpoint of QUIC.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// The place beside the task that QUIC has spawned last.
    spawned: Mutex<Option<Place>>,
    /// One connection begins at a time.
    turn: Mutex<()>,
}

impl Together {
    /// Lets QUIC begin a connection, and gives the place beside its task.
    pub(super) fn begin<C, E>(
        &self,
        begin: impl FnOnce() -> Result<C, E>,
    ) -> Result<(C, Place), E> {
        let _turn = lock(&self.turn);
        *lock(&self.spawned) = None;
        let connection = begin()?;
        // It is QUIC that decides when to spawn its task: without one the engine has its own.
        let place = lock(&self.spawned).take().unwrap_or_else(Place::alone);
        Ok((connection, place))
    }
}

impl Runtime for Together {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        TokioRuntime.new_timer(at)
    }

    fn spawn(&self, work: Work) {
        let place = Place(Arc::new(Bells::default()));
        *lock(&self.spawned) = Some(place.clone());
        tokio::spawn(Task::new(work, place));
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        TokioRuntime.wrap_udp_socket(socket)
    }

    fn now(&self) -> Instant {
        TokioRuntime.now()
    }
}

/// A place beside QUIC's task of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Place(Arc<Bells>);

impl Place {
    /// Beside no task.
    fn alone() -> Self {
        let bells = Bells::default();
        *lock(&bells.seat) = Seat::Gone;
        Place(Arc::new(bells))
    }

    /// Runs this in QUIC's task, or in one of its own if QUIC's has ended. A place is for one work.
    pub(super) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        {
            let mut seat = lock(&self.0.seat);
            match *seat {
                Seat::Free => *seat = Seat::Taken(Box::pin(work)),
                Seat::Taken(_) | Seat::Gone => drop(tokio::spawn(work)),
            }
        }
        self.0.ring(ENGINE);
    }
}

/// Where the engine's work waits to be taken into the task.
#[derive(Default)]
enum Seat {
    #[default]
    Free,
    Taken(Work),
    Gone,
}

const QUIC: u8 = 1;
const ENGINE: u8 = 2;
/// The task runs: it will see what is rung.
const AWAKE: u8 = 4;

/// Who has something to do in a task.
#[derive(Default)]
struct Bells {
    rung: AtomicU8,
    task: Mutex<Option<Waker>>,
    seat: Mutex<Seat>,
}

impl Bells {
    fn ring(&self, whose: u8) {
        let before = self.rung.fetch_or(whose, Ordering::AcqRel);
        if before & (AWAKE | whose) == 0
            && let Some(task) = &*lock(&self.task)
        {
            task.wake_by_ref();
        }
    }

    /// Begins a turn: who has something to do?
    fn answer(&self) -> u8 {
        self.rung.swap(AWAKE, Ordering::AcqRel) & !AWAKE
    }

    /// Ends the last turn; false: somebody has rung meanwhile.
    fn rest(&self) -> bool {
        let rest = self
            .rung
            .compare_exchange(AWAKE, 0, Ordering::AcqRel, Ordering::Acquire);
        rest.is_ok()
    }
}

impl std::fmt::Debug for Bells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bells").finish_non_exhaustive()
    }
}

struct Bell {
    bells: Arc<Bells>,
    whose: u8,
}

impl Bell {
    fn waker(bells: &Arc<Bells>, whose: u8) -> Waker {
        let bells = bells.clone();
        Arc::new(Bell { bells, whose }).into()
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.bells.ring(self.whose);
    }
}

struct Task {
    bells: Arc<Bells>,
    quic: Worker,
    engine: Worker,
}

struct Worker {
    work: Option<Work>,
    waker: Waker,
}

impl Worker {
    /// Works as far as it can.
    fn take_turn(&mut self) {
        if let Some(work) = &mut self.work
            && work
                .as_mut()
                .poll(&mut Context::from_waker(&self.waker))
                .is_ready()
        {
            self.work = None;
        }
    }
}

impl Task {
    fn new(quic: Work, Place(bells): Place) -> Self {
        bells.ring(QUIC);
        Task {
            quic: Worker {
                work: Some(quic),
                waker: Bell::waker(&bells, QUIC),
            },
            engine: Worker {
                work: None,
                waker: Bell::waker(&bells, ENGINE),
            },
            bells,
        }
    }

    /// Lets the engine in, if it waits.
    fn admit(&mut self) {
        let mut seat = lock(&self.bells.seat);
        if let Seat::Taken(_) = *seat
            && let Seat::Taken(work) = std::mem::take(&mut *seat)
        {
            self.engine.work = Some(work);
        }
    }

    /// Both have ended, and nobody can come in any more.
    fn is_over(&mut self) -> bool {
        if self.quic.work.is_some() || self.engine.work.is_some() {
            return false;
        }
        let mut seat = lock(&self.bells.seat);
        let over = matches!(*seat, Seat::Free);
        if over {
            *seat = Seat::Gone;
        }
        over
    }
}

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        {
            let mut task = lock(&this.bells.task);
            if !task.as_ref().is_some_and(|task| task.will_wake(cx.waker())) {
                *task = Some(cx.waker().clone());
            }
        }
        for _ in 0..TURNS {
            let rung = this.bells.answer();
            if rung & QUIC != 0 {
                this.quic.take_turn();
            }
            this.admit();
            if rung & ENGINE != 0 {
                this.engine.take_turn();
            }
            if this.is_over() {
                return Poll::Ready(());
            }
            if !has_budget_remaining() {
                break;
            }
            if this.bells.rest() {
                return Poll::Pending;
            }
        }
        this.bells.rung.fetch_and(!AWAKE, Ordering::AcqRel);
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // The engine's work holds a place: in its own seat it would keep itself alive.
        let seat = std::mem::replace(&mut *lock(&self.bells.seat), Seat::Gone);
        drop(seat);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use tokio::sync::Notify;

    use super::*;

    /// QUIC's and the engine's work in one task that a test polls itself.
    fn task(
        quic: impl Future<Output = ()> + Send + 'static,
        engine: impl Future<Output = ()> + Send + 'static,
    ) -> (Pin<Box<Task>>, Place) {
        let place = Place(Arc::default());
        let task = Box::pin(Task::new(Box::pin(quic), place.clone()));
        place.spawn(engine);
        (task, place)
    }

    /// How often the scheduler was asked to poll.
    #[derive(Default)]
    struct Scheduler(AtomicU32);

    impl Wake for Scheduler {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn the_two_wake_each_other_without_the_scheduler() {
        const ROUNDS: u32 = 30;
        let (there, back) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (there2, back2) = (there.clone(), back.clone());
        let quic = async move {
            for _ in 0..ROUNDS {
                there.notified().await;
                back.notify_one();
            }
        };
        let engine = async move {
            for _ in 0..ROUNDS {
                there2.notify_one();
                back2.notified().await;
            }
        };
        let (mut task, _place) = task(quic, engine);
        let scheduler = Arc::new(Scheduler::default());
        let waker = scheduler.clone().into();
        let over = task.as_mut().poll(&mut Context::from_waker(&waker));
        assert_eq!(over, Poll::Ready(()));
        assert_eq!(scheduler.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn what_wakes_one_of_them_from_outside_wakes_the_task_once() {
        let bell = Arc::new(Notify::new());
        let rung = bell.clone();
        let engine = async move { rung.notified().await };
        let (mut task, _place) = task(std::future::ready(()), engine);
        let scheduler = Arc::new(Scheduler::default());
        let waker: Waker = scheduler.clone().into();
        let mut cx = Context::from_waker(&waker);
        assert_eq!(task.as_mut().poll(&mut cx), Poll::Pending);
        assert_eq!(scheduler.0.load(Ordering::Relaxed), 0);
        bell.notify_one();
        assert_eq!(scheduler.0.load(Ordering::Relaxed), 1);
        assert_eq!(task.as_mut().poll(&mut cx), Poll::Ready(()));
    }

    #[tokio::test]
    async fn two_that_never_rest_let_others_work() {
        let restless = || async {
            loop {
                tokio::task::yield_now().await;
            }
        };
        let (task, _place) = task(restless(), restless());
        let task = tokio::spawn(task);
        // On the only thread: they are reached if the task yields.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        task.abort();
        assert!(task.await.is_err_and(|error| error.is_cancelled()));
    }

    #[tokio::test]
    async fn work_that_comes_after_the_end_of_quic_has_a_task_of_its_own() {
        let runtime = Together::default();
        let begin = || {
            runtime.spawn(Box::pin(async {}));
            Ok::<_, ()>(())
        };
        let ((), place) = runtime.begin(begin).unwrap();
        while !matches!(*lock(&place.0.seat), Seat::Gone) {
            tokio::task::yield_now().await;
        }
        for place in [place, Place::alone()] {
            let (done, ended) = tokio::sync::oneshot::channel();
            place.spawn(async { done.send(()).unwrap() });
            ended.await.unwrap();
        }
    }

    #[test]
    fn work_that_waits_for_its_place_ends_with_the_task() {
        let alive = Arc::new(());
        let held = alive.clone();
        let bells = Arc::new(Bells::default());
        let place = Place(bells);
        let task = Task::new(Box::pin(std::future::pending()), place.clone());
        let own = place.clone();
        place.spawn(async move {
            let _both = (held, own);
            std::future::pending::<()>().await;
        });
        drop((task, place));
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
