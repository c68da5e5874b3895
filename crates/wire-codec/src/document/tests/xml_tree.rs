//! XML documents as a foreign parser reads them.

use super::optional_texts;
use crate::xml_names::key_of;
use quick_xml::{Reader, escape::resolve_predefined_entity, events::Event};
use registry_model::{DataCenterInfo, Metadata, Record};

#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
    children: Vec<Element>,
}

impl Element {
    fn parse(document: &[u8]) -> Self {
        let document = std::str::from_utf8(document).expect("UTF-8");
        let mut reader = Reader::from_str(document);
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().expect("well-formed") {
                Event::Start(start) => open.push(Self::begin(&start)),
                Event::Empty(start) => {
                    let element = Self::begin(&start);
                    open.last_mut().expect("inside of something").children.push(element);
                }
                Event::End(_) => {
                    let element = open.pop().expect("opened before");
                    open.last_mut().expect("inside of something").children.push(element);
                }
                Event::Text(text) => {
                    open.last_mut().expect("inside of something").text += &text.decode().expect("UTF-8");
                }
                Event::GeneralRef(reference) => {
                    let text = &mut open.last_mut().expect("inside of something").text;
                    match reference.resolve_char_ref().expect("a legal character") {
                        Some(character) => text.push(character),
                        None => {
                            let name = reference.decode().expect("UTF-8");
                            *text += resolve_predefined_entity(&name).expect("one of the five entities");
                        }
                    }
                }
                Event::Eof => break,
                other => panic!("unexpected {other:?}"),
            }
        }
        let mut document = open.pop().expect("the document itself");
        assert!(open.is_empty() && document.children.len() == 1, "one root: {document:?}");
        document.children.remove(0)
    }

    fn begin(start: &quick_xml::events::BytesStart<'_>) -> Self {
        let utf8 = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        let attributes = start.attributes().map(|attribute| {
            let attribute = attribute.expect("well-formed");
            (utf8(attribute.key.as_ref()), utf8(&attribute.value))
        });
        Self { name: utf8(start.name().as_ref()), attributes: attributes.collect(), ..Self::default() }
    }

    fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.as_str())
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Metadata read back: element names decoded, entries in order.
    fn pairs(&self) -> Vec<(String, String)> {
        self.children.iter().map(|child| (key_of(&child.name), child.text.clone())).collect()
    }
}

/// A text as XML can carry it.
pub(super) fn legal(text: &str) -> String {
    let forbidden = |character| matches!(character, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    text.chars().map(|character| if forbidden(character) { '\u{fffd}' } else { character }).collect()
}

fn legal_pairs(pairs: &Metadata) -> Vec<(String, String)> {
    pairs.iter().filter(|(key, _)| !key.is_empty()).map(|(key, value)| (key.to_owned(), legal(value))).collect()
}

/// How many applications a registry lists.
pub(super) fn applications(document: &[u8]) -> usize {
    let root = Element::parse(document);
    assert_eq!((root.name.as_str(), root.text_of("versions__delta")), ("applications", Some("-1")));
    root.children.iter().filter(|child| child.name == "application" && child.child("instance").is_some()).count()
}

/// Checks that the document parses and has every value of the record.
pub(super) fn check(document: &[u8], record: &Record) {
    let root = Element::parse(document);
    let info = &*record.instance;
    let has = |name: &str, text: &str| assert_eq!(root.text_of(name), Some(legal(text).as_str()), "{name}");
    assert_eq!(root.name, "instance");
    has("instanceId", info.key.id.as_str());
    has("hostName", &info.host_name);
    has("app", info.key.app.as_str());
    has("ipAddr", &info.ip_addr);
    has("status", info.status.as_str());
    has("overriddenstatus", info.overridden_status.as_str());
    has("countryId", &info.country_id.to_string());
    has("lastUpdatedTimestamp", &info.last_updated.to_string());
    has("lastDirtyTimestamp", &info.last_dirty.to_string());
    has("actionType", info.action.as_str());
    has("isCoordinatingDiscoveryServer", &info.coordinating.to_string());
    for (name, port) in [("port", info.port), ("securePort", info.secure_port)] {
        has(name, &port.number.to_string());
        let enabled = root.child(name).and_then(|element| element.attribute("enabled"));
        assert_eq!(enabled, Some(port.enabled.to_string().as_str()), "{name}");
    }
    for (name, text) in optional_texts(info) {
        assert_eq!(root.text_of(name), text.as_deref().map(legal).as_deref(), "{name}");
    }
    let lease = root.child("leaseInfo").expect("always there");
    let numbers: Vec<i64> = lease.children.iter().map(|child| child.text.parse().expect("a number")).collect();
    let (terms, times) = (info.lease_terms, record.lease);
    let expected = [
        terms.renewal_interval_secs.into(),
        terms.duration_secs.into(),
        times.registered.0,
        times.renewed.0,
        times.evicted.0,
        times.service_up.0,
    ];
    assert_eq!(numbers, expected);
    let center = root.child("dataCenterInfo").expect("always there");
    assert_eq!(center.text_of("name"), Some(info.data_center.name().as_str()));
    let facts = center.child("metadata").map(Element::pairs);
    match &info.data_center {
        DataCenterInfo::Amazon(expected) => {
            assert_eq!(center.attribute("class"), Some(super::AMAZON_CLASS));
            assert_eq!(facts, Some(legal_pairs(expected)));
        }
        DataCenterInfo::MyOwn | DataCenterInfo::Netflix => {
            assert_eq!(center.attribute("class"), Some(super::MARKER_CLASS));
            assert_eq!(facts, None);
        }
    }
    let metadata = root.child("metadata").expect("always there");
    assert_eq!(metadata.pairs(), legal_pairs(&info.metadata));
    let marker = metadata.children.is_empty().then_some(super::EMPTY_MAP_CLASS);
    assert_eq!(metadata.attribute("class"), marker);
}
