//! From a request's path to the resource that it names, and query parameters. Pure; called by `router` for every request,
//! so nothing here allocates unless a name is escaped.

use std::borrow::Cow;
use wire_codec::ApiVersion;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resource<'a> {
    /// All applications.
    Apps,
    /// What changed in the last minutes.
    Delta,
    /// One application, its name in any case.
    App(Cow<'a, str>),
    /// One instance.
    Instance {
        /// The application's name in any case.
        app: Cow<'a, str>,
        /// The instance's id.
        id: Cow<'a, str>,
    },
    /// `/metrics`, `/livez` or `/readyz`.
    Operations,
    /// Nothing that exists here.
    Nothing,
}

/// A text whose percent-encoding is broken, or encodes no UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("percent-encoding is broken")]
pub(crate) struct BrokenEncoding;

impl<'a> Resource<'a> {
    /// The resource of a path. Doubled slashes count as one, a slash at the end as none; what follows a `;` in a segment is dropped.
    pub(crate) fn of(path: &'a str) -> Result<Self, BrokenEncoding> {
        if service_runtime::operations::PATHS.contains(&path) {
            return Ok(Self::Operations);
        }
        let mut segments = segments(path);
        if segments.next() != Some("eureka") {
            return Ok(Self::Nothing);
        }
        let first = match segments.next() {
            Some(version) if is_version(version) => segments.next(),
            first => first,
        };
        if first != Some("apps") {
            return Ok(Self::Nothing);
        }
        match (segments.next(), segments.next(), segments.next()) {
            (None, ..) => Ok(Self::Apps),
            (Some(app), None, _) => Ok(match decode_path(app)? {
                app if app == "delta" => Self::Delta,
                app => Self::App(app),
            }),
            (Some(app), Some(id), None) => Ok(Self::Instance { app: decode_path(app)?, id: decode_path(id)? }),
            (Some(_), Some(_), Some(_)) => Ok(Self::Nothing),
        }
    }
}

/// The version that a path names: `v1` is the first, everything else the second.
pub(crate) fn version(path: &str) -> ApiVersion {
    match segments(path).nth(1) {
        Some(segment) if segment.eq_ignore_ascii_case("v1") => ApiVersion::V1,
        Some(_) | None => ApiVersion::V2,
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').map(without_matrix).filter(|segment| !segment.is_empty())
}

fn without_matrix(segment: &str) -> &str {
    segment.split_once(';').map_or(segment, |(name, _)| name)
}

fn is_version(segment: &str) -> bool {
    segment.eq_ignore_ascii_case("v2") || segment.eq_ignore_ascii_case("v1")
}

/// Decodes a path segment; a plus stands for itself.
fn decode_path(segment: &str) -> Result<Cow<'_, str>, BrokenEncoding> {
    if segment.contains('%') { unescape(segment.bytes()).map(Cow::Owned) } else { Ok(Cow::Borrowed(segment)) }
}

/// Decodes a name or value of a form; a plus is a space.
fn decode_form(text: &str) -> Result<Cow<'_, str>, BrokenEncoding> {
    if text.contains(['%', '+']) {
        unescape(text.bytes().map(|byte| if byte == b'+' { b' ' } else { byte })).map(Cow::Owned)
    } else {
        Ok(Cow::Borrowed(text))
    }
}

fn unescape(mut bytes: impl Iterator<Item = u8>) -> Result<String, BrokenEncoding> {
    let mut decoded = Vec::new();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex_digit(bytes.next())? << 4 | hex_digit(bytes.next())?,
            byte => byte,
        });
    }
    String::from_utf8(decoded).map_err(|_| BrokenEncoding)
}

fn hex_digit(byte: Option<u8>) -> Result<u8, BrokenEncoding> {
    let digit = byte.and_then(|byte| char::from(byte).to_digit(16)).ok_or(BrokenEncoding)?;
    u8::try_from(digit).map_err(|_| BrokenEncoding)
}

/// The first value of a query parameter, form-decoded; a parameter without `=` has the empty value.
///
/// # Errors
/// The value cannot be decoded. Other parameters may be as broken as they like.
pub(crate) fn query_value<'a>(query: Option<&'a str>, name: &str) -> Result<Option<Cow<'a, str>>, BrokenEncoding> {
    for pair in query.unwrap_or_default().split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if key == name || decode_form(key).is_ok_and(|key| key == name) {
            return decode_form(value).map(Some);
        }
    }
    Ok(None)
}

#[cfg(test)]
#[path = "resource/tests.rs"]
mod tests;
