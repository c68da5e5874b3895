//! Batches of other servers.

use super::super::{self as decode, BatchAction, BatchItem, DecodeError, MAX_BATCH_ITEMS};
use crate::MediaType;
use registry_model::UnixMillis;

fn decode_batch(body: &[u8]) -> Result<Vec<BatchItem>, DecodeError> {
    decode::decode_batch(MediaType::Json, body)
}

fn items(list: &str) -> Result<Vec<BatchItem>, DecodeError> {
    decode_batch(format!(r#"{{"replicationList":[{list}]}}"#).as_bytes())
}

fn one(fields: &str) -> Result<BatchItem, DecodeError> {
    items(&format!("{{{fields}}}")).map(|mut items| items.pop().unwrap())
}

#[test]
fn rest_128_a_batch_as_java_sends_it_is_read() {
    let batch = r#"{"replicationList":[
        {"appName":"BILLING","id":"n1","lastDirtyTimestamp":1000,"status":"UP",
         "instanceInfo":{"instanceId":"n1","hostName":"n1.test","app":"BILLING","ipAddr":"192.0.2.10","status":"UP"},"action":"Register"},
        {"appName":"billing","id":"n1","lastDirtyTimestamp":"999","overriddenStatus":"OUT_OF_SERVICE","status":"UP","action":"Heartbeat"},
        {"appName":"BILLING","id":"n2","action":"Cancel"},
        {"action":"StatusUpdate"},{"action":"DeleteStatusOverride"}]}"#;
    let items = decode_batch(batch.as_bytes()).unwrap();
    let actions: Vec<_> = items.iter().map(|item| item.action.unwrap()).collect();
    assert_eq!(actions[..2], [BatchAction::Register, BatchAction::Heartbeat]);
    assert_eq!(actions[2..], [BatchAction::Cancel, BatchAction::StatusUpdate, BatchAction::DeleteStatusOverride]);
    assert_eq!(items[0].instance.as_ref().unwrap().host_name.as_deref(), Some("n1.test"));
    let heartbeat = BatchItem {
        action: Some(BatchAction::Heartbeat),
        app: Some("billing".into()),
        id: Some("n1".into()),
        last_dirty: Some(UnixMillis(999)),
        status: Some("UP".into()),
        overridden_status: Some("OUT_OF_SERVICE".into()),
        instance: None,
    };
    assert_eq!(items[1], heartbeat);
}

#[test]
fn keys_that_nobody_knows_are_skipped_and_null_is_absent() {
    let item = one(r#""x":{"y":[1,{}]},"action":null,"appName":null,"id":"a","id":"b","status":5,"instanceInfo":null"#);
    assert_eq!(item.unwrap(), BatchItem { id: Some("b".into()), status: Some("5".into()), ..BatchItem::default() });
    let batch = r#" {"more":{"replicationList":5},"replicationList":[ { } ],"z":null} "#;
    assert_eq!(decode_batch(batch.as_bytes()).unwrap(), [BatchItem::default()]);
}

#[test]
fn rest_137_what_cannot_be_meant_is_refused() {
    for fields in [
        r#""action":"heartbeat""#,
        r#""action":"Bogus""#,
        r#""action":1"#,
        r#""action":{}"#,
        r#""lastDirtyTimestamp":"abc""#,
        r#""lastDirtyTimestamp":true"#,
        r#""lastDirtyTimestamp":99999999999999999999"#,
        r#""id":[]"#,
        r#""instanceInfo":"text""#,
        r#""instanceInfo":{"instance":{"app":"BILLING"}}"#,
    ] {
        assert!(one(fields).is_err(), "{fields}");
    }
    for body in ["", "{}", "[]", "not json", r#"{"replicationList":{}}"#, r#"{"replicationList":null}"#] {
        assert!(decode_batch(body.as_bytes()).is_err(), "{body}");
    }
    for list in ["null", "1", "[]", "{},", r#"{"id":"a""#] {
        assert!(items(list).is_err(), "{list}");
    }
    assert!(decode_batch(br#"{"replicationList":[]} x"#).is_err());
    assert!(matches!(decode::decode_batch(MediaType::Xml, b"<x/>"), Err(DecodeError::BatchInXml)));
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(items(&deep).is_err());
    assert!(matches!(one(&format!(r#""instanceInfo":{{"app":"A","x":{deep}}}"#)), Err(DecodeError::TooDeep)));
}

#[test]
fn a_batch_that_nests_too_deep_is_refused_in_what_nobody_reads_as_well() {
    for deep in ["[".repeat(150) + &"]".repeat(150), "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000)] {
        assert!(matches!(one(&format!(r#""x":{deep}"#)), Err(DecodeError::TooDeep)));
        let beside = format!(r#"{{"x":{deep},"replicationList":[]}}"#);
        assert!(matches!(decode_batch(beside.as_bytes()), Err(DecodeError::TooDeep)));
    }
    assert!(one(r#""x":[[[[{"a":[{}]}]]]]"#).is_ok());
}

#[test]
fn rest_138_a_batch_may_be_empty_but_not_endless() {
    assert_eq!(items("").unwrap(), []);
    let list = |count: usize| vec!["{}"; count].join(",");
    assert_eq!(items(&list(MAX_BATCH_ITEMS)).unwrap().len(), MAX_BATCH_ITEMS);
    assert!(matches!(items(&list(MAX_BATCH_ITEMS + 1)), Err(DecodeError::TooManyItems)));
}
