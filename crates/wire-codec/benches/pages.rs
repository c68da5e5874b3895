//! What one change costs: encoding a page, compressing it, putting it into a payload. Budgets: 130 us, 400 us, 10 us.

#![allow(missing_docs, reason = "criterion's macro makes public functions without any")]
#![expect(clippy::expect_used, reason = "a bench that cannot prepare its input has nothing to measure")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use registry_model::{
    ActionType, AppName, DataCenterInfo, InstanceId, InstanceInfo, InstanceKey, InstanceStatus, LeaseTerms, LeaseTimes,
    Port, Record, UnixMillis,
};
use std::{hint::black_box, sync::Arc};
use wire_codec::{Extent, Form, Nesting, Page, PageSplice, Payload, Place, Run, encode_page};

/// An instance as a Spring client registers it.
fn record(app: &AppName, number: u32) -> Record {
    let text = |text: String| Some(Box::from(text));
    let host = format!("node-{number}.cluster.example");
    let instance = InstanceInfo {
        key: InstanceKey {
            app: app.clone(),
            id: InstanceId::parse(&format!("{host}:orders:{number}")).expect("an id"),
        },
        host_name: host.clone().into(),
        ip_addr: format!("10.0.{}.{}", number >> 8 & 255, number & 255).into(),
        sid: None,
        status: InstanceStatus::Up,
        overridden_status: InstanceStatus::Unknown,
        port: Port { number: 8080, enabled: true },
        secure_port: Port { number: 443, enabled: false },
        country_id: 1,
        data_center: DataCenterInfo::MyOwn,
        lease_terms: LeaseTerms::default(),
        metadata: [("management.port", "8080"), ("zone", "west-1"), ("version", "4.17.2")].into_iter().collect(),
        app_group_name: None,
        home_page_url: text(format!("http://{host}:8080/")),
        status_page_url: text(format!("http://{host}:8080/actuator/info")),
        health_check_url: text(format!("http://{host}:8080/actuator/health")),
        secure_health_check_url: None,
        vip_address: text("orders".into()),
        secure_vip_address: text("orders".into()),
        asg_name: None,
        last_updated: UnixMillis(1_760_000_000_001 + i64::from(number)),
        last_dirty: UnixMillis(1_759_999_999_990 + i64::from(number)),
        action: ActionType::Added,
        coordinating: false,
    };
    let at = UnixMillis(1_760_000_000_000 + i64::from(number));
    Record {
        instance: Arc::new(instance),
        lease: LeaseTimes { registered: at, renewed: at, service_up: at, ..LeaseTimes::default() },
    }
}

fn page_of(form: Form, app: &AppName, records: &[Record]) -> Vec<u8> {
    encode_page(form, Nesting::Registry, Place::Later, [Run { app, records, extent: Extent::Whole }])
}

fn pages(criterion: &mut Criterion) {
    let app = AppName::parse("ORDERS").expect("a name");
    let mut group = criterion.benchmark_group("page");
    let mut json = Vec::new();
    for form in Form::ALL {
        let one = page_of(form, &app, &[record(&app, 0)]).len();
        let count = u32::try_from(64 * 1024 / one).expect("small");
        let records: Vec<Record> = (0..count).map(|number| record(&app, number)).collect();
        let page = page_of(form, &app, &records);
        group.throughput(Throughput::Bytes(page.len() as u64));
        group.bench_function(format!("encode_{form:?}"), |bench| {
            bench.iter(|| page_of(form, &app, black_box(&records)));
        });
        group.bench_function(format!("deflate_{form:?}"), |bench| bench.iter(|| Page::deflate(black_box(&page))));
        if form == Form::Json {
            json = page;
        }
    }
    let page = Page::deflate(&json);
    group.throughput(Throughput::Bytes(json.len() as u64));
    group.bench_function("inflate_Json", |bench| bench.iter(|| black_box(&page).inflate()));
    group.finish();

    let edge = Page::deflate(b"about as much as a head or a tail holds");
    let payload = Payload::new(edge.clone(), vec![page.clone(); 1500], edge.clone());
    let splice = [PageSplice { at: 700, removed: 1, inserted: vec![page.clone()] }];
    println!("1,500 pages, {} bytes deflated each, {} frames", page.deflated().len(), payload.gzip_frames().count());
    criterion.bench_function("splice_one_of_1500", |bench| {
        bench.iter(|| payload.splice(edge.clone(), black_box(&splice), edge.clone()));
    });
}

criterion_group!(benches, pages);
criterion_main!(benches);
