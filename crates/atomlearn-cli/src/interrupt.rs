//! Ctrl-C: training may end its present iteration if that takes a moment only; anything else stops at once.
//!
//! Stopping hard loses nothing: files appear whole or not at all, and a record that was cut short is mended on resuming.

use crate::failure::Failure;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What training gets to end its iteration; with it, the program is gone within a second.
const GRACE: Duration = Duration::from_millis(500);

static ASKED: AtomicBool = AtomicBool::new(false);
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Installs the handler; once per process.
pub fn install() -> Result<(), Failure> {
    let handler = || {
        ASKED.store(true, Ordering::SeqCst);
        if WATCHED.load(Ordering::SeqCst) {
            eprintln!("\nstopping");
            std::thread::sleep(GRACE);
        }
        std::process::exit(130);
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
