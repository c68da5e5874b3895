//! The interfaces as trait objects: what a service holds of the services that it calls.
//! In one process the object is the other service itself, in split deployment a forwarder of [`crate::RemoteRegistry`]'s kind.

use crate::{
    cache::{FollowResponse, cache_service_server::CacheService},
    eviction::eviction_service_server::EvictionService,
    registry::{WatchResponse, registry_service_server::RegistryService},
};
use std::sync::Arc;
use tonic::Status;

/// A stream of a server-streaming method.
pub type BoxStream<T> = futures::stream::BoxStream<'static, Result<T, Status>>;

/// Tier 1 as others see it.
pub type Registry = Arc<dyn RegistryService<WatchStream = BoxStream<WatchResponse>>>;

/// Tier 2 as others see it.
pub type Cache = Arc<dyn CacheService<FollowStream = BoxStream<FollowResponse>>>;

/// The evictor as operators see it.
pub type Eviction = Arc<dyn EvictionService>;
