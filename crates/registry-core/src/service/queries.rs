//! Reads that go past the caches: one instance with its present lease times. Called by http-facade.

use crate::registry::Registry;
use registry_proto::registry::{GetInstanceRequest, GetInstanceResponse};

pub(super) fn get_instance(registry: &Registry, request: &GetInstanceRequest) -> GetInstanceResponse {
    GetInstanceResponse { record: registry.get(&request.app, &request.instance_id).map(Into::into) }
}
