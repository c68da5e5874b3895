//! The start-up sync has ended: from here on the registry counts as open, and both of its levels follow, complete and lists served.
//! Called by `RegistryCore`.

use super::RegistryCore;
use crate::registry::Registry;
use std::{sync::Arc, time::Duration};

/// Which level a registry reaches.
#[derive(Clone, Copy, Debug)]
enum Reached {
    /// Absence means something.
    Warm,
    /// Lists are served.
    GateOpen,
}

/// `instances` have been copied.
pub(super) fn sync_ended(core: &RegistryCore, instances: u64) {
    core.registry.open(instances);
    after(core, core.gate.delay(instances), Reached::GateOpen);
    // Nobody has said what there is: those who have a lease elsewhere get its time to be heard of.
    after(core, if instances == 0 { core.cold_start } else { Duration::ZERO }, Reached::Warm);
}

fn after(core: &RegistryCore, delay: Duration, reached: Reached) {
    if delay.is_zero() {
        return reached.by(&core.registry);
    }
    let registry = Arc::clone(&core.registry);
    let (due, stopping) = (core.process.clock().sleep(delay), core.process.stopping());
    core.process.spawn_short("opening", async move {
        if stopping.run_until_cancelled(due).await.is_some() {
            reached.by(&registry);
        }
    });
}

impl Reached {
    fn by(self, registry: &Registry) {
        match self {
            Self::Warm => {
                registry.become_warm();
                tracing::info!("the registry is complete");
            }
            Self::GateOpen => registry.open_gate(),
        }
    }
}
