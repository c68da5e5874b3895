//! Documents byte by byte, what parsers make of them, and that cuts between pages leave no trace.

use super::*;
use crate::{
    MediaType, decode_registration,
    samples::{app, poor, record, rich},
    writer::{AMAZON_CLASS, EMPTY_MAP_CLASS, MARKER_CLASS},
};
use proptest::prelude::*;
use registry_model::{
    DataCenterDraft, DataCenterInfo, DataCenterName, InstanceInfo, InstanceStatus, Metadata, RegistrationDraft,
};
use serde_json::{Map, Value, json};

mod compact;
mod xml_tree;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("documents are UTF-8")
}

fn whole<'a>(app: &'a AppName, records: &'a [Record]) -> Run<'a, &'a [Record]> {
    Run { app, records, extent: Extent::Whole }
}

fn document(form: Form, document: &Document, pages: &[Vec<u8>]) -> String {
    text([encode_head(form, document), pages.concat(), encode_tail(form, document)].concat())
}

fn registry(version: i64, statuses: &[InstanceStatus]) -> Document {
    Document::Registry { version, hash: statuses.iter().copied().collect() }
}

#[test]
fn a_rich_instance_is_written_to_the_byte() {
    assert_eq!(text(encode_instance(Form::Json, &rich())), include_str!("../../tests/data/rich_instance.json"));
    assert_eq!(text(encode_instance(Form::Xml, &rich())), include_str!("../../tests/data/rich_instance.xml"));
}

#[test]
fn rest_28_a_poor_instance_shows_the_defaults_and_leaves_the_rest_out() {
    let expected = concat!(
        r#"{"instance":{"instanceId":"n1","hostName":"n1.test","app":"BILLING","ipAddr":"192.0.2.10","status":"UP","#,
        r#""overriddenStatus":"UNKNOWN","port":{"$":7001,"@enabled":"true"},"securePort":{"$":7002,"@enabled":"false"},"#,
        r#""countryId":1,"dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},"#,
        r#""leaseInfo":{"renewalIntervalInSecs":30,"durationInSecs":90,"registrationTimestamp":0,"lastRenewalTimestamp":0,"#,
        r#""evictionTimestamp":0,"serviceUpTimestamp":0},"metadata":{"@class":"java.util.Collections$EmptyMap"},"#,
        r#""isCoordinatingDiscoveryServer":"false","lastUpdatedTimestamp":"1760000000001","#,
        r#""lastDirtyTimestamp":"1759999999990","actionType":"ADDED"}}"#,
    );
    assert_eq!(text(encode_instance(Form::Json, &poor("billing", "n1"))), expected);
}

#[test]
fn rest_118_s10_empty_metadata_is_a_marker() {
    let marker = "\n  <metadata class=\"java.util.Collections$EmptyMap\"/>\n";
    assert!(text(encode_instance(Form::Xml, &poor("A", "1"))).contains(marker));
    let only_an_empty_key = Metadata::from_iter([("", "v")]);
    let mut record = poor("A", "1");
    let instance = InstanceInfo { metadata: only_an_empty_key, ..InstanceInfo::clone(&record.instance) };
    record.instance = instance.into();
    assert!(text(encode_instance(Form::Xml, &record)).contains(marker));
}

#[test]
fn rest_122_s12_xml_has_its_attributes_and_its_own_spelling() {
    let xml = text(encode_instance(Form::Xml, &poor("A", "1")));
    for part in [
        "<overriddenstatus>UNKNOWN</overriddenstatus>",
        "<port enabled=\"true\">7001</port>",
        "<securePort enabled=\"false\">7002</securePort>",
        "<dataCenterInfo class=\"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo\">",
    ] {
        assert!(xml.contains(part), "{part} in {xml}");
    }
    assert!(!xml.contains("overriddenStatus"), "{xml}");
}

#[test]
fn rest_93_an_empty_registry_is_a_whole_document() {
    let empty = registry(1, &[]);
    assert_eq!(
        document(Form::Json, &empty, &[]),
        r#"{"applications":{"versions__delta":"1","apps__hashcode":"","application":[]}}"#
    );
    assert_eq!(
        document(Form::Xml, &empty, &[]),
        "<applications>\n  <versions__delta>1</versions__delta>\n  <apps__hashcode></apps__hashcode>\n</applications>"
    );
}

