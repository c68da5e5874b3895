//! HTTP/1.1 connections: accepted up to a limit, served until the process stops. Called by `Facade::serve`.

use crate::facade::Facade;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use service_runtime::{Connection, Listener};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long a request's head may take. It counts from the end of the request before, so it has to be longer than the pause
/// between two heartbeats, which many clients send over one connection.
const HEAD_PATIENCE: Duration = Duration::from_secs(100);

pub(crate) async fn serve(facade: Arc<Facade>, listener: Listener) {
    let stopping = facade.process.stopping();
    let connections = TaskTracker::new();
    let slots = Arc::new(Semaphore::new(usize::try_from(facade.max_connections).unwrap_or(Semaphore::MAX_PERMITS)));
    let mut server = http1::Builder::new();
    // Names as the Java server writes them: scripts compare them letter by letter.
    server.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE).title_case_headers(true);
    tracing::info!(address = %listener.local_address(), "serving HTTP");
    while let Some(Some((connection, slot))) = stopping.run_until_cancelled(accept(&listener, &slots)).await {
        // A token of its own: connections would otherwise meet at one lock whenever they are polled.
        let stopping = stopping.child_token();
        let one = serve_connection(server.clone(), Arc::clone(&facade), connection, stopping, slot);
        facade.process.spawn_short("http connection", connections.track_future(one));
    }
    // Closing the socket first: who connects from now on is refused at once, and tries elsewhere.
    drop(listener);
    connections.close();
    connections.wait().await;
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
    stopping: CancellationToken,
    _slot: OwnedSemaphorePermit,
) {
    let service = service_fn(move |request| {
        let facade = Arc::clone(&facade);
        async move { Ok::<_, Infallible>(facade.handle(request).await) }
    });
    let mut serving = std::pin::pin!(server.serve_connection(TokioIo::new(connection), service));
    let end = match stopping.run_until_cancelled(serving.as_mut()).await {
        Some(end) => end,
        None => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = end {
        tracing::debug!(%error, "a connection ended badly");
    }
}
