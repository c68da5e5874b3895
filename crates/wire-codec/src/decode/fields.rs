//! The fields of an instance, each with its own tolerance. Called by `decode`.

use super::{DecodeError, json::Json, scalar::Value};
use crate::writer::{AMAZON_CLASS, MARKER_CLASS};
use registry_model::{
    DataCenterDraft, DataCenterName, InstanceStatus, LeaseTerms, Metadata, Port, RegistrationDraft, UnixMillis,
};
use std::borrow::Cow;

/// The class that some Go clients name; the same as the marker.
const MY_OWN_CLASS: &str = "com.netflix.appinfo.MyDataCenterInfo";

/// An instance as it is being read. The application's name is the one field that has to be there.
#[derive(Default)]
pub(super) struct Sheet {
    draft: RegistrationDraft,
    app: Option<Box<str>>,
}

impl Sheet {
    /// Reads the instance that follows.
    pub(super) fn read(field: &'static str, json: &mut Json<'_>) -> Result<RegistrationDraft, DecodeError> {
        let mut sheet = Self::default();
        json.open(field)?;
        while let Some(key) = json.given()? {
            sheet.field(&key, json)?;
        }
        let Self { mut draft, app } = sheet;
        draft.app = app.ok_or(DecodeError::MissingApp)?;
        derive_id(&mut draft);
        Ok(draft)
    }

    /// Reads one field, which is not `null`.
    fn field(&mut self, key: &str, json: &mut Json<'_>) -> Result<(), DecodeError> {
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
            "countryId" => draft.country_id = Some(json.value()?.to_small_integer("countryId")?),
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
            _ => json.skip()?,
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

fn text(field: &'static str, json: &mut Json<'_>) -> Result<Option<Box<str>>, DecodeError> {
    Ok(json.value()?.into_text(field)?.map(Into::into))
}

/// Only exact names; every other text means that nothing is known.
fn status(field: &'static str, json: &mut Json<'_>) -> Result<InstanceStatus, DecodeError> {
    let text = json.value()?.into_text(field)?;
    Ok(text.and_then(|text| text.parse().ok()).unwrap_or(InstanceStatus::Unknown))
}

fn time(field: &'static str, json: &mut Json<'_>) -> Result<UnixMillis, DecodeError> {
    json.value()?.to_integer(field).map(UnixMillis)
}

/// A port object; a bare number is an object with nothing else in it.
fn port(field: &'static str, json: &mut Json<'_>, default: Port) -> Result<Port, DecodeError> {
    let mut port = default;
    if !json.nests() {
        let number = json.value()?.numeric(field)?.ok_or(DecodeError::NotAPort { field })?;
        port.number = i32::try_from(number).map_err(|_| DecodeError::TooLarge { field })?;
        return Ok(port);
    }
    json.open(field)?;
    while let Some(key) = json.key()? {
        match &*key {
            "$" => port.number = json.value()?.to_small_integer(field)?,
            "@enabled" => port.enabled = enabled(field, json)?,
            _ => json.skip()?,
        }
    }
    Ok(port)
}

fn enabled(field: &'static str, json: &mut Json<'_>) -> Result<bool, DecodeError> {
    Ok(match json.value()? {
        Value::Text(text) => text == "true",
        Value::Number(number) => number.parse::<f64>().is_ok_and(|number| number != 0.0),
        Value::True => true,
        Value::False | Value::Null => false,
        Value::Nested(_) => return Err(DecodeError::NotASingleValue { field }),
    })
}

/// Times that a client sends are the server's to set and are not read.
fn lease(json: &mut Json<'_>) -> Result<LeaseTerms, DecodeError> {
    let (mut renewal, mut duration) = (0, 0);
    json.open("leaseInfo")?;
    while let Some(key) = json.given()? {
        match &*key {
            "renewalIntervalInSecs" => {
                renewal = json.value()?.to_small_integer("leaseInfo.renewalIntervalInSecs")?;
            }
            "durationInSecs" => duration = json.value()?.to_small_integer("leaseInfo.durationInSecs")?,
            _ => json.skip()?,
        }
    }
    Ok(LeaseTerms::of(renewal, duration))
}

/// Texts, and everything else as its JSON text; `null` and the class marker are no entries.
fn metadata(field: &'static str, json: &mut Json<'_>) -> Result<Metadata, DecodeError> {
    let mut pairs = Vec::new();
    json.open(field)?;
    while let Some(key) = json.given()? {
        if key == "@class" {
            json.skip()?;
        } else if let Some(value) = json.value()?.into_json_text() {
            pairs.push((key, value));
        }
    }
    Ok(pairs.into_iter().collect())
}

fn data_center(json: &mut Json<'_>) -> Result<DataCenterDraft, DecodeError> {
    let (mut class, mut name, mut facts) = (None, None, None);
    json.open("dataCenterInfo")?;
    while let Some(key) = json.given()? {
        match &*key {
            "@class" => class = json.value()?.into_text("dataCenterInfo.@class")?,
            "name" => name = json.value()?.into_text("dataCenterInfo.name")?,
            "metadata" => facts = Some(json.raw()?),
            _ => json.skip()?,
        }
    }
    let known = |name: Cow<'_, str>| {
        DataCenterName::parse(&name).ok_or_else(|| DecodeError::UnknownDataCenterName { name: name.into() })
    };
    let (name, facts) = match class.as_deref() {
        Some(AMAZON_CLASS) => (Some(DataCenterName::Amazon), facts),
        // Amazon under this class has broken whole registries in Java; it is Amazon about whose machine nothing is known.
        Some(MARKER_CLASS | MY_OWN_CLASS) => (name.map(known).transpose()?, None),
        Some(class) => return Err(DecodeError::UnknownDataCenterClass { class: class.into() }),
        None => (name.map(known).transpose()?, facts),
    };
    let facts = facts.filter(|_| name == Some(DataCenterName::Amazon));
    let metadata =
        facts.map(|facts| metadata("dataCenterInfo.metadata", &mut Json::of(facts))).transpose()?.unwrap_or_default();
    Ok(DataCenterDraft { name, metadata })
}
