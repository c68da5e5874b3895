//! The registry against a plain model of Eureka's rules: one instance's fields, two maps, no sharing and no atomics.

use super::*;
use proptest::prelude::*;
use registry_model::{Metadata, Mono};
use std::collections::HashMap;

type Key = (&'static str, &'static str);

#[derive(Clone, Debug)]
enum Step {
    Register { key: Key, status: InstanceStatus, overridden: InstanceStatus, dirty: i64, origin: Origin },
    Cancel(Key),
    Lose(Key),
    Renew { key: Key, dirty: Option<i64>, overridden: Option<InstanceStatus>, origin: Origin },
    Set { key: Key, status: InstanceStatus, dirty: Option<i64> },
    Clear { key: Key, status: InstanceStatus, dirty: Option<i64> },
    Add { key: Key, value: u8 },
    Advance(u64),
}

fn step() -> impl Strategy<Value = Step> {
    // Few keys and stamps, so that steps meet.
    let key = || prop::sample::select(vec![("A", "n"), ("A", "m"), ("B", "n")]);
    let status = testkit::instances::any_status;
    let dirty = || 0..4_i64;
    let origin = || prop::sample::select(vec![Origin::Client, Origin::Peer]);
    let some_dirty = move || prop::option::of(dirty());
    prop_oneof![
        4 => (key(), status(), status(), dirty(), origin())
            .prop_map(|(key, status, overridden, dirty, origin)| Step::Register { key, status, overridden, dirty, origin }),
        4 => (key(), status(), dirty(), origin())
            .prop_map(|(key, status, dirty, origin)| Step::Register { key, status, overridden: Unknown, dirty, origin }),
        1 => key().prop_map(Step::Cancel),
        1 => key().prop_map(Step::Lose),
        4 => (key(), some_dirty(), prop::option::of(status()), origin())
            .prop_map(|(key, dirty, overridden, origin)| Step::Renew { key, dirty, overridden, origin }),
        3 => (key(), status(), some_dirty()).prop_map(|(key, status, dirty)| Step::Set { key, status, dirty }),
        2 => (key(), status(), some_dirty()).prop_map(|(key, status, dirty)| Step::Clear { key, status, dirty }),
        2 => (key(), 0..3_u8).prop_map(|(key, value)| Step::Add { key, value }),
        2 => prop::sample::select(vec![1_u64, 1000, 3599, 3600]).prop_map(Step::Advance),
    ]
}

#[derive(Clone, Debug, PartialEq)]
struct Lease {
    status: InstanceStatus,
    overridden: InstanceStatus,
    dirty: i64,
    value: String,
    granted: Mono,
    renewed: Option<Mono>,
    service_up: UnixMillis,
}

#[derive(Default)]
struct Model {
    leases: HashMap<Key, Lease>,
    overrides: HashMap<Key, (InstanceStatus, Mono)>,
    changes: u64,
    store_unchanged: bool,
}

impl Model {
    fn overridden(&mut self, key: Key, now: Moment) -> Option<InstanceStatus> {
        let (status, used) = self.overrides.get_mut(&key)?;
        if now.mono.saturating_since(*used) >= Duration::from_secs(3600) {
            self.overrides.remove(&key);
            return None;
        }
        *used = now.mono;
        Some(*status)
    }

    /// Section 3, rules 1, 2, 4 and 5.
    fn chain(
        &mut self,
        key: Key,
        said: InstanceStatus,
        stored: Option<InstanceStatus>,
        origin: Origin,
        now: Moment,
    ) -> InstanceStatus {
        if !matches!(said, Up | OutOfService) {
            return said;
        }
        if let Some(overridden) = self.overridden(key, now) {
            return overridden;
        }
        match stored {
            Some(stored @ (Up | OutOfService)) if origin == Origin::Client => stored,
            _ => said,
        }
    }

