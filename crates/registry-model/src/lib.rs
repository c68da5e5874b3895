//! The vocabulary and the rules of the registry: pure, without I/O, async or clocks.
//! Everything else in the workspace depends on this crate; it depends on nothing of ours. Map: docs/ARCHITECTURE.md.

mod change;
mod error;
mod instance;
mod lease;
mod names;
mod preservation;
mod registration;
mod renewal_rate;
mod report;
mod revision;
mod snapshot;
mod status;
mod time;

pub use change::{Change, Origin};
pub use error::{Classify, ErrorClass};
pub use instance::{ActionType, DataCenterInfo, DataCenterName, InstanceInfo, LeaseTerms, Metadata, Port};
pub use lease::{Lease, LeaseExpiry, LeaseTimes};
pub use names::{AppName, InstanceId, InstanceKey, MAX_NAME_BYTES, NameError, NodeId};
pub use preservation::{
    Period, PreservationFigures, PreservationPolicy, PreservationRule, Protection, ProtectionStep, Reason,
    RenewalStamp, Verdict,
};
pub use registration::{DataCenterDraft, InvalidRegistration, RegistrationDraft};
pub use renewal_rate::{
    ExpectedClients, ExpectedRenewals, MeasuredRate, NoShare, RenewalPercentThreshold, RenewalSum, SelfPreservation,
    renewals_threshold,
};
pub use report::{ExpiredLease, LeaseReport, PreservationStatus, ProtectionNotice};
pub use revision::{Epoch, Position, Revision};
pub use snapshot::{Record, StatusCounts};
pub use status::{InstanceStatus, UnknownStatus, effective_status};
pub use time::{Clock, Mono, UnixMillis};
