//! `POST peerreplication/batch`: what another server has collected, carried out item by item. Called by `router`; calls the registry.

use super::server_info::JSON;
use crate::{body::Body, error, facade::Facade, request_document, respond};
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use registry_model::{AppName, InstanceStatus, Origin, Record, RegistrationDraft, UnixMillis, UnknownStatus};
use registry_proto::{
    ConvertError, IntoModel,
    registry::{CancelRequest, ClearStatusRequest, RegisterRequest, RenewOutcome, RenewRequest, SetStatusRequest},
    types,
};
use std::sync::Arc;
use tonic::{Code, Request, Status};
use wire_codec::{BatchAction, BatchAnswer, BatchItem};

/// After so many items others have their turn: within one process no item ever waits.
const ITEMS_AT_A_TIME: usize = 64;

/// Why an item has no result of its own.
#[derive(Debug, thiserror::Error)]
enum Failed {
    /// Nothing says what is to be done, or with what.
    #[error("item has no {0}")]
    Incomplete(&'static str),
    #[error(transparent)]
    Status(#[from] UnknownStatus),
    #[error("no status is given")]
    NoStatus,
    #[error("the registry sent an instance that is none")]
    Instance(#[from] ConvertError),
    #[error("the registry refuses: {}", .0.message())]
    Registry(#[from] Status),
}

impl Failed {
    fn status(&self) -> StatusCode {
        match self {
            Self::Incomplete(_) | Self::Instance(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Status(_) | Self::NoStatus => StatusCode::BAD_REQUEST,
            Self::Registry(status) => error::http_status(status.code()),
        }
    }
}

/// What became of an item.
struct Done {
    status: StatusCode,
    stored: Option<Record>,
}

impl From<StatusCode> for Done {
    fn from(status: StatusCode) -> Self {
        Self { status, stored: None }
    }
}

/// Carries all items out, in their order. Always JSON, whatever the other server takes: nobody reads anything else.
pub(crate) async fn run<B>(facade: &Facade, headers: &HeaderMap, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    let items =
        match request_document::receive(facade, &facade.batch_bodies, headers, body, wire_codec::decode_batch).await {
            Ok(items) => items,
            Err(answer) => return *answer,
        };
    let mut answer = BatchAnswer::default();
    for (place, item) in items.into_iter().enumerate() {
        if place % ITEMS_AT_A_TIME == ITEMS_AT_A_TIME - 1 {
            tokio::task::yield_now().await;
        }
        match carry_out(facade, item).await {
            Ok(done) => answer.push(done.status.as_u16(), done.stored.as_ref()),
            Err(failed) => match failed.status() {
                // The other server sends the whole batch again after this, and after nothing else.
                StatusCode::SERVICE_UNAVAILABLE => return respond::unavailable(),
                status => {
                    tracing::debug!(error = %failed, "an item of a batch failed");
                    answer.push(status.as_u16(), None);
                }
            },
        }
    }
    respond::text(StatusCode::OK, JSON, answer.finish())
}

async fn carry_out(facade: &Facade, item: BatchItem) -> Result<Done, Failed> {
    let BatchItem { action, app, id, last_dirty, status: said, overridden_status, instance } = item;
    let action = action.ok_or(Failed::Incomplete("action"))?;
    let app: String = app.ok_or(Failed::Incomplete("appName"))?.into();
    // An absent id is none that anything is registered under.
    let instance_id: String = id.unwrap_or_default().into();
    let last_dirty_ms = last_dirty.map(|UnixMillis(stamp)| stamp);
    let origin = types::Origin::from(Origin::Peer).into();
    let parse = |text: Option<Box<str>>| text.map(|text| text.parse::<InstanceStatus>()).transpose();
    match action {
        BatchAction::Register => register(facade, &app, *instance.ok_or(Failed::Incomplete("instanceInfo"))?).await,
        BatchAction::Heartbeat => {
            let overridden = message(parse(overridden_status)?).into();
            let request =
                RenewRequest { app, instance_id, last_dirty_ms, origin, overridden_status: overridden, said_status: 0 };
            renew(facade, request).await
        }
        BatchAction::Cancel => {
            let request = CancelRequest { app, instance_id, origin };
            let response = facade.registry.cancel(Request::new(request)).await?.into_inner();
            Ok(outcome(facade, response.found, response.position))
        }
        BatchAction::StatusUpdate => {
            let status = message(Some(parse(said)?.ok_or(Failed::NoStatus)?)).into();
            let request = SetStatusRequest { app, instance_id, status, last_dirty_ms, origin };
            let response = facade.registry.set_status(Request::new(request)).await?.into_inner();
            Ok(outcome(facade, response.found, response.position))
        }
        BatchAction::DeleteStatusOverride => {
            let status = message(parse(said)?).into();
            let request = ClearStatusRequest { app, instance_id, status, last_dirty_ms, origin };
            let response = facade.registry.clear_status(Request::new(request)).await?.into_inner();
            Ok(outcome(facade, response.found, response.position))
        }
    }
}

fn message(status: Option<InstanceStatus>) -> types::InstanceStatus {
    status.map_or(types::InstanceStatus::Unspecified, Into::into)
}

fn outcome(facade: &Facade, found: bool, position: Option<types::Position>) -> Done {
    if let Some(position) = position {
        facade.tier.acknowledged(position.into());
    }
    Done::from(if found { StatusCode::OK } else { StatusCode::NOT_FOUND })
}

/// A registration that is refused counts as done, as in Java: the other server could do nothing about it but write a line into its log.
async fn register(facade: &Facade, app: &str, draft: RegistrationDraft) -> Result<Done, Failed> {
    let instance =
        match AppName::parse(app).map_err(Into::into).and_then(|app| draft.validate(&app, facade.clock.unix())) {
            Ok(instance) => Arc::new(instance),
            Err(refused) => return Ok(refuse(facade, &refused.to_string())),
        };
    let request = RegisterRequest { instance: Some(instance.into()), origin: types::Origin::from(Origin::Peer).into() };
    match facade.registry.register(Request::new(request)).await {
        Ok(response) => Ok(outcome(facade, true, response.into_inner().position)),
        Err(status) if status.code() == Code::InvalidArgument => Ok(refuse(facade, status.message())),
        Err(status) => Err(status.into()),
    }
}

fn refuse(facade: &Facade, reason: &str) -> Done {
    facade.metrics.peer_registrations_refused.inc();
    tracing::debug!(reason, "another server's registration is refused");
    StatusCode::OK.into()
}

async fn renew(facade: &Facade, request: RenewRequest) -> Result<Done, Failed> {
    let response = facade.renewals.renew(request).await?;
    Ok(match response.outcome() {
        RenewOutcome::Renewed => StatusCode::OK.into(),
        RenewOutcome::NotFound | RenewOutcome::StoredIsOlder => StatusCode::NOT_FOUND.into(),
        RenewOutcome::StoredIsNewer => {
            Done { status: StatusCode::CONFLICT, stored: Some(response.stored.into_model()?) }
        }
        RenewOutcome::Unspecified => return Err(Failed::Incomplete("outcome")),
    })
}