    fn register(&mut self, key: Key, incoming: &Lease, origin: Origin, now: Moment) {
        let stored = self.leases.get(&key).cloned();
        let mut lease = incoming.clone();
        if let Some(stored) = stored.as_ref().filter(|stored| stored.dirty > incoming.dirty) {
            lease = stored.clone();
            if stored.status == Unknown && origin == Origin::Client {
                lease.status = incoming.status;
            }
        }
        if self.overridden(key, now).is_none() && lease.overridden != Unknown {
            self.overrides.insert(key, (lease.overridden, now.mono));
        }
        if let Some(overridden) = self.overridden(key, now) {
            lease.overridden = overridden;
        }
        lease.status = self.chain(key, lease.status, stored.as_ref().map(|stored| stored.status), origin, now);
        lease.service_up = stored.map_or(UnixMillis::NEVER, |stored| stored.service_up);
        if lease.status == Up && lease.service_up == UnixMillis::NEVER {
            lease.service_up = now.unix;
        }
        (lease.granted, lease.renewed) = (now.mono, None);
        self.leases.insert(key, lease);
        self.changes += 1;
    }

    fn renew(
        &mut self,
        key: Key,
        dirty: Option<i64>,
        peers: Option<InstanceStatus>,
        origin: Origin,
        now: Moment,
    ) -> &'static str {
        let Some(stored) = self.leases.get(&key).cloned() else { return "not found" };
        // The registry uses an override with each heartbeat of its instance, the Java server only with some.
        if stored.overridden != Unknown {
            self.overridden(key, now);
        }
        let status = self.chain(key, stored.status, Some(stored.status), origin, now);
        if status == Unknown {
            return "not found";
        }
        self.changes += u64::from(status != stored.status);
        let lease = self.leases.get_mut(&key).unwrap();
        (lease.status, lease.renewed) = (status, Some(now.mono));
        let sent = dirty.unwrap_or(stored.dirty);
        if sent > stored.dirty {
            if let Some(peers) = peers.filter(|peers| *peers != Unknown && origin == Origin::Peer)
                && self.overridden(key, now) != Some(peers)
            {
                self.overrides.insert(key, (peers, now.mono));
                self.leases.get_mut(&key).unwrap().overridden = peers;
                self.changes += 1;
            }
            return "stored is older";
        }
        if sent < stored.dirty && origin == Origin::Peer { "stored is newer" } else { "renewed" }
    }

    fn set(&mut self, key: Key, status: InstanceStatus, dirty: Option<i64>, now: Moment) -> bool {
        let Some(stored) = self.leases.get(&key).cloned() else { return false };
        self.leases.get_mut(&key).unwrap().renewed = Some(now.mono);
        let same = stored.status == status;
        if same && (!self.store_unchanged || self.overridden(key, now) == Some(status)) {
            return true;
        }
        self.overrides.insert(key, (status, now.mono));
        let lease = self.leases.get_mut(&key).unwrap();
        (lease.status, lease.overridden) = (status, status);
        lease.dirty = lease.dirty.max(dirty.unwrap_or(0));
        if status == Up && lease.service_up == UnixMillis::NEVER {
            lease.service_up = now.unix;
        }
        self.changes += 1;
        true
    }

    fn clear(&mut self, key: Key, status: InstanceStatus, dirty: Option<i64>, now: Moment) -> bool {
        if !self.leases.contains_key(&key) {
            return false;
        }
        let removed = self.overridden(key, now).is_some();
        self.overrides.remove(&key);
        let lease = self.leases.get_mut(&key).unwrap();
        lease.renewed = Some(now.mono);
        if removed {
            (lease.status, lease.overridden) = (status, Unknown);
            lease.dirty = lease.dirty.max(dirty.unwrap_or(0));
            self.changes += 1;
        }
        true
    }

    fn add(&mut self, key: Key, value: &str, now: Moment) -> bool {
        let Some(stored) = self.leases.get_mut(&key) else { return false };
        if stored.value == value {
            stored.renewed = Some(now.mono);
            return true;
        }
        let incoming = Lease { value: value.to_owned(), ..stored.clone() };
        self.register(key, &incoming, Origin::Client, now);
        true
    }
}

fn outcome(renewal: &Renewal) -> &'static str {
    match renewal {
        Renewal::Renewed | Renewal::StatusDiffers => "renewed",
        Renewal::NotFound => "not found",
        Renewal::StoredIsOlder => "stored is older",
        Renewal::StoredIsNewer(_) => "stored is newer",
    }
}

