//! JSON, full and compact, written byte by byte in Eureka's field order. Called by `document`, `batch_answer` and `status_info`.

use crate::document::{Document, Place};
use crate::form::Detail;
use crate::writer::{AMAZON_CLASS, EMPTY_MAP_CLASS, MARKER_CLASS, facts, hash_text, push_escaped, push_number};
use registry_model::{AppName, DataCenterInfo, LeaseTerms, LeaseTimes, Port, Record, StatusCounts};

/// Head of a document. A compact one says its numbers in its tail.
pub(crate) fn head(out: &mut Vec<u8>, document: &Document, detail: Detail) {
    match (document, detail) {
        (Document::Registry { version, hash }, Detail::Full) => {
            raw(out, r#"{"applications":{"#);
            numbers(out, *version, hash);
            raw(out, r#","application":["#);
        }
        (Document::Registry { .. }, Detail::Compact) => raw(out, r#"{"applications":{"application":["#),
        (Document::Application { name }, Detail::Full | Detail::Compact) => {
            text(out, r#"{"application":{"name":"#, name.as_str());
            raw(out, r#","instance":["#);
        }
    }
}

/// Tail of a document.
pub(crate) fn tail(out: &mut Vec<u8>, document: &Document, detail: Detail) {
    match (document, detail) {
        (Document::Registry { version, hash }, Detail::Compact) => {
            raw(out, "],");
            numbers(out, *version, hash);
            raw(out, "}}");
        }
        (Document::Registry { .. }, Detail::Full) | (Document::Application { .. }, Detail::Full | Detail::Compact) => {
            raw(out, "]}}");
        }
    }
}

fn numbers(out: &mut Vec<u8>, version: i64, hash: &StatusCounts) {
    raw(out, r#""versions__delta":""#);
    push_number(out, version);
    raw(out, r#"","apps__hashcode":""#);
    raw(out, &hash_text(hash));
    out.push(b'"');
}

/// Beginning of an application within a registry.
pub(crate) fn open_application(out: &mut Vec<u8>, place: Place, app: &AppName) {
    separate(out, place);
    text(out, r#"{"name":"#, app.as_str());
    raw(out, r#","instance":["#);
}

/// End of an application within a registry.
pub(crate) fn close_application(out: &mut Vec<u8>) {
    raw(out, "]}");
}

/// What stands before an array's element.
pub(crate) fn separate(out: &mut Vec<u8>, place: Place) {
    match place {
        Place::First => {}
        Place::Later => out.push(b','),
    }
}

/// A document of one instance.
pub(crate) fn instance_document(out: &mut Vec<u8>, record: &Record, detail: Detail) {
    raw(out, r#"{"instance":"#);
    instance(out, record, detail);
    out.push(b'}');
}

/// One instance.
pub(crate) fn instance(out: &mut Vec<u8>, record: &Record, detail: Detail) {
    match detail {
        Detail::Full => full_instance(out, record),
        Detail::Compact => compact_instance(out, record),
    }
}

fn compact_instance(out: &mut Vec<u8>, record: &Record) {
    let info = &*record.instance;
    text(out, r#"{"instanceId":"#, info.key.id.as_str());
    text(out, r#","app":"#, info.key.app.as_str());
    text(out, r#","ipAddr":"#, &info.ip_addr);
    optional(out, r#","vipAddress":"#, info.vip_address.as_deref());
    optional(out, r#","secureVipAddress":"#, info.secure_vip_address.as_deref());
    data_center(out, &info.data_center, Detail::Compact);
    text(out, r#","hostName":"#, &info.host_name);
    raw(out, r#","status":""#);
    raw(out, info.status.as_str());
    raw(out, r#"","lastUpdatedTimestamp":"#);
    push_number(out, info.last_updated.0);
    raw(out, r#","actionType":""#);
    raw(out, info.action.as_str());
    out.push(b'"');
    optional(out, r#","asgName":"#, info.asg_name.as_deref());
    port(out, r#","port":{"$":"#, info.port);
    port(out, r#","securePort":{"$":"#, info.secure_port);
    out.push(b'}');
}

fn full_instance(out: &mut Vec<u8>, record: &Record) {
    let info = &*record.instance;
    text(out, r#"{"instanceId":"#, info.key.id.as_str());
    text(out, r#","hostName":"#, &info.host_name);
    text(out, r#","app":"#, info.key.app.as_str());
    text(out, r#","ipAddr":"#, &info.ip_addr);
    optional(out, r#","sid":"#, info.sid.as_deref());
    raw(out, r#","status":""#);
    raw(out, info.status.as_str());
    raw(out, r#"","overriddenStatus":""#);
    raw(out, info.overridden_status.as_str());
    out.push(b'"');
    port(out, r#","port":{"$":"#, info.port);
    port(out, r#","securePort":{"$":"#, info.secure_port);
    raw(out, r#","countryId":"#);
    push_number(out, info.country_id);
    data_center(out, &info.data_center, Detail::Full);
    lease(out, info.lease_terms, &record.lease);
    raw(out, r#","metadata":{"#);
    if info.metadata.is_empty() {
        text(out, r#""@class":"#, EMPTY_MAP_CLASS);
    } else {
        pairs(out, info.metadata.iter());
    }
    out.push(b'}');
    optional(out, r#","appGroupName":"#, info.app_group_name.as_deref());
    optional(out, r#","homePageUrl":"#, info.home_page_url.as_deref());
    optional(out, r#","statusPageUrl":"#, info.status_page_url.as_deref());
    optional(out, r#","healthCheckUrl":"#, info.health_check_url.as_deref());
    optional(out, r#","secureHealthCheckUrl":"#, info.secure_health_check_url.as_deref());
    optional(out, r#","vipAddress":"#, info.vip_address.as_deref());
    optional(out, r#","secureVipAddress":"#, info.secure_vip_address.as_deref());
    raw(out, r#","isCoordinatingDiscoveryServer":""#);
    raw(out, if info.coordinating { "true" } else { "false" });
    raw(out, r#"","lastUpdatedTimestamp":""#);
    push_number(out, info.last_updated.0);
    raw(out, r#"","lastDirtyTimestamp":""#);
    push_number(out, info.last_dirty.0);
    raw(out, r#"","actionType":""#);
    raw(out, info.action.as_str());
    out.push(b'"');
    optional(out, r#","asgName":"#, info.asg_name.as_deref());
    out.push(b'}');
}

fn port(out: &mut Vec<u8>, before: &str, port: Port) {
    raw(out, before);
    push_number(out, port.number);
    raw(out, if port.enabled { r#","@enabled":"true"}"# } else { r#","@enabled":"false"}"# });
}

fn data_center(out: &mut Vec<u8>, center: &DataCenterInfo, detail: Detail) {
    let class = match center {
        DataCenterInfo::MyOwn | DataCenterInfo::Netflix => MARKER_CLASS,
        DataCenterInfo::Amazon(_) => AMAZON_CLASS,
    };
    raw(out, r#","dataCenterInfo":{"@class":""#);
    raw(out, class);
    raw(out, r#"","name":""#);
    raw(out, center.name().as_str());
    out.push(b'"');
    match center {
        DataCenterInfo::MyOwn | DataCenterInfo::Netflix => {}
        DataCenterInfo::Amazon(metadata) => {
            raw(out, r#","metadata":{"#);
            pairs(out, facts(metadata, detail));
            out.push(b'}');
        }
    }
    out.push(b'}');
}

fn lease(out: &mut Vec<u8>, terms: LeaseTerms, times: &LeaseTimes) {
    raw(out, r#","leaseInfo":{"renewalIntervalInSecs":"#);
    push_number(out, terms.renewal_interval_secs);
    raw(out, r#","durationInSecs":"#);
    push_number(out, terms.duration_secs);
    raw(out, r#","registrationTimestamp":"#);
    push_number(out, times.registered.0);
    raw(out, r#","lastRenewalTimestamp":"#);
    push_number(out, times.renewed.0);
    raw(out, r#","evictionTimestamp":"#);
    push_number(out, times.evicted.0);
    raw(out, r#","serviceUpTimestamp":"#);
    push_number(out, times.service_up.0);
    out.push(b'}');
}

pub(crate) fn pairs<'a>(out: &mut Vec<u8>, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut place = Place::First;
    for (key, value) in pairs {
        separate(out, place);
        string(out, key);
        text(out, ":", value);
        place = Place::Later;
    }
}

pub(crate) fn raw(out: &mut Vec<u8>, literal: &str) {
    out.extend_from_slice(literal.as_bytes());
}

fn text(out: &mut Vec<u8>, before: &str, value: &str) {
    raw(out, before);
    string(out, value);
}

fn optional(out: &mut Vec<u8>, before: &str, value: Option<&str>) {
    if let Some(value) = value {
        text(out, before, value);
    }
}

fn string(out: &mut Vec<u8>, value: &str) {
    out.push(b'"');
    push_escaped(out, value, |byte| byte < 0x20 || byte == b'"' || byte == b'\\', escape);
    out.push(b'"');
}

/// Only quotes, backslashes and control characters; everything else stands as it is.
fn escape(out: &mut Vec<u8>, special: &[u8]) -> usize {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let Some(&byte) = special.first() else { return 0 };
    let short = match byte {
        b'"' | b'\\' => byte,
        0x08 => b'b',
        0x09 => b't',
        0x0a => b'n',
        0x0c => b'f',
        0x0d => b'r',
        _ => {
            raw(out, r"\u00");
            out.extend([byte >> 4, byte & 15].iter().filter_map(|digit| HEX.get(usize::from(*digit))));
            return 1;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
    1
}
