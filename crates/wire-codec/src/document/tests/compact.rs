//! Compact documents, and the full XML of the first version.

use super::*;

/// A document of one application with one instance, or of the registry with it.
fn both(form: Form, record: &Record) -> [String; 2] {
    let app = &record.key().app;
    let page = |nesting| vec![encode_page(form, nesting, Place::First, [whole(app, std::slice::from_ref(record))])];
    let application = Document::Application { name: app.clone() };
    [
        document(form, &registry(1, &[record.instance.status]), &page(Nesting::Registry)),
        document(form, &application, &page(Nesting::Application)),
    ]
}

const INSTANCE_JSON: &str = concat!(
    r#"{"instanceId":"n1:billing:8080","app":"BILLING","ipAddr":"192.0.2.10","vipAddress":"billing","#,
    r#""secureVipAddress":"billing","dataCenterInfo":{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","#,
    r#""name":"MyOwn"},"hostName":"n1.test","status":"UP","lastUpdatedTimestamp":1760000000001,"actionType":"ADDED","#,
    r#""port":{"$":8080,"@enabled":"true"},"securePort":{"$":8443,"@enabled":"false"}}"#,
);

const INSTANCE_XML: &str = concat!(
    "<instance><instanceId>n1:billing:8080</instanceId><app>BILLING</app><ipAddr>192.0.2.10</ipAddr>",
    "<vipAddress>billing</vipAddress><secureVipAddress>billing</secureVipAddress>",
    r#"<dataCenterInfo class="com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo"><name>MyOwn</name></dataCenterInfo>"#,
    "<hostName>n1.test</hostName><status>UP</status><lastUpdatedTimestamp>1760000000001</lastUpdatedTimestamp>",
    r#"<actionType>ADDED</actionType><port enabled="true">8080</port><securePort enabled="false">8443</securePort></instance>"#,
);

/// The specification's instance.
fn specimen() -> Record {
    let mut record = poor("BILLING", "n1:billing:8080");
    let instance = InstanceInfo {
        port: registry_model::Port { number: 8080, enabled: true },
        secure_port: registry_model::Port { number: 8443, enabled: false },
        metadata: [("zone", "west-1")].into_iter().collect(),
        home_page_url: Some("http://n1.test:8080/".into()),
        vip_address: Some("billing".into()),
        secure_vip_address: Some("billing".into()),
        ..InstanceInfo::clone(&record.instance)
    };
    record.instance = instance.into();
    record
}

