//! Who registers where: warns where two processes seem to share an id, and clears away who was at an address before if that is
//! wanted. A step of `Registry::register`.

use super::Registry;
use crate::{
    change_log::ChangeLog,
    lease_table::{LeaseEntry, Moment},
    same_address::Address,
};
use registry_model::{InstanceInfo, InstanceKey, Origin};

impl Registry {
    pub(super) fn look_at_addresses(
        &self,
        log: &mut ChangeLog,
        incoming: &InstanceInfo,
        stored: Option<&LeaseEntry>,
        origin: Origin,
        now: Moment,
    ) {
        if stored.is_some_and(|stored| stored.instance().last_dirty > incoming.last_dirty) {
            // The stored description stays, and with it the address.
            return;
        }
        if origin == Origin::Client
            && let Some(stored) = stored.filter(|stored| !stored.lease().is_expired(now.mono, self.expiry))
        {
            self.warn_of_another_address(incoming, stored.instance());
        }
        if self.rules.replace_same_address {
            self.replace_same_address(log, incoming, origin, now);
        }
    }

    fn warn_of_another_address(&self, incoming: &InstanceInfo, stored: &InstanceInfo) {
        let address = |of: &InstanceInfo| (of.ip_addr.clone(), of.port, of.secure_port);
        if address(incoming) != address(stored) {
            self.metrics.address_changes.inc();
            tracing::warn!(
                instance = %incoming.key,
                from = format_args!("{}:{}", stored.ip_addr, stored.port.number),
                to = format_args!("{}:{}", incoming.ip_addr, incoming.port.number),
                "an id with a lease registers another address; if this repeats, two processes share the id",
            );
        }
    }

    fn replace_same_address(&self, log: &mut ChangeLog, incoming: &InstanceInfo, origin: Origin, now: Moment) {
        let Some(address) = Address::of(incoming) else { return };
        let mut last = self.last_registrants.lock();
        let before = last.register(address.clone(), &incoming.key);
        last.tidy(self.table.len(), |address, key| self.is_at(address, key));
        drop(last);
        // What a peer's clients do is their own node's affair, which tells us what comes of it.
        if origin == Origin::Client
            && let Some(before) = before.filter(|before| self.is_at(&address, before))
            && let Some(removed) = self.table.remove(before.app.as_str(), before.id.as_str())
        {
            self.overrides.remove(&before, now.mono);
            self.metrics.cancels.inc();
            tracing::info!(instance = %before, by = %incoming.key.id, "replaced at the same address");
            self.announce_removal(log, &removed, now);
        }
    }

    fn is_at(&self, address: &Address, key: &InstanceKey) -> bool {
        let entry = self.table.get(key.app.as_str(), key.id.as_str());
        entry.and_then(|entry| Address::of(entry.instance())).as_ref() == Some(address)
    }
}
