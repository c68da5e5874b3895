//! HTTP/1.1 connections: accepted up to a limit, served until the process stops or they do not get on. Called by `Facade::serve`.

use crate::{
    facade::Facade,
    progress::{self, Ends, Noting, Progress, Watched},
};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use service_runtime::{Connection, Listener};
use std::{convert::Infallible, sync::Arc};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How many bytes a connection buffers each way, and how long a request's head may be. hyper flushes whenever so much waits to be
/// written: several frames of a payload have to fit, or each of them costs a system call of its own.
const BUFFER: usize = 512 << 10;

pub(crate) async fn serve(facade: Arc<Facade>, listener: Listener) {
    let stopping = facade.process.stopping();
    let connections = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(usize::try_from(facade.max_connections).unwrap_or(Semaphore::MAX_PERMITS)));
    let mut server = http1::Builder::new();
    // Names as the Java server writes them: scripts compare them letter by letter.
    server.max_buf_size(BUFFER).title_case_headers(true);
    tracing::info!(address = %listener.local_address(), "serving HTTP");
    let mut watched = Watched::default();
    let mut look = facade.clock.sleep(progress::LOOK);
    loop {
        tokio::select! {
            biased;
            () = stopping.cancelled() => break,
            () = &mut look => {
                watched.look(facade.clock.mono(), &facade.metrics);
                look = facade.clock.sleep(progress::LOOK);
            }
            accepted = accept(&listener, &slots) => {
                let Some((connection, slot)) = accepted else { break };
                let progress = Arc::new(Progress::default());
                let ends = Ends { any: stopping.child_token(), given_up: CancellationToken::new() };
                watched.add(&progress, &ends, facade.clock.mono());
                let one = serve_connection(server.clone(), Arc::clone(&facade), connection, progress, ends, slot);
                facade.process.spawn_short("http connection", connections.track_future(one));
            }
        }
    }
    // Closing the socket first: who connects from now on is refused at once, and tries elsewhere.
    drop(listener);
    connections.close();
    loop {
        tokio::select! {
            biased;
            () = connections.wait() => return,
            () = &mut look => {
                watched.look(facade.clock.mono(), &facade.metrics);
                look = facade.clock.sleep(progress::LOOK);
            }
        }
    }
}

/// The next connection, once there is room for one.
async fn accept(listener: &Listener, slots: &Arc<Semaphore>) -> Option<(Connection, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots).acquire_owned().await.ok()?;
    Some((listener.accept().await, slot))
}

async fn serve_connection(
    server: http1::Builder,
    facade: Arc<Facade>,
    connection: Connection,
    progress: Arc<Progress>,
    ends: Ends,
    _slot: OwnedSemaphorePermit,
) {
    let connection = Noting::new(connection, Arc::clone(&progress));
    let service = service_fn(move |request| {
        let (facade, progress) = (Arc::clone(&facade), Arc::clone(&progress));
        async move {
            progress.request();
            let response = facade.handle(request).await;
            progress.answer();
            Ok::<_, Infallible>(response)
        }
    });
    let mut serving = std::pin::pin!(server.serve_connection(TokioIo::new(connection), service));
    let end = match ends.any.run_until_cancelled(serving.as_mut()).await {
        Some(end) => Some(end),
        None => {
            serving.as_mut().graceful_shutdown();
            ends.given_up.run_until_cancelled(serving).await
        }
    };
    if let Some(Err(error)) = end {
        tracing::debug!(%error, "a connection ended badly");
    }
}
