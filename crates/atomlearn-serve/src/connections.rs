//! Who is connected, and who has to leave when places run out.
//!
//! Nobody waits to be accepted: a silent crowd could otherwise shut everybody out. When places run out, the client
//! that the server has waited for longest loses its place, whether it owes a head, a body, or the reading of an answer.
//! Requests that the server works on keep theirs, and they never take all of them. So there is always somebody who can
//! leave, and always a place for the next client.

use crate::Config;
use crate::metrics::Metrics;
use crate::open_files;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};

/// One place in so many is never taken by requests that are worked on.
const ONE_KEPT_IN: usize = 8;
/// One place in so many is kept free by sending clients away early, so that the next one need not wait for their leaving.
const ONE_FREE_IN: usize = 16;
/// How long a client that has to leave may take before another one has to leave, too.
const LEAVING_TIME: Duration = Duration::from_millis(50);

/// All connections.
pub struct Connections {
    places: Arc<Semaphore>,
    working: Semaphore,
    /// Places that are kept free.
    spare: usize,
    seats: Mutex<Seats>,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct Seats {
    taken: BTreeMap<u64, Arc<Seat>>,
    /// How many there have ever been.
    count: u64,
}

struct Seat {
    /// Since when the server has waited for the client; `None` while it works itself.
    waiting_since: Mutex<Option<Instant>>,
    evicted: watch::Sender<bool>,
}

/// A connection; its place is free again when this is dropped.
pub struct Connection {
    /// The client.
    pub peer: SocketAddr,
    number: u64,
    seat: Arc<Seat>,
    all: Arc<Connections>,
    _place: OwnedSemaphorePermit,
}

impl Connections {
    /// Nobody yet. There are no more places than files the process may open.
    pub fn new(config: &Config, metrics: Arc<Metrics>) -> Self {
        let files = open_files::limit().saturating_sub(open_files::OTHERS);
        let places = config.max_connections.min(files).clamp(2, Semaphore::MAX_PERMITS);
        let working = places - (places / ONE_KEPT_IN).max(1);
        Connections {
            places: Arc::new(Semaphore::new(places)),
            working: Semaphore::new(working),
            spare: places / ONE_FREE_IN,
            seats: Mutex::default(),
            metrics,
        }
    }

    /// A place for a new client, who is now waited for. Where there is none, somebody else has to leave first.
    pub async fn enter(self: &Arc<Self>, peer: SocketAddr) -> Connection {
        loop {
            if self.places.available_permits() <= self.spare {
                self.evict_longest_wait();
            }
            let place = tokio::time::timeout(LEAVING_TIME, self.places.clone().acquire_owned()).await;
            if let Ok(Ok(place)) = place {
                return self.seat(place, peer);
            }
        }
    }

    /// The right to work on a request that has come in whole; `None` while too many others are worked on.
    pub fn work(&self) -> Option<SemaphorePermit<'_>> {
        self.working.try_acquire().ok()
    }

    fn seat(self: &Arc<Self>, place: OwnedSemaphorePermit, peer: SocketAddr) -> Connection {
        let waiting_since = Mutex::new(Some(Instant::now()));
        let seat = Arc::new(Seat { waiting_since, evicted: watch::Sender::new(false) });
        let mut seats = lock(&self.seats);
        seats.count += 1;
        let number = seats.count;
        seats.taken.insert(number, seat.clone());
        Connection { peer, number, seat, all: self.clone(), _place: place }
    }

    fn evict_longest_wait(&self) {
        let mut seats = lock(&self.seats);
        let waiting = seats.taken.iter().filter_map(|(number, seat)| Some(((*lock(&seat.waiting_since))?, *number)));
        let Some((_, number)) = waiting.min() else { return };
        if let Some(seat) = seats.taken.remove(&number) {
            seat.evicted.send_replace(true);
            self.metrics.evicted();
        }
    }
}

impl Connection {
    /// From now on the server waits for the client.
    pub fn waits(&self) {
        *lock(&self.seat.waiting_since) = Some(Instant::now());
    }

    /// From now on the server works for the client.
    pub fn works(&self) {
        *lock(&self.seat.waiting_since) = None;
    }

    /// Done when the client has to leave.
    pub async fn evicted(&self) {
        // The sender lives as long as the seat does, so this cannot fail.
        let _ = self.seat.evicted.subscribe().wait_for(|evicted| *evicted).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        lock(&self.all.seats).taken.remove(&self.number);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(places: usize) -> Arc<Connections> {
        let config = Config { max_connections: places, ..Config::default() };
        Arc::new(Connections::new(&config, Arc::default()))
    }

    const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

    fn has_to_leave(connection: &Connection) -> bool {
        *connection.seat.evicted.borrow()
    }

    #[tokio::test]
    async fn who_was_waited_for_longest_leaves_and_who_is_worked_for_stays() {
        let all = connections(4);
        let mut present = Vec::new();
        for _ in 0..4 {
            present.push(all.enter(PEER).await);
        }
        present[0].works();
        // The second was just answered: it is now the one that was waited for shortest.
        present[1].waits();
        let entering = tokio::spawn({
            let all = all.clone();
            async move { all.enter(PEER).await }
        });
        present[2].evicted().await;
        let left: Vec<bool> = present.iter().map(has_to_leave).collect();
        assert_eq!(left, [false, false, true, false]);
        present.remove(2);
        let new = entering.await.unwrap();
        assert!(!has_to_leave(&new));
        assert_eq!(lock(&all.seats).taken.len(), 4);
        drop((present, new));
        assert!(lock(&all.seats).taken.is_empty());
        assert_eq!(all.places.available_permits(), 4);
    }

    #[tokio::test]
    async fn work_never_takes_all_places() {
        for (places, most) in [(1, 1), (2, 1), (8, 7), (64, 56)] {
            let all = connections(places);
            let working: Vec<_> = std::iter::from_fn(|| all.work()).collect();
            assert_eq!(working.len(), most);
            assert!(most < all.places.available_permits());
            drop(working);
            assert!(all.work().is_some());
        }
    }
}
