//! `Instance` <-> `InstanceInfo`.

use super::ConvertError;
use crate::{generated::plain, types};
use registry_model::{
    ActionType, AppName, DataCenterInfo, InstanceId, InstanceInfo, InstanceKey, InstanceStatus, LeaseTerms, Metadata,
    Port, UnixMillis,
};

impl From<&InstanceInfo> for plain::Instance {
    fn from(instance: &InstanceInfo) -> Self {
        let text = |text: &Option<Box<str>>| text.as_deref().map(str::to_owned);
        Self {
            app: instance.key.app.as_str().to_owned(),
            instance_id: instance.key.id.as_str().to_owned(),
            host_name: instance.host_name.to_string(),
            ip_addr: instance.ip_addr.to_string(),
            sid: text(&instance.sid),
            status: status_message(instance.status).into(),
            overridden_status: status_message(instance.overridden_status).into(),
            port: Some(port_message(instance.port)),
            secure_port: Some(port_message(instance.secure_port)),
            country_id: Some(instance.country_id),
            data_center: Some(data_center_message(&instance.data_center)),
            renewal_interval_secs: instance.lease_terms.renewal_interval_secs,
            lease_duration_secs: instance.lease_terms.duration_secs,
            metadata: metadata_message(&instance.metadata),
            app_group_name: text(&instance.app_group_name),
            home_page_url: text(&instance.home_page_url),
            status_page_url: text(&instance.status_page_url),
            health_check_url: text(&instance.health_check_url),
            secure_health_check_url: text(&instance.secure_health_check_url),
            vip_address: text(&instance.vip_address),
            secure_vip_address: text(&instance.secure_vip_address),
            asg_name: text(&instance.asg_name),
            last_updated_ms: instance.last_updated.0,
            last_dirty_ms: Some(instance.last_dirty.0),
            action: action_message(instance.action).into(),
            coordinating: instance.coordinating,
        }
    }
}

impl TryFrom<plain::Instance> for InstanceInfo {
    type Error = ConvertError;

    fn try_from(message: plain::Instance) -> Result<Self, ConvertError> {
        let required = |field, text: String| {
            if text.is_empty() { Err(ConvertError::Missing(field)) } else { Ok(text.into_boxed_str()) }
        };
        let boxed = |text: Option<String>| text.map(String::into_boxed_str);
        let seconds = |field, value: u32| {
            i32::try_from(value).map_err(|_| ConvertError::OutOfRange { field, value: value.into() })
        };
        Ok(Self {
            key: InstanceKey { app: AppName::parse(&message.app)?, id: InstanceId::parse(&message.instance_id)? },
            host_name: required("host_name", message.host_name)?,
            ip_addr: required("ip_addr", message.ip_addr)?,
            sid: boxed(message.sid),
            status: instance_status("status", message.status)?.unwrap_or(InstanceStatus::Up),
            overridden_status: instance_status("overridden_status", message.overridden_status)?
                .unwrap_or(InstanceStatus::Unknown),
            port: message.port.map_or(Port::DEFAULT, port),
            secure_port: message.secure_port.map_or(Port::DEFAULT_SECURE, port),
            country_id: message.country_id.unwrap_or(1),
            data_center: data_center(message.data_center)?,
            lease_terms: LeaseTerms::of(
                seconds("renewal_interval_secs", message.renewal_interval_secs)?,
                seconds("lease_duration_secs", message.lease_duration_secs)?,
            ),
            metadata: metadata(message.metadata),
            app_group_name: boxed(message.app_group_name),
            home_page_url: boxed(message.home_page_url),
            status_page_url: boxed(message.status_page_url),
            health_check_url: boxed(message.health_check_url),
            secure_health_check_url: boxed(message.secure_health_check_url),
            vip_address: boxed(message.vip_address),
            secure_vip_address: boxed(message.secure_vip_address),
            asg_name: boxed(message.asg_name),
            last_updated: UnixMillis(message.last_updated_ms),
            last_dirty: UnixMillis(message.last_dirty_ms.unwrap_or_default()),
            action: action(message.action)?,
            coordinating: message.coordinating,
        })
    }
}