#[test]
fn rest_123_compact_json_says_its_numbers_at_its_end() {
    let [registry_document, application] = both(Form::JsonCompact, &specimen());
    let application_json = format!(r#"{{"name":"BILLING","instance":[{INSTANCE_JSON}]}}"#);
    assert_eq!(
        registry_document,
        format!(
            r#"{{"applications":{{"application":[{application_json}],"versions__delta":"1","apps__hashcode":"UP_1_"}}}}"#
        )
    );
    assert_eq!(application, format!(r#"{{"application":{application_json}}}"#));
    assert_eq!(text(encode_instance(Form::JsonCompact, &specimen())), format!(r#"{{"instance":{INSTANCE_JSON}}}"#));
    let empty = document(Form::JsonCompact, &registry(7, &[]), &[]);
    assert_eq!(empty, r#"{"applications":{"application":[],"versions__delta":"7","apps__hashcode":""}}"#);
}

#[test]
fn rest_124_compact_xml_is_one_line() {
    let [registry_document, application] = both(Form::XmlCompact, &specimen());
    let application_xml = format!("<application><name>BILLING</name>{INSTANCE_XML}</application>");
    assert_eq!(
        registry_document,
        format!(
            "<applications>{application_xml}<versions__delta>1</versions__delta><apps__hashcode>UP_1_</apps__hashcode></applications>"
        )
    );
    assert_eq!(application, application_xml);
    assert_eq!(text(encode_instance(Form::XmlCompact, &specimen())), INSTANCE_XML);
    let empty = document(Form::XmlCompact, &registry(7, &[]), &[]);
    assert_eq!(
        empty,
        "<applications><versions__delta>7</versions__delta><apps__hashcode></apps__hashcode></applications>"
    );
}

#[test]
fn rest_127_compact_documents_keep_five_facts_of_an_amazon_machine() {
    let mut record = rich();
    let facts =
        ["ami-id", "availability-zone", "instance-id", "local-ipv4", "public-hostname", "public-ipv4", "vpc-id"];
    let instance = InstanceInfo {
        data_center: DataCenterInfo::Amazon(facts.iter().map(|fact| (*fact, "x")).collect()),
        ..InstanceInfo::clone(&record.instance)
    };
    record.instance = instance.into();
    let kept = &facts[1..6];
    let json: Value = serde_json::from_slice(&encode_instance(Form::JsonCompact, &record)).expect("valid JSON");
    let center = &json["instance"]["dataCenterInfo"];
    let mut keys: Vec<&String> = center["metadata"].as_object().expect("an object").keys().collect();
    keys.sort_unstable();
    assert_eq!(keys, kept);
    assert_eq!((&center["@class"], &center["name"]), (&AMAZON_CLASS.into(), &"Amazon".into()));
    let xml = text(encode_instance(Form::XmlCompact, &record));
    let written = kept.iter().map(|fact| format!("<{fact}>x</{fact}>")).collect::<String>();
    assert!(xml.contains(&format!("<name>Amazon</name><metadata>{written}</metadata></dataCenterInfo>")), "{xml}");
    for left_out in
        ["sid", "overridden", "countryId", "leaseInfo", "appGroupName", "Url", "isCoord", "lastDirty", "user_"]
    {
        assert!(!xml.contains(left_out) && !json.to_string().contains(left_out), "{left_out}");
    }
}

#[test]
fn rest_119_120_121_only_the_xml_of_the_first_version_knows_three_statuses() {
    let in_v1 = |status| match status {
        InstanceStatus::Up | InstanceStatus::Down | InstanceStatus::Starting => status,
        InstanceStatus::OutOfService | InstanceStatus::Unknown => InstanceStatus::Down,
    };
    for status in InstanceStatus::ALL {
        let mut record = specimen();
        let instance = InstanceInfo { status, overridden_status: status, ..InstanceInfo::clone(&record.instance) };
        record.instance = instance.into();
        for form in Form::ALL {
            let shown = if form == Form::XmlV1 { in_v1(status) } else { status };
            let status_in = |text: &str| match form.media_type() {
                MediaType::Json => text.contains(&format!(r#""status":"{shown}""#)),
                MediaType::Xml => text.contains(&format!("<status>{shown}</status>")),
            };
            let [registry, application] = both(form, &record);
            assert!(status_in(&registry) && status_in(&application), "{form:?}: {registry}");
            assert!(registry.contains(&format!("{status}_1_")), "{form:?}: the hash counts real statuses");
            assert!(status_in(&text(encode_instance(form, &record))), "{form:?}");
        }
        let override_in_v1 = format!("<overriddenstatus>{status}</overriddenstatus>");
        assert!(text(encode_instance(Form::XmlV1, &record)).contains(&override_in_v1));
    }
}

proptest! {
    #[test]
    fn every_form_of_every_registry_is_well_formed_and_has_its_instances(records in prop::collection::vec(record(), 0..4)) {
        for form in Form::ALL {
            let apps: Vec<AppName> = records.iter().map(|record| record.key().app.clone()).collect();
            let runs = apps.iter().zip(&records).map(|(app, record)| whole(app, std::slice::from_ref(record)));
            let page = encode_page(form, Nesting::Registry, Place::First, runs);
            let counts = records.iter().map(|record| record.instance.status).collect();
            let written = document(form, &Document::Registry { version: -1, hash: counts }, &[page]);
            match form.media_type() {
                MediaType::Json => {
                    let value: Value = serde_json::from_str(&written).expect("valid JSON");
                    let listed = value["applications"]["application"].as_array().expect("an array").len();
                    prop_assert_eq!(listed, records.len());
                    prop_assert_eq!(&value["applications"]["versions__delta"], "-1");
                }
                MediaType::Xml => prop_assert_eq!(xml_tree::applications(written.as_bytes()), records.len()),
            }
        }
    }
}
