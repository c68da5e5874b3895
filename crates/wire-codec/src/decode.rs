//! From a client's JSON document to a registration draft: lenient about what clients really send, strict about what cannot be meant.
//! Called by http-facade for `POST apps/{app}`; follows registry-model's `RegistrationDraft`.

mod entries;
mod fields;
mod scalar;

use entries::Entries;
use fields::Sheet;
use registry_model::{Classify, ErrorClass, RegistrationDraft};

/// Why a body is no registration.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Not UTF-8.
    #[error("body is not valid UTF-8")]
    NotUtf8,
    /// Objects or arrays in each other beyond all reason.
    #[error("body is nested deeper than {} levels", entries::MAX_DEPTH)]
    TooDeep,
    /// Not JSON.
    #[error("body is not valid JSON")]
    Syntax(#[source] serde_json::Error),
    /// JSON of another shape than `{"instance":{...}}`.
    #[error("body lacks the outer key \"instance\", or has another beside it")]
    Root,
    /// Another shape where an object belongs.
    #[error("{field} is not an object")]
    NotAnObject {
        /// The field's name.
        field: &'static str,
    },
    /// An object or array where a single value belongs.
    #[error("{field} is not a single value")]
    NotASingleValue {
        /// The field's name.
        field: &'static str,
    },
    /// A number beyond what the field can hold.
    #[error("{field} is too large a number")]
    TooLarge {
        /// The field's name.
        field: &'static str,
    },
    /// A port that is neither an object nor a number.
    #[error("{field} is neither a port object nor a number")]
    NotAPort {
        /// The field's name.
        field: &'static str,
    },
    /// No application name.
    #[error("app is missing")]
    MissingApp,
    /// A data centre that Eureka does not know.
    #[error("dataCenterInfo has the unknown name {name:?}")]
    UnknownDataCenterName {
        /// The name as it was sent.
        name: Box<str>,
    },
    /// A class of data centre that Eureka does not know.
    #[error("dataCenterInfo has the unknown @class {class:?}")]
    UnknownDataCenterClass {
        /// The class as it was sent.
        class: Box<str>,
    },
}

impl Classify for DecodeError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Invalid
    }

    fn reason(&self) -> &'static str {
        "UNDECODABLE_REGISTRATION"
    }
}

/// Decodes `{"instance":{...}}`.
///
/// Keys may come in any order; unknown ones are skipped whatever they hold, `null` counts as absent, of a repeated key the last counts.
///
/// # Errors
/// The body is no such document, or a field holds what cannot be understood.
pub fn decode_registration(body: &[u8]) -> Result<RegistrationDraft, DecodeError> {
    let body = std::str::from_utf8(body).map_err(|_| DecodeError::NotUtf8)?;
    let body = body.strip_prefix('\u{FEFF}').unwrap_or(body);
    entries::check_depth(body)?;
    let root = Entries::of_document(body)?;
    let [(name, instance)] = root.as_slice() else { return Err(DecodeError::Root) };
    if name != "instance" {
        return Err(DecodeError::Root);
    }
    Sheet::read(&Entries::of_object("instance", instance.get())?)
}

#[cfg(test)]
mod tests;
