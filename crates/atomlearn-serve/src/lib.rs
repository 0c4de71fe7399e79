//! A trained model behind HTTP: `POST /predict`, `POST /explain`, `GET /model`, `/healthz`, `/metrics`, and a page that
//! shows how the model decides.
//!
//! Everything a client sends is bounded: bodies one by one and together, samples, heads, connections, time. The server
//! reads nothing from disk and writes nothing, unless a log of requests is asked for.

mod batch;
mod body;
mod config;
mod connections;
pub mod dry;
mod explain;
mod hosts;
mod json_rows;
mod metrics;
mod open_files;
mod openapi;
mod page;
mod predict;
mod reply;
mod request_log;
mod route;
mod routes;
mod rows;
mod server;
mod subject;
mod task;
mod write_timeout;

pub use config::Config;
pub use request_log::RequestLog;
pub use server::Server;
pub use subject::Subject;

use std::io::Result;
use std::net::SocketAddr;

/// Serves until the process is told to stop (Ctrl-C, or SIGTERM on Unix); `ready` is told the address. A second Ctrl-C
/// stops at once.
pub fn serve(subject: Subject, config: Config, ready: impl FnOnce(SocketAddr)) -> Result<()> {
    open_files::allow(config.max_connections);
    let threads = rayon::current_num_threads();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        // Large bodies and explanations wait for each other rather than for the processor.
        .max_blocking_threads(threads)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let stop = stop_signal()?;
        let server = Server::bind(subject, config).await?;
        ready(server.address()?);
        server.run(stop).await;
        Ok(())
    })
}

#[cfg(unix)]
fn stop_signal() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {} }
        tokio::spawn(async move {
            interrupt.recv().await;
            std::process::exit(130);
        });
    })
}

#[cfg(not(unix))]
fn stop_signal() -> Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}
