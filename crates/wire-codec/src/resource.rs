//! From a request's path to the resource that it names, and query parameters. Called by http-facade for every request, so nothing
//! here allocates unless a name is escaped.

use crate::ApiVersion;
use std::borrow::Cow;

/// What every process of a node answers beside Eureka's API.
const OPERATIONS: [&str; 3] = ["/metrics", "/livez", "/readyz"];

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource<'a> {
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
    /// The status of an instance, and its override.
    InstanceStatus(Cow<'a, str>, Cow<'a, str>),
    /// The same under another name.
    LeaseStatus(Cow<'a, str>, Cow<'a, str>),
    /// The metadata of an instance.
    Metadata(Cow<'a, str>, Cow<'a, str>),
    /// The instances that list a `vipAddress`.
    Vip(Cow<'a, str>),
    /// The instances that list a `secureVipAddress`.
    Svip(Cow<'a, str>),
    /// An instance of whichever application.
    ById(Cow<'a, str>),
    /// The status of an auto-scaling group.
    AutoScalingGroup,
    /// The status of this server.
    ServerStatus,
    /// What is below has content, this itself has none.
    ServerInfo,
    /// All overrides of statuses.
    Overrides,
    /// The health of this server, as Netflix's server says it.
    Healthcheck,
    /// The same, as Spring's server says it.
    ActuatorHealth,
    /// What another server has collected.
    PeerBatch,
    /// `/metrics`, `/livez` or `/readyz`.
    Operations,
    /// Nothing that exists here.
    Nothing,
}

/// A text whose percent-encoding is broken, or encodes no UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("percent-encoding is broken")]
pub struct BrokenEncoding;

impl<'a> Resource<'a> {
    /// The resource of a path. Doubled slashes count as one, a slash at the end as none; what follows a `;` in a segment is dropped.
    ///
    /// # Errors
    /// A name in the path cannot be decoded.
    pub fn of(path: &'a str) -> Result<Self, BrokenEncoding> {
        if OPERATIONS.contains(&path) {
            return Ok(Self::Operations);
        }
        let mut segments = segments(path);
        match segments.next() {
            Some("eureka") => {}
            Some("actuator") => return Ok(Self::of_actuator(segments)),
            Some(_) | None => return Ok(Self::Nothing),
        }
        let first = match segments.next() {
            Some(version) if is_version(version) => segments.next(),
            first => first,
        };
        if first == Some("apps") { Self::of_apps(segments) } else { Self::beside_apps(first, segments) }
    }

    fn of_actuator(mut segments: impl Iterator<Item = &'a str>) -> Self {
        match (segments.next(), segments.next()) {
            (Some("health"), None) => Self::ActuatorHealth,
            (Some(_), _) | (None, _) => Self::Nothing,
        }
    }

    /// What is below `apps`.
    fn of_apps(mut segments: impl Iterator<Item = &'a str>) -> Result<Self, BrokenEncoding> {
        let (Some(app), id) = (segments.next(), segments.next()) else { return Ok(Self::Apps) };
        let app = decode_path(app)?;
        let Some(id) = id else { return Ok(if app == "delta" { Self::Delta } else { Self::App(app) }) };
        let id = decode_path(id)?;
        Ok(match (segments.next(), segments.next()) {
            (None, _) => Self::Instance { app, id },
            (Some("status"), None) => Self::InstanceStatus(app, id),
            (Some("metadata"), None) => Self::Metadata(app, id),
            (Some("leaseStatus"), None) => Self::LeaseStatus(app, id),
            (Some(_), _) => Self::Nothing,
        })
    }

    /// What is named by its first segments without a version.
    fn beside_apps(first: Option<&str>, mut segments: impl Iterator<Item = &'a str>) -> Result<Self, BrokenEncoding> {
        Ok(match (first, segments.next(), segments.next(), segments.next()) {
            (Some("instances"), Some(id), None, _) => Self::ById(decode_path(id)?),
            (Some("vips"), Some(vip), None, _) => Self::Vip(decode_path(vip)?),
            (Some("svips"), Some(vip), None, _) => Self::Svip(decode_path(vip)?),
            (Some("asg"), Some(_), Some("status"), None) => Self::AutoScalingGroup,
            (Some("status"), None, ..) => Self::ServerStatus,
            (Some("serverinfo"), None, ..) => Self::ServerInfo,
            (Some("serverinfo"), Some("statusoverrides"), None, _) => Self::Overrides,
            (Some("healthcheck"), None, ..) => Self::Healthcheck,
            (Some("peerreplication"), Some("batch"), None, _) => Self::PeerBatch,
            _ => Self::Nothing,
        })
    }
}

impl ApiVersion {
    /// The version that a path names: `v1` is the first, everything else the second.
    pub fn of(path: &str) -> Self {
        match segments(path).nth(1) {
            Some(segment) if segment.eq_ignore_ascii_case("v1") => Self::V1,
            Some(_) | None => Self::V2,
        }
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
pub fn query_value<'a>(query: Option<&'a str>, name: &str) -> Result<Option<Cow<'a, str>>, BrokenEncoding> {
    for pair in query.unwrap_or_default().split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if key == name || decode_form(key).is_ok_and(|key| key == name) {
            return decode_form(value).map(Some);
        }
    }
    Ok(None)
}

/// All parameters of a query, form-decoded, in their order, each by itself. Those without a name say nothing.
pub fn query_pairs<'a>(
    query: Option<&'a str>,
) -> impl Iterator<Item = Result<(Cow<'a, str>, Cow<'a, str>), BrokenEncoding>> {
    let pairs = query.unwrap_or_default().split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let named = pairs.filter(|(key, _)| !key.is_empty());
    named.map(|(key, value)| Ok((decode_form(key)?, decode_form(value)?)))
}

#[cfg(test)]
mod tests;
