//! Cached reads: all applications, the delta, one application, the instances with an address. Called by `router`; reads the tier.

use crate::{
    body::{Body, Frames},
    facade::{Delta, Facade},
    keys::{Key, Scope},
    misses::Missing,
    parameters::Regions,
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
        Err(_) => {
            let found = facade.tier.admits().and(Err(Missing::NotFound));
            answer(facade, found, form, headers, extent).await
        }
    }
}

/// `GET vips/{vip}` and `GET svips/{vip}`: an address that no instance lists has an empty list.
pub(crate) async fn listing(
    facade: &Facade,
    scope: Scope,
    form: Form,
    headers: &HeaderMap,
    extent: Extent,
) -> Response<Body> {
    match read(facade, scope, form).await {
        Err(Missing::NotFound) => {
            let nothing = facade.tier.pages.no_instances(form);
            payload(facade, &nothing, form, coding(headers), extent).await
        }
        found => answer(facade, found, form, headers, extent).await,
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
    let found = read(facade, scope, form).await;
    answer(facade, found, form, headers, extent).await
}

/// `GET apps/delta`, unless it is switched off.
pub(crate) async fn delta(
    facade: &Facade,
    regions: Regions,
    form: Form,
    headers: &HeaderMap,
    extent: Extent,
) -> Response<Body> {
    if facade.delta == Delta::Disabled {
        return respond::cut(respond::empty(StatusCode::FORBIDDEN), extent);
    }
    let found = read(facade, Scope::Delta, form).await;
    let found = found.map(|held| match regions {
        Regions::NotNamed => held,
        Regions::Named => held.regional().cloned().unwrap_or(held),
    });
    answer(facade, found, form, headers, extent).await
}

async fn read(facade: &Facade, scope: Scope, form: Form) -> Result<Arc<Held>, Missing> {
    facade.tier.writes.level(&facade.clock).await;
    facade.tier.read(Key { scope, form }).await
}

async fn answer(
    facade: &Facade,
    found: Result<Arc<Held>, Missing>,
    form: Form,
    headers: &HeaderMap,
    extent: Extent,
) -> Response<Body> {
    match found {
        Ok(held) => payload(facade, &held, form, coding(headers), extent).await,
        Err(Missing::NotFound) => respond::cut(respond::empty(StatusCode::NOT_FOUND), extent),
        // Java clients ask the next server then.
        Err(Missing::GateClosed) => respond::cut(respond::empty(StatusCode::FORBIDDEN), extent),
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
