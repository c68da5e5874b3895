//! Parts of a process that may fail while the rest serves on: which of them have, and why. Told by whoever restarts a part; shown
//! by `operations` and by the gRPC health service.

use super::ProcessHandle;
use prometheus_client::{
    metrics::{family::Family, gauge::Gauge},
    registry::Registry,
};
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::watch;

type Labels = [(&'static str, &'static str); 1];

/// How a part is.
#[derive(Clone, Debug)]
struct Condition {
    /// The gRPC service that does not work without it.
    service: &'static str,
    /// Why it is degraded; absent while it is sound.
    reason: Option<Arc<str>>,
}

/// The parts of one process that may fail alone.
#[derive(Debug)]
pub(super) struct Degraded {
    /// The latest conditions by part; sent by their flags, received by the gRPC health service.
    conditions: watch::Sender<BTreeMap<&'static str, Condition>>,
    gauges: Family<Labels, Gauge>,
}

impl Degraded {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let gauges = Family::default();
        registry.register(
            "heureka_degraded",
            "1 while a part of this process has failed, by part",
            Family::clone(&gauges),
        );
        Self { conditions: watch::Sender::default(), gauges }
    }

    fn set(&self, part: &'static str, service: &'static str, reason: Option<Arc<str>>) {
        self.gauges.get_or_create(&[("part", part)]).set(i64::from(reason.is_some()));
        self.conditions.send_modify(|conditions| {
            conditions.insert(part, Condition { service, reason });
        });
    }
}

/// Says whether one part is degraded.
#[derive(Clone, Debug)]
pub struct DegradedFlag {
    process: ProcessHandle,
    part: &'static str,
    service: &'static str,
}

impl DegradedFlag {
    /// The part does not do its work; the reason is for people.
    pub fn set(&self, reason: &str) {
        self.process.shared.degraded.set(self.part, self.service, Some(reason.into()));
    }

    /// The part does its work.
    pub fn clear(&self) {
        self.process.shared.degraded.set(self.part, self.service, None);
    }
}

impl ProcessHandle {
    /// Adds a part that may fail while the process serves on; it starts sound. `service` is the full name of the gRPC service
    /// that does not work without it: its health is the part's.
    pub fn degradable(&self, part: &'static str, service: &'static str) -> DegradedFlag {
        let flag = DegradedFlag { process: self.clone(), part, service };
        flag.clear();
        flag
    }

    /// The parts that are degraded, sorted, each with its reason. A process with some is as ready as one without.
    pub fn degraded(&self) -> Vec<(&'static str, Arc<str>)> {
        let conditions = self.shared.degraded.conditions.borrow();
        let reasons = conditions.iter().filter_map(|(part, condition)| Some((*part, condition.reason.clone()?)));
        reasons.collect()
    }

    /// Changes whenever a part's condition may have.
    pub(crate) fn conditions(&self) -> impl tokio_stream::Stream<Item = ()> + Send + use<> {
        use futures::StreamExt as _;
        tokio_stream::wrappers::WatchStream::new(self.shared.degraded.conditions.subscribe()).map(drop)
    }

    /// Whether all parts behind a gRPC service are sound; absent where no part says that it is behind it.
    pub(crate) fn is_sound(&self, service: &str) -> Option<bool> {
        let conditions = self.shared.degraded.conditions.borrow();
        let mut parts = conditions.values().filter(|condition| condition.service == service).peekable();
        parts.peek()?;
        Some(parts.all(|condition| condition.reason.is_none()))
    }
}
