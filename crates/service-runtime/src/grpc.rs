//! gRPC over TCP or a unix socket: the server that every service runs, and the channel to reach one. The same port
//! answers health in gRPC's way and `/metrics`, `/livez`, `/readyz` over HTTP/1.1 and HTTP/2.

use std::io;
use std::time::Duration;

use axum::response::IntoResponse;
use futures::StreamExt;
use futures::stream::BoxStream;
use http::{HeaderValue, StatusCode, Uri, header};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use tokio_stream::wrappers::WatchStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tonic::service::Routes;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::config::address::Address;
use crate::listener::{Connection, Listener};
use crate::operations;
use crate::process::ProcessHandle;

/// The largest gRPC message that services send or accept; set it on clients and servers alike, both ways.
pub const MAX_MESSAGE_BYTES: usize = 8 << 20;

/// HTTP/2 windows: a stream of 64 KiB pages must not wait for its reader at each of them.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 2 << 20;

const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(5);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves `routes`, health and the operator's paths on `listener` until the process is stopping, then lets open requests
/// finish and returns; what overstays is dropped with the process's other tasks.
///
/// # Errors
/// None at present: what fails is one connection, and that is logged at debug level.
pub async fn serve(routes: Routes, listener: Listener, process: ProcessHandle) -> anyhow::Result<()> {
    let router = router(routes, &process);
    let server = server();
    let stopping = process.stopping();
    let connections = TaskTracker::new();
    tracing::info!(address = %listener.local_address(), "serving gRPC");
    while let Some(connection) = stopping.run_until_cancelled(listener.accept()).await {
        let one = serve_connection(server.clone(), router.clone(), connection, stopping.clone());
        process.spawn_short("grpc connection", connections.track_future(one));
    }
    // Closing the socket first: who connects from now on is refused at once, and tries elsewhere.
    drop(listener);
    connections.close();
    connections.wait().await;
    Ok(())
}

/// Adds gRPC reflection, so that tools find the contracts by themselves; `descriptors` is an encoded `FileDescriptorSet`.
///
/// # Errors
/// The descriptors are none.
pub fn with_reflection(routes: Routes, descriptors: &'static [u8]) -> anyhow::Result<Routes> {
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(descriptors)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET);
    Ok(routes.add_service(reflection.build_v1()?))
}

/// A channel that connects when first used and again after each loss. Calls while there is no connection fail after the
/// connect timeout of one second at the latest.
pub fn channel(address: &Address) -> Channel {
    let authority = match address {
        Address::Tcp { .. } => format!("http://{address}"),
        Address::Unix(_) => "http://localhost".to_owned(),
    };
    // `Address` only holds hosts that are valid in a URI; were one not, its name would only be missing from the requests.
    let endpoint = Endpoint::from_shared(authority).unwrap_or_else(|_| Endpoint::from_static("http://localhost"));
    let address = address.clone();
    endpoint
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .connect_with_connector_lazy(tower::service_fn(move |_: Uri| {
            let address = address.clone();
            async move { Ok::<_, io::Error>(TokioIo::new(address.connect().await?)) }
        }))
}

fn router(routes: Routes, process: &ProcessHandle) -> axum::Router {
    let health = HealthServer::new(ProcessHealth { process: process.clone() });
    let mut router = routes.add_service(health).into_axum_router();
    for path in operations::PATHS {
        let process = process.clone();
        router = router.route(path, axum::routing::get(async move || operations_response(&process, path)));
    }
    router.with_state(())
}

fn operations_response(process: &ProcessHandle, path: &str) -> axum::response::Response {
    let Some(answer) = operations::answer(process, path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, HeaderValue::from_static(answer.content_type))], answer.body).into_response()
}

fn server() -> auto::Builder<TokioExecutor> {
    let mut server = auto::Builder::new(TokioExecutor::new());
    server
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES);
    // With a timer HTTP/1 bounds how long a request's head may take.
    server.http1().timer(TokioTimer::new());
    server
}

async fn serve_connection(
    server: auto::Builder<TokioExecutor>,
    router: axum::Router,
    connection: Connection,
    stopping: CancellationToken,
) {
    let service = TowerToHyperService::new(router);
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

/// gRPC's own health protocol: for the process as a whole (the empty service name), and for each service behind which there
/// is a part that may fail alone.
struct ProcessHealth {
    process: ProcessHandle,
}

impl ProcessHealth {
    /// Whether the process, or one service of it, serves now.
    fn of(process: &ProcessHandle, service: &str) -> Result<HealthCheckResponse, Status> {
        let ready = *process.ready().borrow();
        let serves = match service {
            "" => ready,
            service => ready && process.is_sound(service).ok_or_else(unknown)?,
        };
        let status = if serves { ServingStatus::Serving } else { ServingStatus::NotServing };
        Ok(HealthCheckResponse { status: status.into() })
    }
}

fn unknown() -> Status {
    Status::not_found(
        "no health of its own is reported for this service: ask with an empty name, for the whole process",
    )
}

#[tonic::async_trait]
impl Health for ProcessHealth {
    async fn check(&self, request: Request<HealthCheckRequest>) -> Result<Response<HealthCheckResponse>, Status> {
        Self::of(&self.process, &request.get_ref().service).map(Response::new)
    }

    type WatchStream = BoxStream<'static, Result<HealthCheckResponse, Status>>;

    async fn watch(&self, request: Request<HealthCheckRequest>) -> Result<Response<Self::WatchStream>, Status> {
        let service = request.into_inner().service;
        Self::of(&self.process, &service)?;
        let process = self.process.clone();
        let changes = futures::stream::select(WatchStream::new(process.ready()).map(drop), process.conditions());
        let stopping = process.stopping();
        let mut told = None;
        let states = changes.filter_map(move |()| {
            let state = Self::of(&process, &service);
            let news = told.replace(state.clone().ok()) != Some(state.clone().ok());
            std::future::ready(news.then_some(state))
        });
        Ok(Response::new(states.take_until(stopping.cancelled_owned()).boxed()))
    }
}
