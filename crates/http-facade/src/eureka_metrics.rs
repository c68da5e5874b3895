//! Reads of lists under Eureka's names, made from what `metrics` counts whenever somebody looks.

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::counter::{ConstCounter, Counter},
};
use std::fmt;

/// The requests for one resource, by what came of them.
pub(crate) type Outcomes = Vec<Counter>;

/// Collected beside the facade's own metrics.
#[derive(Debug)]
pub(crate) struct EurekaNames {
    pub(crate) all: Outcomes,
    pub(crate) delta: Outcomes,
    pub(crate) application: Outcomes,
}

impl Collector for EurekaNames {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        for (name, help, outcomes) in [
            ("eureka_get_all", "Reads of all applications.", &self.all),
            ("eureka_get_all_delta", "Reads of the delta.", &self.delta),
            ("eureka_get_application", "Reads of one application, found or not.", &self.application),
        ] {
            let counter = ConstCounter::new(outcomes.iter().map(Counter::get).sum::<u64>());
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        Ok(())
    }
}
