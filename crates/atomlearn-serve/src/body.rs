//! Bodies, read with bounds on each and on all of them together.

use crate::Config;
use crate::reply::Refusal;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body, Incoming};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What a refused body may still send, so that the client comes to read why it was refused.
const DRAIN_BODIES: usize = 8;
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Memory that bodies may take together, counted in bytes.
#[derive(Clone)]
pub struct Memory {
    bytes: Arc<Semaphore>,
    max_body: usize,
}

/// A whole body; its share of the memory is free again when this is dropped.
pub struct Held {
    /// The content.
    pub bytes: Vec<u8>,
    _share: Option<OwnedSemaphorePermit>,
}

impl Memory {
    /// All of it free.
    pub fn new(config: &Config) -> Self {
        let bytes = config.max_in_flight.clamp(config.max_body, Semaphore::MAX_PERMITS);
        Memory { bytes: Arc::new(Semaphore::new(bytes)), max_body: config.max_body }
    }

    /// Reads a body. Memory is taken for what really arrives, whatever length was announced.
    pub async fn read(&self, mut body: Incoming) -> Result<Held, Refusal> {
        let too_large = || {
            let why = format!(
                "the body is larger than {} bytes; send fewer samples at a time, or .npy instead of JSON \
                 (or start the server with a larger --max-body)",
                self.max_body
            );
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why)
        };
        if body.size_hint().lower() > self.max_body as u64 {
            self.drain(&mut body).await;
            return Err(too_large());
        }
        let (mut bytes, mut share): (Vec<u8>, Option<OwnedSemaphorePermit>) = (Vec::new(), None);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|e| Refusal::bad(format!("the body broke off: {e}; send it again")))?;
            let Ok(data) = frame.into_data() else { continue };
            if bytes.len() + data.len() > self.max_body {
                drop((bytes, share));
                self.drain(&mut body).await;
                return Err(too_large());
            }
            // A frame is far smaller than 4 GiB: it fits hyper's read buffer.
            match self.bytes.clone().try_acquire_many_owned(data.len() as u32) {
                Ok(more) => match &mut share {
                    Some(share) => share.merge(more),
                    None => share = Some(more),
                },
                Err(_) => {
                    drop((bytes, share));
                    self.drain(&mut body).await;
                    return Err(Refusal::busy("too much data is being worked on; try again in a moment"));
                }
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Held { bytes, _share: share })
    }

    /// Takes in and forgets what is still coming, for a while.
    async fn drain(&self, body: &mut Incoming) {
        let forget = async {
            let mut seen = 0;
            while let Some(Ok(frame)) = body.frame().await {
                seen += frame.data_ref().map_or(0, |data| data.len());
                if seen > DRAIN_BODIES * self.max_body {
                    break;
                }
            }
        };
        let _ = tokio::time::timeout(DRAIN_TIME, forget).await;
    }
}
