//! From a client's document to a registration draft: lenient about what clients really send, strict about what cannot be meant.
//! Called by http-facade for `POST apps/{app}` and `POST peerreplication/batch`; follows registry-model's `RegistrationDraft`.

mod batch;
mod elements;
mod fields;
mod json;
mod markup;
mod scalar;
mod unicode;

use crate::MediaType;
pub use batch::{BatchAction, BatchItem, MAX_BATCH_ITEMS, decode_batch};
use fields::Sheet;
use json::{Json, check_shape};
use registry_model::{Classify, ErrorClass, RegistrationDraft};
use std::borrow::Cow;

/// How deep objects, arrays and elements may nest. Real documents have four levels.
const MAX_DEPTH: usize = 100;

/// How many keys the objects of a document may have together, or elements an XML document. Real documents have some dozens; each
/// takes room before it is known what for.
const MAX_ENTRIES: usize = 10_000;

/// Why a body is no registration, or no batch.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Neither UTF-8 nor UTF-16 nor UTF-32.
    #[error("body is not valid Unicode")]
    NotUnicode,
    /// Objects, arrays or elements in each other beyond all reason.
    #[error("body is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// More keys in its objects than anybody means.
    #[error("body has more than {MAX_ENTRIES} entries")]
    TooManyEntries,
    /// Not JSON.
    #[error("body is not valid JSON")]
    Syntax(#[source] serde_json::Error),
    /// Not XML.
    #[error("body is not valid XML")]
    Markup(#[source] quick_xml::Error),
    /// Not XML either, for a reason that its parser does not look for.
    #[error("body is not valid XML: {0}")]
    NotWellFormed(&'static str),
    /// A document type declaration, which could define entities or fetch files.
    #[error("body has a document type declaration")]
    DocumentType,
    /// An XML document that is no instance.
    #[error("root element is {name:?} where instance belongs")]
    RootElement {
        /// The root's name.
        name: Box<str>,
    },
    /// A data centre whose facts come before its name, so that nobody knows yet what they are.
    #[error("dataCenterInfo has metadata before its name")]
    FactsBeforeName,
    /// Another text where a whole number belongs.
    #[error("{field} is not a whole number")]
    NotAWholeNumber {
        /// The field's name.
        field: &'static str,
    },
    /// JSON of another shape than `{"instance":{...}}`.
    #[error("body lacks the outer key \"instance\", or has another beside it")]
    Root,
    /// A batch in a language that no server sends them in.
    #[error("batches are JSON")]
    BatchInXml,
    /// No list of what a batch wants done.
    #[error("body lacks the key \"replicationList\", or it holds no list")]
    NoReplicationList,
    /// More than one batch may want done.
    #[error("batch has more than {MAX_BATCH_ITEMS} items")]
    TooManyItems,
    /// An action that Eureka does not know.
    #[error("item has the unknown action {name:?}")]
    UnknownAction {
        /// The action as it was sent.
        name: Box<str>,
    },
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

/// Decodes `{"instance":{...}}`, or the element `instance`.
///
/// Keys and elements may come in any order; unknown ones are skipped whatever they hold, `null` counts as absent, of a repeated one the
/// last counts. Text is UTF-8, or UTF-16 or UTF-32 of either byte order, with or without a byte order mark.
///
/// # Errors
/// The body is no such document, or a field holds what cannot be understood.
pub fn decode_registration(media: MediaType, body: &[u8]) -> Result<RegistrationDraft, DecodeError> {
    let text: Cow<'_, str> = unicode::text_of(body)?;
    match media {
        MediaType::Json => decode_json(&text),
        MediaType::Xml => elements::read(&text),
    }
}

fn decode_json(body: &str) -> Result<RegistrationDraft, DecodeError> {
    check_shape(body, MAX_ENTRIES)?;
    Json::read(body, |json| {
        json.open("body").map_err(|_| DecodeError::Root)?;
        if json.key()?.is_none_or(|key| key != "instance") {
            return Err(DecodeError::Root);
        }
        let start = *json;
        let draft = Sheet::read("instance", json);
        if draft.is_err() {
            *json = start;
            json.skip()?;
        }
        // A fault of the outer object is told before one of the instance.
        if json.key()?.is_none() { draft } else { Err(DecodeError::Root) }
    })
}

#[cfg(test)]
mod tests;
