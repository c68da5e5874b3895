//! The document that a request brings: its type, its compression, its limits, and the answers where there is none.
//! Called by `routes` for registrations and batches.

use crate::{
    body::Body,
    facade::Facade,
    request_body::{self, Bodies, Received, Refused},
    respond,
};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE, EXPECT},
};
use std::pin::{Pin, pin};
use wire_codec::{DecodeError, Form, MediaType};

/// Plain bodies longer than this are decoded off the async threads.
const PLAIN_AT_ONCE: usize = 64 << 10;
/// So are compressed ones longer than this: a byte may stand for a thousand.
const GZIP_AT_ONCE: usize = 1 << 10;

/// From the bytes of a document to what it means.
type Decoder<T> = fn(MediaType, &[u8]) -> Result<T, DecodeError>;

/// The document of a request, or the answer to one that brings none.
pub(crate) async fn receive<T, B>(
    facade: &Facade,
    bodies: &Bodies,
    headers: &HeaderMap,
    body: B,
    decoder: Decoder<T>,
) -> Result<T, Box<Response<Body>>>
where
    T: Send + 'static,
    B: http_body::Body<Data = Bytes>,
{
    let mut body = pin!(body);
    let content_type = headers.get(CONTENT_TYPE);
    let (media, coding) = match (wire_codec::body_type(text(content_type)), Compression::of(headers)) {
        (Ok(media), Some(coding)) => (media, coding),
        (Ok(_), None) | (Err(_), _) => {
            return Err(refuse(bodies, headers, body, respond::empty(StatusCode::UNSUPPORTED_MEDIA_TYPE)).await);
        }
    };
    if bodies.is_too_long(&*body) {
        facade.metrics.refused(Refused::TooLarge);
        return Err(refuse(bodies, headers, body, respond::empty(StatusCode::PAYLOAD_TOO_LARGE)).await);
    }
    let decoded = match bodies.read(body.as_mut()).await {
        Ok(received) => decode(bodies, received, media, coding, decoder).await,
        Err(refused) => Err(Undecodable::Refused(refused)),
    };
    if let Err(Undecodable::Refused(refused)) = decoded {
        facade.metrics.refused(refused);
    }
    let answer = match decoded {
        Ok(document) => return Ok(document),
        Err(Undecodable::Refused(Refused::TooLarge)) => {
            // Whoever is still sending sees the refusal only when done.
            bodies.discard(body).await;
            respond::empty(StatusCode::PAYLOAD_TOO_LARGE)
        }
        Err(Undecodable::Refused(Refused::TooSlow)) => respond::empty(StatusCode::REQUEST_TIMEOUT),
        Err(Undecodable::Refused(Refused::Busy)) => {
            return Err(refuse(bodies, headers, body, respond::unavailable()).await);
        }
        Err(Undecodable::Refused(Refused::Broken) | Undecodable::Document) => cannot_parse(content_type),
        Err(Undecodable::GivenUp) => respond::unavailable(),
    };
    Err(Box::new(answer))
}

/// Refuses a body unread, in such a way that a client that is still sending it can see why.
async fn refuse<B>(
    bodies: &Bodies,
    headers: &HeaderMap,
    body: Pin<&mut B>,
    response: Response<Body>,
) -> Box<Response<Body>>
where
    B: http_body::Body<Data = Bytes>,
{
    // A client that asks before it sends has not begun.
    if !headers.contains_key(EXPECT) {
        bodies.discard(body).await;
    }
    Box::new(response)
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

/// Why a body is no document.
enum Undecodable {
    Refused(Refused),
    Document,
    /// The process ended meanwhile.
    GivenUp,
}

async fn decode<T: Send + 'static>(
    bodies: &Bodies,
    received: Received,
    media: MediaType,
    coding: Compression,
    decoder: Decoder<T>,
) -> Result<T, Undecodable> {
    let limit = bodies.limit();
    let at_once = match coding {
        Compression::Identity => PLAIN_AT_ONCE,
        Compression::Gzip => GZIP_AT_ONCE,
    };
    if received.bytes.len() <= at_once {
        decode_now(&received.bytes, media, coding, limit, decoder)
    } else {
        let decoding = bodies.off_thread(received, move |body| decode_now(body, media, coding, limit, decoder));
        decoding.await.unwrap_or(Err(Undecodable::GivenUp))
    }
}

fn decode_now<T>(
    body: &[u8],
    media: MediaType,
    coding: Compression,
    limit: usize,
    decoder: Decoder<T>,
) -> Result<T, Undecodable> {
    let plain;
    let document = match coding {
        Compression::Identity => body,
        Compression::Gzip => {
            plain = request_body::gunzip(body, limit).map_err(Undecodable::Refused)?;
            &plain
        }
    };
    decoder(media, document).map_err(|error| {
        tracing::debug!(%error, "the body of a request cannot be decoded");
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
