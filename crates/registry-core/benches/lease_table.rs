//! Budgets at 100,000 leases: a renewal takes at most 300 ns, at most twice that beside a storm of registrations; a look at
//! all leases 10 ms.

#![allow(missing_docs, reason = "criterion's macro makes public functions without any")]

use criterion::{Criterion, criterion_group, criterion_main};
use registry_core::{LeaseEntry, LeaseTable, Moment, Overrides, Renewal, RenewalCall, Rules};
use registry_model::{InstanceInfo, InstanceStatus, LeaseTerms, Mono, Origin, UnixMillis};
use std::{
    hint::black_box,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};
use testkit::instances::instance;

const LEASES: usize = 100_000;
const APPS: usize = 500;
const NOW: Moment = Moment { mono: Mono::from_nanos(1), unix: UnixMillis(1) };

fn names(lease: usize) -> (String, String) {
    let app = lease % APPS;
    (format!("SERVICE-{app}"), format!("host-{lease}.example.internal:service-{app}:8080"))
}

fn granted(lease: usize) -> LeaseEntry {
    let (app, id) = names(lease);
    granted_to(instance(&app, &id))
}

fn granted_to(instance: InstanceInfo) -> LeaseEntry {
    LeaseEntry::grant(Arc::new(instance), LeaseTerms::default(), UnixMillis(1), NOW)
}

/// All leases in an order without pattern.
fn shuffled() -> impl Iterator<Item = usize> + Clone {
    // A step that has no divisor in common with the number of leases visits each once.
    (0..LEASES).map(|place| place.wrapping_mul(61_803_399) % LEASES)
}

fn table() -> LeaseTable {
    let table = LeaseTable::new();
    (0..LEASES).for_each(|lease| {
        table.put(granted(lease));
    });
    table
}

/// Renews all leases in turn.
fn renew_all(bencher: &mut criterion::Bencher<'_>, table: &LeaseTable, overrides: &Overrides) {
    let requests: Vec<_> = shuffled().map(names).collect();
    let rules = Rules::default();
    let mut next = requests.iter().cycle();
    let mut now = 1;
    bencher.iter(|| {
        now += 1;
        if let Some((app, id)) = next.next() {
            let call = RenewalCall {
                app,
                id,
                last_dirty: Some(UnixMillis(1000)),
                origin: Origin::Client,
                said: Some(InstanceStatus::Up),
                overridden: None,
            };
            let renewal = table.renew(&call, overrides, &rules, Mono::from_nanos(now));
            assert!(matches!(black_box(renewal), Ok(Renewal::Renewed)));
        }
    });
}

fn renew(criterion: &mut Criterion) {
    let table = table();
    let overrides = Overrides::new(Duration::from_secs(3600));
    let renew_next = |bencher: &mut criterion::Bencher<'_>| renew_all(bencher, &table, &overrides);
    criterion.bench_function("lease_table/renew", renew_next);

    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for lease in shuffled().cycle() {
                if done.load(Relaxed) {
                    break;
                }
                // Every other one is new, and goes again with the next round.
                let (app, id) = names(LEASES + lease);
                if lease % 2 == 0 || table.remove(&app, &id).is_none() {
                    table.put(granted(lease + lease % 2 * LEASES));
                }
            }
        });
        criterion.bench_function("lease_table/renew_beside_registrations", renew_next);
        done.store(true, Relaxed);
    });
}

/// Where an operator has overridden every status.
fn renew_overridden(criterion: &mut Criterion) {
    let table = LeaseTable::new();
    let overrides = Overrides::new(Duration::from_secs(3600));
    for (app, id) in (0..LEASES).map(names) {
        let overridden = InstanceInfo { overridden_status: InstanceStatus::Up, ..instance(&app, &id) };
        overrides.put(overridden.key.clone(), InstanceStatus::Up, NOW.mono);
        table.put(granted_to(overridden));
    }
    criterion.bench_function("lease_table/renew_overridden", |bencher| renew_all(bencher, &table, &overrides));
}

/// What a snapshot takes of the table; commands wait as long.
fn entries(criterion: &mut Criterion) {
    let table = table();
    criterion.bench_function("lease_table/entries", |bencher| bencher.iter_with_large_drop(|| table.entries()));
}

criterion_group!(benches, renew, renew_overridden, entries);
criterion_main!(benches);
