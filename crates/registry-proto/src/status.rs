//! From an error's class to a gRPC status. The only such table; http-facade has the one from gRPC to HTTP.

use registry_model::{Classify, ErrorClass};
use std::{collections::HashMap, error::Error};
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

/// A status that carries the error's text for people and its reason, as `google.rpc.ErrorInfo`, for programs.
pub fn to_status<E: Classify + Error>(error: &E) -> Status {
    let code = match error.class() {
        ErrorClass::Invalid => Code::InvalidArgument,
        ErrorClass::NotFound => Code::NotFound,
        ErrorClass::Conflict => Code::FailedPrecondition,
        ErrorClass::Unavailable => Code::Unavailable,
        ErrorClass::Internal => Code::Internal,
    };
    Status::with_error_details(
        code,
        error.to_string(),
        ErrorDetails::with_error_info(error.reason(), "heureka", HashMap::new()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConvertError;

    #[test]
    fn a_status_names_the_field_and_carries_the_reason() {
        let status = to_status(&ConvertError::Missing("host_name"));
        assert_eq!((status.code(), status.message()), (Code::InvalidArgument, "host_name is missing"));
        assert_eq!(status.get_error_details().error_info().unwrap().reason, "FIELD_MISSING");
    }
}
