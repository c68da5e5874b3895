//! What the facade counts. One struct, made from the process's registry; counting is one atomic addition.

use crate::{
    eureka_metrics::EurekaNames,
    identity::Identity,
    progress::Awaits,
    rate_limiter::{Admission, Fetch},
    request_body::Refused,
};
use http::StatusCode;
use prometheus_client::{
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

/// What a request was for, as metrics name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Apps,
    Delta,
    App,
    Vip,
    Register,
    Instance,
    Renew,
    Cancel,
    /// An override, set or removed.
    Status,
    Metadata,
    PeerBatch,
    ServerInfo,
    Operations,
    /// No resource, or a method that it does not have.
    Other,
}

impl Subject {
    const ALL: [Self; 14] = [
        Self::Apps,
        Self::Delta,
        Self::App,
        Self::Vip,
        Self::Register,
        Self::Instance,
        Self::Renew,
        Self::Cancel,
        Self::Status,
        Self::Metadata,
        Self::PeerBatch,
        Self::ServerInfo,
        Self::Operations,
        Self::Other,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Apps => "apps",
            Self::Delta => "delta",
            Self::App => "app",
            Self::Vip => "vip",
            Self::Register => "register",
            Self::Instance => "instance",
            Self::Renew => "renew",
            Self::Cancel => "cancel",
            Self::Status => "status",
            Self::Metadata => "metadata",
            Self::PeerBatch => "peer_batch",
            Self::ServerInfo => "server_info",
            Self::Operations => "operations",
            Self::Other => "other",
        }
    }
}

const CLASSES: [&str; 5] = ["2xx", "403", "4xx", "503", "5xx"];

/// Lists while the access gate is closed, and deltas that are switched off.
const FORBIDDEN: usize = 1;

fn class(status: StatusCode) -> usize {
    match status.as_u16() {
        ..400 => 0,
        403 => FORBIDDEN,
        400..500 => 2,
        503 => 3,
        500.. => 4,
    }
}

type Labels<const N: usize> = [(&'static str, &'static str); N];

/// Reads of lists that the rate limiter has refused, and those it would have: any, and those of everything.
#[derive(Debug, Default)]
struct Limited {
    refused: Counter,
    refused_full: Counter,
    candidates: Counter,
    candidates_full: Counter,
}

impl Limited {
    fn register(&self, registry: &mut Registry) {
        let counters = [
            ("requests", "Reads of lists refused by the rate limiter", &self.refused),
            ("full_fetch_requests", "Reads of all applications among them", &self.refused_full),
            ("request_candidates", "Reads of lists that the rate limiter would have refused", &self.candidates),
            ("full_fetch_request_candidates", "Reads of all applications among them", &self.candidates_full),
        ];
        let registry = registry.sub_registry_with_prefix("eureka_num_of_rate_limited");
        for (name, help, counter) in counters {
            registry.register(name, help, counter.clone());
        }
    }
}

/// All counters of the facade.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// By subject, then by status class.
    requests: [[Counter; CLASSES.len()]; Subject::ALL.len()],
    pub(crate) hits: Counter,
    pub(crate) misses: Counter,
    bodies_refused: [Counter; Refused::ALL.len()],
    connections_given_up: [Counter; Awaits::ALL.len()],
    /// By identity.
    identities: [Counter; Identity::ALL.len()],
    limited: Limited,
    pub(crate) peer_registrations_refused: Counter,
    pub(crate) resubscriptions: Counter,
    pub(crate) streams: Counter,
    pub(crate) watermark_lag: Gauge,
    pub(crate) batch_sizes: Histogram,
}

