//! From a gRPC status to an HTTP status: the only such table. Bodies are always empty, because clients of the Java kind try
//! to decode what comes with a 404 and then never register again. Called by `routes`.

use crate::{body::Body, respond};
use http::{Response, StatusCode};
use tonic::{Code, Status};

/// The HTTP status for a gRPC code.
pub(crate) const fn http_status(code: Code) -> StatusCode {
    match code {
        Code::InvalidArgument => StatusCode::BAD_REQUEST,
        Code::NotFound => StatusCode::NOT_FOUND,
        Code::FailedPrecondition => StatusCode::CONFLICT,
        Code::ResourceExhausted => StatusCode::TOO_MANY_REQUESTS,
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        Code::Ok
        | Code::Unknown
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Internal
        | Code::DataLoss
        | Code::Unauthenticated => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The answer to a request whose call failed.
pub(crate) fn response(status: &Status) -> Response<Body> {
    match http_status(status.code()) {
        StatusCode::SERVICE_UNAVAILABLE => respond::unavailable(),
        StatusCode::INTERNAL_SERVER_ERROR => {
            tracing::error!(code = ?status.code(), error = status.message(), "a request failed inside");
            respond::empty(StatusCode::INTERNAL_SERVER_ERROR)
        }
        other => respond::empty(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::RETRY_AFTER;
    use http_body::Body as _;

    #[test]
    fn failures_have_a_status_and_no_body() {
        let table = [
            (Code::InvalidArgument, 400),
            (Code::NotFound, 404),
            (Code::FailedPrecondition, 409),
            (Code::ResourceExhausted, 429),
            (Code::Unavailable, 503),
            (Code::DeadlineExceeded, 503),
            (Code::Cancelled, 503),
            (Code::Internal, 500),
            (Code::Unknown, 500),
            (Code::Unimplemented, 500),
        ];
        for (code, expected) in table {
            let response = response(&Status::new(code, "why"));
            assert_eq!(response.status(), expected, "{code:?}");
            assert!(response.body().is_end_stream());
            assert_eq!(response.headers().contains_key(RETRY_AFTER), expected == 503, "{code:?}");
        }
    }
}
