//! Reads that go past the caches: single instances, present lease times, overrides. Called by http-facade and cache-sync.

use crate::registry::Registry;
use registry_model::{Classify, ErrorClass};
use registry_proto::{
    registry::{
        GetInstanceRequest, GetInstanceResponse, GetLeaseTimesRequest, GetLeaseTimesResponse, LeaseTimesResult,
        ListOverridesResponse, StatusOverride,
    },
    to_status, types,
};
use tonic::Status;

/// The most leases that are read at once: a page of a payload has some dozens.
const MAX_KEYS: usize = 65_536;

/// More keys than one question may have.
#[derive(Debug, thiserror::Error)]
#[error("there are {count} keys, at most {MAX_KEYS} are allowed")]
struct TooManyKeys {
    count: usize,
}

impl Classify for TooManyKeys {
    fn class(&self) -> ErrorClass {
        ErrorClass::Invalid
    }

    fn reason(&self) -> &'static str {
        "TOO_MANY_KEYS"
    }
}

pub(super) fn get_instance(registry: &Registry, request: &GetInstanceRequest) -> GetInstanceResponse {
    let found = if request.app.is_empty() {
        registry.get_by_id(&request.instance_id)
    } else {
        registry.get(&request.app, &request.instance_id)
    };
    GetInstanceResponse { record: found.map(Into::into) }
}

pub(super) fn get_lease_times(
    registry: &Registry,
    request: &GetLeaseTimesRequest,
) -> Result<GetLeaseTimesResponse, Status> {
    let count = request.keys.len();
    if count > MAX_KEYS {
        return Err(to_status(&TooManyKeys { count }));
    }
    let times = |key: &types::InstanceKey| registry.lease_times(&key.app, &key.instance_id).map(Into::into);
    let results = request.keys.iter().map(|key| LeaseTimesResult { lease: times(key) }).collect();
    Ok(GetLeaseTimesResponse { results })
}

pub(super) fn list_overrides(registry: &Registry) -> ListOverridesResponse {
    let overrides = registry.list_overrides().into_iter().map(|(key, status)| StatusOverride {
        key: Some((&key).into()),
        status: types::InstanceStatus::from(status).into(),
    });
    ListOverridesResponse { overrides: overrides.collect() }
}
