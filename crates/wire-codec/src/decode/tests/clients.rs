//! What real clients send, as they send it.

use super::*;
use registry_model::{AppName, DataCenterInfo, InstanceInfo};

/// The instance of a body that a client posts to an application.
fn registered(app: &str, body: &str) -> InstanceInfo {
    let draft = decode_registration(MediaType::Json, body.as_bytes()).expect("decodes");
    draft.validate(&AppName::parse(app).expect("a name"), UnixMillis(7000)).expect("valid")
}

#[test]
fn rest_146_spring_sends_nulls_bare_booleans_and_numbers() {
    let body = r#"{"instance":{"instanceId":"n1:billing:8080","app":"BILLING","appGroupName":null,"ipAddr":"192.0.2.10","sid":"na",
        "homePageUrl":"http://n1.test:8080/","statusPageUrl":"http://n1.test:8080/actuator/info",
        "healthCheckUrl":"http://n1.test:8080/actuator/health","secureHealthCheckUrl":null,"vipAddress":"billing",
        "secureVipAddress":"billing","countryId":1,"dataCenterInfo":{"@class":
        "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},"hostName":"n1.test","status":"UP",
        "overriddenStatus":"UNKNOWN","leaseInfo":{"renewalIntervalInSecs":30,"durationInSecs":90,"registrationTimestamp":0,
        "lastRenewalTimestamp":0,"evictionTimestamp":0,"serviceUpTimestamp":0},"isCoordinatingDiscoveryServer":false,
        "lastUpdatedTimestamp":1760000000000,"lastDirtyTimestamp":1760000000000,"actionType":null,"asgName":null,
        "port":{"$":8080,"@enabled":"true"},"securePort":{"$":443,"@enabled":"false"},"metadata":{"management.port":"8080"}}}"#;
    let instance = registered("billing", body);
    assert_eq!(instance.key.to_string(), "BILLING/n1:billing:8080");
    assert_eq!((instance.sid, instance.app_group_name, instance.asg_name), (None, None, None));
    assert_eq!(instance.secure_port, Port { number: 443, enabled: false });
    assert_eq!((instance.last_dirty, instance.lease_terms), (UnixMillis(1_760_000_000_000), LeaseTerms::default()));
    assert_eq!(instance.metadata, pairs(&[("management.port", "8080")]));
}

#[test]
fn rest_147_javascript_sends_a_bare_boolean_and_no_id() {
    let body = r#"{"instance":{"app":"jqservice","hostName":"localhost","ipAddr":"127.0.0.1","port":{"$":8080,"@enabled":true},
        "vipAddress":"jq.test","dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},
        "status":"UP"}}"#;
    let instance = registered("jqservice", body);
    assert_eq!(instance.key.to_string(), "JQSERVICE/localhost");
    assert_eq!((instance.port, instance.secure_port), (Port { number: 8080, enabled: true }, Port::DEFAULT_SECURE));
    assert_eq!((instance.last_dirty, instance.last_updated), (UnixMillis(7000), UnixMillis(7000)));
}

#[test]
fn rest_149_go_sends_numbers_as_text_and_a_class_of_its_own() {
    let body = r#"{"instance":{"instanceId":"","hostName":"h.test","app":"GO","ipAddr":"192.0.2.9","vipAddress":"go",
        "status":"UP","overriddenstatus":"","port":{"$":"9090","@enabled":"true"},"securePort":{"$":"0","@enabled":"false"},
        "countryId":0,"dataCenterInfo":{"@class":"com.netflix.appinfo.MyDataCenterInfo","name":"MyOwn","metadata":{}},
        "leaseInfo":{"renewalIntervalInSecs":0},"metadata":null}}"#;
    let instance = registered("GO", body);
    assert_eq!(instance.key.to_string(), "GO/h.test");
    assert_eq!((instance.port, instance.country_id), (Port { number: 9090, enabled: true }, 0));
    assert_eq!((instance.data_center, instance.overridden_status), (DataCenterInfo::MyOwn, InstanceStatus::Unknown));
}

#[test]
fn rest_150_python_sends_text_for_booleans_and_times() {
    let body = r#"{"instance":{"instanceId":"192.0.2.9:py:9090","hostName":"192.0.2.9","app":"PY","ipAddr":"192.0.2.9",
        "port":{"$":9090,"@enabled":"true"},"securePort":{"$":9443,"@enabled":"false"},"countryId":1,
        "dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},
        "leaseInfo":{"renewalIntervalInSecs":30,"durationInSecs":90,"registrationTimestamp":0,"lastRenewalTimestamp":0,
        "evictionTimestamp":0,"serviceUpTimestamp":0},"metadata":{"management.port":"9090"},"homePageUrl":"http://192.0.2.9:9090/",
        "statusPageUrl":"http://192.0.2.9:9090/info","healthCheckUrl":"http://192.0.2.9:9090/health","secureHealthCheckUrl":"",
        "vipAddress":"py","secureVipAddress":"py","isCoordinatingDiscoveryServer":"false","status":"UP",
        "overriddenstatus":"UNKNOWN","lastUpdatedTimestamp":"1760000000001","lastDirtyTimestamp":"1760000000002"}}"#;
    let instance = registered("PY", body);
    assert_eq!(instance.key.to_string(), "PY/192.0.2.9:py:9090");
    assert_eq!((instance.last_updated.0, instance.last_dirty.0), (1_760_000_000_001, 1_760_000_000_002));
    assert_eq!(instance.secure_health_check_url.as_deref(), Some(""));
}
