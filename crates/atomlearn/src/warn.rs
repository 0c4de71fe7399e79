//! Where computations that are no method say what they did unasked; every [observer](crate::Observer) listens.

/// Hears warnings.
pub trait Warn {
    /// Called when something was done that the user did not ask for (jitter, fewer atoms, ...).
    fn warn(&mut self, warning: &str);
}
