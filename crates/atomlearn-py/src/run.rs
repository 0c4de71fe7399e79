//! Work that can be interrupted: it runs on its own threads while the calling thread listens for Ctrl-C.
//!
//! Python notices Ctrl-C only where its main thread asks. So the main thread waits for the work in short naps, asks in
//! between, and passes reports to the caller's function. When it is to stop, it tells the work, which ends after its
//! present iteration; should that take longer than a moment, the call returns all the same and the work ends unheard.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde_json::Value;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// How long the main thread sleeps between looks for Ctrl-C.
const NAP: Duration = Duration::from_millis(50);
/// How long an interrupted call waits for its work to end properly.
const FAREWELL: Duration = Duration::from_millis(300);

thread_local! {
    /// The pool of the calling thread, its process and its size.
    static POOL: RefCell<Option<(u32, usize, Arc<ThreadPool>)>> = const { RefCell::new(None) };
}

/// A pool that stays with the calling thread. New threads for every call would take longer to start than a small prediction,
/// and new memory, which the system has to clear first. Threads do not survive a fork, so a child process starts its own.
pub fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let process = std::process::id();
    POOL.with_borrow_mut(|held| {
        if let Some((_, _, pool)) = held.as_ref().filter(|(owner, size, _)| (*owner, *size) == (process, threads)) {
            return Ok(pool.clone());
        }
        let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        let pool = pool.map_err(|e| PyRuntimeError::new_err(format!("cannot start {threads} threads: {e}")))?;
        let pool = Arc::new(pool);
        match held.replace((process, threads, pool.clone())) {
            // The threads of a parent process are not here; to end them would be to wait for ever.
            Some(old) if old.0 != process => std::mem::forget(old),
            old => drop(old),
        }
        Ok(pool)
    })
}

/// What the work tells the calling thread.
enum Event<T> {
    /// Something to report; the work waits for the answer.
    Report(Value),
    /// The end. `None` if the work panicked.
    Done(Option<T>),
}

/// The calling thread's answer to a report.
pub enum Answer {
    /// Go on.
    GoOn,
    /// Stop as soon as possible.
    Stop,
    /// First send what [`Link::report`] can give, then wait again.
    Send,
}

/// Gets every report. It may send [`Answer::Send`] before it returns; its `Break` stops the work.
pub type Listener<'a> = dyn Fn(Value, &Sender<Answer>) -> PyResult<ControlFlow<()>> + 'a;

/// The work's end of the line.
pub struct Link {
    stop: Arc<AtomicBool>,
    listened_to: bool,
    report: Box<dyn FnMut(Value) + Send>,
    answers: Receiver<Answer>,
}

impl Link {
    /// `Break` once the work should end.
    pub fn go_on(&self) -> ControlFlow<()> {
        if self.stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    /// Tells the listener, if there is one, and does what it answers; `send` serves [`Answer::Send`].
    pub fn report(&mut self, report: impl FnOnce() -> Value, mut send: impl FnMut()) -> ControlFlow<()> {
        if self.listened_to && self.go_on().is_continue() {
            (self.report)(report());
            loop {
                match self.answers.recv() {
                    Ok(Answer::Send) => send(),
                    Ok(Answer::GoOn) => break,
                    Ok(Answer::Stop) | Err(_) => return ControlFlow::Break(()),
                }
            }
        }
        self.go_on()
    }
}

/// Does `job` on `threads` threads. If the listener stops it, its result still counts; an exception of the listener's, and
/// Ctrl-C, end the call.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    threads: usize,
    job: impl FnOnce(&mut Link) -> T + Send + 'static,
    listen: Option<&Listener<'_>>,
) -> PyResult<T> {
    let (events, inbox) = channel();
    let (reply, answers) = channel();
    let stop = Arc::new(AtomicBool::new(false));
    let reports = events.clone();
    let mut link = Link {
        stop: stop.clone(),
        listened_to: listen.is_some(),
        report: Box::new(move |report| drop(reports.send(Event::Report(report)))),
        answers,
    };
    // Out of reach meanwhile: a listener may call for a pool while the work keeps a thread of this one waiting for its
    // answer, and work that is left behind after an interruption shall hold up no later call.
    let pool = pool(threads)?;
    let held = POOL.take();
    pool.spawn(move || {
        let outcome = catch_unwind(AssertUnwindSafe(|| job(&mut link))).ok();
        // Nobody may be listening any more.
        drop(events.send(Event::Done(outcome)));
    });
    match attend(py, &reply, inbox, listen) {
        Ok(outcome) => {
            POOL.set(held);
            outcome.ok_or_else(|| PyRuntimeError::new_err("internal error: the computation panicked"))
        }
        Err((error, inbox)) => {
            stop.store(true, Ordering::Relaxed);
            // In case the work waits for an answer.
            drop(reply.send(Answer::Stop));
            py.detach(move || while let Ok(Event::Report(_)) = inbox.recv_timeout(FAREWELL) {});
            Err(error)
        }
    }
}

/// Waits for the end of the work; on an exception gives the inbox back.
fn attend<T: Send>(
    py: Python<'_>,
    reply: &Sender<Answer>,
    mut inbox: Receiver<Event<T>>,
    listen: Option<&Listener<'_>>,
) -> Result<Option<T>, (PyErr, Receiver<Event<T>>)> {
    loop {
        let event;
        (event, inbox) = py.detach(move || (inbox.recv_timeout(NAP), inbox));
        match (event, listen) {
            (Ok(Event::Done(outcome)), _) => return Ok(outcome),
            (Ok(Event::Report(report)), Some(listen)) => match listen(report, reply) {
                Ok(flow) => drop(reply.send(if flow.is_break() { Answer::Stop } else { Answer::GoOn })),
                Err(error) => return Err((error, inbox)),
            },
            (Ok(Event::Report(_)) | Err(RecvTimeoutError::Timeout), _) => {}
            (Err(RecvTimeoutError::Disconnected), _) => return Ok(None),
        }
        if let Err(error) = py.check_signals() {
            return Err((error, inbox));
        }
    }
}
