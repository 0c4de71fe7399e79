//! Connections: accepting, bounding and ending them.

use crate::Config;
use crate::models::Source;
use crate::routes::App;
use crate::write_timeout::WriteTimeout;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// Bytes of a request's head, at most.
const HEAD: usize = 64 << 10;
/// Bytes of one read, about. (The library may read more at a time, so this does not bound the head.)
const BUFFER: usize = 64 << 10;
const HEADERS: usize = 64;
/// Pause after the system refused to accept, as it does when files run out.
const PAUSE: Duration = Duration::from_millis(50);

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    app: Arc<App>,
    config: Config,
}

/// Reads the models of a server again.
#[derive(Clone)]
pub struct Reloader {
    app: Arc<App>,
}

impl Reloader {
    /// Reads every model again and lets it take the place of the old one, which finishes its requests. A model that cannot be read
    /// stays as it is. The result has a sentence about each model, an error where it stays.
    pub async fn reload(&self) -> Vec<std::result::Result<String, String>> {
        self.app.models.reload().await
    }
}

impl Server {
    /// Starts to listen. The first of the models answers where none is named.
    pub async fn bind(sources: Vec<Source>, config: Config) -> Result<Self> {
        let app = App::new(sources, &config).map_err(|why| Error::new(ErrorKind::InvalidInput, why))?;
        let listener = TcpListener::bind(config.listen).await?;
        Ok(Server { listener, app: Arc::new(app), config })
    }

    /// A handle that reads the models again while the server runs.
    pub fn reloader(&self) -> Reloader {
        Reloader { app: self.app.clone() }
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until `stop` is done; then takes no new connections and finishes what it has begun.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let graceful = GracefulShutdown::new();
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.config.header_time);
        http.max_buf_size(BUFFER).max_header_size(HEAD).max_headers(HEADERS);
        // Who has sent all there is to send may say so, and still wants an answer.
        http.half_close(true);
        let mut stop = pin!(stop);
        loop {
            let next = async {
                let (stream, peer) = self.listener.accept().await?;
                Ok::<_, Error>((stream, self.app.connections.enter(peer).await))
            };
            let (stream, connection) = tokio::select! {
                () = &mut stop => break,
                entered = next => match entered {
                    Ok(entered) => entered,
                    Err(_) => {
                        tokio::time::sleep(PAUSE).await;
                        continue;
                    }
                },
            };
            // Answers are small: waiting to fill packets would only delay them.
            let _ = stream.set_nodelay(true);
            let connection = Arc::new(connection);
            let (app, client) = (self.app.clone(), connection.clone());
            let service = service_fn(move |request| {
                let (app, client) = (app.clone(), client.clone());
                async move { Ok::<_, Infallible>(app.answer(request, &client).await) }
            });
            let stream = WriteTimeout::new(stream, self.config.request_time);
            let conversation = graceful.watch(http.serve_connection(stream, service));
            let metrics = self.app.metrics.clone();
            tokio::spawn(async move {
                let _present = metrics.connection();
                tokio::select! {
                    // First the conversation: a client that has to leave in the middle of a body is told so.
                    biased;
                    // A client that breaks off or talks nonsense concerns nobody else.
                    _ = conversation => {}
                    () = connection.evicted() => {}
                }
            });
        }
        drop(self.listener);
        let _ = tokio::time::timeout(self.config.request_time, graceful.shutdown()).await;
    }
}
