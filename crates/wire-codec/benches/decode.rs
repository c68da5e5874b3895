//! What decoding one registration costs, and making an instance of it. Budget for JSON: 5 us.

#![allow(missing_docs, reason = "criterion's macro makes public functions without any")]
#![expect(clippy::expect_used, reason = "a bench that cannot prepare its input has nothing to measure")]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use registry_model::{AppName, LeaseTimes, Record, UnixMillis};
use std::{hint::black_box, sync::Arc};
use wire_codec::{Form, MediaType, decode_registration, encode_instance};

/// What a Spring client sends.
const JSON: &str = r#"{"instance":{"instanceId":"host-000123:fleet-0004:8080","app":"FLEET-0004","appGroupName":null,"ipAddr":"10.100.101.123","sid":"na","homePageUrl":"http://host-000123:8080/","statusPageUrl":"http://host-000123:8080/actuator/info","healthCheckUrl":"http://host-000123:8080/actuator/health","secureHealthCheckUrl":null,"vipAddress":"fleet-0004","secureVipAddress":"fleet-0004","countryId":1,"dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},"hostName":"host-000123","status":"UP","overriddenStatus":"UNKNOWN","leaseInfo":{"renewalIntervalInSecs":30,"durationInSecs":90,"registrationTimestamp":0,"lastRenewalTimestamp":0,"evictionTimestamp":0,"serviceUpTimestamp":0},"isCoordinatingDiscoveryServer":false,"lastUpdatedTimestamp":1760000000123,"lastDirtyTimestamp":1760000000123,"actionType":null,"asgName":null,"port":{"$":8080,"@enabled":"true"},"securePort":{"$":443,"@enabled":"false"},"metadata":{"management.port":"8080","build":"9e3779b97f4a7c15","label-000":"team-4f1bbc zone-a0761d release-e7037e"}}}"#;

fn decode(criterion: &mut Criterion) {
    let now = UnixMillis(1_760_000_000_456);
    let app = AppName::parse("fleet-0004").expect("a name");
    let draft = decode_registration(MediaType::Json, JSON.as_bytes()).expect("a registration");
    let instance = Arc::new(draft.clone().validate(&app, now).expect("an instance"));
    let record = Record { instance, lease: LeaseTimes::default() };
    let xml = encode_instance(Form::Xml, &record);

    let mut group = criterion.benchmark_group("decode_registration");
    for (media, body) in [(MediaType::Json, JSON.as_bytes()), (MediaType::Xml, &*xml)] {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(format!("{media:?}"), |bench| bench.iter(|| decode_registration(media, black_box(body))));
    }
    group.finish();
    criterion.bench_function("validate_registration", |bench| {
        bench.iter_batched(|| draft.clone(), |draft| draft.validate(&app, now), BatchSize::SmallInput);
    });
}

criterion_group!(benches, decode);
criterion_main!(benches);
