//! Cases of the register document: what is read, what is forgiven, what is refused.

use super::*;
use registry_model::{DataCenterDraft, DataCenterName, InstanceStatus, LeaseTerms, Metadata, Port, UnixMillis};

mod arbitrary;
mod batch;
mod clients;
mod xml;

const MARKER: &str = r#"{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"}"#;

/// The draft of an instance with an application and these fields.
fn draft(fields: &str) -> RegistrationDraft {
    decode(fields).unwrap_or_else(|error| panic!("{fields}: {error:?}"))
}

fn decode(fields: &str) -> Result<RegistrationDraft, DecodeError> {
    decode_registration(MediaType::Json, format!(r#"{{"instance":{{"app":"BILLING",{fields}}}}}"#).as_bytes())
}

fn refusal(fields: &str) -> String {
    decode(fields).map(|draft| format!("accepted: {draft:?}")).unwrap_or_else(|error| error.to_string())
}

fn pairs(pairs: &[(&str, &str)]) -> Metadata {
    pairs.iter().copied().collect()
}

fn center(json: &str) -> DataCenterDraft {
    draft(&format!(r#""dataCenterInfo":{json}"#)).data_center.expect("there is one")
}

fn port(json: &str) -> Port {
    draft(&format!(r#""port":{json}"#)).port.expect("there is one")
}

#[test]
fn rest_11_the_application_has_to_be_there() {
    for body in [r#"{"instance":{"hostName":"h"}}"#, r#"{"instance":{"app":null}}"#, r#"{"instance":{}}"#] {
        assert!(
            matches!(decode_registration(MediaType::Json, body.as_bytes()), Err(DecodeError::MissingApp)),
            "{body}"
        );
    }
}

#[test]
fn rest_12_a_data_centre_may_be_absent() {
    assert_eq!(draft(r#""dataCenterInfo":null"#).data_center, None);
    assert_eq!(draft(r#""hostName":"h""#).data_center, None);
}

#[test]
fn rest_13_the_marker_without_a_name_is_a_data_centre_without_a_name() {
    let center = center(r#"{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo"}"#);
    assert_eq!(center, DataCenterDraft { name: None, metadata: Metadata::default() });
}

#[test]
fn rest_14_unknown_data_centres_are_refused() {
    for name in ["Bogus", "myown", ""] {
        let body = format!(r#""dataCenterInfo":{{"name":"{name}"}}"#);
        assert_eq!(refusal(&body), format!("dataCenterInfo has the unknown name {name:?}"));
    }
    assert_eq!(
        refusal(r#""dataCenterInfo":{"@class":"foo.Bar","name":"MyOwn"}"#),
        "dataCenterInfo has the unknown @class \"foo.Bar\""
    );
    assert_eq!(refusal(r#""dataCenterInfo":"MyOwn""#), "dataCenterInfo is not an object");
}

#[test]
fn rest_17_what_is_no_json_is_refused() {
    for body in [
        "not json",
        r#"{"instance":{"app":"A"}"#,
        r#"{"instance":{"app":"A"}} x"#,
        r#"{"instance":{"app":"A"}}{}"#,
        r#"{"instance":{"app":"A",}}"#,
        r#"{"instance":{"app":"A"/* comment */}}"#,
        r#"{"instance":{"app":"\ud800"}}"#,
        r#"{"instance":{"app":"A","countryId":01}}"#,
    ] {
        assert!(matches!(decode_registration(MediaType::Json, body.as_bytes()), Err(DecodeError::Syntax(_))), "{body}");
    }
}

#[test]
fn rest_19_the_outer_key_is_instance_and_nothing_else() {
    for body in [
        r#"{"app":"A","hostName":"h"}"#,
        r#"{"Instance":{"app":"A"}}"#,
        r#"{"instance":{"app":"A"},"more":1}"#,
        r#"{"instance":{"app":"A"},"instance":{"app":"A"}}"#,
        r#"[{"app":"A"}]"#,
        "1",
    ] {
        assert!(matches!(decode_registration(MediaType::Json, body.as_bytes()), Err(DecodeError::Root)), "{body}");
    }
    assert!(matches!(
        decode_registration(MediaType::Json, br#"{"instance":7}"#),
        Err(DecodeError::NotAnObject { field: "instance" })
    ));
}

#[test]
fn rest_20_an_empty_body_is_refused() {
    assert!(matches!(decode_registration(MediaType::Json, b""), Err(DecodeError::Syntax(_))));
    assert!(matches!(decode_registration(MediaType::Json, b"{}"), Err(DecodeError::Root)));
}

#[test]
fn rest_26_amazon_keeps_what_it_knows() {
    let amazon = |facts| DataCenterDraft { name: Some(DataCenterName::Amazon), metadata: facts };
    let table = [
        (
            r#"{"@class":"com.netflix.appinfo.AmazonInfo","name":"Amazon","metadata":{"ami-id":"a"}}"#,
            pairs(&[("ami-id", "a")]),
        ),
        (
            r#"{"metadata":{"ami-id":"a"},"name":"bogus","@class":"com.netflix.appinfo.AmazonInfo"}"#,
            pairs(&[("ami-id", "a")]),
        ),
        (r#"{"@class":"com.netflix.appinfo.AmazonInfo"}"#, pairs(&[])),
        (r#"{"@class":"com.netflix.appinfo.AmazonInfo","metadata":null}"#, pairs(&[])),
        (r#"{"name":"Amazon","metadata":{"ami-id":"a"}}"#, pairs(&[("ami-id", "a")])),
        (
            r#"{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"Amazon","metadata":{"a":"b"}}"#,
            pairs(&[]),
        ),
    ];
    for (json, facts) in table {
        assert_eq!(center(json), amazon(facts), "{json}");
    }
}

#[test]
fn rest_28_what_is_absent_or_null_stays_open() {
    let fields = [
        "instanceId",
        "hostName",
        "ipAddr",
        "sid",
        "status",
        "overriddenStatus",
        "overriddenstatus",
        "port",
        "securePort",
        "countryId",
        "dataCenterInfo",
        "leaseInfo",
        "metadata",
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
        "isCoordinatingDiscoveryServer",
        "actionType",
    ];
    let nothing = RegistrationDraft { app: "BILLING".into(), ..RegistrationDraft::default() };
    assert_eq!(decode_registration(MediaType::Json, br#"{"instance":{"app":"BILLING"}}"#).expect("valid"), nothing);
    for field in fields {
        assert_eq!(draft(&format!(r#""{field}":null"#)), nothing, "{field}");
    }
}

#[test]
fn rest_29_ports_are_numbers_or_numeric_texts() {
    let table = [
        (r#"{"$":"8081","@enabled":true}"#, 8081, true),
        (r#"{"$":8081.9,"@enabled":"true"}"#, 8081, true),
        (r#"{"$":"8081.9"}"#, 8081, true),
        (r#"{"$":8.081e3,"@enabled":1}"#, 8081, true),
        (r#"{"$":null,"@enabled":0}"#, 0, false),
        (r#"{"$":"abc","@enabled":"TRUE"}"#, 0, false),
        (r#"{"$":"","@enabled":""}"#, 0, false),
        (r#"{"$":" 7 ","@enabled":"false"}"#, 7, false),
        (r#"{"@enabled":false}"#, 7001, false),
        (r#"{"$":-1,"@enabled":null}"#, -1, false),
        (r#"{"$":1,"more":{"a":[]},"$":2}"#, 2, true),
        ("{}", 7001, true),
    ];
    for (json, number, enabled) in table {
        assert_eq!(port(json), Port { number, enabled }, "{json}");
    }
    let secure = |json| draft(&format!(r#""securePort":{json}"#)).secure_port;
    assert_eq!(secure("{}"), Some(Port { number: 7002, enabled: false }));
    assert_eq!(secure(r#"{"$":8443,"@enabled":"true"}"#), Some(Port { number: 8443, enabled: true }));
}

#[test]
fn rest_30_b8_a_bare_number_is_a_port() {
    assert_eq!(port("8080"), Port { number: 8080, enabled: true });
    assert_eq!(port(r#""8080""#), Port { number: 8080, enabled: true });
    for json in [r#""http""#, "true", "[]"] {
        let said = refusal(&format!(r#""port":{json}"#));
        assert!(
            said == "port is neither a port object nor a number" || said == "port is not an object",
            "{json}: {said}"
        );
    }
}

#[test]
fn numbers_beyond_their_type_are_refused() {
    let table = [
        (r#""port":{"$":2147483648}"#, "port"),
        (r#""port":{"$":"99999999999999999999"}"#, "port"),
        (r#""securePort":1e300"#, "securePort"),
        (r#""countryId":4294967296"#, "countryId"),
        (r#""leaseInfo":{"durationInSecs":99999999999}"#, "leaseInfo.durationInSecs"),
        (r#""leaseInfo":{"renewalIntervalInSecs":"99999999999"}"#, "leaseInfo.renewalIntervalInSecs"),
        (r#""lastDirtyTimestamp":17600000000000000000"#, "lastDirtyTimestamp"),
        (r#""lastUpdatedTimestamp":"1e40""#, "lastUpdatedTimestamp"),
    ];
    for (fields, field) in table {
        assert_eq!(refusal(fields), format!("{field} is too large a number"), "{fields}");
    }
}

#[test]
fn rest_31_32_statuses_are_exact_names() {
    let table = [
        (r#""up""#, Some(InstanceStatus::Unknown)),
        (r#""""#, Some(InstanceStatus::Unknown)),
        ("1", Some(InstanceStatus::Unknown)),
        ("null", None),
        (r#""UP""#, Some(InstanceStatus::Up)),
        (r#""OUT_OF_SERVICE""#, Some(InstanceStatus::OutOfService)),
    ];
    for (json, status) in table {
        assert_eq!(draft(&format!(r#""status":{json}"#)).status, status, "{json}");
    }
}

#[test]
fn rest_33_both_spellings_of_the_override_are_read_and_the_last_counts() {
    let table = [
        (r#""overriddenstatus":"OUT_OF_SERVICE""#, InstanceStatus::OutOfService),
        (r#""overriddenStatus":"OUT_OF_SERVICE""#, InstanceStatus::OutOfService),
        (r#""overriddenStatus":"DOWN","overriddenstatus":"UP""#, InstanceStatus::Up),
        (r#""overriddenstatus":"DOWN","overriddenStatus":"UP""#, InstanceStatus::Up),
        (r#""overriddenstatus":"DOWN","overriddenStatus":null"#, InstanceStatus::Down),
        (r#""overriddenstatus":"""#, InstanceStatus::Unknown),
    ];
    for (fields, status) in table {
        assert_eq!(draft(fields).overridden_status, Some(status), "{fields}");
    }
}

#[test]
fn rest_34_times_are_numbers_or_numeric_texts() {
    for (json, millis) in [
        ("12345", 12345),
        (r#""12345""#, 12345),
        ("12345.9", 12345),
        (r#""12345.9""#, 12345),
        ("-0.5", 0),
        (r#""soon""#, 0),
        (r#""infinity""#, 0),
        (r#""""#, 0),
        ("true", 0),
        ("1.76e12", 1_760_000_000_000),
        ("9223372036854775807", i64::MAX),
    ] {
        assert_eq!(draft(&format!(r#""lastDirtyTimestamp":{json}"#)).last_dirty, Some(UnixMillis(millis)), "{json}");
        assert_eq!(
            draft(&format!(r#""lastUpdatedTimestamp":{json}"#)).last_updated,
            Some(UnixMillis(millis)),
            "{json}"
        );
    }
}

#[test]
fn rest_35_36_lease_terms_are_read_and_lease_times_are_not() {
    let table = [
        (r#"{"durationInSecs":"10","renewalIntervalInSecs":0}"#, (30, 10)),
        (r#"{"registrationTimestamp":1,"evictionTimestamp":{},"more":[[]]}"#, (30, 90)),
        (r#"{"durationInSecs":null,"renewalIntervalInSecs":5}"#, (5, 90)),
        (r#"{"durationInSecs":"x","renewalIntervalInSecs":-5}"#, (30, 90)),
    ];
    for (json, (renewal_interval_secs, duration_secs)) in table {
        let terms = draft(&format!(r#""leaseInfo":{json}"#)).lease_terms;
        assert_eq!(terms, Some(LeaseTerms { renewal_interval_secs, duration_secs }), "{json}");
    }
}

#[test]
fn rest_37_b6_s10_metadata_becomes_text() {
    let table = [
        (r#"{"a":1,"b":true,"c":null,"@class":"x"}"#, pairs(&[("a", "1"), ("b", "true")])),
        (
            r#"{"n":5,"d":1.50,"x":null,"o":{"a": "b"},"l":[1,2]}"#,
            pairs(&[("n", "5"), ("d", "1.50"), ("o", r#"{"a": "b"}"#), ("l", "[1,2]")]),
        ),
        (r#"{"@class":"java.util.Collections$EmptyMap"}"#, pairs(&[])),
        (r#"{"@class":{"a":1},"class":"kept","":"empty key"}"#, pairs(&[("class", "kept"), ("", "empty key")])),
        (r#"{"a":"1","a":"2"}"#, pairs(&[("a", "2")])),
        (r#"{"q\"\u00e9\n":"\ud83d\ude00\/"}"#, pairs(&[("q\"\u{e9}\n", "\u{1F600}/")])),
        ("{}", pairs(&[])),
    ];
    for (json, expected) in table {
        assert_eq!(draft(&format!(r#""metadata":{json}"#)).metadata, expected, "{json}");
    }
    assert_eq!(refusal(r#""metadata":[1]"#), "metadata is not an object");
}

#[test]
fn rest_38_39_unknown_keys_of_any_shape_are_skipped() {
    for value in ["1", "null", "\"}{\"", "true", r#"{"app":"OTHER","hostName":["x"]}"#, "[[[{}]]]"] {
        let read = draft(&format!(r#""ipAddr":"a","HostName":{value},"identifyingAttribute":{value},"hostName":"h""#));
        assert_eq!((read.host_name.as_deref(), read.ip_addr.as_deref(), &*read.app), (Some("h"), Some("a"), "BILLING"));
    }
}

#[test]
fn rest_40_sid_is_kept_as_it_came() {
    for sid in ["na", "unknown", "abc", ""] {
        assert_eq!(draft(&format!(r#""sid":"{sid}""#)).sid.as_deref(), Some(sid));
    }
}

#[test]
fn rest_41_an_empty_text_is_a_value() {
    assert_eq!(draft(r#""homePageUrl":"""#).home_page_url.as_deref(), Some(""));
}

#[test]
fn rest_42_the_group_is_upper_case() {
    assert_eq!(draft(r#""appGroupName":"grp""#).app_group_name.as_deref(), Some("GRP"));
}

#[test]
fn texts_may_be_numbers_and_booleans_but_nothing_nested() {
    assert_eq!(draft(r#""instanceId":7"#).instance_id.as_deref(), Some("7"));
    assert_eq!(draft(r#""vipAddress":true"#).vip_address.as_deref(), Some("true"));
    assert_eq!(refusal(r#""hostName":["h"]"#), "hostName is not a single value");
}

#[test]
fn of_a_repeated_key_the_last_counts() {
    let read = draft(r#""hostName":"a","port":{"$":1},"hostName":"b","port":{"@enabled":"false"}"#);
    assert_eq!(read.host_name.as_deref(), Some("b"));
    assert_eq!(read.port, Some(Port { number: 7001, enabled: false }));
}

#[test]
fn b5_null_facts_about_a_machine_are_dropped() {
    let json = r#"{"@class":"com.netflix.appinfo.AmazonInfo","name":"Amazon","metadata":{"instance-id":"i-1","public-ipv4":null}}"#;
    assert_eq!(center(json).metadata, pairs(&[("instance-id", "i-1")]));
}

#[test]
fn b8_a_data_centre_without_a_class_is_what_its_name_says() {
    for (json, name) in [
        (r#"{"name":"MyOwn","metadata":{"a":"b"}}"#, Some(DataCenterName::MyOwn)),
        (r#"{"name":"Netflix","@class":"com.netflix.appinfo.MyDataCenterInfo"}"#, Some(DataCenterName::Netflix)),
        (MARKER, Some(DataCenterName::MyOwn)),
        ("{}", None),
    ] {
        assert_eq!(center(json), DataCenterDraft { name, metadata: Metadata::default() }, "{json}");
    }
}

#[test]
fn b10_the_port_number_may_be_text() {
    assert_eq!(port(r#"{"$":"7101","@enabled":"true"}"#), port(r#"{"$":7101,"@enabled":"true"}"#));
}

#[test]
fn b20_a_missing_wrapper_is_named() {
    let error = decode_registration(MediaType::Json, br#"{"app":"A"}"#).expect_err("no wrapper");
    assert!(error.to_string().contains("lacks the outer key \"instance\""), "{error}");
    assert_eq!((error.class(), error.reason()), (ErrorClass::Invalid, "UNDECODABLE_REGISTRATION"));
}

#[test]
fn b22_an_empty_id_is_read_and_left_to_the_fallback() {
    assert_eq!(draft(r#""instanceId":"","hostName":"h""#).instance_id.as_deref(), Some(""));
}

#[test]
fn an_absent_id_comes_from_the_metadata_as_in_the_first_spring_cloud() {
    let table = [
        (r#""hostName":"h","metadata":{"instanceId":"8080"}"#, Some("h:8080")),
        (r#""metadata":{"instanceId":"h:8080"},"hostName":"h""#, Some("h:8080")),
        (r#""hostName":"h","metadata":{"instanceId":"  "}"#, None),
        (r#""hostName":"h","instanceId":"own","metadata":{"instanceId":"8080"}"#, Some("own")),
        (r#""hostName":"h","instanceId":"","metadata":{"instanceId":"8080"}"#, Some("h:8080")),
        (r#""metadata":{"instanceId":"8080"}"#, Some("8080")),
    ];
    for (fields, id) in table {
        assert_eq!(draft(fields).instance_id.as_deref(), id, "{fields}");
    }
}

#[test]
fn bytes_that_are_no_utf_8_are_refused_and_a_byte_order_mark_is_not() {
    assert!(matches!(
        decode_registration(MediaType::Json, b"{\"instance\":{\"app\":\"\xff\"}}"),
        Err(DecodeError::NotUnicode)
    ));
    assert!(decode_registration(MediaType::Json, "\u{FEFF} {\"instance\":{\"app\":\"A\"}} \n".as_bytes()).is_ok());
}

#[test]
fn deep_nesting_is_refused_before_anything_follows_it() {
    let deep = |open: &str, close: &str| [open.repeat(100_000), close.repeat(100_000)].concat();
    for value in [deep("[", "]"), deep(r#"{"a":"#, "}"), "[".repeat(100_000), deep("{", "}")] {
        for field in ["unknown", "metadata", "port", "app"] {
            let error = decode(&format!(r#""{field}":{value}"#)).expect_err("too deep");
            assert!(matches!(error, DecodeError::TooDeep), "{field}: {error}");
        }
        let error = decode(&format!(r#""metadata":{{"k":{value}}}"#)).expect_err("too deep");
        assert!(matches!(error, DecodeError::TooDeep), "{error}");
    }
    let brackets = "[{".repeat(1000);
    assert_eq!(draft(&format!(r#""sid":"\"{brackets}\\""#)).sid.as_deref(), Some(format!("\"{brackets}\\").as_str()));
}

#[test]
fn a_crowd_of_entries_is_refused_wherever_it_stands() {
    let many = |count: usize| (0..count).map(|n| format!(r#""k{n}":"v:{{""#)).collect::<Vec<_>>().join(",");
    assert_eq!(draft(&format!(r#""metadata":{{{}}}"#, many(9_000))).metadata.iter().count(), 9_000);
    let small = "{\"a\":1},".repeat(6_000);
    for crowd in [format!(r#""metadata":{{{}}}"#, many(10_000)), many(10_000), format!(r#""x":[{small}{small}0]"#)] {
        assert!(matches!(decode(&crowd), Err(DecodeError::TooManyEntries)));
    }
}

#[test]
fn rest_16_json_may_come_in_any_unicode_encoding() {
    let text = "{\"instance\":{\"app\":\"\\u00dc\",\"hostName\":\"h\u{1F600}\"}}";
    let body: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let read = decode_registration(MediaType::Json, &body).expect("readable");
    assert_eq!((&*read.app, read.host_name.as_deref()), ("\u{dc}", Some("h\u{1F600}")));
}
