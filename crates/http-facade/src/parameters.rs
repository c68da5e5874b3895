//! What a query says besides names: stamps and statuses. Called by `routes` before anything is looked up.

use crate::{body::Body, respond};
use http::{Response, StatusCode};
use registry_model::{InstanceStatus, UnknownStatus};
use std::num::ParseIntError;
use wire_codec::{BrokenEncoding, query_value};

/// Why a query cannot be meant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadParameter {
    /// A value that is no text.
    #[error(transparent)]
    Encoding(#[from] BrokenEncoding),
    /// A stamp that is no number.
    #[error("{text:?} is no signed 64-bit number")]
    Stamp {
        text: Box<str>,
        #[source]
        source: ParseIntError,
    },
    /// A status that is none, or not in upper case.
    #[error(transparent)]
    Status(#[from] UnknownStatus),
    /// Nothing where something belongs.
    #[error("parameter {0} is missing")]
    Missing(&'static str),
}

impl BadParameter {
    /// 400 without a body, for clients try to decode what comes with an answer.
    pub(crate) fn response(&self) -> Response<Body> {
        tracing::debug!(error = %self, "a query cannot be meant");
        respond::empty(StatusCode::BAD_REQUEST)
    }
}

/// Whether a query names regions. As none is configured here, which they are makes no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Regions {
    /// Absent, or empty.
    NotNamed,
    /// One or more.
    Named,
}

/// The parameter `regions`.
pub(crate) fn regions(query: Option<&str>) -> Result<Regions, BadParameter> {
    match query_value(query, "regions")? {
        None => Ok(Regions::NotNamed),
        Some(names) if names.is_empty() => Ok(Regions::NotNamed),
        Some(_) => Ok(Regions::Named),
    }
}

/// A signed decimal.
pub(crate) fn stamp(query: Option<&str>, name: &str) -> Result<Option<i64>, BadParameter> {
    let Some(text) = query_value(query, name)? else { return Ok(None) };
    text.parse().map(Some).map_err(|source| BadParameter::Stamp { text: text.into(), source })
}

/// One of the five names, exactly.
pub(crate) fn status(query: Option<&str>, name: &str) -> Result<Option<InstanceStatus>, BadParameter> {
    let Some(text) = query_value(query, name)? else { return Ok(None) };
    Ok(Some(text.parse()?))
}
