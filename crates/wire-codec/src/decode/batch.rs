//! What another server sends to `POST peerreplication/batch`. Called by http-facade, which carries the items out.

use super::{
    DecodeError, MAX_ENTRIES,
    fields::Sheet,
    json::{Json, check_shape},
    scalar::Value,
    unicode,
};
use crate::MediaType;
use registry_model::{RegistrationDraft, UnixMillis};

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
    let list = Json::read(&text, |body| {
        let [list] = chosen(["replicationList"], body, "body")?;
        list.ok_or(DecodeError::NoReplicationList)
    })?;
    let mut list = Json::of(list);
    list.open_list().ok_or(DecodeError::NoReplicationList)?;
    let mut items = Vec::new();
    while list.element()? {
        if items.len() >= MAX_BATCH_ITEMS {
            return Err(DecodeError::TooManyItems);
        }
        items.push(list.raw()?);
    }
    items.into_iter().map(item).collect()
}

fn item(json: &str) -> Result<BatchItem, DecodeError> {
    const KEYS: [&str; 7] =
        ["action", "appName", "id", "lastDirtyTimestamp", "status", "overriddenStatus", "instanceInfo"];
    let [action_name, app, id, last_dirty, status, overridden_status, instance] =
        chosen(KEYS, &mut Json::of(json), "replicationList")?;
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

/// The JSON texts that an object has under some keys; of a repeated one the last counts, `null` counts as absent.
fn chosen<'a, const N: usize>(
    keys: [&str; N],
    object: &mut Json<'a>,
    field: &'static str,
) -> Result<[Option<&'a str>; N], DecodeError> {
    let mut values = [None; N];
    object.open(field)?;
    while let Some(key) = object.key()? {
        let value = object.raw()?;
        if let Some((_, kept)) = keys.iter().zip(&mut values).find(|(name, _)| **name == key) {
            *kept = Some(value);
        }
    }
    Ok(values.map(|value| value.filter(|text| *text != "null")))
}

/// An instance without the outer key that a registration has.
fn registration(json: &str) -> Result<RegistrationDraft, DecodeError> {
    check_shape(json, MAX_ENTRIES)?;
    Sheet::read("instanceInfo", &mut Json::of(json))
}

fn text(field: &'static str, json: Option<&str>) -> Result<Option<Box<str>>, DecodeError> {
    let text = json.map(|json| Json::of(json).value()?.into_text(field)).transpose()?;
    Ok(text.flatten().map(Into::into))
}

fn action(json: &str) -> Result<BatchAction, DecodeError> {
    let name = Json::of(json).value()?.into_text("action")?.unwrap_or_default();
    let known = BatchAction::ALL.into_iter().find(|action| action.as_str() == name);
    known.ok_or_else(|| DecodeError::UnknownAction { name: name.into() })
}

/// A number, or a numeric text; an empty text says nothing.
fn stamp(json: &str) -> Result<Option<UnixMillis>, DecodeError> {
    const FIELD: &str = "lastDirtyTimestamp";
    let value = Json::of(json).value()?;
    match (value.numeric(FIELD)?, value) {
        (Some(number), _) => Ok(Some(UnixMillis(number))),
        (None, Value::Text(text)) if text.is_empty() => Ok(None),
        (None, _) => Err(DecodeError::NotAWholeNumber { field: FIELD }),
    }
}
