//! The metadata of one instance, added to. Called by `router`; calls the registry.

use super::instances;
use crate::{body::Body, error, facade::Facade, parameters::BadParameter};
use bytes::Bytes;
use http::{Response, request::Parts};
use registry_proto::{registry::AddMetadataRequest, types::MetadataEntry};
use std::pin::pin;
use tonic::Request;

/// `PUT apps/{app}/{id}/metadata`: every parameter is an entry. Of a repeated key the first value counts, which is for the registry
/// to see.
pub(crate) async fn add<B>(facade: &Facade, app: &str, id: &str, head: &Parts, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    facade.bodies.discard(pin!(body)).await;
    let pairs = wire_codec::query_pairs(head.uri.query());
    let entries = pairs.map(|pair| {
        let (key, value) = pair?;
        Ok(MetadataEntry { key: key.into_owned(), value: value.into_owned() })
    });
    let metadata = match entries.collect::<Result<_, BadParameter>>() {
        Ok(metadata) => metadata,
        Err(bad) => return bad.response(),
    };
    let origin = instances::origin(&head.headers).into();
    let request = AddMetadataRequest { app: app.to_owned(), instance_id: id.to_owned(), metadata, origin };
    match facade.registry.add_metadata(Request::new(request)).await {
        Ok(response) => {
            let response = response.into_inner();
            instances::outcome(facade, response.found, response.position)
        }
        Err(status) => error::response(&status),
    }
}
