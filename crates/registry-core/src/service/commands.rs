//! Commands on one instance. Called by http-facade; they answer with a position that includes what they did.

use crate::{
    metrics::Replicated,
    registry::{MetadataTooLarge, Registry},
};
use prometheus_client::metrics::counter::Counter;
use registry_model::{Classify, ErrorClass, InstanceStatus, Origin, UnixMillis};
use registry_proto::{
    ConvertError,
    registry::{
        AddMetadataRequest, AddMetadataResponse, CancelRequest, CancelResponse, ClearStatusRequest,
        ClearStatusResponse, RegisterRequest, RegisterResponse, SetStatusRequest, SetStatusResponse,
    },
    to_status,
};
use std::sync::Arc;
use tonic::Status;

/// The largest instance, in bytes of its document: each goes whole into a message of every watch.
const MAX_INSTANCE_BYTES: usize = 1 << 20;

/// An instance that no watch could carry.
#[derive(Debug, thiserror::Error)]
#[error("the instance has about {size} bytes, at most {MAX_INSTANCE_BYTES} are allowed")]
struct InstanceTooLarge {
    size: usize,
}

impl Classify for InstanceTooLarge {
    fn class(&self) -> ErrorClass {
        ErrorClass::Invalid
    }

    fn reason(&self) -> &'static str {
        "INSTANCE_TOO_LARGE"
    }
}

/// Counts a call, if another server has replicated it.
fn count(registry: &Registry, origin: Origin, kind: impl FnOnce(&Replicated) -> &Counter) {
    match origin {
        Origin::Peer => {
            kind(&registry.metrics().replicated).inc();
        }
        Origin::Client => {}
    }
}

pub(super) fn register(registry: &Registry, request: RegisterRequest) -> Result<RegisterResponse, Status> {
    let origin = request.origin().into();
    let message = request.instance.ok_or_else(|| to_status(&ConvertError::Missing("instance")))?;
    let unstamped = message.lacks_dirty_stamp();
    let mut instance = message.into_instance().map_err(|error| to_status(&error))?;
    let size = instance.approximate_size();
    if size > MAX_INSTANCE_BYTES {
        return Err(to_status(&InstanceTooLarge { size }));
    }
    if unstamped {
        Arc::make_mut(&mut instance).last_dirty = registry.now().unix;
    }
    let position = registry.register(instance, origin);
    registry.count_replication(origin);
    count(registry, origin, |replicated| &replicated.registrations);
    Ok(RegisterResponse { position: Some(position.into()) })
}

pub(super) fn cancel(registry: &Registry, request: &CancelRequest) -> CancelResponse {
    let (removed, position) = registry.cancel(&request.app, &request.instance_id);
    let origin = request.origin().into();
    count(registry, origin, |replicated| &replicated.cancels);
    match removed {
        Some(_) => registry.count_replication(origin),
        None => count(registry, origin, |replicated| &replicated.cancels_not_found),
    }
    CancelResponse { found: removed.is_some(), position: Some(position.into()) }
}

pub(super) fn set_status(registry: &Registry, request: &SetStatusRequest) -> Result<SetStatusResponse, Status> {
    let status = status_in("status", request.status)?.ok_or_else(|| to_status(&ConvertError::Missing("status")))?;
    let last_dirty = request.last_dirty_ms.map(UnixMillis);
    count(registry, request.origin().into(), |replicated| &replicated.status_updates);
    let position = registry.set_status(&request.app, &request.instance_id, status, last_dirty);
    if position.is_some() {
        registry.count_replication(request.origin().into());
    }
    Ok(SetStatusResponse { found: position.is_some(), position: position.map(Into::into) })
}

pub(super) fn clear_status(registry: &Registry, request: &ClearStatusRequest) -> Result<ClearStatusResponse, Status> {
    let status = status_in("status", request.status)?.unwrap_or(InstanceStatus::Unknown);
    let last_dirty = request.last_dirty_ms.map(UnixMillis);
    count(registry, request.origin().into(), |replicated| &replicated.status_override_deletes);
    let position = registry.clear_status(&request.app, &request.instance_id, status, last_dirty);
    if position.is_some() {
        registry.count_replication(request.origin().into());
    }
    Ok(ClearStatusResponse { found: position.is_some(), position: position.map(Into::into) })
}

pub(super) fn add_metadata(registry: &Registry, request: &AddMetadataRequest) -> Result<AddMetadataResponse, Status> {
    let pairs: Vec<_> = request.metadata.iter().map(|entry| (entry.key.as_str(), entry.value.as_str())).collect();
    let position = registry
        .add_metadata(&request.app, &request.instance_id, &pairs, MAX_INSTANCE_BYTES)
        .map_err(|MetadataTooLarge { size }| to_status(&InstanceTooLarge { size }))?;
    Ok(AddMetadataResponse { found: position.is_some(), position: position.map(Into::into) })
}

fn status_in(field: &'static str, value: i32) -> Result<Option<InstanceStatus>, Status> {
    registry_proto::instance_status(field, value).map_err(|error| to_status(&error))
}
