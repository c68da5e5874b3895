//! Renewals: one entry's atomics and no revision, unless the status comes out another than the stored one. Called by
//! `service::renewals`.

use super::Registry;
use crate::lease_table::{Moment, Renewal, RenewalCall, upper_cased};
use registry_model::{InstanceStatus, Origin};

impl Registry {
    /// Renews a lease.
    pub(crate) fn renew(&self, call: &RenewalCall<'_>, now: Moment) -> Renewal {
        let renewal = match self.table.renew(call, &self.overrides, &self.rules, now.mono) {
            Ok(renewal) => renewal,
            Err(_) => self.renew_with_another_status(call),
        };
        if !matches!(renewal, Renewal::NotFound) {
            self.preservation.renewed(now.mono);
            self.count_replication(call.origin);
        }
        match &renewal {
            Renewal::Renewed | Renewal::StoredIsNewer(_) => {}
            Renewal::StatusDiffers => {
                self.metrics.status_mismatches.inc();
                tracing::debug!(app = call.app, id = call.id, said = ?call.said, "a heartbeat says another status than the stored one");
            }
            Renewal::NotFound => self.cancelled_lately.forget(&upper_cased(call.app), call.id),
            Renewal::StoredIsOlder => self.keep_override_of_peer(call),
        }
        renewal
    }

    /// A renewal that changes the status is a command: others are to learn of the change.
    fn renew_with_another_status(&self, call: &RenewalCall<'_>) -> Renewal {
        let mut log = self.log.write();
        let now = self.now();
        let Some(stored) = self.table.get(call.app, call.id) else { return Renewal::NotFound };
        let instance = stored.instance();
        let key = &instance.key;
        let acting = self.overrides.acting(key.app.as_str(), key.id.as_str(), now.mono);
        let met = call.meets(instance.status, acting, instance.last_dirty, &self.rules);
        let status = met.status();
        if status == InstanceStatus::Unknown {
            return Renewal::NotFound;
        }
        self.table.touch(key, now.mono);
        let entry = if status == instance.status {
            // Another renewal, or a registration, was first.
            stored
        } else {
            let entry = stored.modified(now.unix, |instance| instance.status = status);
            self.publish_modified(&mut log, entry, now)
        };
        met.outcome(|| entry)
    }

    /// A peer whose description is newer sends its override along: it is stored here at once, and acts with the next renewal.
    fn keep_override_of_peer(&self, call: &RenewalCall<'_>) {
        let Some(overridden) = call.overridden.filter(|status| *status != InstanceStatus::Unknown) else { return };
        if call.origin == Origin::Peer {
            self.store_override(call.app, call.id, overridden);
        }
    }
}
