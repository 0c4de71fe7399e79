//! Ctrl-C: training stops after its present iteration; anything else, and a second Ctrl-C, stop at once.

use crate::failure::Failure;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Installs the handler; once per process.
pub fn install() -> Result<(), Failure> {
    let handler = || {
        if ASKED.swap(true, Ordering::SeqCst) || !WATCHED.load(Ordering::SeqCst) {
            std::process::exit(130);
        }
        eprintln!("\nstopping after this iteration; press Ctrl-C again to stop at once");
    };
    ctrlc::set_handler(handler).map_err(|e| Failure::failed(format!("cannot watch for Ctrl-C: {e}")))
}

/// While this lives, somebody asks [`go_on`] regularly.
pub struct Watched(());

/// Says that [`go_on`] will be asked.
pub fn watched() -> Watched {
    WATCHED.store(true, Ordering::SeqCst);
    Watched(())
}

impl Drop for Watched {
    fn drop(&mut self) {
        WATCHED.store(false, Ordering::SeqCst);
    }
}

/// `Break` once the user has pressed Ctrl-C.
pub fn go_on() -> ControlFlow<()> {
    if ASKED.load(Ordering::SeqCst) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
