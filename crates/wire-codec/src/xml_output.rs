//! XML in Eureka's element order: full, pretty-printed with two spaces, and compact, on one line. Called by `document` and `status_info`.

use crate::document::{Document, Nesting};
use crate::form::{Detail, XmlStyle};
use crate::writer::{AMAZON_CLASS, EMPTY_MAP_CLASS, MARKER_CLASS, facts, hash_text, push_escaped, push_number};
use crate::xml_names::push_element_name;
use registry_model::{AppName, DataCenterInfo, InstanceStatus, LeaseTerms, LeaseTimes, Port, Record, StatusCounts};

/// Where an element stands.
#[derive(Clone, Copy)]
pub(crate) enum Depth {
    /// On a line of its own, as many levels below the root.
    Line(usize),
    /// Right behind what is before it.
    Inline,
}

impl Depth {
    /// The root's.
    pub(crate) const fn of(style: XmlStyle) -> Self {
        match style {
            XmlStyle::Full | XmlStyle::FullV1 => Self::Line(0),
            XmlStyle::Compact => Self::Inline,
        }
    }

    pub(crate) const fn deeper(self) -> Self {
        match self {
            Self::Line(depth) => Self::Line(depth + 1),
            Self::Inline => Self::Inline,
        }
    }
}

/// Head of a document. A compact one says its numbers in its tail.
pub(crate) fn head(out: &mut Vec<u8>, document: &Document, style: XmlStyle) {
    let inside = Depth::of(style).deeper();
    match document {
        Document::Registry { version, hash } => {
            raw(out, "<applications>");
            match style {
                XmlStyle::Full | XmlStyle::FullV1 => numbers(out, inside, *version, hash),
                XmlStyle::Compact => {}
            }
        }
        Document::Application { name } => {
            raw(out, "<application>");
            text(out, inside, "name", name.as_str());
        }
    }
}

/// Tail of a document.
pub(crate) fn tail(out: &mut Vec<u8>, document: &Document, style: XmlStyle) {
    let root = Depth::of(style);
    match document {
        Document::Registry { version, hash } => {
            match style {
                XmlStyle::Full | XmlStyle::FullV1 => {}
                XmlStyle::Compact => numbers(out, root.deeper(), *version, hash),
            }
            close(out, root, "applications");
        }
        Document::Application { .. } => close(out, root, "application"),
    }
}

fn numbers(out: &mut Vec<u8>, depth: Depth, version: i64, hash: &StatusCounts) {
    number(out, depth, "versions__delta", version);
    literal(out, depth, "apps__hashcode", &hash_text(hash));
}

/// Beginning of an application within a registry.
pub(crate) fn open_application(out: &mut Vec<u8>, app: &AppName, style: XmlStyle) {
    let depth = Depth::of(style).deeper();
    open(out, depth, "application");
    text(out, depth.deeper(), "name", app.as_str());
}

/// End of an application within a registry.
pub(crate) fn close_application(out: &mut Vec<u8>, style: XmlStyle) {
    close(out, Depth::of(style).deeper(), "application");
}

/// A document of one instance.
pub(crate) fn instance_document(out: &mut Vec<u8>, record: &Record, style: XmlStyle) {
    let root = Depth::of(style);
    raw(out, "<instance>");
    fields(out, root.deeper(), record, style);
    close(out, root, "instance");
}

/// One instance within a page.
pub(crate) fn instance(out: &mut Vec<u8>, nesting: Nesting, record: &Record, style: XmlStyle) {
    let depth = match nesting {
        Nesting::Application => Depth::of(style).deeper(),
        Nesting::Registry => Depth::of(style).deeper().deeper(),
    };
    open(out, depth, "instance");
    fields(out, depth.deeper(), record, style);
    close(out, depth, "instance");
}

/// The children of an instance's element.
pub(crate) fn fields(out: &mut Vec<u8>, depth: Depth, record: &Record, style: XmlStyle) {
    match style {
        XmlStyle::Full => full_fields(out, depth, record, record.instance.status),
        XmlStyle::FullV1 => full_fields(out, depth, record, status_in_v1(record.instance.status)),
        XmlStyle::Compact => compact_fields(out, depth, record),
    }
}