impl Metrics {
    /// Adds them to a process's metrics.
    pub(crate) fn new(process: &service_runtime::Metrics) -> Self {
        process.register(|registry| {
            let requests = Family::<Labels<2>, Counter>::default();
            // A guard of one family member must not outlive the look-up of the next: hence owned ones.
            let reads = Family::<Labels<1>, Counter>::default();
            let bodies = Family::<Labels<1>, Counter>::default();
            let connections = Family::<Labels<1>, Counter>::default();
            let identities = Family::<Labels<1>, Counter>::default();
            let metrics = Self {
                requests: Subject::ALL.map(|subject| {
                    CLASSES
                        .map(|class| requests.get_or_create_owned(&[("resource", subject.name()), ("status", class)]))
                }),
                hits: reads.get_or_create_owned(&[("outcome", "hit")]),
                misses: reads.get_or_create_owned(&[("outcome", "miss")]),
                bodies_refused: Refused::ALL.map(|reason| bodies.get_or_create_owned(&[("reason", reason.name())])),
                connections_given_up: Awaits::ALL
                    .map(|awaits| connections.get_or_create_owned(&[("reason", awaits.name())])),
                identities: Identity::ALL.map(|identity| identities.get_or_create_owned(&[("name", identity.label())])),
                limited: Limited::default(),
                peer_registrations_refused: Counter::default(),
                resubscriptions: Counter::default(),
                streams: Counter::default(),
                watermark_lag: Gauge::default(),
                batch_sizes: Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 256.0, 1024.0, 8192.0]),
            };
            registry.register_collector(Box::new(metrics.eureka_names()));
            registry.register("heureka_facade_requests", "HTTP requests by resource and status", requests);
            registry.register("heureka_facade_reads", "Cached reads by what the read-only tier held", reads);
            registry.register("heureka_facade_bodies_refused", "Bodies of requests refused, by reason", bodies);
            registry.register(
                "eureka_server_request_auth",
                "HTTP requests by the name that the client gives itself",
                identities,
            );
            metrics.limited.register(registry);
            registry.register(
                "heureka_facade_connections_given_up",
                "Connections closed because their client did not get on, by reason",
                connections,
            );
            registry.register(
                "heureka_facade_peer_registrations_refused",
                "Registrations in other servers' batches that were not stored",
                metrics.peer_registrations_refused.clone(),
            );
            registry.register(
                "heureka_facade_resubscriptions",
                "Payloads asked for anew because an update did not fit",
                metrics.resubscriptions.clone(),
            );
            registry.register("heureka_facade_follow_streams", "Follow streams opened", metrics.streams.clone());
            registry.register_with_unit(
                "heureka_facade_watermark_lag",
                "How far the read-only tier is behind what was acknowledged to writers",
                Unit::Other("revisions".to_owned()),
                metrics.watermark_lag.clone(),
            );
            registry.register(
                "heureka_facade_renewal_batch_size",
                "Renewals per call to the registry",
                metrics.batch_sizes.clone(),
            );
            metrics
        })
    }

    fn eureka_names(&self) -> EurekaNames {
        let of =
            |subject: Subject| self.requests.get(subject as usize).map(|classes| classes.to_vec()).unwrap_or_default();
        // Eureka counts these two once they are past its gate.
        let admitted = |subject: Subject| {
            let classes = of(subject).into_iter().enumerate();
            classes.filter(|(class, _)| *class != FORBIDDEN).map(|(_, counter)| counter).collect()
        };
        EurekaNames { all: of(Subject::Apps), delta: admitted(Subject::Delta), application: admitted(Subject::App) }
    }

    /// Counts one body that was refused.
    pub(crate) fn refused(&self, reason: Refused) {
        if let Some(counter) = self.bodies_refused.get(reason as usize) {
            counter.inc();
        }
    }

    /// Counts one request by who sent it.
    pub(crate) fn identified(&self, identity: Identity) {
        if let Some(counter) = self.identities.get(identity as usize) {
            counter.inc();
        }
    }

    /// Counts one read of a list that the rate limiter was asked about.
    pub(crate) fn limited(&self, fetch: Fetch, admission: Admission) {
        let (any, full) = match admission {
            Admission::Admitted => return,
            Admission::Refused => (&self.limited.refused, &self.limited.refused_full),
            Admission::Candidate => (&self.limited.candidates, &self.limited.candidates_full),
        };
        any.inc();
        match fetch {
            Fetch::Full => {
                full.inc();
            }
            Fetch::Part => {}
        }
    }

    /// Counts one connection that was given up.
    pub(crate) fn given_up(&self, awaits: Awaits) {
        if let Some(counter) = self.connections_given_up.get(awaits as usize) {
            counter.inc();
        }
    }

    /// Counts one answered request.
    pub(crate) fn answered(&self, subject: Subject, status: StatusCode) {
        if let Some(counter) = self.requests.get(subject as usize).and_then(|classes| classes.get(class(status))) {
            counter.inc();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use service_runtime::ProcessHandle;
    use std::sync::Arc;

    #[test]
    fn requests_are_counted_by_resource_and_status() {
        let process = ProcessHandle::detached("test", Arc::new(testkit::ManualClock::new()));
        let metrics = Metrics::new(process.metrics());
        for (place, subject) in Subject::ALL.into_iter().enumerate() {
            assert_eq!(subject as usize, place);
        }
        metrics.answered(Subject::Renew, StatusCode::NOT_FOUND);
        metrics.answered(Subject::App, StatusCode::NOT_FOUND);
        metrics.answered(Subject::App, StatusCode::OK);
        for subject in [Subject::Apps, Subject::App, Subject::Delta] {
            metrics.answered(subject, StatusCode::FORBIDDEN);
        }
        for (place, reason) in Refused::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
        }
        for (place, awaits) in Awaits::ALL.into_iter().enumerate() {
            assert_eq!(awaits as usize, place);
        }
        for (place, identity) in Identity::ALL.into_iter().enumerate() {
            assert_eq!(identity as usize, place);
        }
        metrics.refused(Refused::Busy);
        metrics.given_up(Awaits::Reading);
        metrics.hits.inc();
        let text = process.metrics().encode();
        for line in [
            r#"heureka_facade_requests_total{resource="renew",status="4xx"} 1"#,
            r#"heureka_facade_requests_total{resource="renew",status="2xx"} 0"#,
            r#"heureka_facade_bodies_refused_total{reason="busy"} 1"#,
            r#"heureka_facade_connections_given_up_total{reason="slow_reader"} 1"#,
            r#"heureka_facade_reads_total{outcome="hit"} 1"#,
            r#"heureka_facade_requests_total{resource="delta",status="403"} 1"#,
            "eureka_get_all_total 1",
            "eureka_get_all_delta_total 0",
            "eureka_get_application_total 2",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
