//! Panics of other packages over what strangers wrote, turned into errors without a word on stderr.

use crate::{Error, Result};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Once;

thread_local! {
    /// How many guarded sections this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Counts a guarded section for as long as it lives, whichever way the section ends.
struct Section;

impl Section {
    fn enter() -> Self {
        DEPTH.set(DEPTH.get() + 1);
        Section
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
    }
}

/// Runs work of another package on a file so that a panic over a malformed one becomes an error that says `why`.
/// Nothing is printed about such a panic; others are reported as before.
pub fn guarded<T>(path: &Path, why: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if DEPTH.get() == 0 {
                report(panic);
            }
        }));
    });
    let section = Section::enter();
    let outcome = catch_unwind(AssertUnwindSafe(work));
    drop(section);
    outcome.unwrap_or_else(|_| Err(Error::format(path, why)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_and_ends_the_section() {
        let run =
            || guarded(Path::new("a.h5"), "it is damaged", || if DEPTH.get() == 1 { panic!("no") } else { Ok(1) });
        assert_eq!(run().unwrap_err().to_string(), "a.h5: it is damaged");
        assert_eq!(DEPTH.get(), 0);
        let inner = guarded(Path::new("a.h5"), "outer", || guarded(Path::new("b.h5"), "inner", || Ok(DEPTH.get())));
        assert_eq!(inner.unwrap(), 2);
    }
}
