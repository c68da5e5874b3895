//! `/metrics`, `/livez`, `/readyz`: what service-runtime answers, as a response.

use crate::{body::Body, respond};
use http::{HeaderValue, Response, StatusCode};
use service_runtime::{ProcessHandle, operations};

pub(crate) fn answer(process: &ProcessHandle, path: &str) -> Response<Body> {
    match operations::answer(process, path) {
        Some(answer) => {
            let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            respond::text(status, HeaderValue::from_static(answer.content_type), answer.body)
        }
        None => respond::empty(StatusCode::NOT_FOUND),
    }
}
