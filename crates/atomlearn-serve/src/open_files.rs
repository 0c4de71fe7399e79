//! How many files, and so connections, the process may have open.

/// Files that are not connections: the model, the log, the terminal, what the runtime and the pool of threads need.
pub const OTHERS: usize = 64;

/// Asks the system to allow so many connections beside the other files, as far as it lets us.
#[cfg(unix)]
pub fn allow(connections: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let wanted = connections.saturating_add(OTHERS) as u64;
    let allowed = now.maximum.map_or(wanted, |most| most.min(wanted));
    if now.current.is_some_and(|current| current < allowed) {
        // If it refuses, there are fewer places.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), ..now });
    }
}

/// How many files may be open now.
#[cfg(unix)]
pub fn limit() -> usize {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Nofile).current.and_then(|files| usize::try_from(files).ok()).unwrap_or(usize::MAX)
}

/// There is no such limit here.
#[cfg(not(unix))]
pub fn allow(_: usize) {}

/// There is no such limit here.
#[cfg(not(unix))]
pub fn limit() -> usize {
    usize::MAX
}
