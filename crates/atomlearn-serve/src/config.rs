//! Where to listen and what a stranger may ask for.

use crate::RequestLog;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Address and limits of a server. The defaults are safe for a program on one's own machine.
#[derive(Clone, Debug)]
pub struct Config {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Names under which browsers may call the server, besides `localhost` and plain addresses.
    pub hosts: Vec<String>,
    /// Most bytes of one request's body.
    pub max_body: usize,
    /// Most bytes of all bodies that are in memory at the same time.
    pub max_in_flight: usize,
    /// Most samples of one request.
    pub max_samples: usize,
    /// Most connections at the same time, as far as the process may open files. One more, and the client that the
    /// server has waited for longest is disconnected. Seven eighths of them may have requests that are worked on.
    pub max_connections: usize,
    /// Most samples of concurrent requests that are scored together; 1 scores every request alone. At most
    /// [`Config::LARGEST_BATCH`] are, whatever stands here.
    pub max_batch: usize,
    /// Time a client has for sending the head of a request; also how long an idle connection is kept.
    pub header_time: Duration,
    /// Time a request has from its head to the answer, and a client for taking up any part of it.
    pub request_time: Duration,
    /// Samples whose most probable class is less probable get no label, unless a request says otherwise.
    pub min_probability: Option<f64>,
    /// Whether to watch how like those of training the samples are.
    pub drift: bool,
    /// Where a line for every request goes.
    pub log: Option<Arc<RequestLog>>,
}

impl Config {
    /// Beyond this, samples would be scored in several panels, and the last might be a lone one: see `batch.rs`.
    pub const LARGEST_BATCH: usize = 128;
}

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8642)),
            hosts: Vec::new(),
            max_body: 8 << 20,
            max_in_flight: 64 << 20,
            max_samples: 4096,
            max_connections: 1024,
            max_batch: 64,
            header_time: Duration::from_secs(10),
            request_time: Duration::from_secs(30),
            min_probability: None,
            drift: false,
            log: None,
        }
    }
}
