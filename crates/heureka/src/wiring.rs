//! The whole node in one function, in the order in which data flows. Called by `main` and by scenario-tests.

use crate::{
    Settings,
    restarting::{self, Part},
};
use anyhow::Context as _;
use cache_sync::CacheSync;
use evictor::Evictor;
use http_facade::{Facade, Upstream};
use registry_core::{Life, RegistryCore};
use registry_proto::{FILE_DESCRIPTOR_SET, eviction::eviction_service_server};
use service_runtime::{Address, Listener, ProcessHandle, grpc};
use std::sync::Arc;
use tonic::service::Routes;

/// The services of a node, wired to each other: a call from one to the next is a method call.
#[derive(Clone)]
pub struct Node {
    /// Tier 1.
    pub registry: Arc<RegistryCore>,
    /// Tier 2.
    pub cache: Arc<CacheSync>,
    /// Tier 3 and the REST API.
    pub facade: Arc<Facade>,
    /// What takes leases away that have run out.
    pub evictor: Arc<Evictor>,
}

impl Node {
    /// Starts all services; they live as long as the process.
    pub fn start(settings: &Settings, life: Life, process: &ProcessHandle) -> Self {
        let registry = RegistryCore::start(&settings.registry, life, process);
        let cache = CacheSync::start(&settings.cache, registry.clone(), process);
        let facade = Facade::new(&settings.facade, Upstream::in_process(registry.clone(), cache.clone()), process);
        let share = settings.registry.preservation.renewal_percent_threshold;
        let evictor = Evictor::new(&settings.evictor, share, registry.clone(), process);
        let rounds = Arc::clone(&evictor);
        let part = Part { name: "eviction rounds", service: eviction_service_server::SERVICE_NAME };
        restarting::spawn(part, process, move || {
            let rounds = Arc::clone(&rounds);
            async move { rounds.run().await }
        });
        Self { registry, cache, facade, evictor }
    }
}

/// The ports of a node, bound before anything starts.
#[derive(Debug)]
pub struct Ports {
    http: Listener,
    grpc: Listener,
}

impl Ports {
    /// Binds them.
    ///
    /// # Errors
    /// One cannot be listened on.
    pub async fn bind(settings: &Settings) -> anyhow::Result<Self> {
        Ok(Self {
            http: Listener::bind(&settings.facade.http_listen).await.context("open the HTTP port")?,
            grpc: Listener::bind(&settings.process.grpc_listen).await.context("open the gRPC port")?,
        })
    }

    /// Where gRPC is served.
    pub fn grpc_address(&self) -> &Address {
        self.grpc.local_address()
    }

    /// Where the REST API is served.
    pub fn http_address(&self) -> &Address {
        self.http.local_address()
    }
}

/// Runs a node on its ports until the process stops.
///
/// # Errors
/// A port fails.
pub async fn run(settings: Settings, ports: Ports, process: ProcessHandle) -> anyhow::Result<()> {
    let node = Node::start(&settings, Life::random(), &process);
    let services = Routes::new(http_facade::server(&node.facade))
        .add_service(cache_sync::server(node.cache))
        .add_service(evictor::server(node.evictor));
    let services = grpc::with_reflection(services, FILE_DESCRIPTOR_SET)?;
    process.spawn("grpc", grpc::serve(services, ports.grpc, process.clone()));
    node.facade.serve(ports.http).await;
    Ok(())
}
