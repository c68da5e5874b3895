//! What a registration makes of the stored lease: Eureka's rules, pure. Called by `registry` for each registration.

use crate::lease_table::{LeaseEntry, Moment, override_of};
use registry_model::{ActionType, InstanceInfo, InstanceStatus, Origin, UnixMillis, effective_status};
use std::sync::Arc;

/// The lease after a registration: always a new one, for the description with the greater dirty stamp.
///
/// The incoming description wins a tie. The duration is the incoming one's even where the stored description stays.
pub(crate) fn register(
    incoming: Arc<InstanceInfo>,
    stored: Option<&LeaseEntry>,
    origin: Origin,
    now: Moment,
) -> LeaseEntry {
    let terms = incoming.lease_terms;
    let stored_instance = stored.map(LeaseEntry::instance);
    let mut instance = match stored_instance {
        Some(stored) if stored.last_dirty > incoming.last_dirty => Arc::clone(stored),
        Some(_) | None => incoming,
    };
    let status = effective_status(
        instance.status,
        override_of(instance.overridden_status),
        stored_instance.map(|stored| stored.status),
        origin,
    );
    let changed = Arc::make_mut(&mut instance);
    changed.status = status;
    changed.action = ActionType::Added;
    changed.last_updated = now.unix;
    let service_up = match stored.map_or(UnixMillis::NEVER, LeaseEntry::service_up) {
        UnixMillis::NEVER if status == InstanceStatus::Up => now.unix,
        kept => kept,
    };
    LeaseEntry::grant(instance, terms, service_up, now)
}
