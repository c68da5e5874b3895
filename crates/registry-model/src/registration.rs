//! From what a client sent to an instance: the defaults and the checks of Eureka's `POST apps/{app}`.
//! Filled by wire-codec's decoders, validated by http-facade.

use crate::{
    ActionType, AppName, DataCenterInfo, DataCenterName, InstanceId, InstanceInfo, InstanceKey, InstanceStatus,
    LeaseTerms, Metadata, NameError, Port, UnixMillis,
};

/// A registration as it was decoded: what was absent is `None`, nothing is checked yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RegistrationDraft {
    /// `instanceId`.
    pub instance_id: Option<Box<str>>,
    /// `hostName`.
    pub host_name: Option<Box<str>>,
    /// `app`; its absence is a decoding error already.
    pub app: Box<str>,
    /// `ipAddr`.
    pub ip_addr: Option<Box<str>>,
    /// `sid`.
    pub sid: Option<Box<str>>,
    /// `status`.
    pub status: Option<InstanceStatus>,
    /// `overriddenStatus` or `overriddenstatus`.
    pub overridden_status: Option<InstanceStatus>,
    /// `port`.
    pub port: Option<Port>,
    /// `securePort`.
    pub secure_port: Option<Port>,
    /// `countryId`.
    pub country_id: Option<i32>,
    /// `dataCenterInfo`.
    pub data_center: Option<DataCenterDraft>,
    /// `leaseInfo`.
    pub lease_terms: Option<LeaseTerms>,
    /// `metadata`.
    pub metadata: Metadata,
    /// `appGroupName`.
    pub app_group_name: Option<Box<str>>,
    /// `homePageUrl`.
    pub home_page_url: Option<Box<str>>,
    /// `statusPageUrl`.
    pub status_page_url: Option<Box<str>>,
    /// `healthCheckUrl`.
    pub health_check_url: Option<Box<str>>,
    /// `secureHealthCheckUrl`.
    pub secure_health_check_url: Option<Box<str>>,
    /// `vipAddress`.
    pub vip_address: Option<Box<str>>,
    /// `secureVipAddress`.
    pub secure_vip_address: Option<Box<str>>,
    /// `asgName`.
    pub asg_name: Option<Box<str>>,
    /// `lastUpdatedTimestamp`.
    pub last_updated: Option<UnixMillis>,
    /// `lastDirtyTimestamp`.
    pub last_dirty: Option<UnixMillis>,
}

/// A data centre as it was decoded: its name may be missing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataCenterDraft {
    /// `name`, or what the class implies.
    pub name: Option<DataCenterName>,
    /// `metadata`; dropped unless the name is `Amazon`.
    pub metadata: Metadata,
}

/// Why a registration is refused. The texts of the first seven are Eureka's own, which clients and scripts know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidRegistration {
    /// Neither an instance id nor anything to derive one from.
    #[error("Missing instanceId")]
    MissingInstanceId,
    /// No host name.
    #[error("Missing hostname")]
    MissingHostName,
    /// No address.
    #[error("Missing ip address")]
    MissingIpAddress,
    /// An empty application name.
    #[error("Missing appName")]
    MissingAppName,
    /// The application in the path is another than in the body.
    #[error("Mismatched appName, expecting {path} but was {body}")]
    MismatchedAppName {
        /// The name in the path, upper-cased.
        path: AppName,
        /// The name in the body, upper-cased.
        body: AppName,
    },
    /// No data centre.
    #[error("Missing dataCenterInfo")]
    MissingDataCenterInfo,
    /// A data centre without a name.
    #[error("Missing dataCenterInfo Name")]
    MissingDataCenterName,
    /// A name that is no name.
    #[error(transparent)]
    Name(#[from] NameError),
}

fn given(text: Option<Box<str>>) -> Option<Box<str>> {
    text.filter(|text| !text.is_empty())
}

