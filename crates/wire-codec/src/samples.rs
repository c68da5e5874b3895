//! Records for tests: a rich one, a poor one, and arbitrary ones.

use proptest::{option, prelude::*};
use registry_model::{
    ActionType, AppName, DataCenterInfo, InstanceId, InstanceInfo, InstanceKey, InstanceStatus, LeaseTerms, LeaseTimes,
    Metadata, Port, Record, UnixMillis,
};
use std::sync::Arc;

pub(crate) fn app(name: &str) -> AppName {
    AppName::parse(name).expect("a name")
}

/// An instance that says as little as possible.
pub(crate) fn poor(name: &str, id: &str) -> Record {
    let instance = InstanceInfo {
        key: InstanceKey { app: app(name), id: InstanceId::parse(id).expect("an id") },
        host_name: "n1.test".into(),
        ip_addr: "192.0.2.10".into(),
        sid: None,
        status: InstanceStatus::Up,
        overridden_status: InstanceStatus::Unknown,
        port: Port::DEFAULT,
        secure_port: Port::DEFAULT_SECURE,
        country_id: 1,
        data_center: DataCenterInfo::MyOwn,
        lease_terms: LeaseTerms::default(),
        metadata: Metadata::default(),
        app_group_name: None,
        home_page_url: None,
        status_page_url: None,
        health_check_url: None,
        secure_health_check_url: None,
        vip_address: None,
        secure_vip_address: None,
        asg_name: None,
        last_updated: UnixMillis(1_760_000_000_001),
        last_dirty: UnixMillis(1_759_999_999_990),
        action: ActionType::Added,
        coordinating: false,
    };
    Record { instance: Arc::new(instance), lease: LeaseTimes::default() }
}

/// An instance that says everything there is to say.
pub(crate) fn rich() -> Record {
    let text = |text: &str| Some(Box::from(text));
    let instance = InstanceInfo {
        sid: text("s\u{2028}1"),
        status: InstanceStatus::OutOfService,
        overridden_status: InstanceStatus::OutOfService,
        port: Port { number: 8080, enabled: true },
        secure_port: Port { number: 8443, enabled: false },
        country_id: -2,
        data_center: DataCenterInfo::Amazon(
            [("instance-id", "i-1"), ("availability-zone", "west-1a")].into_iter().collect(),
        ),
        lease_terms: LeaseTerms { renewal_interval_secs: 5, duration_secs: 15 },
        metadata: [
            ("zone", "west-1"),
            ("user_name", "J\u{fc}rgen \"J\" O'Neil"),
            ("1num", "a\\b/c\r\n\td\u{1}\u{1f}\u{7f}"),
            ("", "no key"),
            ("k<1", "<&>\u{FFFE}\u{FFFD}\u{1F600}"),
        ]
        .into_iter()
        .collect(),
        app_group_name: text("GROUP"),
        home_page_url: text("http://n1.test:8080/?a=1&b=2"),
        status_page_url: text("http://n1.test:8080/info"),
        health_check_url: text(""),
        secure_health_check_url: text("https://n1.test:8443/health"),
        vip_address: text("billing,pay"),
        secure_vip_address: text("billing"),
        asg_name: text("asg"),
        action: ActionType::Modified,
        coordinating: true,
        ..Arc::unwrap_or_clone(poor("BILLING", "n1:billing:8080").instance)
    };
    let lease = LeaseTimes {
        registered: UnixMillis(1_760_000_000_000),
        renewed: UnixMillis(1_760_000_120_000),
        evicted: UnixMillis(-1),
        service_up: UnixMillis(1_760_000_000_000),
    };
    Record { instance: Arc::new(instance), lease }
}

/// Any text, mostly short, often with characters that need escapes.
fn text() -> impl Strategy<Value = Box<str>> {
    let character = prop_oneof![
        4 => any::<char>(),
        4 => prop::char::range(' ', '~'),
        1 => prop::sample::select(vec!['"', '\\', '<', '&', '_', '$', '\r', '\n', '\0', '\u{FFFE}', '\u{FFFF}', '\u{2028}']),
    ];
    prop::collection::vec(character, 0..12).prop_map(|text| text.into_iter().collect::<String>().into())
}

fn name() -> impl Strategy<Value = Box<str>> {
    text().prop_map(|text| format!("x{text}").into())
}

fn optional() -> impl Strategy<Value = Option<Box<str>>> {
    option::of(text())
}

fn port() -> impl Strategy<Value = Port> {
    (any::<i32>(), any::<bool>()).prop_map(|(number, enabled)| Port { number, enabled })
}

fn status() -> impl Strategy<Value = InstanceStatus> {
    prop::sample::select(InstanceStatus::ALL.as_slice())
}

/// Pairs without the class marker, which no decoder lets in.
fn metadata() -> impl Strategy<Value = Metadata> {
    prop::collection::vec((text(), text()), 0..5)
        .prop_map(|pairs| pairs.into_iter().filter(|(key, _)| &**key != "@class").collect())
}

fn data_center() -> impl Strategy<Value = DataCenterInfo> {
    prop_oneof![Just(DataCenterInfo::MyOwn), Just(DataCenterInfo::Netflix), metadata().prop_map(DataCenterInfo::Amazon),]
}

fn times() -> impl Strategy<Value = LeaseTimes> {
    any::<[i64; 4]>().prop_map(|[registered, renewed, evicted, service_up]| LeaseTimes {
        registered: UnixMillis(registered),
        renewed: UnixMillis(renewed),
        evicted: UnixMillis(evicted),
        service_up: UnixMillis(service_up),
    })
}

/// Any record.
pub(crate) fn record() -> impl Strategy<Value = Record> {
    let names = (name(), name(), name(), name(), optional(), status(), status());
    let numbers = (port(), port(), any::<i32>(), 1..i32::MAX, 1..i32::MAX, any::<i64>(), any::<i64>(), times());
    let texts = prop::array::uniform9(optional());
    let action = prop::sample::select(vec![ActionType::Added, ActionType::Modified, ActionType::Deleted]);
    (names, numbers, texts, data_center(), metadata(), action, any::<bool>()).prop_map(
        |(names, numbers, texts, data_center, metadata, action, coordinating)| {
            let (app_name, id, host_name, ip_addr, sid, status, overridden_status) = names;
            let (port, secure_port, country_id, renewal, duration, last_updated, last_dirty, lease) = numbers;
            let [group, home, status_page, health, secure_health, vip, secure_vip, asg, _] = texts;
            let instance = InstanceInfo {
                key: InstanceKey { app: app(&app_name), id: InstanceId::parse(&id).expect("not empty") },
                host_name,
                ip_addr,
                sid,
                status,
                overridden_status,
                port,
                secure_port,
                country_id,
                data_center,
                lease_terms: LeaseTerms::of(renewal, duration),
                metadata,
                app_group_name: group,
                home_page_url: home,
                status_page_url: status_page,
                health_check_url: health,
                secure_health_check_url: secure_health,
                vip_address: vip,
                secure_vip_address: secure_vip,
                asg_name: asg,
                last_updated: UnixMillis(last_updated),
                last_dirty: UnixMillis(last_dirty),
                action,
                coordinating,
            };
            Record { instance: Arc::new(instance), lease }
        },
    )
}