/// What the first version of the API calls a status.
const fn status_in_v1(status: InstanceStatus) -> InstanceStatus {
    match status {
        InstanceStatus::Up | InstanceStatus::Down | InstanceStatus::Starting => status,
        InstanceStatus::OutOfService | InstanceStatus::Unknown => InstanceStatus::Down,
    }
}

fn compact_fields(out: &mut Vec<u8>, depth: Depth, record: &Record) {
    let info = &*record.instance;
    text(out, depth, "instanceId", info.key.id.as_str());
    text(out, depth, "app", info.key.app.as_str());
    text(out, depth, "ipAddr", &info.ip_addr);
    optional(out, depth, "vipAddress", info.vip_address.as_deref());
    optional(out, depth, "secureVipAddress", info.secure_vip_address.as_deref());
    data_center(out, depth, &info.data_center, Detail::Compact);
    text(out, depth, "hostName", &info.host_name);
    literal(out, depth, "status", info.status.as_str());
    number(out, depth, "lastUpdatedTimestamp", info.last_updated.0);
    literal(out, depth, "actionType", info.action.as_str());
    optional(out, depth, "asgName", info.asg_name.as_deref());
    port(out, depth, "port", info.port);
    port(out, depth, "securePort", info.secure_port);
}

fn full_fields(out: &mut Vec<u8>, depth: Depth, record: &Record, status: InstanceStatus) {
    let info = &*record.instance;
    text(out, depth, "instanceId", info.key.id.as_str());
    text(out, depth, "hostName", &info.host_name);
    text(out, depth, "app", info.key.app.as_str());
    text(out, depth, "ipAddr", &info.ip_addr);
    optional(out, depth, "sid", info.sid.as_deref());
    literal(out, depth, "status", status.as_str());
    literal(out, depth, "overriddenstatus", info.overridden_status.as_str());
    port(out, depth, "port", info.port);
    port(out, depth, "securePort", info.secure_port);
    number(out, depth, "countryId", info.country_id);
    data_center(out, depth, &info.data_center, Detail::Full);
    lease(out, depth, info.lease_terms, &record.lease);
    pairs(out, depth, info.metadata.iter());
    optional(out, depth, "appGroupName", info.app_group_name.as_deref());
    optional(out, depth, "homePageUrl", info.home_page_url.as_deref());
    optional(out, depth, "statusPageUrl", info.status_page_url.as_deref());
    optional(out, depth, "healthCheckUrl", info.health_check_url.as_deref());
    optional(out, depth, "secureHealthCheckUrl", info.secure_health_check_url.as_deref());
    optional(out, depth, "vipAddress", info.vip_address.as_deref());
    optional(out, depth, "secureVipAddress", info.secure_vip_address.as_deref());
    literal(out, depth, "isCoordinatingDiscoveryServer", if info.coordinating { "true" } else { "false" });
    number(out, depth, "lastUpdatedTimestamp", info.last_updated.0);
    number(out, depth, "lastDirtyTimestamp", info.last_dirty.0);
    literal(out, depth, "actionType", info.action.as_str());
    optional(out, depth, "asgName", info.asg_name.as_deref());
}

fn port(out: &mut Vec<u8>, depth: Depth, name: &str, port: Port) {
    indent(out, depth);
    raw(out, "<");
    raw(out, name);
    raw(out, if port.enabled { " enabled=\"true\">" } else { " enabled=\"false\">" });
    push_number(out, port.number);
    end(out, name);
}

fn data_center(out: &mut Vec<u8>, depth: Depth, center: &DataCenterInfo, detail: Detail) {
    let class = match center {
        DataCenterInfo::MyOwn | DataCenterInfo::Netflix => MARKER_CLASS,
        DataCenterInfo::Amazon(_) => AMAZON_CLASS,
    };
    indent(out, depth);
    raw(out, "<dataCenterInfo class=\"");
    raw(out, class);
    raw(out, "\">");
    literal(out, depth.deeper(), "name", center.name().as_str());
    match center {
        DataCenterInfo::MyOwn | DataCenterInfo::Netflix => {}
        DataCenterInfo::Amazon(metadata) => pairs(out, depth.deeper(), facts(metadata, detail)),
    }
    close(out, depth, "dataCenterInfo");
}

