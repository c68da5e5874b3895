//! The hot path: one renewal, or all that a facade has collected. Called by http-facade.

use crate::{
    lease_table::{Moment, Renewal, RenewalCall},
    registry::Registry,
};
use registry_model::{Classify, ErrorClass, Origin, UnixMillis};
use registry_proto::{
    registry::{RenewBatchRequest, RenewBatchResponse, RenewOutcome, RenewRequest, RenewResponse},
    to_status,
};
use tonic::Status;

/// The most renewals in one batch.
const MAX_BATCH: usize = 65_536;

/// More renewals than one batch may have.
#[derive(Debug, thiserror::Error)]
#[error("the batch has {count} renewals, at most {MAX_BATCH} are allowed")]
struct BatchTooLarge {
    count: usize,
}

impl Classify for BatchTooLarge {
    fn class(&self) -> ErrorClass {
        ErrorClass::Invalid
    }

    fn reason(&self) -> &'static str {
        "BATCH_TOO_LARGE"
    }
}

pub(super) fn renew(registry: &Registry, request: &RenewRequest) -> RenewResponse {
    renew_at(registry, request, registry.now())
}

pub(super) fn renew_batch(registry: &Registry, request: &RenewBatchRequest) -> Result<RenewBatchResponse, Status> {
    let count = request.renewals.len();
    if count > MAX_BATCH {
        return Err(to_status(&BatchTooLarge { count }));
    }
    let now = registry.now();
    Ok(RenewBatchResponse {
        results: request.renewals.iter().map(|request| renew_at(registry, request, now)).collect(),
    })
}

fn renew_at(registry: &Registry, request: &RenewRequest, now: Moment) -> RenewResponse {
    // What is no status is none: a heartbeat must not fail on what only accompanies it.
    let status = |value| registry_proto::instance_status("status", value).ok().flatten();
    let call = RenewalCall {
        app: &request.app,
        id: &request.instance_id,
        last_dirty: request.last_dirty_ms.map(UnixMillis),
        origin: request.origin().into(),
        said: status(request.said_status),
        overridden: status(request.overridden_status),
    };
    let (outcome, stored) = match registry.renew(&call, now) {
        Renewal::Renewed | Renewal::StatusDiffers => (RenewOutcome::Renewed, None),
        Renewal::NotFound => (RenewOutcome::NotFound, None),
        Renewal::StoredIsOlder => (RenewOutcome::StoredIsOlder, None),
        Renewal::StoredIsNewer(entry) => (RenewOutcome::StoredIsNewer, Some(registry.record_of(&entry).into())),
    };
    let counter = match outcome {
        RenewOutcome::NotFound => &registry.metrics().renewals_not_found,
        RenewOutcome::Unspecified
        | RenewOutcome::Renewed
        | RenewOutcome::StoredIsOlder
        | RenewOutcome::StoredIsNewer => &registry.metrics().renewals,
    };
    counter.inc();
    if call.origin == Origin::Peer {
        let replicated = &registry.metrics().replicated;
        replicated.renewals.inc();
        replicated.renewals_not_found.inc_by(u64::from(outcome == RenewOutcome::NotFound));
    }
    RenewResponse { outcome: outcome.into(), stored }
}
