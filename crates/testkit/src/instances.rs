//! Instances to test with: one plain one, and strategies for any.

use proptest::{collection::vec, option, prelude::*};
use registry_model::{
    ActionType, AppName, DataCenterInfo, InstanceId, InstanceInfo, InstanceKey, InstanceStatus, LeaseTerms, LeaseTimes,
    Metadata, Port, Record, UnixMillis,
};
use std::sync::Arc;

/// The key of these two names.
///
/// # Panics
/// If one is empty or endless.
#[expect(clippy::expect_used, reason = "a test that names no instance is to fail")]
pub fn key(app: &str, id: &str) -> InstanceKey {
    InstanceKey {
        app: AppName::parse(app).expect("an application name"),
        id: InstanceId::parse(id).expect("an instance id"),
    }
}

/// A plain instance that is `UP`, with the default lease and a dirty stamp of 1000.
pub fn instance(app: &str, id: &str) -> InstanceInfo {
    InstanceInfo {
        key: key(app, id),
        host_name: format!("{id}.test").into(),
        ip_addr: "192.0.2.10".into(),
        sid: None,
        status: InstanceStatus::Up,
        overridden_status: InstanceStatus::Unknown,
        port: Port { number: 8080, enabled: true },
        secure_port: Port { number: 8443, enabled: false },
        country_id: 1,
        data_center: DataCenterInfo::MyOwn,
        lease_terms: LeaseTerms::default(),
        metadata: Metadata::default(),
        app_group_name: None,
        home_page_url: None,
        status_page_url: None,
        health_check_url: None,
        secure_health_check_url: None,
        vip_address: Some(app.to_lowercase().into()),
        secure_vip_address: None,
        asg_name: None,
        last_updated: UnixMillis(1000),
        last_dirty: UnixMillis(1000),
        action: ActionType::Added,
        coordinating: false,
    }
}

/// That instance with lease times of its registration.
pub fn record(app: &str, id: &str) -> Record {
    let registered = UnixMillis(1_700_000_010_000);
    Record {
        instance: Arc::new(instance(app, id)),
        lease: LeaseTimes { registered, renewed: registered, evicted: UnixMillis::NEVER, service_up: registered },
    }
}

/// Texts with what documents have to escape, and plain ones.
pub fn any_text() -> impl Strategy<Value = Box<str>> {
    prop_oneof![3 => "[a-zA-Z0-9.:/-]{0,20}", 1 => "[ -~]{0,12}", 1 => "\\PC{0,8}", 1 => "[\\x00-\\x1f<>&\"'\\\\\u{2028}é😀]{0,6}"].prop_map(Into::into)
}

fn some_text() -> impl Strategy<Value = Option<Box<str>>> {
    option::of(any_text())
}

/// Any of the five statuses.
pub fn any_status() -> impl Strategy<Value = InstanceStatus> {
    prop::sample::select(InstanceStatus::ALL.to_vec())
}

/// Up to six pairs.
pub fn any_metadata() -> impl Strategy<Value = Metadata> {
    vec(("[a-zA-Z_.$@: -]{1,10}", any_text()), 0..6).prop_map(|pairs| {
        // Eureka's own marker key never reaches a stored instance.
        pairs.into_iter().filter(|(key, _)| key != "@class").collect()
    })
}

/// Any instance of one of these applications and ids.
pub fn any_instance_of(apps: usize, ids: usize) -> impl Strategy<Value = InstanceInfo> {
    let names = (0..apps.max(1), 0..ids.max(1));
    let address = ("[a-z0-9.]{1,20}", "[0-9.]{1,15}", option::of("[a-z0-9]{3,8}"));
    let port = || (0..65_536, any::<bool>()).prop_map(|(number, enabled)| Port { number, enabled });
    let center = prop_oneof![
        3 => Just(DataCenterInfo::MyOwn),
        1 => Just(DataCenterInfo::Netflix),
        1 => any_metadata().prop_map(|metadata| DataCenterInfo::Amazon(metadata.with("instance-id", "i-1"))),
    ];
    let terms = (1i32..1000, 1i32..1000).prop_map(|(interval, duration)| LeaseTerms::of(interval, duration));
    let texts =
        (some_text(), some_text(), some_text(), some_text(), some_text(), some_text(), some_text(), some_text());
    let stamps = (0i64..1 << 45, 0i64..1 << 45);
    let rest = (any::<i32>(), center, terms, any_metadata(), texts, stamps);
    (names, address, any_status(), any_status(), port(), port(), rest).prop_map(
        |((app, id), (host_name, ip_addr, sid), status, overridden_status, port, secure_port, rest)| {
            let (country_id, data_center, lease_terms, metadata, texts, (updated, dirty)) = rest;
            InstanceInfo {
                key: key(&format!("APP-{app}"), &format!("id-{id}")),
                host_name: host_name.into(),
                ip_addr: ip_addr.into(),
                sid: sid.filter(|sid| sid != "unknown").map(Into::into),
                status,
                overridden_status,
                port,
                secure_port,
                country_id,
                data_center,
                lease_terms,
                metadata,
                app_group_name: texts.0.map(|text| text.to_uppercase().into()),
                home_page_url: texts.1,
                status_page_url: texts.2,
                health_check_url: texts.3,
                secure_health_check_url: texts.4,
                vip_address: texts.5,
                secure_vip_address: texts.6,
                asg_name: texts.7,
                last_updated: UnixMillis(updated),
                last_dirty: UnixMillis(dirty),
                action: ActionType::Added,
                coordinating: false,
            }
        },
    )
}

/// Any instance.
pub fn any_instance() -> impl Strategy<Value = InstanceInfo> {
    any_instance_of(5, 50)
}

/// Any instance with any lease times.
pub fn any_record() -> impl Strategy<Value = Record> {
    let times = || (0i64..1 << 45).prop_map(UnixMillis);
    (any_instance(), times(), times(), times()).prop_map(|(instance, registered, renewed, service_up)| Record {
        instance: Arc::new(instance),
        lease: LeaseTimes { registered, renewed, evicted: UnixMillis::NEVER, service_up },
    })
}
