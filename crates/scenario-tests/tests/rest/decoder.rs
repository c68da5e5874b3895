//! A client as strict as Spring's: whatever it does not know makes the whole document unreadable.

use serde_json::{Map, Value};

const STATUSES: [&str; 5] = ["UP", "DOWN", "STARTING", "OUT_OF_SERVICE", "UNKNOWN"];

const TEXTS: [&str; 15] = [
    "instanceId",
    "hostName",
    "app",
    "ipAddr",
    "sid",
    "appGroupName",
    "homePageUrl",
    "statusPageUrl",
    "healthCheckUrl",
    "secureHealthCheckUrl",
    "vipAddress",
    "secureVipAddress",
    "asgName",
    "lastUpdatedTimestamp",
    "lastDirtyTimestamp",
];

const LEASE: [&str; 6] = [
    "renewalIntervalInSecs",
    "durationInSecs",
    "registrationTimestamp",
    "lastRenewalTimestamp",
    "evictionTimestamp",
    "serviceUpTimestamp",
];

/// Reads a document of applications and says how many instances it has.
///
/// # Panics
/// Anything in it is unknown or of another shape.
pub(crate) fn read(document: &Value) -> usize {
    let root = object(document);
    assert_eq!(root.len(), 1, "one root");
    let applications = match root.get("applications") {
        Some(applications) => {
            let applications = object(applications);
            for (key, value) in applications {
                match key.as_str() {
                    "versions__delta" => assert!(text(value).parse::<i64>().is_ok(), "{value}"),
                    "apps__hashcode" => assert!(text(value).is_empty() || text(value).ends_with('_'), "{value}"),
                    "application" => {}
                    other => panic!("{other} among the applications"),
                }
            }
            assert_eq!(applications.len(), 3);
            array(&applications["application"])
        }
        None => std::slice::from_ref(&root["application"]),
    };
    applications.iter().map(application).sum()
}

fn application(value: &Value) -> usize {
    let application = object(value);
    assert_eq!(application.keys().map(String::as_str).collect::<Vec<_>>(), ["instance", "name"]);
    let name = text(&application["name"]);
    let instances = array(&application["instance"]);
    instances.iter().for_each(|value| instance(value, name));
    instances.len()
}

fn instance(value: &Value, application: &str) {
    let instance = object(value);
    for needed in [
        "instanceId",
        "hostName",
        "app",
        "ipAddr",
        "status",
        "overriddenStatus",
        "port",
        "securePort",
        "countryId",
        "dataCenterInfo",
        "leaseInfo",
        "metadata",
        "actionType",
        "lastUpdatedTimestamp",
        "lastDirtyTimestamp",
    ] {
        assert!(instance.contains_key(needed), "{needed} in {value}");
    }
    assert_eq!(instance["app"], application);
    for (key, value) in instance {
        match key.as_str() {
            "status" | "overriddenStatus" => assert!(STATUSES.contains(&text(value)), "{value}"),
            "port" | "securePort" => port(object(value)),
            "countryId" => assert!(value.is_i64(), "{value}"),
            "dataCenterInfo" => data_center(object(value)),
            "leaseInfo" => {
                let lease = object(value);
                assert_eq!(lease.len(), LEASE.len());
                LEASE.iter().for_each(|key| assert!(lease[*key].is_i64(), "{key}: {value}"));
            }
            "metadata" => metadata(object(value)),
            "isCoordinatingDiscoveryServer" => assert!(["true", "false"].contains(&text(value))),
            "actionType" => assert!(["ADDED", "MODIFIED", "DELETED"].contains(&text(value))),
            key if TEXTS.contains(&key) => assert!(value.is_string(), "{key}: {value}"),
            other => panic!("{other} in an instance"),
        }
    }
}

fn port(port: &Map<String, Value>) {
    assert_eq!(port.len(), 2, "{port:?}");
    assert!(port["$"].is_i64());
    assert!(["true", "false"].contains(&text(&port["@enabled"])));
}

fn data_center(center: &Map<String, Value>) {
    match text(&center["@class"]) {
        "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo" => {
            assert_eq!(center.len(), 2);
            assert!(["MyOwn", "Netflix"].contains(&text(&center["name"])));
        }
        "com.netflix.appinfo.AmazonInfo" => {
            assert_eq!((center.len(), text(&center["name"])), (3, "Amazon"));
            metadata(object(&center["metadata"]));
        }
        other => panic!("a data centre of class {other}"),
    }
}

fn metadata(entries: &Map<String, Value>) {
    assert!(entries.values().all(Value::is_string), "{entries:?}");
    if entries.contains_key("@class") {
        assert_eq!((entries.len(), text(&entries["@class"])), (1, "java.util.Collections$EmptyMap"));
    } else {
        assert!(!entries.is_empty());
    }
}

fn object(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("{value} is no object"))
}

fn array(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no array"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}