fn lease(out: &mut Vec<u8>, depth: Depth, terms: LeaseTerms, times: &LeaseTimes) {
    open(out, depth, "leaseInfo");
    let inside = depth.deeper();
    number(out, inside, "renewalIntervalInSecs", terms.renewal_interval_secs);
    number(out, inside, "durationInSecs", terms.duration_secs);
    number(out, inside, "registrationTimestamp", times.registered.0);
    number(out, inside, "lastRenewalTimestamp", times.renewed.0);
    number(out, inside, "evictionTimestamp", times.evicted.0);
    number(out, inside, "serviceUpTimestamp", times.service_up.0);
    close(out, depth, "leaseInfo");
}

/// Metadata. An entry without a key has no element name and is left out; without any entry the class of Java's empty map stands instead.
fn pairs<'a>(out: &mut Vec<u8>, depth: Depth, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
    let mut pairs = pairs.filter(|(key, _)| !key.is_empty()).peekable();
    if pairs.peek().is_none() {
        indent(out, depth);
        raw(out, "<metadata class=\"");
        raw(out, EMPTY_MAP_CLASS);
        raw(out, "\"/>");
        return;
    }
    open(out, depth, "metadata");
    for (key, value) in pairs {
        indent(out, depth.deeper());
        raw(out, "<");
        push_element_name(out, key);
        raw(out, ">");
        content(out, value);
        raw(out, "</");
        push_element_name(out, key);
        raw(out, ">");
    }
    close(out, depth, "metadata");
}

pub(crate) fn raw(out: &mut Vec<u8>, literal: &str) {
    out.extend_from_slice(literal.as_bytes());
}

fn indent(out: &mut Vec<u8>, depth: Depth) {
    const SPACES: &str = "\n                ";
    match depth {
        Depth::Line(depth) => raw(out, SPACES.get(..1 + 2 * depth).unwrap_or(SPACES)),
        Depth::Inline => {}
    }
}

fn begin(out: &mut Vec<u8>, depth: Depth, name: &str) {
    indent(out, depth);
    raw(out, "<");
    raw(out, name);
    raw(out, ">");
}

fn end(out: &mut Vec<u8>, name: &str) {
    raw(out, "</");
    raw(out, name);
    raw(out, ">");
}

pub(crate) fn open(out: &mut Vec<u8>, depth: Depth, name: &str) {
    begin(out, depth, name);
}

pub(crate) fn close(out: &mut Vec<u8>, depth: Depth, name: &str) {
    indent(out, depth);
    end(out, name);
}

/// An element whose text is known to need no escapes.
pub(crate) fn literal(out: &mut Vec<u8>, depth: Depth, name: &str, value: &str) {
    begin(out, depth, name);
    raw(out, value);
    end(out, name);
}

fn number(out: &mut Vec<u8>, depth: Depth, name: &str, value: impl itoa::Integer) {
    begin(out, depth, name);
    push_number(out, value);
    end(out, name);
}

pub(crate) fn text(out: &mut Vec<u8>, depth: Depth, name: &str, value: &str) {
    begin(out, depth, name);
    content(out, value);
    end(out, name);
}

fn optional(out: &mut Vec<u8>, depth: Depth, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        text(out, depth, name, value);
    }
}

/// Text between tags. `0xEF` begins U+FFFE and U+FFFF, which XML forbids.
fn content(out: &mut Vec<u8>, value: &str) {
    let special = |byte: u8| {
        (byte < 0x20 && byte != b'\n' && byte != b'\t')
            | (byte == b'&')
            | (byte == b'<')
            | (byte == b'>')
            | (byte == b'"')
            | (byte == b'\'')
            | (byte == 0xEF)
    };
    push_escaped(out, value, special, escape);
}

/// Characters that XML 1.0 forbids become U+FFFD, so that no instance can make a whole document unreadable.
fn escape(out: &mut Vec<u8>, special: &[u8]) -> usize {
    const REPLACEMENT: &str = "\u{FFFD}";
    let (written, taken) = match special {
        [b'&', ..] => ("&amp;", 1),
        [b'<', ..] => ("&lt;", 1),
        [b'>', ..] => ("&gt;", 1),
        [b'"', ..] => ("&quot;", 1),
        [b'\'', ..] => ("&apos;", 1),
        [b'\r', ..] => ("&#xd;", 1),
        [0xEF, 0xBF, 0xBE | 0xBF, ..] => (REPLACEMENT, 3),
        [0xEF, ..] => {
            out.push(0xEF);
            return 1;
        }
        _ => (REPLACEMENT, 1),
    };
    raw(out, written);
    taken
}
