//! One instance: register, renew, cancel, read. Called by `router`, parts of it by the other routes; calls the registry.

use crate::{
    body::Body,
    error,
    facade::Facade,
    parameters::{self, BadParameter},
    request_document, respond,
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Response, StatusCode, request::Parts};
use registry_model::{AppName, InstanceStatus, Origin, Record};
use registry_proto::{
    IntoModel,
    registry::{CancelRequest, GetInstanceRequest, RegisterRequest, RenewOutcome, RenewRequest},
    types,
};
use std::{pin::pin, sync::Arc};
use tonic::Request;
use wire_codec::Form;

static REPLICATION: HeaderName = HeaderName::from_static("x-netflix-discovery-replication");

/// In place of an application: whichever has the instance.
pub(crate) const ANY_APPLICATION: &str = "";

/// `PUT apps/{app}/{id}`: the hot path.
pub(crate) async fn renew<B>(facade: &Facade, app: &str, id: &str, head: &Parts, form: Form, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    // Some clients send `{}`, which nobody reads; left in the connection it would cost the connection.
    if !body.is_end_stream() {
        Box::pin(async { facade.bodies.discard(pin!(body)).await }).await;
    }
    let request = match renewal(app, id, head) {
        Ok(request) => request,
        Err(bad) => return bad.response(),
    };
    let response = match facade.renewals.renew(request).await {
        Ok(response) => response,
        Err(status) => return error::response(&status),
    };
    match response.outcome() {
        RenewOutcome::Renewed => respond::empty(StatusCode::OK),
        RenewOutcome::NotFound | RenewOutcome::StoredIsOlder => respond::empty(StatusCode::NOT_FOUND),
        RenewOutcome::StoredIsNewer => document(StatusCode::CONFLICT, form, response.stored.into_model()),
        RenewOutcome::Unspecified => {
            tracing::error!("the registry did not say what became of a renewal");
            respond::empty(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

fn renewal(app: &str, id: &str, head: &Parts) -> Result<RenewRequest, BadParameter> {
    let query = head.uri.query();
    let origin = origin(&head.headers);
    let overridden = match origin {
        types::Origin::Peer => parameters::status(query, "overriddenstatus")?,
        types::Origin::Client | types::Origin::Unspecified => None,
    };
    // Old clients say whatever they like, and nothing depends on it.
    let said = parameters::status(query, "status").ok().flatten();
    let or_none = |status: Option<InstanceStatus>| status.map_or(types::InstanceStatus::Unspecified, Into::into);
    Ok(RenewRequest {
        app: app.to_owned(),
        instance_id: id.to_owned(),
        last_dirty_ms: parameters::stamp(query, "lastDirtyTimestamp")?,
        origin: origin.into(),
        overridden_status: or_none(overridden).into(),
        said_status: or_none(said).into(),
    })
}

/// `DELETE apps/{app}/{id}`.
pub(crate) async fn cancel(facade: &Facade, app: &str, id: &str, headers: &HeaderMap) -> Response<Body> {
    let request = CancelRequest { app: app.to_owned(), instance_id: id.to_owned(), origin: origin(headers).into() };
    match facade.registry.cancel(Request::new(request)).await {
        Ok(response) => {
            let response = response.into_inner();
            outcome(facade, response.found, response.position)
        }
        Err(status) => error::response(&status),
    }
}

/// The answer to a command on an instance that there may be, and its position remembered.
pub(crate) fn outcome(facade: &Facade, found: bool, position: Option<types::Position>) -> Response<Body> {
    if let Some(position) = position {
        facade.tier.acknowledged(position.into());
    }
    respond::empty(if found { StatusCode::OK } else { StatusCode::NOT_FOUND })
}

/// `GET apps/{app}/{id}` and `GET instances/{id}`, live.
pub(crate) async fn read(facade: &Facade, app: &str, id: &str, form: Form) -> Response<Body> {
    let request = GetInstanceRequest { app: app.to_owned(), instance_id: id.to_owned() };
    match facade.registry.get_instance(Request::new(request)).await {
        Ok(response) => match response.into_inner().record {
            Some(record) => document(StatusCode::OK, form, record.into_model()),
            None => respond::empty(StatusCode::NOT_FOUND),
        },
        Err(status) => error::response(&status),
    }
}

fn document(status: StatusCode, form: Form, record: Result<Record, registry_proto::ConvertError>) -> Response<Body> {
    match record {
        Ok(record) => respond::document(status, form, wire_codec::encode_instance(form, &record)),
        Err(error) => {
            tracing::error!(%error, "the registry sent an instance that is none");
            respond::empty(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

/// `POST apps/{app}`.
pub(crate) async fn register<B>(facade: &Facade, app: &str, headers: &HeaderMap, form: Form, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    let received =
        request_document::receive(facade, &facade.bodies, headers, body, wire_codec::decode_registration).await;
    let draft = match received {
        Ok(draft) => draft,
        Err(answer) => return *answer,
    };
    let path = match AppName::parse(app) {
        Ok(path) => path,
        Err(error) => return respond::text(StatusCode::BAD_REQUEST, respond::label(form), error.to_string()),
    };
    let instance = match draft.validate(&path, facade.clock.unix()) {
        Ok(instance) => Arc::new(instance),
        Err(error) => return respond::text(StatusCode::BAD_REQUEST, respond::label(form), error.to_string()),
    };
    let request = RegisterRequest { instance: Some(instance.into()), origin: origin(headers).into() };
    match facade.registry.register(Request::new(request)).await {
        Ok(response) => {
            if let Some(position) = response.into_inner().position {
                facade.tier.acknowledged(position.into());
            }
            respond::empty(StatusCode::NO_CONTENT)
        }
        Err(status) => error::response(&status),
    }
}

/// Another server's request, if it says so in exactly these letters.
pub(crate) fn origin(headers: &HeaderMap) -> types::Origin {
    let replicated = headers.get(&REPLICATION).is_some_and(|value| value.as_bytes() == b"true");
    match replicated {
        true => Origin::Peer.into(),
        false => Origin::Client.into(),
    }
}
