//! Eureka's documents of applications, read in either form into one shape, so that both can be compared.

use quick_xml::{
    Reader,
    events::{BytesStart, Event},
};
use serde_json::Value;
use std::collections::BTreeMap;

/// An instance's leaves, by their path: `port`, `port@enabled`, `leaseInfo.durationInSecs`.
pub type Fields = BTreeMap<String, String>;

/// A document of all applications, of the delta, or of one application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applications {
    /// `versions__delta`; absent in the document of one application.
    pub version: Option<String>,
    /// `apps__hashcode`; absent in the document of one application.
    pub hash: Option<String>,
    /// Names and instances in document order.
    pub apps: Vec<(String, Vec<Instance>)>,
}

/// An instance of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// All leaves.
    pub fields: Fields,
}

impl Instance {
    /// A leaf, empty if it is absent.
    pub fn field(&self, path: &str) -> &str {
        self.fields.get(path).map_or("", String::as_str)
    }

    /// `instanceId`.
    pub fn id(&self) -> &str {
        self.field("instanceId")
    }

    /// `actionType`.
    pub fn action(&self) -> &str {
        self.field("actionType")
    }
}

impl Applications {
    /// Reads JSON.
    ///
    /// # Panics
    /// It is no such document, or its arrays are none.
    pub fn from_json(document: &[u8]) -> Self {
        let document: Value = serde_json::from_slice(document).expect("JSON");
        if let Some(application) = document.get("application") {
            return Self { version: None, hash: None, apps: vec![application_of(application)] };
        }
        let root = &document["applications"];
        let text = |name: &str| Some(root[name].as_str().unwrap_or_else(|| panic!("{name} is text")).to_owned());
        let apps = root["application"].as_array().expect("an array of applications");
        Self {
            version: text("versions__delta"),
            hash: text("apps__hashcode"),
            apps: apps.iter().map(application_of).collect(),
        }
    }

    /// Reads XML.
    ///
    /// # Panics
    /// It is no such document.
    pub fn from_xml(document: &[u8]) -> Self {
        let root = Element::parse(document);
        match root.name.as_str() {
            "application" => Self { version: None, hash: None, apps: vec![root.application()] },
            "applications" => Self {
                version: root.child("versions__delta").map(|child| child.text.clone()),
                hash: root.child("apps__hashcode").map(|child| child.text.clone()),
                apps: root
                    .children
                    .iter()
                    .filter(|child| child.name == "application")
                    .map(Element::application)
                    .collect(),
            },
            other => panic!("a document of {other}"),
        }
    }

    /// All instances in document order.
    pub fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.apps.iter().flat_map(|(_, instances)| instances)
    }

    /// `APP/id` of all instances in document order.
    pub fn keys(&self) -> Vec<String> {
        self.apps
            .iter()
            .flat_map(|(app, instances)| instances.iter().map(move |instance| format!("{app}/{}", instance.id())))
            .collect()
    }

    /// `id ACTION` of all instances in document order.
    pub fn actions(&self) -> Vec<String> {
        self.instances().map(|instance| format!("{} {}", instance.id(), instance.action())).collect()
    }

    /// The hash code that the instances of this document have.
    pub fn counted_hash(&self) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for instance in self.instances() {
            *counts.entry(instance.field("status")).or_default() += 1;
        }
        counts.into_iter().map(|(status, count)| format!("{status}_{count}_")).collect()
    }
}

fn application_of(application: &Value) -> (String, Vec<Instance>) {
    let name = application["name"].as_str().expect("a name");
    let instances = application["instance"].as_array().expect("an array of instances");
    (name.to_owned(), instances.iter().map(|instance| Instance { fields: fields(instance) }).collect())
}

/// The leaves of a JSON instance.
///
/// # Panics
/// It has arrays or nulls, which no such document has.
pub fn fields(instance: &Value) -> Fields {
    let mut fields = Fields::new();
    flatten("", instance, &mut fields);
    fields
}

fn flatten(path: &str, value: &Value, fields: &mut Fields) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = match name.as_str() {
                    "$" => path.to_owned(),
                    name if name.starts_with('@') || path.is_empty() => format!("{path}{name}"),
                    name => format!("{path}.{name}"),
                };
                flatten(&path, member, fields);
            }
        }
        Value::String(text) => {
            fields.insert(path.to_owned(), text.clone());
        }
        Value::Number(_) | Value::Bool(_) => {
            fields.insert(path.to_owned(), value.to_string());
        }
        Value::Array(_) | Value::Null => panic!("{path} is {value}"),
    }
}

#[derive(Debug, Default)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
    text: String,
    children: Vec<Element>,
}

impl Element {
    fn parse(document: &[u8]) -> Self {
        let mut reader = Reader::from_reader(document);
        let mut open = vec![Self::default()];
        loop {
            match reader.read_event().expect("XML") {
                Event::Start(start) => open.push(Self::start(&start)),
                Event::Empty(start) => open.last_mut().expect("a root").children.push(Self::start(&start)),
                Event::End(_) => {
                    let done = open.pop().expect("a start");
                    open.last_mut().expect("a root").children.push(done);
                }
                Event::Text(text) => open.last_mut().expect("a root").text.push_str(&text.decode().expect("UTF-8")),
                Event::GeneralRef(reference) => {
                    let name = reference.decode().expect("UTF-8");
                    let text = match reference.resolve_char_ref().expect("a character") {
                        Some(character) => character.to_string(),
                        None => quick_xml::escape::resolve_predefined_entity(&name).expect("an entity").to_owned(),
                    };
                    open.last_mut().expect("a root").text.push_str(&text);
                }
                Event::Eof => break,
                other => panic!("{other:?} in a document"),
            }
        }
        let root = open.pop().expect("a root");
        assert!(open.is_empty() && root.children.len() == 1, "one root");
        root.children.into_iter().next().expect("one root")
    }

    fn start(start: &BytesStart<'_>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        let attributes = start
            .attributes()
            .map(|attribute| {
                let attribute = attribute.expect("an attribute");
                (text(attribute.key.as_ref()), attribute.unescape_value().expect("a value").into_owned())
            })
            .collect();
        Self { name: text(start.name().as_ref()), attributes, ..Self::default() }
    }

    fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    fn application(&self) -> (String, Vec<Instance>) {
        let name = self.child("name").expect("a name").text.clone();
        let instances = self.children.iter().filter(|child| child.name == "instance").map(|instance| {
            let mut fields = Fields::new();
            instance.flatten("", &mut fields);
            // The one field whose name differs between the forms.
            if let Some(text) = fields.remove("overriddenstatus") {
                fields.insert("overriddenStatus".to_owned(), text);
            }
            Instance { fields }
        });
        (name, instances.collect())
    }

    fn flatten(&self, path: &str, fields: &mut Fields) {
        for (name, value) in &self.attributes {
            fields.insert(format!("{path}@{name}"), value.clone());
        }
        if self.children.is_empty() {
            // An element with a class and nothing else stands for an object, as in JSON.
            let is_object = self.text.is_empty() && self.attributes.iter().any(|(name, _)| name == "class");
            if !path.is_empty() && !is_object {
                fields.insert(path.to_owned(), self.text.clone());
            }
        }
        for child in &self.children {
            let path = if path.is_empty() { child.name.clone() } else { format!("{path}.{}", child.name) };
            child.flatten(&path, fields);
        }
    }
}
