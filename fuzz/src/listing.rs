//! A list with an instance in it, as strict readers see it: nothing that a client can register makes it unreadable, or hides its neighbour.

use quick_xml::{Reader, escape::resolve_predefined_entity, events::Event};
use registry_model::{
    AppName, DataCenterDraft, DataCenterName, LeaseTimes, Record, RegistrationDraft, StatusCounts, UnixMillis,
};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};
use wire_codec::{Document, Extent, Form, MediaType, Nesting, Place, Run, encode_head, encode_page, encode_tail};

/// Checks the list of a record and a plain one, in every form.
pub(super) fn check(record: &Record) {
    let neighbour = neighbour();
    let records = [record, &neighbour];
    let hash: StatusCounts = records.iter().map(|record| record.instance.status).collect();
    let document = Document::Registry { version: 1, hash };
    for form in Form::ALL {
        let runs =
            records.map(|record| Run { app: &record.instance.key.app, records: [record], extent: Extent::Whole });
        let parts = [
            encode_head(form, &document),
            encode_page(form, Nesting::Registry, Place::First, runs),
            encode_tail(form, &document),
        ];
        let list = String::from_utf8(parts.concat()).expect("a list is UTF-8");
        match form.media_type() {
            MediaType::Json => check_json(&list, record),
            MediaType::Xml => check_xml(&list),
        }
    }
}

fn neighbour() -> Record {
    let draft = RegistrationDraft {
        app: "NEIGHBOUR".into(),
        host_name: Some("neighbour.test".into()),
        ip_addr: Some("192.0.2.1".into()),
        data_center: Some(DataCenterDraft { name: Some(DataCenterName::MyOwn), ..DataCenterDraft::default() }),
        ..RegistrationDraft::default()
    };
    let app = AppName::parse(&draft.app).expect("a name");
    let instance = draft.validate(&app, UnixMillis(1)).expect("an instance");
    Record { instance: Arc::new(instance), lease: LeaseTimes::default() }
}

fn check_json(list: &str, record: &Record) {
    let list: Value = serde_json::from_str(list).expect("a list is JSON");
    let applications = list["applications"]["application"].as_array().expect("an array of applications");
    let ids: Vec<_> = applications.iter().map(|application| &application["instance"][0]["instanceId"]).collect();
    assert_eq!(ids, [record.instance.key.id.as_str(), "neighbour.test"]);
}

/// Reads as a strict reader would: characters, references, attributes and how elements nest.
fn check_xml(list: &str) {
    let is_character = |character: char| matches!(character, '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
    assert!(list.chars().all(is_character), "a character that XML forbids");
    let mut reader = Reader::from_str(list);
    let (mut depth, mut seen) = (0, BTreeMap::new());
    loop {
        match reader.read_event().expect("a list is XML") {
            Event::Start(tag) => {
                depth += 1;
                *seen.entry((depth, tag.name().0.to_vec())).or_insert(0) += 1;
                assert!(tag.attributes().all(|attribute| attribute.is_ok()), "a broken attribute");
            }
            Event::Empty(tag) => assert!(tag.attributes().all(|attribute| attribute.is_ok()), "a broken attribute"),
            Event::End(_) => depth -= 1,
            Event::Text(_) => {}
            Event::GeneralRef(reference) => match reference.resolve_char_ref().expect("a number") {
                Some(character) => assert!(is_character(character), "a reference to a character that XML forbids"),
                None => {
                    let name = reference.decode().expect("UTF-8");
                    assert!(resolve_predefined_entity(&name).is_some(), "an entity that nobody declared");
                }
            },
            Event::Eof => break,
            other => panic!("{other:?} in a list"),
        }
    }
    let count = |depth: usize, name: &str| seen.get(&(depth, name.as_bytes().to_vec())).copied();
    assert_eq!(depth, 0, "every element ends");
    assert_eq!((count(1, "applications"), count(2, "application"), count(3, "instance")), (Some(1), Some(2), Some(2)));
    assert_eq!(count(4, "instanceId"), Some(2), "each instance has one id");
}
