//! What a registration makes of the stored lease: Eureka's rules, pure. Called by `registry` for each registration.

use crate::{
    lease_table::{LeaseEntry, Moment, override_of},
    rules::Rules,
};
use registry_model::{ActionType, InstanceInfo, InstanceStatus, Origin, UnixMillis, effective_status};
use std::sync::Arc;

/// What is there when a registration comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    /// The lease of the same key.
    pub(crate) stored: Option<&'a LeaseEntry>,
    /// The override of the same key.
    pub(crate) acting: Option<InstanceStatus>,
}

/// What comes of it.
#[derive(Debug)]
pub(crate) struct Registered {
    /// The lease.
    pub(crate) entry: LeaseEntry,
    /// The override that the description brought along and nobody held yet; this is how overrides reach a server that has just started.
    pub(crate) brought: Option<InstanceStatus>,
}

/// The lease after a registration: always a new one, for the description with the greater dirty stamp.
///
/// The incoming description wins a tie. The duration is the incoming one's even where the stored description stays.
pub(crate) fn register(
    incoming: Arc<InstanceInfo>,
    found: Found<'_>,
    origin: Origin,
    rules: &Rules,
    now: Moment,
) -> Registered {
    let terms = incoming.lease_terms;
    let stored = found.stored.map(LeaseEntry::instance);
    let (mut instance, said) = match stored {
        // An override was removed and the client is to say its status: that counts, however old the description is. Otherwise
        // an instance whose stamp was raised by an operator could never come back.
        Some(stored) if stored.last_dirty > incoming.last_dirty => match (stored.status, origin) {
            (InstanceStatus::Unknown, Origin::Client) => (Arc::clone(stored), incoming.status),
            (status, _) => (Arc::clone(stored), status),
        },
        Some(_) | None => {
            let said = incoming.status;
            (incoming, said)
        }
    };
    let brought = if found.acting.is_none() { override_of(instance.overridden_status) } else { None };
    let acting = found.acting.or(brought);
    let kept = stored.and_then(|stored| rules.kept_status(stored.status));
    let status = effective_status(said, acting, kept, origin);
    let changed = Arc::make_mut(&mut instance);
    changed.status = status;
    changed.overridden_status = acting.unwrap_or(InstanceStatus::Unknown);
    changed.action = ActionType::Added;
    changed.last_updated = now.unix;
    let service_up = match found.stored.map_or(UnixMillis::NEVER, LeaseEntry::service_up) {
        UnixMillis::NEVER if status == InstanceStatus::Up => now.unix,
        kept => kept,
    };
    Registered { entry: LeaseEntry::grant(instance, terms, service_up, now), brought }
}