const fn status_message(status: InstanceStatus) -> plain::InstanceStatus {
    match status {
        InstanceStatus::Up => plain::InstanceStatus::Up,
        InstanceStatus::Down => plain::InstanceStatus::Down,
        InstanceStatus::Starting => plain::InstanceStatus::Starting,
        InstanceStatus::OutOfService => plain::InstanceStatus::OutOfService,
        InstanceStatus::Unknown => plain::InstanceStatus::Unknown,
    }
}

impl From<InstanceStatus> for types::InstanceStatus {
    fn from(status: InstanceStatus) -> Self {
        match status {
            InstanceStatus::Up => Self::Up,
            InstanceStatus::Down => Self::Down,
            InstanceStatus::Starting => Self::Starting,
            InstanceStatus::OutOfService => Self::OutOfService,
            InstanceStatus::Unknown => Self::Unknown,
        }
    }
}

/// The status in this field of a message; `None` for "not said".
///
/// # Errors
/// The value is none of those that the enumeration has.
pub fn instance_status(field: &'static str, value: i32) -> Result<Option<InstanceStatus>, ConvertError> {
    match plain::InstanceStatus::try_from(value) {
        Ok(plain::InstanceStatus::Unspecified) => Ok(None),
        Ok(plain::InstanceStatus::Up) => Ok(Some(InstanceStatus::Up)),
        Ok(plain::InstanceStatus::Down) => Ok(Some(InstanceStatus::Down)),
        Ok(plain::InstanceStatus::Starting) => Ok(Some(InstanceStatus::Starting)),
        Ok(plain::InstanceStatus::OutOfService) => Ok(Some(InstanceStatus::OutOfService)),
        Ok(plain::InstanceStatus::Unknown) => Ok(Some(InstanceStatus::Unknown)),
        Err(_) => Err(ConvertError::OutOfRange { field, value: value.into() }),
    }
}

const fn action_message(action: ActionType) -> plain::ActionType {
    match action {
        ActionType::Added => plain::ActionType::Added,
        ActionType::Modified => plain::ActionType::Modified,
        ActionType::Deleted => plain::ActionType::Deleted,
    }
}

fn action(value: i32) -> Result<ActionType, ConvertError> {
    match plain::ActionType::try_from(value) {
        Ok(plain::ActionType::Unspecified | plain::ActionType::Added) => Ok(ActionType::Added),
        Ok(plain::ActionType::Modified) => Ok(ActionType::Modified),
        Ok(plain::ActionType::Deleted) => Ok(ActionType::Deleted),
        Err(_) => Err(ConvertError::OutOfRange { field: "action", value: value.into() }),
    }
}

const fn port_message(port: Port) -> plain::Port {
    plain::Port { number: port.number, enabled: port.enabled }
}

const fn port(message: plain::Port) -> Port {
    Port { number: message.number, enabled: message.enabled }
}

fn metadata_message(metadata: &Metadata) -> Vec<plain::MetadataEntry> {
    metadata.iter().map(|(key, value)| plain::MetadataEntry { key: key.to_owned(), value: value.to_owned() }).collect()
}

fn metadata(entries: Vec<plain::MetadataEntry>) -> Metadata {
    entries.into_iter().map(|entry| (entry.key, entry.value)).collect()
}

fn data_center_message(center: &DataCenterInfo) -> plain::DataCenter {
    let (name, metadata) = match center {
        DataCenterInfo::MyOwn => (plain::DataCenterName::MyOwn, Vec::new()),
        DataCenterInfo::Netflix => (plain::DataCenterName::Netflix, Vec::new()),
        DataCenterInfo::Amazon(metadata) => (plain::DataCenterName::Amazon, metadata_message(metadata)),
    };
    plain::DataCenter { name: name.into(), metadata }
}

fn data_center(message: Option<plain::DataCenter>) -> Result<DataCenterInfo, ConvertError> {
    let message = message.unwrap_or_default();
    match plain::DataCenterName::try_from(message.name) {
        Ok(plain::DataCenterName::Unspecified | plain::DataCenterName::MyOwn) => Ok(DataCenterInfo::MyOwn),
        Ok(plain::DataCenterName::Netflix) => Ok(DataCenterInfo::Netflix),
        Ok(plain::DataCenterName::Amazon) => Ok(DataCenterInfo::Amazon(metadata(message.metadata))),
        Err(_) => Err(ConvertError::OutOfRange { field: "data_center.name", value: message.name.into() }),
    }
}
