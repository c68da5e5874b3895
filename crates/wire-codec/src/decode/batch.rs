//! What another server sends to `POST peerreplication/batch`. Called by http-facade, which carries the items out.

use super::{
    DecodeError, MAX_ENTRIES,
    entries::{Entries, Key, check_shape},
    fields::Sheet,
    scalar::Value,
    unicode,
};
use crate::MediaType;
use registry_model::{RegistrationDraft, UnixMillis};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::fmt;

/// The most items that a batch may have. Java servers send 250.
pub const MAX_BATCH_ITEMS: usize = 10_000;

/// What an item of a batch wants done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchAction {
    /// Renew a lease.
    Heartbeat,
    /// Register an instance.
    Register,
    /// Remove an instance.
    Cancel,
    /// Override a status.
    StatusUpdate,
    /// Remove an override.
    DeleteStatusOverride,
}

impl BatchAction {
    const ALL: [Self; 5] =
        [Self::Heartbeat, Self::Register, Self::Cancel, Self::StatusUpdate, Self::DeleteStatusOverride];

    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Heartbeat => "Heartbeat",
            Self::Register => "Register",
            Self::Cancel => "Cancel",
            Self::StatusUpdate => "StatusUpdate",
            Self::DeleteStatusOverride => "DeleteStatusOverride",
        }
    }
}

/// An item of a batch as it was decoded: what was absent or `null` is `None`, nothing is checked yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BatchItem {
    /// `action`.
    pub action: Option<BatchAction>,
    /// `appName`, in any case.
    pub app: Option<Box<str>>,
    /// `id`.
    pub id: Option<Box<str>>,
    /// `lastDirtyTimestamp`.
    pub last_dirty: Option<UnixMillis>,
    /// `status`, any text.
    pub status: Option<Box<str>>,
    /// `overriddenStatus`, any text.
    pub overridden_status: Option<Box<str>>,
    /// `instanceInfo`.
    pub instance: Option<Box<RegistrationDraft>>,
}

/// Decodes `{"replicationList":[...]}`. Unknown keys are skipped whatever they hold, of a repeated one the last counts.
///
/// # Errors
/// The body is no such document, an item has an action that is none or an instance that cannot be decoded, or there are more than
/// [`MAX_BATCH_ITEMS`].
pub fn decode_batch(media: MediaType, body: &[u8]) -> Result<Vec<BatchItem>, DecodeError> {
    match media {
        MediaType::Json => {}
        MediaType::Xml => return Err(DecodeError::BatchInXml),
    }
    let text = unicode::text_of(body)?;
    // Items are counted by themselves; those of whole instances have their entries counted.
    check_shape(&text, usize::MAX)?;
    let [list] = Chosen(["replicationList"]).of(&text, "body")?;
    let list = list.filter(|list| list.starts_with('[')).ok_or(DecodeError::NoReplicationList)?;
    let List { items, more } = List::of(list)?;
    if more {
        return Err(DecodeError::TooManyItems);
    }
    items.into_iter().map(item).collect()
}

fn item(json: &RawValue) -> Result<BatchItem, DecodeError> {
    const KEYS: [&str; 7] =
        ["action", "appName", "id", "lastDirtyTimestamp", "status", "overriddenStatus", "instanceInfo"];
    let [action_name, app, id, last_dirty, status, overridden_status, instance] =
        Chosen(KEYS).of(json.get(), "replicationList")?;
    Ok(BatchItem {
        action: action_name.map(action).transpose()?,
        app: text("appName", app)?,
        id: text("id", id)?,
        last_dirty: last_dirty.map(stamp).transpose()?.flatten(),
        status: text("status", status)?,
        overridden_status: text("overriddenStatus", overridden_status)?,
        instance: instance.map(registration).transpose()?.map(Box::new),
    })
}

/// An instance without the outer key that a registration has.
fn registration(json: &str) -> Result<RegistrationDraft, DecodeError> {
    check_shape(json, MAX_ENTRIES)?;
    Sheet::read(&Entries::of_object("instanceInfo", json)?)
}

fn text(field: &'static str, json: Option<&str>) -> Result<Option<Box<str>>, DecodeError> {
    let text = json.map(|json| Value::of(json)?.into_text(field)).transpose()?;
    Ok(text.flatten().map(Into::into))
}

fn action(json: &str) -> Result<BatchAction, DecodeError> {
    let name = Value::of(json)?.into_text("action")?.unwrap_or_default();
    let known = BatchAction::ALL.into_iter().find(|action| action.as_str() == name);
    known.ok_or_else(|| DecodeError::UnknownAction { name: name.into() })
}

/// A number, or a numeric text; an empty text says nothing.
fn stamp(json: &str) -> Result<Option<UnixMillis>, DecodeError> {
    const FIELD: &str = "lastDirtyTimestamp";
    let value = Value::of(json)?;
    match (value.numeric(FIELD)?, value) {
        (Some(number), _) => Ok(Some(UnixMillis(number))),
        (None, Value::Text(text)) if text.is_empty() => Ok(None),
        (None, _) => Err(DecodeError::NotAWholeNumber { field: FIELD }),
    }
}

/// Keys of an object that are looked for; the others cost nothing.
struct Chosen<const N: usize>([&'static str; N]);

impl<const N: usize> Chosen<N> {
    /// The texts of their values in an object; `null` counts as absent.
    fn of<'a>(self, json: &'a str, field: &'static str) -> Result<[Option<&'a str>; N], DecodeError> {
        let mut reader = serde_json::Deserializer::from_str(json);
        if !json.trim_start().starts_with('{') {
            // Of a document that is none, its own fault is to be told.
            let valid = serde_json::from_str::<IgnoredAny>(json).map_err(DecodeError::Syntax);
            return valid.and(Err(DecodeError::NotAnObject { field }));
        }
        let values = self.deserialize(&mut reader).map_err(DecodeError::Syntax)?;
        reader.end().map_err(DecodeError::Syntax)?;
        Ok(values.map(|value| value.map(RawValue::get).filter(|text| *text != "null")))
    }
}

impl<'de, const N: usize> DeserializeSeed<'de> for Chosen<N> {
    type Value = [Option<&'de RawValue>; N];

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Chosen<N> {
    type Value = [Option<&'de RawValue>; N];

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut values = [None; N];
        while let Some(Key(key)) = map.next_key()? {
            match self.0.iter().zip(&mut values).find(|(name, _)| **name == key) {
                Some((_, value)) => *value = Some(map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(values)
    }
}

/// The elements of an array, as many as a batch may have, and whether there are more.
#[derive(Default)]
struct List<'a> {
    items: Vec<&'a RawValue>,
    more: bool,
}

impl<'a> List<'a> {
    fn of(json: &'a str) -> Result<Self, DecodeError> {
        let mut reader = serde_json::Deserializer::from_str(json);
        (&mut reader).deserialize_seq(ListVisitor).map_err(DecodeError::Syntax)
    }
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = List<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut list = List::default();
        while list.items.len() < MAX_BATCH_ITEMS {
            match elements.next_element()? {
                Some(item) => list.items.push(item),
                None => return Ok(list),
            }
        }
        while elements.next_element::<IgnoredAny>()?.is_some() {
            list.more = true;
        }
        Ok(list)
    }
}
