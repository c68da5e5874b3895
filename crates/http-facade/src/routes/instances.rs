//! One instance: register, renew, cancel, read. Called by `router`; calls the registry.

use crate::{
    body::Body,
    error,
    facade::Facade,
    request_body::{self, Bodies, Received, Refused},
    resource, respond,
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT},
    request::Parts,
};
use registry_model::{AppName, Origin, Record, RegistrationDraft};
use registry_proto::{
    IntoModel,
    registry::{CancelRequest, GetInstanceRequest, RegisterRequest, RenewOutcome, RenewRequest},
    types,
};
use std::{
    pin::{Pin, pin},
    sync::Arc,
};
use tonic::Request;
use wire_codec::{Form, MediaType};

const REPLICATION: &str = "x-netflix-discovery-replication";

/// Plain bodies longer than this are decoded off the async threads.
const PLAIN_AT_ONCE: usize = 64 << 10;
/// So are compressed ones longer than this: a byte may stand for a thousand.
const GZIP_AT_ONCE: usize = 1 << 10;

/// `PUT apps/{app}/{id}`: the hot path.
pub(crate) async fn renew<B>(facade: &Facade, app: &str, id: &str, head: &Parts, form: Form, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    // Some clients send `{}`, which nobody reads; left in the connection it would cost the connection.
    if !body.is_end_stream() {
        Box::pin(async { facade.bodies.discard(pin!(body)).await }).await;
    }
    let Ok(last_dirty_ms) = last_dirty(head.uri.query()) else {
        return respond::empty(StatusCode::BAD_REQUEST);
    };
    let request = RenewRequest {
        app: app.to_owned(),
        instance_id: id.to_owned(),
        last_dirty_ms,
        origin: origin(&head.headers).into(),
        ..RenewRequest::default()
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

/// `lastDirtyTimestamp`, a signed decimal; an error for what is none.
fn last_dirty(query: Option<&str>) -> Result<Option<i64>, ()> {
    match resource::query_value(query, "lastDirtyTimestamp") {
        Ok(Some(text)) => text.parse().map(Some).map_err(drop),
        Ok(None) => Ok(None),
        Err(_) => Err(()),
    }
}

/// `DELETE apps/{app}/{id}`.
pub(crate) async fn cancel(facade: &Facade, app: &str, id: &str, headers: &HeaderMap) -> Response<Body> {
    let request = CancelRequest { app: app.to_owned(), instance_id: id.to_owned(), origin: origin(headers).into() };
    match facade.registry.cancel(Request::new(request)).await {
        Ok(response) => {
            let response = response.into_inner();
            if let Some(position) = response.position {
                facade.tier.acknowledged(position.into());
            }
            respond::empty(if response.found { StatusCode::OK } else { StatusCode::NOT_FOUND })
        }
        Err(status) => error::response(&status),
    }
}

/// `GET apps/{app}/{id}`, live.
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
    let mut body = pin!(body);
    let content_type = headers.get(CONTENT_TYPE);
    let (media, coding) = match (wire_codec::body_type(text(content_type)), Compression::of(headers)) {
        (Ok(media), Some(coding)) => (media, coding),
        (Ok(_), None) | (Err(_), _) => {
            return refuse(facade, headers, body, respond::empty(StatusCode::UNSUPPORTED_MEDIA_TYPE)).await;
        }
    };
    if facade.bodies.is_too_long(&*body) {
        facade.metrics.refused(Refused::TooLarge);
        return refuse(facade, headers, body, respond::empty(StatusCode::PAYLOAD_TOO_LARGE)).await;
    }
    let draft = match facade.bodies.read(body.as_mut()).await {
        Ok(received) => decode(&facade.bodies, received, media, coding).await,
        Err(refused) => Err(Undecodable::Refused(refused)),
    };
    if let Err(Undecodable::Refused(refused)) = draft {
        facade.metrics.refused(refused);
    }
    let draft = match draft {
        Ok(draft) => draft,
        Err(Undecodable::Refused(Refused::TooLarge)) => {
            // Whoever is still sending sees the refusal only when done.
            facade.bodies.discard(body).await;
            return respond::empty(StatusCode::PAYLOAD_TOO_LARGE);
        }
        Err(Undecodable::Refused(Refused::TooSlow)) => return respond::empty(StatusCode::REQUEST_TIMEOUT),
        Err(Undecodable::Refused(Refused::Busy)) => {
            return refuse(facade, headers, body, respond::unavailable()).await;
        }
        Err(Undecodable::Refused(Refused::Broken) | Undecodable::Document) => return cannot_parse(content_type),
        Err(Undecodable::GivenUp) => return respond::unavailable(),
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

/// Refuses a body unread, in such a way that a client that is still sending it can see why.
async fn refuse<B>(facade: &Facade, headers: &HeaderMap, body: Pin<&mut B>, response: Response<Body>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    // A client that asks before it sends has not begun.
    if !headers.contains_key(EXPECT) {
        facade.bodies.discard(body).await;
    }
    response
}

/// How a request's body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compression {
    Gzip,
    Identity,
}

impl Compression {
    /// `None` for one that is not read here.
    fn of(headers: &HeaderMap) -> Option<Self> {
        match headers.get(CONTENT_ENCODING) {
            None => Some(Self::Identity),
            Some(coding) if coding.as_bytes().eq_ignore_ascii_case(b"identity") => Some(Self::Identity),
            Some(coding) if coding.as_bytes().eq_ignore_ascii_case(b"gzip") => Some(Self::Gzip),
            Some(coding) if coding.as_bytes().eq_ignore_ascii_case(b"x-gzip") => Some(Self::Gzip),
            Some(_) => None,
        }
    }
}

/// Why a body is no registration.
enum Undecodable {
    Refused(Refused),
    Document,
    /// The process ended meanwhile.
    GivenUp,
}

async fn decode(
    bodies: &Bodies,
    received: Received,
    media: MediaType,
    coding: Compression,
) -> Result<RegistrationDraft, Undecodable> {
    let limit = bodies.limit();
    let at_once = match coding {
        Compression::Identity => PLAIN_AT_ONCE,
        Compression::Gzip => GZIP_AT_ONCE,
    };
    if received.bytes.len() <= at_once {
        decode_now(&received.bytes, media, coding, limit)
    } else {
        let decoding = bodies.off_thread(received, move |body| decode_now(body, media, coding, limit));
        decoding.await.unwrap_or(Err(Undecodable::GivenUp))
    }
}

fn decode_now(
    body: &[u8],
    media: MediaType,
    coding: Compression,
    limit: usize,
) -> Result<RegistrationDraft, Undecodable> {
    let plain;
    let document = match coding {
        Compression::Identity => body,
        Compression::Gzip => {
            plain = request_body::gunzip(body, limit).map_err(Undecodable::Refused)?;
            &plain
        }
    };
    wire_codec::decode_registration(media, document).map_err(|error| {
        tracing::debug!(%error, "a registration cannot be decoded");
        Undecodable::Document
    })
}

/// Eureka's two texts for a body that is no document, under the label that the request had.
fn cannot_parse(content_type: Option<&HeaderValue>) -> Response<Body> {
    let plain_json = text(content_type).is_some_and(|text| text.trim().eq_ignore_ascii_case("application/json"));
    let body = match plain_json {
        true => r#"{"error": "cannot parse request body"}"#,
        false => "<error><message>cannot parse request body</message></error>",
    };
    let label = content_type.cloned().unwrap_or_else(|| respond::label(Form::Xml));
    respond::text(StatusCode::BAD_REQUEST, label, body)
}

fn text(header: Option<&HeaderValue>) -> Option<&str> {
    header.and_then(|header| header.to_str().ok())
}

/// Another server's request, if it says so in exactly these letters.
fn origin(headers: &HeaderMap) -> types::Origin {
    let replicated = headers.get(REPLICATION).is_some_and(|value| value.as_bytes() == b"true");
    match replicated {
        true => Origin::Peer.into(),
        false => Origin::Client.into(),
    }
}
