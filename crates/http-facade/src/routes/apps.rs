//! Cached reads: all applications, the delta, one application. Called by `router`; reads the tier.

use crate::{
    body::{Body, Frames},
    facade::Facade,
    keys::{Key, Scope},
    misses::Missing,
    read_only::Held,
    respond::{self, Coding, Extent},
};
use http::{HeaderMap, Response, StatusCode, header::ACCEPT_ENCODING};
use registry_model::AppName;
use std::sync::Arc;
use wire_codec::Form;

/// `GET apps/{app}`.
pub(crate) async fn application(
    facade: &Facade,
    app: &str,
    form: Form,
    headers: &HeaderMap,
    extent: Extent,
) -> Response<Body> {
    match AppName::parse(app) {
        Ok(app) => cached(facade, Scope::Application(app), form, headers, extent).await,
        // Nothing can have been registered under what is no name.
        Err(_) => respond::cut(respond::empty(StatusCode::NOT_FOUND), extent),
    }
}

/// A payload from the tier.
pub(crate) async fn cached(
    facade: &Facade,
    scope: Scope,
    form: Form,
    headers: &HeaderMap,
    extent: Extent,
) -> Response<Body> {
    facade.tier.writes.level(&facade.clock).await;
    match facade.tier.read(Key { scope, form }).await {
        Ok(held) => payload(facade, &held, form, coding(headers), extent).await,
        Err(Missing::NotFound) => respond::cut(respond::empty(StatusCode::NOT_FOUND), extent),
        Err(Missing::Unavailable) => respond::cut(respond::unavailable(), extent),
    }
}

fn coding(headers: &HeaderMap) -> Coding {
    let mut lines = headers.get_all(ACCEPT_ENCODING).iter();
    match lines.any(|line| wire_codec::accepts_gzip(line.to_str().ok())) {
        true => Coding::Gzip,
        false => Coding::Identity,
    }
}

async fn payload(facade: &Facade, held: &Held, form: Form, coding: Coding, extent: Extent) -> Response<Body> {
    let mut response = respond::payload_headers(form, coding);
    let frames = match (extent, coding) {
        (Extent::HeadersOnly, Coding::Gzip) => return respond::headers_only(response, held.payload().gzip_length()),
        (Extent::HeadersOnly, Coding::Identity) => {
            return respond::headers_only(response, held.payload().plain_length());
        }
        (Extent::Whole, Coding::Gzip) => Frames::Gzip(Arc::clone(held.payload())),
        (Extent::Whole, Coding::Identity) => match Box::pin(held.plain(facade.clock.mono())).await {
            Ok(plain) => Frames::Plain(plain),
            Err(error) => {
                tracing::error!(%error, ?form, "a payload cannot be sent as it is");
                return respond::empty(StatusCode::INTERNAL_SERVER_ERROR);
            }
        },
    };
    *response.body_mut() = Body::frames(frames);
    response
}
