//! Register and cancel. Called by http-facade; they answer with a position that includes what they did.

use crate::registry::Registry;
use registry_model::{Classify, ErrorClass};
use registry_proto::{
    ConvertError,
    registry::{CancelRequest, CancelResponse, RegisterRequest, RegisterResponse},
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
    Ok(RegisterResponse { position: Some(position.into()) })
}

pub(super) fn cancel(registry: &Registry, request: &CancelRequest) -> CancelResponse {
    let (removed, position) = registry.cancel(&request.app, &request.instance_id);
    CancelResponse { found: removed.is_some(), position: Some(position.into()) }
}
