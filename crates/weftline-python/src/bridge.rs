//! How a future of Rust is awaited by a task of asyncio.
//!
//! A task of asyncio polls the future itself, on its own thread, with the interpreter's lock released. So
//! nothing is ready anywhere else: cancelling a task drops the future, and a future of `weftline` that is
//! dropped has taken, sent and lost nothing. (A bridge that runs futures as tasks of tokio, and hands their
//! results over to the loop, loses the result of a future that was ready when its task was cancelled.) What
//! is ready at once costs no change of threads.
//!
//! While the future is pending, the task waits for a future of asyncio. What wakes the first must not wait for
//! the interpreter's lock: it may be a thread of the runtime that holds a connection's own lock. It tells the thread
//! of this module, which asks the loop with `call_soon_threadsafe` to end the second.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::JoinHandle;

use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyList};

use crate::runtime;

/// Operations that were ready at once, before one lets other tasks of the loop run.
const IN_A_ROW: u32 = 64;

static READY_IN_A_ROW: AtomicU32 = AtomicU32::new(0);

type Convert = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;
type Pending = Pin<Box<dyn Future<Output = Convert> + Send>>;

/// Something to await, once.
#[pyclass(frozen, module = "weftline._native")]
pub(crate) struct Operation {
    state: Mutex<State>,
    alarm: Arc<Alarm>,
}

enum State {
    New(Pending),
    Polled(Pending),
    Over,
}

impl Operation {
    /// `convert` makes what Python sees of what the future gives.
    pub(crate) fn new<T: Send + 'static>(
        future: impl Future<Output = T> + Send + 'static,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> Self {
        let future = async move {
            let output = future.await;
            Box::new(move |py: Python<'_>| convert(py, output)) as Convert
        };
        Operation {
            state: Mutex::new(State::New(Box::pin(future))),
            alarm: Arc::default(),
        }
    }

    /// One that gives nothing, or fails.
    pub(crate) fn unit<E: Into<PyErr> + Send + 'static>(
        future: impl Future<Output = Result<(), E>> + Send + 'static,
    ) -> Self {
        Operation::new(future, |py, result| {
            result.map_err(Into::into).map(|()| py.None())
        })
    }
}

#[pymethods]
impl Operation {
    fn __await__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    /// Raises `StopIteration` with the result, or gives the future of asyncio to wait for.
    fn __next__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let busy = || PyRuntimeError::new_err("this operation is being awaited by another thread");
        let mut state = self.state.try_lock().map_err(|_| busy())?;
        let is_first = matches!(*state, State::New(_));
        if is_first && READY_IN_A_ROW.fetch_add(1, Ordering::Relaxed) >= IN_A_ROW {
            READY_IN_A_ROW.store(0, Ordering::Relaxed);
            return Ok(py.None());
        }
        let mut future = match std::mem::replace(&mut *state, State::Over) {
            State::New(future) | State::Polled(future) => future,
            State::Over => {
                return Err(PyRuntimeError::new_err("this operation was awaited before"));
            }
        };
        let waker = Waker::from(self.alarm.clone());
        loop {
            self.alarm.reset();
            let polled = py.detach(|| {
                let _runtime = runtime::enter()?;
                Ok::<_, PyErr>(future.as_mut().poll(&mut Context::from_waker(&waker)))
            })?;
            if let Poll::Ready(convert) = polled {
                // Dropped with what it borrows before Python goes on.
                drop(future);
                return Err(PyStopIteration::new_err((convert(py)?,)));
            }
            READY_IN_A_ROW.store(0, Ordering::Relaxed);
            let event_loop = running_loop(py)?;
            let waiting = event_loop.call_method0("create_future")?;
            let target = Target {
                event_loop: event_loop.unbind(),
                future: waiting.clone().unbind(),
            };
            if self.alarm.set(target) {
                *state = State::Polled(future);
                // As any coroutine that awaits it.
                let iterator = waiting.call_method0("__await__")?;
                return Ok(iterator.call_method0("__next__")?.unbind());
            }
        }
    }
}

fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static GET: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let get = GET.import(py, "asyncio", "get_running_loop")?;
    get.call0()
}

/// Who is to be woken.
struct Target {
    event_loop: Py<PyAny>,
    future: Py<PyAny>,
}

/// Wakes a task of asyncio.
#[derive(Default)]
struct Alarm(Mutex<Rings>);

#[derive(Default)]
enum Rings {
    /// Nobody is to be woken yet.
    #[default]
    Idle,
    /// It rang before anybody was to be woken.
    Rung,
    Set(Target),
}

impl Alarm {
    fn reset(&self) {
        *lock(&self.0) = Rings::Idle;
    }

    /// Says who is to be woken; false if it has rung meanwhile.
    fn set(&self, target: Target) -> bool {
        let mut rings = lock(&self.0);
        match *rings {
            Rings::Rung => false,
            _ => {
                *rings = Rings::Set(target);
                true
            }
        }
    }
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut rings = lock(&self.0);
        if let Rings::Set(target) = std::mem::replace(&mut *rings, Rings::Rung) {
            drop(rings);
            ring(target);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that asks loops to wake their tasks.
struct Ringer {
    targets: Sender<Target>,
    thread: JoinHandle<()>,
}

/// `None` before the first endpoint, and when the interpreter ends.
static RINGER: Mutex<Option<Ringer>> = Mutex::new(None);

fn ring(target: Target) {
    if let Some(ringer) = &*lock(&RINGER) {
        // It ends only with the sender.
        let _ = ringer.targets.send(target);
    }
}

/// Starts what wakes tasks. Does nothing when it runs.
///
/// # Errors
///
/// The system gives no thread.
pub(crate) fn start(py: Python<'_>) -> PyResult<()> {
    static STARTED: PyOnceLock<()> = PyOnceLock::new();
    let start = || {
        // No thread may ask for the interpreter's lock when the interpreter is ending.
        let stop = PyCFunction::new_closure(py, None, None, |args, _| stop(args.py()))?;
        py.import("atexit")?.call_method1("register", (stop,))?;
        let wake = wrap_pyfunction!(wake_all, py)?.into_any().unbind();
        let (targets, rung) = channel();
        let thread = std::thread::Builder::new()
            .name("weftline-wake".to_owned())
            .spawn(move || ring_all(&rung, &wake))?;
        // One that another thread has started meanwhile ends when all that it was told is done.
        *lock(&RINGER) = Some(Ringer { targets, thread });
        Ok(())
    };
    STARTED.get_or_try_init(py, start).copied()
}

fn stop(py: Python<'_>) {
    let ringer = lock(&RINGER).take();
    if let Some(Ringer { targets, thread }) = ringer {
        drop(targets);
        // It needs the interpreter's lock to end.
        let _ = py.detach(|| thread.join());
    }
}

fn ring_all(rung: &Receiver<Target>, wake: &Py<PyAny>) {
    while let Ok(first) = rung.recv() {
        let mut targets = vec![first];
        targets.extend(rung.try_iter());
        Python::attach(|py| {
            while let Some(target) = targets.last() {
                let event_loop = target.event_loop.clone_ref(py);
                let of_loop = |target: &mut Target| target.event_loop.is(&event_loop);
                let futures = targets.extract_if(.., of_loop);
                let futures =
                    PyList::new(py, futures.map(|target| target.future).collect::<Vec<_>>());
                let asked = futures.and_then(|futures| {
                    event_loop.call_method1(py, "call_soon_threadsafe", (wake, futures))
                });
                // A loop that is closed has no tasks to wake.
                drop(asked);
            }
        });
    }
}

/// Ends futures of asyncio that were not cancelled. Runs on their loop's thread.
#[pyfunction]
fn wake_all(futures: &Bound<'_, PyList>) -> PyResult<()> {
    for future in futures {
        if !future.call_method0("done")?.is_truthy()? {
            future.call_method1("set_result", (future.py().None(),))?;
        }
    }
    Ok(())
}
