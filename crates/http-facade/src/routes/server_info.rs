//! What the server tells of itself: overrides, status, health. Called by `router`; asks the registry and the operating system.

use crate::{body::Body, error, facade::Facade, machine, respond};
use http::{HeaderValue, Response, StatusCode};
use registry_model::Record;
use registry_proto::{
    IntoModel, instance_status,
    registry::{GetStatisticsRequest, GetStatisticsResponse, ListOverridesRequest, Preservation},
    types,
};
use std::{collections::BTreeMap, time::Duration};
use tonic::Request;
use wire_codec::{Form, StatusInfo};

/// The label of what exists in JSON only.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static(Form::Json.content_type());

/// `GET serverinfo/statusoverrides`: ids and statuses. Of an id that several applications have, one is told.
pub(crate) async fn overrides(facade: &Facade) -> Response<Body> {
    let overrides = match facade.registry.list_overrides(Request::new(ListOverridesRequest {})).await {
        Ok(response) => response.into_inner().overrides,
        Err(status) => return error::response(&status),
    };
    let by_id: BTreeMap<_, _> = overrides
        .iter()
        .filter_map(|one| Some((one.key.as_ref()?.instance_id.as_str(), instance_status("status", one.status).ok()??)))
        .collect();
    respond::text(StatusCode::OK, JSON, wire_codec::encode_overrides(by_id.into_iter()))
}

/// `GET status`.
pub(crate) async fn report(facade: &Facade, form: Form) -> Response<Body> {
    // What the registry does not say is left out; the rest is known all the same.
    let statistics = facade.registry.get_statistics(Request::new(GetStatisticsRequest { recent: 0 })).await;
    let mut general = process_figures(facade);
    let mut instance = None;
    match statistics {
        Ok(statistics) => {
            let mut statistics = statistics.into_inner();
            instance = own(statistics.own.take());
            registry_figures(&mut general, statistics);
        }
        Err(status) => tracing::debug!(code = ?status.code(), error = status.message(), "the registry tells nothing"),
    }
    let info = StatusInfo {
        general,
        application: ["registered-replicas", "available-replicas", "unavailable-replicas"]
            .map(|key| (key, String::new()))
            .into(),
        instance,
        healthy: Some(State::of(facade) == State::Up),
    };
    respond::document(StatusCode::OK, form, wire_codec::encode_status_info(form, &info))
}

/// This server as an instance, if it is one.
fn own(record: Option<types::Record>) -> Option<Record> {
    let record = record?.into_model();
    record.inspect_err(|error| tracing::error!(%error, "the registry sent an instance that is none")).ok()
}

type Figures = Vec<(&'static str, String)>;

fn process_figures(facade: &Facade) -> Figures {
    let (total, used) = match machine::Memory::now() {
        Some(memory) => {
            let share = memory.used.saturating_mul(100).checked_div(memory.total).unwrap_or_default();
            (format!("{}mb", memory.total / 1024), format!("{}mb ({share}%)", memory.used / 1024))
        }
        None => ("unknown".to_owned(), "unknown".to_owned()),
    };
    let mut figures = vec![
        ("server-uptime", uptime(facade.clock.mono().saturating_since(facade.started))),
        ("environment", facade.environment.clone()),
        ("num-of-cpus", machine::processors().to_string()),
        ("total-avail-memory", total),
        ("current-memory-usage", used),
    ];
    let degraded: Vec<_> = facade.process.degraded().iter().map(|(part, reason)| format!("{part}: {reason}")).collect();
    if !degraded.is_empty() {
        figures.push(("degraded", degraded.join("; ")));
    }
    figures
}

/// Hours and minutes, with days in front, spaced as Java does it.
fn uptime(since: Duration) -> String {
    let minutes = since.as_secs() / 60;
    let days = match minutes / 1440 {
        0 => String::new(),
        1 => "1 day ".to_owned(),
        days => format!(" {days} days "),
    };
    format!("{days}{:02}:{:02}", minutes / 60 % 24, minutes % 60)
}

fn registry_figures(figures: &mut Figures, statistics: GetStatisticsResponse) {
    figures.extend([
        ("leases", statistics.leases.to_string()),
        ("renews-threshold", statistics.renewals_per_minute_threshold.to_string()),
        ("renews-last-minute", statistics.renewals_last_minute.to_string()),
    ]);
    let Some(Preservation { enabled, protecting, reason, since_ms, until_ms, missing, given_up }) =
        statistics.preservation
    else {
        return;
    };
    let state = match (enabled, protecting) {
        (false, _) => "off",
        (true, false) => "watching",
        (true, true) => "protecting",
    };
    figures.extend([
        ("self-preservation", state.to_owned()),
        ("missing-leases", missing.to_string()),
        ("given-up-leases", given_up.to_string()),
    ]);
    if protecting {
        figures.extend([("self-preservation-reason", reason), ("self-preservation-since-ms", since_ms.to_string())]);
        if until_ms != 0 {
            figures.push(("self-preservation-until-ms", until_ms.to_string()));
        }
    }
}

/// How this server is, in the words that an instance has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    Starting,
    OutOfService,
}

impl State {
    fn of(facade: &Facade) -> Self {
        if facade.process.stopping().is_cancelled() {
            Self::OutOfService
        } else if facade.process.not_ready().is_empty() {
            Self::Up
        } else {
            Self::Starting
        }
    }
}

/// `GET healthcheck`.
pub(crate) fn healthcheck(facade: &Facade) -> Response<Body> {
    respond::empty(match State::of(facade) {
        State::Up => StatusCode::OK,
        State::Starting => StatusCode::NO_CONTENT,
        State::OutOfService => StatusCode::SERVICE_UNAVAILABLE,
    })
}

/// `GET /actuator/health`, which probes written for Spring's server ask for.
pub(crate) fn actuator_health(facade: &Facade) -> Response<Body> {
    match State::of(facade) {
        State::Up => respond::text(StatusCode::OK, JSON, r#"{"status":"UP"}"#),
        State::Starting | State::OutOfService => {
            respond::text(StatusCode::SERVICE_UNAVAILABLE, JSON, r#"{"status":"OUT_OF_SERVICE"}"#)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptime_is_written_as_java_writes_it() {
        let minutes = |minutes: u64| uptime(Duration::from_secs(60 * minutes + 59));
        assert_eq!(minutes(0), "00:00");
        assert_eq!(minutes(61), "01:01");
        assert_eq!(minutes(1440 + 5), "1 day 00:05");
        assert_eq!(minutes(3 * 1440 + 23 * 60), " 3 days 23:00");
    }
}
