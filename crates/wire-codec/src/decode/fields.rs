//! The fields of an instance, each with its own tolerance. Called by `decode`.

use super::{DecodeError, entries::Entries, scalar::Value};
use crate::writer::{AMAZON_CLASS, MARKER_CLASS};
use registry_model::{
    DataCenterDraft, DataCenterName, InstanceStatus, LeaseTerms, Metadata, Port, RegistrationDraft, UnixMillis,
};

/// The class that some Go clients name; the same as the marker.
const MY_OWN_CLASS: &str = "com.netflix.appinfo.MyDataCenterInfo";

/// An instance as it is being read. The application's name is the one field that has to be there.
#[derive(Default)]
pub(super) struct Sheet {
    draft: RegistrationDraft,
    app: Option<Box<str>>,
}

impl Sheet {
    /// Reads all fields.
    pub(super) fn read(entries: &Entries<'_>) -> Result<RegistrationDraft, DecodeError> {
        let mut sheet = Self::default();
        for (key, json) in entries.given() {
            sheet.field(key, json)?;
        }
        let Self { mut draft, app } = sheet;
        draft.app = app.ok_or(DecodeError::MissingApp)?;
        derive_id(&mut draft);
        Ok(draft)
    }

    /// Reads one field; `json` is not `null`.
    fn field(&mut self, key: &str, json: &str) -> Result<(), DecodeError> {
        let draft = &mut self.draft;
        match key {
            "instanceId" => draft.instance_id = text("instanceId", json)?,
            "hostName" => draft.host_name = text("hostName", json)?,
            "app" => self.app = text("app", json)?,
            "ipAddr" => draft.ip_addr = text("ipAddr", json)?,
            "sid" => draft.sid = text("sid", json)?,
            "status" => draft.status = Some(status("status", json)?),
            "overriddenStatus" | "overriddenstatus" => {
                draft.overridden_status = Some(status("overriddenStatus", json)?);
            }
            "port" => draft.port = Some(port("port", json, Port::DEFAULT)?),
            "securePort" => draft.secure_port = Some(port("securePort", json, Port::DEFAULT_SECURE)?),
            "countryId" => draft.country_id = Some(Value::of(json)?.to_small_integer("countryId")?),
            "dataCenterInfo" => draft.data_center = Some(data_center(json)?),
            "leaseInfo" => draft.lease_terms = Some(lease(json)?),
            "metadata" => draft.metadata = metadata("metadata", json)?,
            "appGroupName" => {
                draft.app_group_name = text("appGroupName", json)?.map(|name| name.to_uppercase().into());
            }
            "homePageUrl" => draft.home_page_url = text("homePageUrl", json)?,
            "statusPageUrl" => draft.status_page_url = text("statusPageUrl", json)?,
            "healthCheckUrl" => draft.health_check_url = text("healthCheckUrl", json)?,
            "secureHealthCheckUrl" => draft.secure_health_check_url = text("secureHealthCheckUrl", json)?,
            "vipAddress" => draft.vip_address = text("vipAddress", json)?,
            "secureVipAddress" => draft.secure_vip_address = text("secureVipAddress", json)?,
            "asgName" => draft.asg_name = text("asgName", json)?,
            "lastUpdatedTimestamp" => draft.last_updated = Some(time("lastUpdatedTimestamp", json)?),
            "lastDirtyTimestamp" => draft.last_dirty = Some(time("lastDirtyTimestamp", json)?),
            _ => {}
        }
        Ok(())
    }
}

/// What the first Spring Cloud release did: the id in the metadata, made unique by the host name.
fn derive_id(draft: &mut RegistrationDraft) {
    if draft.instance_id.as_deref().is_some_and(|id| !id.is_empty()) {
        return;
    }
    let Some(id) = draft.metadata.get("instanceId").filter(|id| !id.trim().is_empty()) else { return };
    let derived = match draft.host_name.as_deref() {
        Some(host) if !id.starts_with(host) => format!("{host}:{id}").into(),
        Some(_) | None => id.into(),
    };
    draft.instance_id = Some(derived);
}

fn text(field: &'static str, json: &str) -> Result<Option<Box<str>>, DecodeError> {
    Ok(Value::of(json)?.into_text(field)?.map(Into::into))
}

