//! The entries of a JSON object with their values unread: what tolerance about shapes is built on. Called by `decode`, `fields` and `batch`.

use super::{DecodeError, MAX_DEPTH};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::{borrow::Cow, fmt};

/// An object's entries in document order, repeated keys included.
pub(super) struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Entries<'a> {
    /// Of a whole body, which has to be one object and nothing else.
    pub(super) fn of_document(body: &'a str) -> Result<Self, DecodeError> {
        if body.trim_start().starts_with('{') {
            serde_json::from_str(body).map_err(DecodeError::Syntax)
        } else {
            let valid = serde_json::from_str::<&RawValue>(body).map_err(DecodeError::Syntax);
            valid.and(Err(DecodeError::Root))
        }
    }

    /// Of a value within a document.
    pub(super) fn of_object(field: &'static str, value: &'a str) -> Result<Self, DecodeError> {
        if value.starts_with('{') {
            serde_json::from_str(value).map_err(DecodeError::Syntax)
        } else {
            Err(DecodeError::NotAnObject { field })
        }
    }

    pub(super) fn as_slice(&self) -> &[(Cow<'a, str>, &'a RawValue)] {
        &self.0
    }

    /// Keys and the text of their values, those without `null`.
    pub(super) fn given(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(key, value)| (&**key, value.get())).filter(|(_, value)| *value != "null")
    }

    /// Keys and the text of their values.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.0.iter().map(|(key, value)| (&**key, value.get()))
    }
}

/// A key that borrows from the document where it can.
pub(super) struct Key<'a>(pub(super) Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Key<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Borrowed(key)))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Key(Cow::Owned(key.to_owned())))
    }
}

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = Entries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((Key(key), value)) = map.next_entry()? {
            entries.push((key, value));
        }
        Ok(Entries(entries))
    }
}

/// Refuses what nests too deep or has more entries than given before anything walks through it or is stored. Looks at brackets and
/// colons outside of strings only, so text that is no JSON may pass.
pub(super) fn check_shape(body: &str, most_entries: usize) -> Result<(), DecodeError> {
    let mut depth = 0_usize;
    let mut entries = 0_usize;
    let mut bytes = body.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            b':' => entries += 1,
            _ => {}
        }
        if entries > most_entries {
            return Err(DecodeError::TooManyEntries);
        }
        if depth > MAX_DEPTH {
            return Err(DecodeError::TooDeep);
        }
    }
    Ok(())
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return,
            _ => {}
        }
    }
}
