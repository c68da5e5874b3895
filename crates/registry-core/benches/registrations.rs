//! Budget: a registration of a new instance takes at most 3 µs between the decoded document and the answer, in process, and
//! besides what the kernel takes for fresh memory: about a fifth of a page each, which here is most of the time.

#![allow(missing_docs, reason = "criterion's macro makes public functions without any")]
#![allow(clippy::expect_used, reason = "a bench that cannot begin is to fail")]

use clap::Parser;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use futures::FutureExt;
use registry_core::{Config, Life, RegistryCore};
use registry_model::{
    AppName, Clock, DataCenterDraft, DataCenterName, InstanceStatus, LeaseTerms, Port, RegistrationDraft, UnixMillis,
};
use registry_proto::{
    Registry,
    registry::{RegisterRequest, RegisterResponse},
    types,
};
use service_runtime::{ProcessHandle, SystemClock};
use std::sync::Arc;
use tokio::runtime;
use tonic::Request;

const APPS: usize = 500;

#[derive(Parser)]
struct Settings {
    #[command(flatten)]
    config: Config,
}

/// A registry without anybody, as http-facade holds it.
fn empty() -> Registry {
    let process = ProcessHandle::detached("registry-core", Arc::new(SystemClock::new()));
    RegistryCore::start(&Settings::parse_from(["registry-core"]).config, Life::random(), &process)
}

/// What the document of a Spring application of about 1 KB says.
fn draft(place: usize) -> (String, RegistrationDraft) {
    let app = format!("SERVICE-{}", place % APPS);
    let host = format!("host-{place}.example.internal");
    let id = format!("{host}:{}:8080", app.to_lowercase());
    let url = |path: &str| Some(format!("http://{host}:8080/{path}").into());
    let draft = RegistrationDraft {
        host_name: Some(host.as_str().into()),
        ip_addr: Some(format!("10.{}.{}.{}", place >> 16, place >> 8 & 255, place & 255).into()),
        status: Some(InstanceStatus::Up),
        overridden_status: Some(InstanceStatus::Unknown),
        port: Some(Port { number: 8080, enabled: true }),
        secure_port: Some(Port { number: 443, enabled: false }),
        country_id: Some(1),
        data_center: Some(DataCenterDraft { name: Some(DataCenterName::MyOwn), ..DataCenterDraft::default() }),
        lease_terms: Some(LeaseTerms::default()),
        metadata: [("management.port", "8080"), ("zone", "zone-a"), ("version", "1.4.2")].into_iter().collect(),
        home_page_url: url(""),
        status_page_url: url("actuator/info"),
        health_check_url: url("actuator/health"),
        vip_address: Some(app.to_lowercase().into()),
        secure_vip_address: Some(app.to_lowercase().into()),
        last_updated: Some(UnixMillis(1_700_000_000_000)),
        last_dirty: Some(UnixMillis(1_700_000_000_000)),
        instance_id: Some(id.into()),
        app: app.as_str().into(),
        ..RegistrationDraft::default()
    };
    (app, draft)
}

/// As http-facade does it once it has decoded the document.
fn register(registry: &Registry, clock: &SystemClock, (app, draft): (String, RegistrationDraft)) -> RegisterResponse {
    let path = AppName::parse(&app).expect("a name");
    let instance = Arc::new(draft.validate(&path, clock.unix()).expect("a whole draft"));
    let request = RegisterRequest { instance: Some(instance.into()), origin: types::Origin::Client.into() };
    let answer = registry.register(Request::new(request)).now_or_never().expect("nothing is waited for");
    answer.expect("a registration").into_inner()
}

/// Each into an empty registry, one after the other.
fn registrations(criterion: &mut Criterion) {
    let runtime = runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let _entered = runtime.enter();
    let clock = SystemClock::new();
    let mut group = criterion.benchmark_group("registrations");
    group.sample_size(10);
    for count in [10_000, 100_000] {
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(count.to_string(), |bencher| {
            let all = || (empty(), (0..count).map(draft).collect::<Vec<_>>());
            bencher.iter_batched(
                all,
                |(registry, drafts)| {
                    for draft in drafts {
                        register(&registry, &clock, draft);
                    }
                    registry
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, registrations);
criterion_main!(benches);