/// Only exact names; every other text means that nothing is known.
fn status(field: &'static str, json: &str) -> Result<InstanceStatus, DecodeError> {
    let text = Value::of(json)?.into_text(field)?;
    Ok(text.and_then(|text| text.parse().ok()).unwrap_or(InstanceStatus::Unknown))
}

fn time(field: &'static str, json: &str) -> Result<UnixMillis, DecodeError> {
    Value::of(json)?.to_integer(field).map(UnixMillis)
}

/// A port object; a bare number is an object with nothing else in it.
fn port(field: &'static str, json: &str, default: Port) -> Result<Port, DecodeError> {
    let mut port = default;
    match Value::of(json)? {
        Value::Nested(object) => {
            for (key, json) in Entries::of_object(field, object)?.all() {
                match key {
                    "$" => port.number = Value::of(json)?.to_small_integer(field)?,
                    "@enabled" => port.enabled = enabled(field, json)?,
                    _ => {}
                }
            }
        }
        bare @ (Value::Text(_) | Value::Number(_) | Value::True | Value::False | Value::Null) => {
            let number = bare.numeric(field)?.ok_or(DecodeError::NotAPort { field })?;
            port.number = i32::try_from(number).map_err(|_| DecodeError::TooLarge { field })?;
        }
    }
    Ok(port)
}

fn enabled(field: &'static str, json: &str) -> Result<bool, DecodeError> {
    Ok(match Value::of(json)? {
        Value::Text(text) => text == "true",
        Value::Number(number) => number.parse::<f64>().is_ok_and(|number| number != 0.0),
        Value::True => true,
        Value::False | Value::Null => false,
        Value::Nested(_) => return Err(DecodeError::NotASingleValue { field }),
    })
}

/// Times that a client sends are the server's to set and are not read.
fn lease(json: &str) -> Result<LeaseTerms, DecodeError> {
    let (mut renewal, mut duration) = (0, 0);
    for (key, json) in Entries::of_object("leaseInfo", json)?.given() {
        match key {
            "renewalIntervalInSecs" => {
                renewal = Value::of(json)?.to_small_integer("leaseInfo.renewalIntervalInSecs")?;
            }
            "durationInSecs" => duration = Value::of(json)?.to_small_integer("leaseInfo.durationInSecs")?,
            _ => {}
        }
    }
    Ok(LeaseTerms::of(renewal, duration))
}

/// Texts, and everything else as its JSON text; `null` and the class marker are no entries.
fn metadata(field: &'static str, json: &str) -> Result<Metadata, DecodeError> {
    let entries = Entries::of_object(field, json)?;
    let mut pairs = Vec::new();
    for (key, json) in entries.given().filter(|(key, _)| *key != "@class") {
        if let Some(value) = Value::of(json)?.into_json_text() {
            pairs.push((key, value));
        }
    }
    Ok(pairs.into_iter().collect())
}

fn data_center(json: &str) -> Result<DataCenterDraft, DecodeError> {
    let entries = Entries::of_object("dataCenterInfo", json)?;
    let (mut class, mut name, mut facts) = (None, None, None);
    for (key, json) in entries.given() {
        match key {
            "@class" => class = text("dataCenterInfo.@class", json)?,
            "name" => name = text("dataCenterInfo.name", json)?,
            "metadata" => facts = Some(json),
            _ => {}
        }
    }
    let known = |name: Box<str>| DataCenterName::parse(&name).ok_or(DecodeError::UnknownDataCenterName { name });
    let (name, facts) = match class.as_deref() {
        Some(AMAZON_CLASS) => (Some(DataCenterName::Amazon), facts),
        // Amazon under this class has broken whole registries in Java; it is Amazon about whose machine nothing is known.
        Some(MARKER_CLASS | MY_OWN_CLASS) => (name.map(known).transpose()?, None),
        Some(class) => return Err(DecodeError::UnknownDataCenterClass { class: class.into() }),
        None => (name.map(known).transpose()?, facts),
    };
    let facts = facts.filter(|_| name == Some(DataCenterName::Amazon));
    let metadata = facts.map(|json| metadata("dataCenterInfo.metadata", json)).transpose()?.unwrap_or_default();
    Ok(DataCenterDraft { name, metadata })
}
