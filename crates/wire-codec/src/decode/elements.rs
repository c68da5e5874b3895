//! The elements of an instance, each with its own tolerance, which is not always that of JSON. Called by `decode`.

use super::{
    DecodeError,
    markup::{Element, Markup, Token},
};
use crate::xml_names::key_of;
use registry_model::{
    DataCenterDraft, DataCenterName, InstanceStatus, LeaseTerms, Metadata, Port, RegistrationDraft, UnixMillis,
};
use std::str::FromStr;

/// The roots that Eureka knows: its own name for an instance, and the class's.
const ROOTS: [&str; 2] = ["instance", "com.netflix.appinfo.InstanceInfo"];

/// Reads a document.
pub(super) fn read(document: &str) -> Result<RegistrationDraft, DecodeError> {
    let mut markup = Markup::of(document)?;
    let root = outside(&mut markup)?.ok_or(DecodeError::NotWellFormed("there is no element"))?;
    if !ROOTS.contains(&&*root.name) {
        return Err(DecodeError::RootElement { name: root.name });
    }
    let mut draft = RegistrationDraft::default();
    let mut app = None;
    while let Some(element) = markup.child()? {
        match &*element.name {
            "app" => app = Some(markup.text()?.into()),
            _ => field(&mut draft, &element, &mut markup)?,
        }
    }
    if outside(&mut markup)?.is_some() {
        return Err(DecodeError::NotWellFormed("there is a second root"));
    }
    draft.app = app.ok_or(DecodeError::MissingApp)?;
    Ok(draft)
}

/// What stands outside of the root: nothing but blanks.
fn outside<'a>(markup: &mut Markup<'a>) -> Result<Option<Element<'a>>, DecodeError> {
    loop {
        match markup.next()? {
            Token::Open(element) => return Ok(Some(element)),
            Token::Text(text) if text.chars().all(|character| matches!(character, ' ' | '\t' | '\r' | '\n')) => {}
            Token::Text(_) => return Err(DecodeError::NotWellFormed("there is text outside of the root")),
            Token::Close | Token::End => return Ok(None),
        }
    }
}

/// Reads one element, its end included.
fn field(draft: &mut RegistrationDraft, element: &Element<'_>, markup: &mut Markup<'_>) -> Result<(), DecodeError> {
    match &*element.name {
        "instanceId" => draft.instance_id = text(markup)?,
        "hostName" => draft.host_name = text(markup)?,
        "ipAddr" => draft.ip_addr = text(markup)?,
        "sid" => draft.sid = text(markup)?,
        "status" => draft.status = Some(status(markup)?),
        "overriddenstatus" | "overriddenStatus" => draft.overridden_status = Some(status(markup)?),
        "port" => {
            let enabled = element.attribute("enabled")?.is_none_or(|enabled| enabled != "false");
            draft.port = Some(Port { number: whole_number(markup, "port")?, enabled });
        }
        "securePort" => {
            let enabled = element.attribute("enabled")?.is_some_and(|enabled| enabled == "true");
            draft.secure_port = Some(Port { number: whole_number(markup, "securePort")?, enabled });
        }
        "countryId" => draft.country_id = Some(whole_number(markup, "countryId")?),
        "dataCenterInfo" => draft.data_center = data_center(markup)?,
        "leaseInfo" => draft.lease_terms = Some(lease(markup)?),
        "metadata" => draft.metadata = metadata(markup)?,
        "appGroupName" => draft.app_group_name = text(markup)?,
        "homePageUrl" => draft.home_page_url = text(markup)?,
        "statusPageUrl" => draft.status_page_url = text(markup)?,
        "healthCheckUrl" => draft.health_check_url = text(markup)?,
        "secureHealthCheckUrl" => draft.secure_health_check_url = text(markup)?,
        "vipAddress" => draft.vip_address = text(markup)?,
        "secureVipAddress" => draft.secure_vip_address = text(markup)?,
        "asgName" => draft.asg_name = text(markup)?,
        "lastUpdatedTimestamp" => draft.last_updated = time(markup)?.or(draft.last_updated),
        "lastDirtyTimestamp" => draft.last_dirty = time(markup)?.or(draft.last_dirty),
        _ => markup.skip()?,
    }
    Ok(())
}

fn text(markup: &mut Markup<'_>) -> Result<Option<Box<str>>, DecodeError> {
    markup.text().map(|text| Some(text.into()))
}

/// A name in any case; every other text means that nothing is known.
fn status(markup: &mut Markup<'_>) -> Result<InstanceStatus, DecodeError> {
    Ok(markup.text()?.to_uppercase().parse().unwrap_or(InstanceStatus::Unknown))
}

fn whole_number(markup: &mut Markup<'_>, field: &'static str) -> Result<i32, DecodeError> {
    number(markup)?.ok_or(DecodeError::NotAWholeNumber { field })
}

/// What is no time stamp is as good as none.
fn time(markup: &mut Markup<'_>) -> Result<Option<UnixMillis>, DecodeError> {
    Ok(number(markup)?.map(UnixMillis))
}

fn number<T: FromStr>(markup: &mut Markup<'_>) -> Result<Option<T>, DecodeError> {
    Ok(markup.text()?.parse().ok())
}

/// Terms that are no numbers are as good as none; times are the server's to set and are not read.
fn lease(markup: &mut Markup<'_>) -> Result<LeaseTerms, DecodeError> {
    let (mut renewal, mut duration) = (0, 0);
    while let Some(element) = markup.child()? {
        match &*element.name {
            "renewalIntervalInSecs" => renewal = number(markup)?.unwrap_or(renewal),
            "durationInSecs" => duration = number(markup)?.unwrap_or(duration),
            _ => markup.skip()?,
        }
    }
    Ok(LeaseTerms::of(renewal, duration))
}

/// Texts by the keys that the element names stand for; the class marker is no entry.
fn metadata(markup: &mut Markup<'_>) -> Result<Metadata, DecodeError> {
    let mut pairs = Vec::new();
    while let Some(element) = markup.child()? {
        let value = markup.text()?;
        let key = key_of(&element.name);
        if key != "@class" {
            pairs.push((key, value));
        }
    }
    Ok(pairs.into_iter().collect())
}

/// A data centre is what its name says, whatever class it has; without a name it is none.
fn data_center(markup: &mut Markup<'_>) -> Result<Option<DataCenterDraft>, DecodeError> {
    let mut center = None;
    while let Some(element) = markup.child()? {
        match (&*element.name, &mut center) {
            ("name", _) => {
                let name = data_center_name(markup.text()?)?;
                center = Some(DataCenterDraft { name: Some(name), metadata: Metadata::default() });
            }
            ("metadata", None) => return Err(DecodeError::FactsBeforeName),
            ("metadata", Some(DataCenterDraft { name: Some(DataCenterName::Amazon), metadata: facts })) => {
                *facts = metadata(markup)?;
            }
            (_, _) => markup.skip()?,
        }
    }
    Ok(center)
}

/// Only Amazon may be written in any case.
fn data_center_name(name: String) -> Result<DataCenterName, DecodeError> {
    if name.eq_ignore_ascii_case(DataCenterName::Amazon.as_str()) {
        return Ok(DataCenterName::Amazon);
    }
    DataCenterName::parse(&name).ok_or(DecodeError::UnknownDataCenterName { name: name.into() })
}
