//! What the facade calls: the registry and the read-write cache, in this process or in others.

use registry_proto::{Cache, Registry, RemoteCache, RemoteRegistry};
use service_runtime::{Address, grpc};
use std::{fmt, sync::Arc};

/// The services that a facade calls.
#[derive(Clone)]
pub struct Upstream {
    pub(crate) registry: Registry,
    pub(crate) cache: Cache,
    pub(crate) place: Place,
}

/// Where they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this process: a call is a call.
    Here,
    /// In other processes: a call costs a message each way, so renewals share theirs.
    Elsewhere,
}

impl Upstream {
    /// Services of this same process.
    pub fn in_process(registry: Registry, cache: Cache) -> Self {
        Self { registry, cache, place: Place::Here }
    }

    /// Services of other processes. Connections are made when they are first used.
    pub fn remote(registry: &Address, cache: &Address) -> Self {
        Self {
            registry: Arc::new(RemoteRegistry::new(grpc::channel(registry))),
            cache: Arc::new(RemoteCache::new(grpc::channel(cache))),
            place: Place::Elsewhere,
        }
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("place", &self.place).finish_non_exhaustive()
    }
}
