//! Bodies of requests: what a decoder takes can be written again, means the same then, and spoils no list.

use super::listing;
use flate2::{Compression, write::GzEncoder};
use registry_model::{AppName, InstanceInfo, LeaseTimes, Record, RegistrationDraft, UnixMillis};
use serde_json::{Map, Value, json};
use std::{io::Write, sync::Arc};
use wire_codec::{
    BatchAnswer, BatchItem, Form, MAX_BATCH_ITEMS, MediaType, NotInflated, decode_batch, decode_registration,
    encode_instance, gunzip,
};

const NOW: UnixMillis = UnixMillis(1_760_000_000_000);

/// The most that a gzip body may have here when decompressed.
const BUDGET: usize = 4096;

/// A body is no more than so many entries or bytes of a name away from a limit of the decoders; what is closer may cross it when it
/// is written with all its fields, or with other characters for those that XML forbids.
const MOST_ENTRIES: usize = 4_000;
const LONGEST_NAME: usize = 1_000;

/// `POST apps/{app}` in JSON.
pub fn json_instance(body: &[u8]) {
    if let Ok(draft) = decode_registration(MediaType::Json, body) {
        check_depth(body);
        check(draft);
    }
}

/// `POST apps/{app}` in XML.
pub fn xml_instance(body: &[u8]) {
    if let Ok(draft) = decode_registration(MediaType::Xml, body) {
        check(draft);
    }
}

/// `POST peerreplication/batch`.
pub fn batch(body: &[u8]) {
    let Ok(items) = decode_batch(MediaType::Json, body) else { return };
    check_depth(body);
    assert!(items.len() <= MAX_BATCH_ITEMS, "more items than there may be");
    let written = json!({ "replicationList": items.iter().map(written).collect::<Vec<_>>() }).to_string();
    let again = decode_batch(MediaType::Json, written.as_bytes()).expect("a written batch is one");
    assert_eq!(again, items.iter().map(without_instance).collect::<Vec<_>>(), "a written batch means the same");

    let (count, mut answer) = (items.len(), BatchAnswer::default());
    for item in items {
        let stored = item.instance.and_then(|draft| check(*draft));
        answer.push(if stored.is_some() { 409 } else { 200 }, stored.as_ref());
    }
    let answer: Value = serde_json::from_slice(&answer.finish()).expect("an answer is JSON");
    assert_eq!(answer["responseList"].as_array().map(Vec::len), Some(count), "each item has its result");
}

/// A compressed body: as it is, and as the plain bytes of one that is whole, cut or doubled.
pub fn gzip_body(body: &[u8]) {
    check_gzip(body);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).expect("memory");
    let whole = encoder.finish().expect("memory");
    let plain = gunzip(&whole, body.len()).expect("what was compressed can be decompressed");
    assert_eq!(plain, body, "what was compressed is the same afterwards");
    if let Some(less) = body.len().checked_sub(1) {
        assert_eq!(gunzip(&whole, less), Err(NotInflated::TooLarge), "one byte more than the budget");
    }
    let cut = body.len() % whole.len();
    assert_eq!(gunzip(&whole[..cut], body.len()), Err(NotInflated::Corrupt), "a part of a member");
    check_gzip(&[whole.as_slice(), &whole, body].concat());
}

fn check_gzip(compressed: &[u8]) {
    match gunzip(compressed, BUDGET) {
        Ok(plain) => {
            assert!(plain.len() <= BUDGET, "more than the budget");
            assert_eq!(gunzip(compressed, plain.len()).as_deref(), Ok(&*plain), "as much as the budget");
            json_instance(&plain);
            xml_instance(&plain);
        }
        Err(NotInflated::TooLarge) => {
            assert_eq!(gunzip(compressed, BUDGET / 2), Err(NotInflated::TooLarge), "less room holds no more");
        }
        Err(NotInflated::Corrupt) => {}
    }
}

/// What is taken nests no deeper than any reader of JSON follows, in what is skipped as well.
fn check_depth(body: &[u8]) {
    if let Err(error) = serde_json::from_slice::<Value>(body) {
        assert!(!error.to_string().contains("recursion"), "nested too deep, and taken");
    }
}

/// The instance of a registration that is accepted, if it is.
fn accepted(draft: RegistrationDraft) -> Option<InstanceInfo> {
    let app = AppName::parse(&draft.app).ok()?;
    draft.validate(&app, NOW).ok()
}

/// Checks what an accepted registration leaves behind.
fn check(draft: RegistrationDraft) -> Option<Record> {
    let record = record(accepted(draft)?);
    listing::check(&record);
    if record.instance.metadata.iter().len() > MOST_ENTRIES {
        return Some(record);
    }
    // JSON can say everything; Eureka's reader of it writes the group in upper case, its reader of XML does not.
    let json = encode_instance(Form::Json, &record);
    assert_eq!(
        read(MediaType::Json, &json),
        with_upper_case_group(&record),
        "JSON means the same when it is read again"
    );
    // XML lacks characters and keys without a name; what it has left says the same for ever.
    let key = &record.instance.key;
    if key.app.as_str().len().max(key.id.as_str().len()) <= LONGEST_NAME {
        let xml = encode_instance(Form::Xml, &record);
        let again = encode_instance(Form::Xml, &read(MediaType::Xml, &xml));
        assert_eq!(String::from_utf8(again), String::from_utf8(xml), "XML says the same when it is written again");
    }
    Some(record)
}

fn read(media: MediaType, document: &[u8]) -> Record {
    let draft = decode_registration(media, document).expect("a written instance can be read");
    record(accepted(draft).expect("a written instance is accepted"))
}

fn with_upper_case_group(given: &Record) -> Record {
    let mut instance = InstanceInfo::clone(&given.instance);
    instance.app_group_name = instance.app_group_name.map(|group| group.to_uppercase().into());
    record(instance)
}

fn record(instance: InstanceInfo) -> Record {
    Record { instance: Arc::new(instance), lease: LeaseTimes::default() }
}

fn without_instance(item: &BatchItem) -> BatchItem {
    BatchItem { instance: None, ..item.clone() }
}

fn written(item: &BatchItem) -> Value {
    let text = |text: &Option<Box<str>>| text.as_deref().map(Value::from);
    let fields = [
        ("action", item.action.map(|action| action.as_str().into())),
        ("appName", text(&item.app)),
        ("id", text(&item.id)),
        ("lastDirtyTimestamp", item.last_dirty.map(|stamp| stamp.0.into())),
        ("status", text(&item.status)),
        ("overriddenStatus", text(&item.overridden_status)),
    ];
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Value::Object(given.collect::<Map<_, _>>())
}
