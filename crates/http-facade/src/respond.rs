//! The shapes of answers: status, headers, body. Called by `router`, `routes` and `error`.

use crate::body::Body;
use http::{
    HeaderValue, Response, StatusCode,
    header::{ALLOW, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, VARY},
};
use wire_codec::Form;

/// Seconds after which a client may try again: upstreams come back, or another server is asked meanwhile.
const RETRY_AFTER_SECONDS: HeaderValue = HeaderValue::from_static("1");

/// Whether the client wants the body or only its headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// GET.
    Whole,
    /// HEAD.
    HeadersOnly,
}

/// A status without a body.
pub(crate) fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::EMPTY);
    *response.status_mut() = status;
    response
}

/// 503: try again, here or elsewhere.
pub(crate) fn unavailable() -> Response<Body> {
    let mut response = empty(StatusCode::SERVICE_UNAVAILABLE);
    response.headers_mut().insert(RETRY_AFTER, RETRY_AFTER_SECONDS);
    response
}

/// A status with the list of methods that there are.
pub(crate) fn allow(status: StatusCode, methods: &'static str) -> Response<Body> {
    let mut response = empty(status);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// A status with some text.
pub(crate) fn text(status: StatusCode, content_type: HeaderValue, body: impl Into<bytes::Bytes>) -> Response<Body> {
    let mut response = Response::new(Body::bytes(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// The label of a form, without a charset.
pub(crate) const fn label(form: Form) -> HeaderValue {
    HeaderValue::from_static(form.content_type())
}

/// A whole document that was made for this one answer.
pub(crate) fn document(status: StatusCode, form: Form, document: Vec<u8>) -> Response<Body> {
    text(status, label(form), document)
}

/// How a payload travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    /// As one gzip member.
    Gzip,
    /// As it is.
    Identity,
}

/// The headers of an answer whose body is a shared payload.
pub(crate) fn payload_headers(form: Form, coding: Coding) -> Response<Body> {
    let mut response = Response::new(Body::EMPTY);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, label(form));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    match coding {
        Coding::Gzip => {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        Coding::Identity => {}
    }
    response
}

/// The answer to a HEAD: what length the body would have, and no body.
pub(crate) fn headers_only(mut response: Response<Body>, length: u64) -> Response<Body> {
    response.headers_mut().insert(CONTENT_LENGTH, length.into());
    *response.body_mut() = Body::EMPTY;
    response
}

/// The answer itself, or to a HEAD its headers and what length its body would have.
pub(crate) fn cut(response: Response<Body>, extent: Extent) -> Response<Body> {
    match extent {
        Extent::Whole => response,
        Extent::HeadersOnly => {
            let length = http_body::Body::size_hint(response.body()).lower();
            headers_only(response, length)
        }
    }
}
