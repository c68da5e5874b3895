//! The status of one instance as an operator wants it: overridden, or the client's own again. Called by `router`; calls the registry.

use super::instances;
use crate::{
    body::Body,
    error,
    facade::Facade,
    parameters::{self, BadParameter},
};
use bytes::Bytes;
use http::{Response, request::Parts};
use registry_model::Origin;
use registry_proto::{
    registry::{ClearStatusRequest, SetStatusRequest},
    types,
};
use std::pin::pin;
use tonic::Request;

/// What a client calls the resource and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// `status?value=V&lastDirtyTimestamp=T`.
    Eureka,
    /// `leaseStatus?newState=V&syncTime=T`, as a widely copied article has it, with a header of its own for replication.
    LeaseStatus,
}

impl Spelling {
    const fn value(self) -> &'static str {
        match self {
            Self::Eureka => "value",
            Self::LeaseStatus => "newState",
        }
    }

    const fn stamp(self) -> &'static str {
        match self {
            Self::Eureka => "lastDirtyTimestamp",
            Self::LeaseStatus => "syncTime",
        }
    }

    fn origin(self, head: &Parts) -> types::Origin {
        let marked = || head.headers.get("x-replication").is_some_and(|value| value.as_bytes() == b"1");
        match self {
            Self::LeaseStatus if marked() => Origin::Peer.into(),
            Self::Eureka | Self::LeaseStatus => instances::origin(&head.headers),
        }
    }
}

/// `PUT apps/{app}/{id}/status`.
pub(crate) async fn set<B>(
    facade: &Facade,
    app: &str,
    id: &str,
    spelling: Spelling,
    head: &Parts,
    body: B,
) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    facade.bodies.discard(pin!(body)).await;
    let request = match setting(app, id, spelling, head) {
        Ok(request) => request,
        Err(bad) => return bad.response(),
    };
    match facade.registry.set_status(Request::new(request)).await {
        Ok(response) => {
            let response = response.into_inner();
            instances::outcome(facade, response.found, response.position)
        }
        Err(status) => error::response(&status),
    }
}

fn setting(app: &str, id: &str, spelling: Spelling, head: &Parts) -> Result<SetStatusRequest, BadParameter> {
    let query = head.uri.query();
    let status = parameters::status(query, spelling.value())?.ok_or(BadParameter::Missing(spelling.value()))?;
    Ok(SetStatusRequest {
        app: app.to_owned(),
        instance_id: id.to_owned(),
        status: types::InstanceStatus::from(status).into(),
        last_dirty_ms: parameters::stamp(query, spelling.stamp())?,
        origin: spelling.origin(head).into(),
    })
}

/// `DELETE apps/{app}/{id}/status`.
pub(crate) async fn clear(facade: &Facade, app: &str, id: &str, head: &Parts) -> Response<Body> {
    let request = match clearing(app, id, head) {
        Ok(request) => request,
        Err(bad) => return bad.response(),
    };
    match facade.registry.clear_status(Request::new(request)).await {
        Ok(response) => {
            let response = response.into_inner();
            instances::outcome(facade, response.found, response.position)
        }
        Err(status) => error::response(&status),
    }
}

fn clearing(app: &str, id: &str, head: &Parts) -> Result<ClearStatusRequest, BadParameter> {
    let query = head.uri.query();
    let status = parameters::status(query, Spelling::Eureka.value())?;
    Ok(ClearStatusRequest {
        app: app.to_owned(),
        instance_id: id.to_owned(),
        status: status.map_or(types::InstanceStatus::Unspecified, Into::into).into(),
        last_dirty_ms: parameters::stamp(query, Spelling::Eureka.stamp())?,
        origin: Spelling::Eureka.origin(head).into(),
    })
}
