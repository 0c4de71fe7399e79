//! Trained models behind HTTP: `POST /predict`, `POST /explain`, `GET /model`, `/healthz`, `/metrics`, and a page that
//! shows how a model decides.
//!
//! Everything a client sends is bounded: bodies one by one and together, samples, heads, connections, time. The server
//! reads nothing from disk unless it is told to read its models again, and writes nothing unless a log is asked for.

mod batch;
mod body;
mod config;
mod connections;
mod drift;
pub mod dry;
mod explain;
mod hosts;
mod json_rows;
mod metrics;
mod models;
mod open_files;
mod openapi;
mod page;
mod predict;
mod question;
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
pub use models::{Load, Source};
pub use request_log::RequestLog;
pub use server::{Reloader, Server};
pub use subject::Subject;

use std::io::Result;
use std::net::SocketAddr;

/// Serves until the process is told to stop (Ctrl-C, or SIGTERM on Unix); `ready` is told the address. A second Ctrl-C
/// stops at once. On Unix, SIGHUP reads the models again; `reloaded` is told how that went.
pub fn serve(
    sources: Vec<Source>,
    config: Config,
    ready: impl FnOnce(SocketAddr),
    reloaded: impl Fn(std::result::Result<String, String>) + Send + 'static,
) -> Result<()> {
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
        let server = Server::bind(sources, config).await?;
        let hang_up = reload_signal(server.reloader(), reloaded)?;
        ready(server.address()?);
        let stop = async {
            tokio::select! { () = stop => {}, () = hang_up => {} }
        };
        server.run(stop).await;
        Ok(())
    })
}

/// Reads the models again at every SIGHUP. Ends if that was a terminal that has gone: then nobody is there to stop the server.
#[cfg(unix)]
fn reload_signal(
    reloader: Reloader,
    reloaded: impl Fn(std::result::Result<String, String>) + Send + 'static,
) -> Result<impl Future<Output = ()>> {
    use std::io::IsTerminal;
    use tokio::signal::unix::{SignalKind, signal};
    let mut hang_up = signal(SignalKind::hangup())?;
    let in_terminal = std::io::stdin().is_terminal();
    Ok(async move {
        while hang_up.recv().await.is_some() {
            if in_terminal && !std::io::stdin().is_terminal() {
                return;
            }
            reloader.reload().await.into_iter().for_each(&reloaded);
        }
    })
}

#[cfg(not(unix))]
fn reload_signal(
    _: Reloader,
    _: impl Fn(std::result::Result<String, String>) + Send + 'static,
) -> Result<impl Future<Output = ()>> {
    Ok(std::future::pending())
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