impl RegistrationDraft {
    /// The id that this registration is for: `instanceId`, else Amazon's `instance-id`, else the host name; empty texts count as absent.
    fn id(&self) -> Option<&str> {
        let amazon = self.data_center.as_ref().filter(|center| center.name == Some(DataCenterName::Amazon));
        [
            self.instance_id.as_deref(),
            amazon.and_then(|center| center.metadata.get("instance-id")),
            self.host_name.as_deref(),
        ]
        .into_iter()
        .flatten()
        .find(|text| !text.is_empty())
    }

    /// Checks a registration for the application in the path, in Eureka's order, and fills in Eureka's defaults; absent time stamps become `now`.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn validate(self, path: &AppName, now: UnixMillis) -> Result<InstanceInfo, InvalidRegistration> {
        let id = self.id().ok_or(InvalidRegistration::MissingInstanceId)?;
        let id = InstanceId::parse(id)?;
        let host_name = given(self.host_name).ok_or(InvalidRegistration::MissingHostName)?;
        let ip_addr = given(self.ip_addr).ok_or(InvalidRegistration::MissingIpAddress)?;
        if self.app.is_empty() {
            return Err(InvalidRegistration::MissingAppName);
        }
        let body = if *self.app == *path.as_str() { path.clone() } else { AppName::parse(&self.app)? };
        if body != *path {
            return Err(InvalidRegistration::MismatchedAppName { path: path.clone(), body });
        }
        let center = self.data_center.ok_or(InvalidRegistration::MissingDataCenterInfo)?;
        let data_center = match center.name.ok_or(InvalidRegistration::MissingDataCenterName)? {
            DataCenterName::MyOwn => DataCenterInfo::MyOwn,
            DataCenterName::Netflix => DataCenterInfo::Netflix,
            DataCenterName::Amazon => DataCenterInfo::Amazon(match center.metadata.get("instance-id") {
                Some(_) => center.metadata,
                None => center.metadata.with("instance-id", id.as_str()),
            }),
        };
        Ok(InstanceInfo {
            key: InstanceKey { app: body, id },
            host_name,
            ip_addr,
            sid: self.sid.filter(|sid| !matches!(&**sid, "na" | "unknown")),
            status: self.status.unwrap_or(InstanceStatus::Up),
            overridden_status: self.overridden_status.unwrap_or(InstanceStatus::Unknown),
            port: self.port.unwrap_or(Port::DEFAULT),
            secure_port: self.secure_port.unwrap_or(Port::DEFAULT_SECURE),
            country_id: self.country_id.unwrap_or(1),
            data_center,
            lease_terms: self.lease_terms.unwrap_or_default(),
            metadata: self.metadata,
            app_group_name: self.app_group_name,
            home_page_url: self.home_page_url,
            status_page_url: self.status_page_url,
            health_check_url: self.health_check_url,
            secure_health_check_url: self.secure_health_check_url,
            vip_address: self.vip_address,
            secure_vip_address: self.secure_vip_address,
            asg_name: self.asg_name,
            last_updated: self.last_updated.unwrap_or(now),
            last_dirty: self.last_dirty.unwrap_or(now),
            action: ActionType::Added,
            coordinating: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixMillis = UnixMillis(7000);

    fn draft() -> RegistrationDraft {
        RegistrationDraft {
            instance_id: Some("n1".into()),
            host_name: Some("n1.test".into()),
            app: "BILLING".into(),
            ip_addr: Some("192.0.2.10".into()),
            data_center: Some(DataCenterDraft { name: Some(DataCenterName::MyOwn), metadata: Metadata::default() }),
            ..RegistrationDraft::default()
        }
    }

    fn refused(draft: RegistrationDraft) -> String {
        draft.validate(&AppName::parse("billing").unwrap(), NOW).unwrap_err().to_string()
    }

    fn accepted(draft: RegistrationDraft) -> InstanceInfo {
        draft.validate(&AppName::parse("billing").unwrap(), NOW).unwrap()
    }

    #[test]
    fn srv_22_the_first_missing_field_is_named_with_eurekas_words() {
        let all_wrong = RegistrationDraft { app: "".into(), ..RegistrationDraft::default() };
        assert_eq!(refused(all_wrong.clone()), "Missing instanceId");
        assert_eq!(refused(RegistrationDraft { host_name: Some("".into()), ..draft() }), "Missing hostname");
        assert_eq!(refused(RegistrationDraft { ip_addr: None, ..draft() }), "Missing ip address");
        assert_eq!(refused(RegistrationDraft { app: "".into(), ..draft() }), "Missing appName");
        assert_eq!(
            refused(RegistrationDraft { app: "orders".into(), ..draft() }),
            "Mismatched appName, expecting BILLING but was ORDERS"
        );
        assert_eq!(refused(RegistrationDraft { data_center: None, ..draft() }), "Missing dataCenterInfo");
        assert_eq!(
            refused(RegistrationDraft { data_center: Some(DataCenterDraft::default()), ..draft() }),
            "Missing dataCenterInfo Name"
        );
        // With all of these defects, mended one after the other from the first.
        type Mend = fn(&mut RegistrationDraft);
        let steps: [(&str, Mend); 6] = [
            ("Missing instanceId", |draft| draft.instance_id = Some("x".into())),
            ("Missing hostname", |draft| draft.host_name = Some("x.test".into())),
            ("Missing ip address", |draft| draft.ip_addr = Some("192.0.2.1".into())),
            ("Missing appName", |draft| draft.app = "orders".into()),
            ("Mismatched appName, expecting BILLING but was ORDERS", |draft| draft.app = "billing".into()),
            ("Missing dataCenterInfo", |draft| draft.data_center = Some(DataCenterDraft::default())),
        ];
        let mut broken = all_wrong;
        for (text, mend) in steps {
            assert_eq!(refused(broken.clone()), text);
            mend(&mut broken);
        }
        assert_eq!(refused(broken), "Missing dataCenterInfo Name");
    }

    #[test]
    fn b22_an_absent_or_empty_id_falls_back() {
        let amazon = |pairs: &[(&str, &str)]| {
            Some(DataCenterDraft { name: Some(DataCenterName::Amazon), metadata: pairs.iter().copied().collect() })
        };
        let table = [
            (draft(), "n1"),
            (RegistrationDraft { instance_id: None, ..draft() }, "n1.test"),
            (RegistrationDraft { instance_id: Some("".into()), ..draft() }, "n1.test"),
            (RegistrationDraft { instance_id: None, data_center: amazon(&[("instance-id", "i-1")]), ..draft() }, "i-1"),
            (RegistrationDraft { instance_id: None, data_center: amazon(&[("ami-id", "a")]), ..draft() }, "n1.test"),
        ];
        for (draft, id) in table {
            assert_eq!(accepted(draft).key.id.as_str(), id);
        }
    }

    #[test]
    fn rest_28_defaults_fill_what_was_not_said() {
        let instance = accepted(draft());
        assert_eq!((instance.port, instance.secure_port), (Port::DEFAULT, Port::DEFAULT_SECURE));
        assert_eq!((instance.status, instance.overridden_status), (InstanceStatus::Up, InstanceStatus::Unknown));
        assert_eq!((instance.country_id, instance.lease_terms), (1, LeaseTerms::default()));
        assert_eq!((instance.last_dirty, instance.last_updated), (NOW, NOW));
    }

    #[test]
    fn rest_26_amazon_metadata_gets_the_instance_id() {
        let center =
            DataCenterDraft { name: Some(DataCenterName::Amazon), metadata: [("ami-id", "a")].into_iter().collect() };
        let instance = accepted(RegistrationDraft { data_center: Some(center), ..draft() });
        assert_eq!(
            instance.data_center,
            DataCenterInfo::Amazon([("ami-id", "a"), ("instance-id", "n1")].into_iter().collect())
        );
    }

    #[test]
    fn rest_40_a_sid_that_says_nothing_is_left_out() {
        for (given, kept) in [("na", None), ("unknown", None), ("abc", Some("abc"))] {
            assert_eq!(accepted(RegistrationDraft { sid: Some(given.into()), ..draft() }).sid.as_deref(), kept);
        }
    }
}