fn take(case: &Case, model: &mut Model, step: Step) -> Result<(), TestCaseError> {
    let registry = &case.registry;
    let now = registry.now();
    match step {
        Step::Register { key, status, overridden, dirty, origin } => {
            let incoming = InstanceInfo {
                status,
                overridden_status: overridden,
                last_dirty: UnixMillis(dirty),
                metadata: [("k", "")].into_iter().collect(),
                ..instance(key.0, key.1)
            };
            registry.register(Arc::new(incoming), origin);
            let (granted, renewed) = (now.mono, None);
            let incoming = Lease {
                status,
                overridden,
                dirty,
                value: String::new(),
                granted,
                renewed,
                service_up: UnixMillis::NEVER,
            };
            model.register(key, &incoming, origin, now);
        }
        Step::Cancel(key) => {
            let found = model.leases.remove(&key).is_some();
            if found {
                model.overrides.remove(&key);
                model.changes += 1;
            }
            prop_assert_eq!(registry.cancel(key.0, key.1).0.is_some(), found);
        }
        Step::Lose(key) => {
            let found = registry.table.remove(key.0, key.1).is_some();
            prop_assert_eq!(found, model.leases.remove(&key).is_some());
        }
        Step::Renew { key, dirty, overridden, origin } => {
            let call = RenewalCall {
                app: key.0,
                id: key.1,
                last_dirty: dirty.map(UnixMillis),
                origin,
                said: None,
                overridden,
            };
            let expected = model.renew(key, dirty, overridden, origin, now);
            prop_assert_eq!(outcome(&registry.renew(&call, now)), expected);
        }
        Step::Set { key, status, dirty } => {
            let found = registry.set_status(key.0, key.1, status, dirty.map(UnixMillis)).is_some();
            prop_assert_eq!(found, model.set(key, status, dirty, now));
        }
        Step::Clear { key, status, dirty } => {
            let found = registry.clear_status(key.0, key.1, status, dirty.map(UnixMillis)).is_some();
            prop_assert_eq!(found, model.clear(key, status, dirty, now));
        }
        Step::Add { key, value } => {
            let value = value.to_string();
            let found = registry.add_metadata(key.0, key.1, &[("k", &value)], usize::MAX).unwrap().is_some();
            prop_assert_eq!(found, model.add(key, &value, now));
        }
        Step::Advance(seconds) => {
            case.advance(seconds);
        }
    }
    Ok(())
}

fn assert_equal(case: &Case, model: &Model) -> Result<(), TestCaseError> {
    let registry = &case.registry;
    prop_assert_eq!(registry.table.len(), model.leases.len());
    for (key, expected) in &model.leases {
        let entry = registry.table.get(key.0, key.1).unwrap();
        let (instance, lease) = (entry.instance(), entry.lease());
        let value = |metadata: &Metadata| metadata.get("k").unwrap().to_owned();
        let held = Lease {
            status: instance.status,
            overridden: instance.overridden_status,
            dirty: instance.last_dirty.0,
            value: value(&instance.metadata),
            granted: lease.granted,
            renewed: lease.renewed,
            service_up: entry.service_up(),
        };
        prop_assert_eq!(&held, expected, "{:?}", key);
    }
    let held: HashMap<_, _> =
        registry.list_overrides().into_iter().map(|(key, status)| (key.to_string(), status)).collect();
    let now = registry.now().mono;
    let holding =
        model.overrides.iter().filter(|(_, (_, used))| now.saturating_since(*used) < Duration::from_secs(3600));
    let expected: HashMap<_, _> = holding.map(|((app, id), (status, _))| (format!("{app}/{id}"), *status)).collect();
    prop_assert_eq!(held, expected);
    prop_assert_eq!(case.revision(), model.changes);
    Ok(())
}

proptest! {
    #[test]
    fn the_registry_does_what_eurekas_rules_say(steps in prop::collection::vec(step(), 1..60), store_unchanged: bool) {
        let unchanged = if store_unchanged { "true" } else { "false" };
        let case = Case::set(&["--cancel-grace", "0", "--store-unchanged-override", unchanged]);
        let mut model = Model { store_unchanged, ..Model::default() };
        for step in steps {
            take(&case, &mut model, step)?;
            assert_equal(&case, &model)?;
        }
    }
}