#[test]
fn rest_94_one_instance_stands_in_arrays_of_one() {
    let (a, record) = (app("A\"<"), poor("A\"<", "1"));
    let registry = registry(-1, &[InstanceStatus::Up]);
    let records = std::slice::from_ref(&record);
    let page = |form, nesting| encode_page(form, nesting, Place::First, [whole(&a, records)]);
    let instance = text(encode_instance(Form::Json, &record));
    let instance = instance.strip_prefix(r#"{"instance":"#).and_then(|rest| rest.strip_suffix('}')).expect("wrapped");
    assert_eq!(
        document(Form::Json, &registry, &[page(Form::Json, Nesting::Registry)]),
        format!(
            r#"{{"applications":{{"versions__delta":"-1","apps__hashcode":"UP_1_","application":[{{"name":"A\"<","instance":[{instance}]}}]}}}}"#
        )
    );
    let application = Document::Application { name: a.clone() };
    assert_eq!(
        document(Form::Json, &application, &[page(Form::Json, Nesting::Application)]),
        format!(r#"{{"application":{{"name":"A\"<","instance":[{instance}]}}}}"#)
    );
    let instance = text(encode_instance(Form::Xml, &record));
    let indented = |by: &str| instance.lines().map(|line| format!("\n{by}{line}")).collect::<String>();
    assert_eq!(
        document(Form::Xml, &registry, &[page(Form::Xml, Nesting::Registry)]),
        format!(
            "<applications>\n  <versions__delta>-1</versions__delta>\n  <apps__hashcode>UP_1_</apps__hashcode>\n  \
             <application>\n    <name>A&quot;&lt;</name>{}\n  </application>\n</applications>",
            indented("    ")
        )
    );
    assert_eq!(
        document(Form::Xml, &application, &[page(Form::Xml, Nesting::Application)]),
        format!("<application>\n  <name>A&quot;&lt;</name>{}\n</application>", indented("  "))
    );
}

#[test]
fn s11_an_application_without_instances_is_left_out() {
    let (a, b, record) = (app("A"), app("B"), poor("B", "1"));
    for form in Form::ALL {
        let runs = [whole(&a, &[]), whole(&b, std::slice::from_ref(&record)), whole(&a, &[])];
        let with = encode_page(form, Nesting::Registry, Place::First, runs);
        let without = encode_page(form, Nesting::Registry, Place::First, [whole(&b, std::slice::from_ref(&record))]);
        assert_eq!(text(with), text(without));
    }
}

fn object(pairs: &Metadata) -> Value {
    Value::Object(pairs.iter().map(|(key, value)| (key.to_owned(), value.into())).collect::<Map<_, _>>())
}

/// What a record's JSON has to say.
fn expected_json(record: &Record) -> Value {
    let info = &*record.instance;
    let port = |port: registry_model::Port| json!({"$": port.number, "@enabled": port.enabled.to_string()});
    let center = match &info.data_center {
        DataCenterInfo::Amazon(facts) => json!({"@class": AMAZON_CLASS, "name": "Amazon", "metadata": object(facts)}),
        other => json!({"@class": MARKER_CLASS, "name": other.name().as_str()}),
    };
    let metadata = if info.metadata.is_empty() { json!({"@class": EMPTY_MAP_CLASS}) } else { object(&info.metadata) };
    let mut value = json!({
        "instanceId": info.key.id.as_str(), "hostName": info.host_name, "app": info.key.app.as_str(),
        "ipAddr": info.ip_addr, "status": info.status.as_str(), "overriddenStatus": info.overridden_status.as_str(),
        "port": port(info.port), "securePort": port(info.secure_port), "countryId": info.country_id,
        "dataCenterInfo": center,
        "leaseInfo": {
            "renewalIntervalInSecs": info.lease_terms.renewal_interval_secs,
            "durationInSecs": info.lease_terms.duration_secs,
            "registrationTimestamp": record.lease.registered.0, "lastRenewalTimestamp": record.lease.renewed.0,
            "evictionTimestamp": record.lease.evicted.0, "serviceUpTimestamp": record.lease.service_up.0,
        },
        "metadata": metadata, "isCoordinatingDiscoveryServer": info.coordinating.to_string(),
        "lastUpdatedTimestamp": info.last_updated.0.to_string(), "lastDirtyTimestamp": info.last_dirty.0.to_string(),
        "actionType": info.action.as_str(),
    });
    for (key, text) in optional_texts(info) {
        if let Some(text) = text {
            value[key] = (&**text).into();
        }
    }
    json!({ "instance": value })
}

fn optional_texts(info: &InstanceInfo) -> [(&'static str, &Option<Box<str>>); 9] {
    [
        ("sid", &info.sid),
        ("appGroupName", &info.app_group_name),
        ("homePageUrl", &info.home_page_url),
        ("statusPageUrl", &info.status_page_url),
        ("healthCheckUrl", &info.health_check_url),
        ("secureHealthCheckUrl", &info.secure_health_check_url),
        ("vipAddress", &info.vip_address),
        ("secureVipAddress", &info.secure_vip_address),
        ("asgName", &info.asg_name),
    ]
}

/// Applications with their records, and where pages end: one answer per record.
fn registries() -> impl Strategy<Value = Vec<Vec<(Record, bool)>>> {
    prop::collection::vec(prop::collection::vec((record(), any::<bool>()), 1..5), 0..4)
}

/// The pages that the cuts make, in both nestings of a run.
fn cut(form: Form, nesting: Nesting, apps: &[(AppName, Vec<Record>, Vec<bool>)]) -> Vec<Vec<u8>> {
    let mut pages: Vec<Vec<Run<'_, &[Record]>>> = vec![Vec::new()];
    for (app, records, cuts) in apps {
        let mut start = 0;
        for end in 1..=records.len() {
            if !cuts[end - 1] && end < records.len() {
                continue;
            }
            let extent = match (start == 0, end == records.len()) {
                (true, true) => Extent::Whole,
                (true, false) => Extent::Start,
                (false, false) => Extent::Middle,
                (false, true) => Extent::End,
            };
            pages.last_mut().expect("one").push(Run { app, records: &records[start..end], extent });
            if cuts[end - 1] {
                pages.push(Vec::new());
            }
            start = end;
        }
    }
    pages.retain(|runs| !runs.is_empty());
    let place = |index| if index == 0 { Place::First } else { Place::Later };
    pages.into_iter().enumerate().map(|(index, runs)| encode_page(form, nesting, place(index), runs)).collect()
}

/// Checks that a draft says what the record says, as far as the document's language can carry texts.
fn check_draft(draft: RegistrationDraft, record: &Record, text: fn(&str) -> String, group: fn(&str) -> String) {
    let info = &*record.instance;
    let carried = |value: &str| Some(Box::from(text(value)));
    let pairs = |pairs: &Metadata| -> Metadata {
        let pairs = pairs.iter().map(|(key, value)| (key.to_owned(), text(value)));
        pairs.filter(|(key, _)| !key.is_empty() || text("\0") == "\0").collect()
    };
    let (name, facts) = match &info.data_center {
        DataCenterInfo::Amazon(facts) => (DataCenterName::Amazon, pairs(facts)),
        other @ (DataCenterInfo::MyOwn | DataCenterInfo::Netflix) => (other.name(), Metadata::default()),
    };
    let texts = optional_texts(info).map(|(name, value)| match name {
        "appGroupName" => value.as_deref().map(|value| group(value).into()),
        _ => value.as_deref().and_then(carried),
    });
    let [
        sid,
        app_group_name,
        home_page_url,
        status_page_url,
        health_check_url,
        secure_health_check_url,
        vip,
        secure_vip,
        asg_name,
    ] = texts;
    let expected = RegistrationDraft {
        instance_id: carried(info.key.id.as_str()),
        host_name: carried(&info.host_name),
        app: text(info.key.app.as_str()).into(),
        ip_addr: carried(&info.ip_addr),
        sid,
        status: Some(info.status),
        overridden_status: Some(info.overridden_status),
        port: Some(info.port),
        secure_port: Some(info.secure_port),
        country_id: Some(info.country_id),
        data_center: Some(DataCenterDraft { name: Some(name), metadata: facts }),
        lease_terms: Some(info.lease_terms),
        metadata: pairs(&info.metadata),
        app_group_name,
        home_page_url,
        status_page_url,
        health_check_url,
        secure_health_check_url,
        vip_address: vip,
        secure_vip_address: secure_vip,
        asg_name,
        last_updated: Some(info.last_updated),
        last_dirty: Some(info.last_dirty),
    };
    assert_eq!(draft, expected);
}

proptest! {
    #[test]
    fn json_says_what_the_record_says(record in record()) {
        let written = encode_instance(Form::Json, &record);
        let value: Value = serde_json::from_slice(&written).expect("valid JSON");
        prop_assert_eq!(value, expected_json(&record));
    }

    #[test]
    fn what_is_written_is_read_back(record in record()) {
        let same = str::to_owned;
        let decode = |form: Form| decode_registration(form.media_type(), &encode_instance(form, &record));
        check_draft(decode(Form::Json).expect("our own document"), &record, same, str::to_uppercase);
        check_draft(decode(Form::Xml).expect("our own document"), &record, xml_tree::legal, xml_tree::legal);
    }

    #[test]
    fn xml_is_well_formed_and_says_what_the_record_says(record in record()) {
        xml_tree::check(&encode_instance(Form::Xml, &record), &record);
    }

    #[test]
    fn cuts_between_pages_leave_no_trace(registry in registries()) {
        let apps: Vec<(AppName, Vec<Record>, Vec<bool>)> = registry.into_iter().enumerate().map(|(n, records)| {
            let (records, cuts) = records.into_iter().unzip();
            (app(&format!("app-{n}")), records, cuts)
        }).collect();
        for (form, nesting) in Form::ALL.into_iter().flat_map(|form| [(form, Nesting::Registry), (form, Nesting::Application)]) {
            let uncut = apps.iter().map(|(app, records, _)| whole(app, records));
            let uncut = encode_page(form, nesting, Place::First, uncut);
            prop_assert_eq!(text(cut(form, nesting, &apps).concat()), text(uncut));
        }
        let all = StatusCounts::default();
        let document = document(Form::Json, &Document::Registry { version: 1, hash: all }, &cut(Form::Json, Nesting::Registry, &apps));
        let value: Value = serde_json::from_str(&document).expect("valid JSON");
        let expected: Vec<Value> = apps.iter().map(|(app, records, _)| json!({
            "name": app.as_str(),
            "instance": records.iter().map(|record| expected_json(record)["instance"].clone()).collect::<Vec<_>>(),
        })).collect();
        prop_assert_eq!(&value["applications"]["application"], &Value::Array(expected));
    }
}
