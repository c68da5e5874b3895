//! Keeps the node registered in its own registry, by the same calls that clients make. Started by `RegistryCore::start`.

use super::{commands, renewals};
use crate::registry::Registry;
use registry_model::{InstanceInfo, Origin};
use registry_proto::{
    registry::{CancelRequest, RegisterRequest, RenewOutcome, RenewRequest},
    types,
};
use service_runtime::ProcessHandle;
use std::{sync::Arc, time::Duration};

/// Registers the instance, renews it at its interval, and cancels it when the process stops.
pub(super) async fn keep(registry: Arc<Registry>, own: InstanceInfo, process: ProcessHandle) -> anyhow::Result<()> {
    let (clock, stopping) = (process.clock(), process.stopping());
    let own = Arc::new(own);
    let origin: types::Origin = Origin::Client.into();
    let (app, instance_id) = (own.key.app.to_string(), own.key.id.to_string());
    let interval = Duration::from_secs(own.lease_terms.renewal_interval_secs.into());
    let register = || {
        let request = RegisterRequest { instance: Some(Arc::clone(&own).into()), origin: origin.into() };
        commands::register(&registry, request)
    };
    register()?;
    tracing::info!(instance = %own.key, "this node is registered as an instance");
    let renewal = RenewRequest {
        app: app.clone(),
        instance_id: instance_id.clone(),
        last_dirty_ms: Some(own.last_dirty.0),
        origin: origin.into(),
        ..RenewRequest::default()
    };
    while stopping.run_until_cancelled(clock.sleep(interval)).await.is_some() {
        match renewals::renew(&registry, &renewal).outcome() {
            RenewOutcome::Renewed | RenewOutcome::StoredIsNewer | RenewOutcome::Unspecified => {}
            RenewOutcome::NotFound | RenewOutcome::StoredIsOlder => {
                register()?;
            }
        }
    }
    commands::cancel(&registry, &CancelRequest { app, instance_id, origin: origin.into() });
    Ok(())
}
