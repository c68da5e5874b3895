//! Lease reports, leases that have run out, self-preservation.

use super::{ConvertError, IntoModel};
use crate::registry;
use registry_model::{ExpiredLease, LeaseReport, PreservationStatus, ProtectionNotice, RenewalStamp, UnixMillis};

impl From<ExpiredLease> for registry::ExpiredLease {
    fn from(lease: ExpiredLease) -> Self {
        Self { key: Some((&lease.key).into()), renewal_stamp: lease.stamp.0, given_up: lease.given_up }
    }
}

impl IntoModel for registry::ExpiredLease {
    type Model = ExpiredLease;

    fn into_model(self) -> Result<ExpiredLease, ConvertError> {
        Ok(ExpiredLease {
            key: self.key.ok_or(ConvertError::Missing("lease.key"))?.into_model()?,
            stamp: RenewalStamp(self.renewal_stamp),
            given_up: self.given_up,
        })
    }
}

impl From<PreservationStatus> for registry::Preservation {
    fn from(status: PreservationStatus) -> Self {
        let PreservationStatus { enabled, protecting, missing, given_up } = status;
        let protecting_now = protecting.is_some();
        let (reason, since, until) =
            protecting.map_or_else(Default::default, |notice| (notice.reason, notice.since, notice.until));
        Self {
            enabled,
            protecting: protecting_now,
            reason,
            since_ms: since.0,
            until_ms: until.unwrap_or(UnixMillis::NEVER).0,
            missing,
            given_up,
        }
    }
}

impl From<registry::Preservation> for PreservationStatus {
    fn from(message: registry::Preservation) -> Self {
        let protecting = message.protecting.then(|| ProtectionNotice {
            reason: message.reason,
            since: UnixMillis(message.since_ms),
            until: (message.until_ms != 0).then_some(UnixMillis(message.until_ms)),
        });
        Self { enabled: message.enabled, protecting, missing: message.missing, given_up: message.given_up }
    }
}

impl From<LeaseReport> for registry::ReportLeasesResponse {
    fn from(report: LeaseReport) -> Self {
        Self {
            leases: report.leases,
            expired: report.expired.into_iter().map(Into::into).collect(),
            expiration_enabled: report.expiration_enabled,
            preservation: Some(report.preservation.into()),
            evicted_last_minute: report.evicted_last_minute,
        }
    }
}

impl IntoModel for registry::ReportLeasesResponse {
    type Model = LeaseReport;

    fn into_model(self) -> Result<LeaseReport, ConvertError> {
        Ok(LeaseReport {
            leases: self.leases,
            expired: self.expired.into_iter().map(IntoModel::into_model).collect::<Result<_, _>>()?,
            expiration_enabled: self.expiration_enabled,
            preservation: self.preservation.ok_or(ConvertError::Missing("preservation"))?.into(),
            evicted_last_minute: self.evicted_last_minute,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::instances::key;

    #[test]
    fn a_report_comes_back_as_it_was_sent() {
        let notice = |until| ProtectionNotice { reason: "because".into(), since: UnixMillis(5), until };
        for protecting in [None, Some(notice(None)), Some(notice(Some(UnixMillis(9))))] {
            let expired = ExpiredLease { key: key("A", "n1"), stamp: RenewalStamp(7), given_up: true };
            let report = LeaseReport {
                leases: 3,
                expired: vec![expired],
                expiration_enabled: protecting.is_none(),
                preservation: PreservationStatus { enabled: true, protecting, missing: 2, given_up: 1 },
                evicted_last_minute: 4,
            };
            assert_eq!(registry::ReportLeasesResponse::from(report.clone()).into_model(), Ok(report));
        }
    }

    #[test]
    fn a_lease_without_a_key_is_none() {
        assert_eq!(registry::ExpiredLease::default().into_model(), Err(ConvertError::Missing("lease.key")));
    }
}
