//! What a server tells of itself: `GET status` and `GET serverinfo/statusoverrides`. Called by http-facade.

use crate::{
    Form,
    form::{Style, XmlStyle},
    json_output, xml_output,
    xml_output::Depth,
};
use registry_model::{InstanceStatus, Record};

/// The root element, the name of the class that Java's answer is written from.
const ROOT: &str = "com.netflix.eureka.util.StatusInfo";

/// A server's report on itself.
#[derive(Clone, Debug, Default)]
pub struct StatusInfo {
    /// Facts about process and machine. Keys are element names.
    pub general: Vec<(&'static str, String)>,
    /// Facts about its peers. Keys are element names.
    pub application: Vec<(&'static str, String)>,
    /// The server as an instance, if it is one.
    pub instance: Option<Record>,
    /// Whether it is well; absent while nobody knows.
    pub healthy: Option<bool>,
}

/// The document of a report.
pub fn encode_status_info(form: Form, info: &StatusInfo) -> Vec<u8> {
    let mut out = Vec::new();
    match form.style() {
        Style::Json(detail) => {
            json_output::raw(&mut out, r#"{"generalStats":{"#);
            json_output::pairs(&mut out, texts(&info.general));
            json_output::raw(&mut out, r#"},"applicationStats":{"#);
            json_output::pairs(&mut out, texts(&info.application));
            out.push(b'}');
            if let Some(record) = &info.instance {
                json_output::raw(&mut out, r#","instanceInfo":"#);
                json_output::instance(&mut out, record, detail);
            }
            if let Some(healthy) = info.healthy {
                json_output::raw(&mut out, if healthy { r#","healthy":true"# } else { r#","healthy":false"# });
            }
            out.push(b'}');
        }
        Style::Xml(style) => xml(&mut out, info, style),
    }
    out
}

fn xml(out: &mut Vec<u8>, info: &StatusInfo, style: XmlStyle) {
    let root = Depth::of(style);
    let inside = root.deeper();
    xml_output::raw(out, "<");
    xml_output::raw(out, ROOT);
    xml_output::raw(out, ">");
    for (name, pairs) in [("generalStats", &info.general), ("applicationStats", &info.application)] {
        xml_output::open(out, inside, name);
        for (key, value) in texts(pairs) {
            xml_output::text(out, inside.deeper(), key, value);
        }
        xml_output::close(out, inside, name);
    }
    if let Some(record) = &info.instance {
        xml_output::open(out, inside, "instanceInfo");
        xml_output::fields(out, inside.deeper(), record, style);
        xml_output::close(out, inside, "instanceInfo");
    }
    if let Some(healthy) = info.healthy {
        // The spelling is Java's.
        xml_output::literal(out, inside, "isHeathly", if healthy { "true" } else { "false" });
    }
    xml_output::close(out, root, ROOT);
}

fn texts<'a>(pairs: &'a [(&'static str, String)]) -> impl Iterator<Item = (&'a str, &'a str)> {
    pairs.iter().map(|(key, value)| (*key, value.as_str()))
}

/// The JSON object from instance ids to the statuses that override theirs.
pub fn encode_overrides<'a>(overrides: impl Iterator<Item = (&'a str, InstanceStatus)>) -> Vec<u8> {
    let mut out = b"{".to_vec();
    json_output::pairs(&mut out, overrides.map(|(id, status)| (id, status.as_str())));
    out.push(b'}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    fn info() -> StatusInfo {
        StatusInfo {
            general: vec![("server-uptime", "00:07".to_owned()), ("environment", "a \"b\" <c>".to_owned())],
            application: vec![("registered-replicas", String::new())],
            instance: None,
            healthy: Some(true),
        }
    }

    fn text(form: Form, info: &StatusInfo) -> String {
        String::from_utf8(encode_status_info(form, info)).unwrap()
    }

    #[test]
    fn rest_144_the_xml_report_has_javas_root() {
        let expected = "<com.netflix.eureka.util.StatusInfo>\n  <generalStats>\n    <server-uptime>00:07</server-uptime>\n    \
            <environment>a &quot;b&quot; &lt;c&gt;</environment>\n  </generalStats>\n  <applicationStats>\n    \
            <registered-replicas></registered-replicas>\n  </applicationStats>\n  <isHeathly>true</isHeathly>\n\
            </com.netflix.eureka.util.StatusInfo>";
        assert_eq!(text(Form::Xml, &info()), expected);
    }

    #[test]
    fn rest_145_the_json_report_is_valid_whatever_is_known() {
        let said = r#"{"generalStats":{"server-uptime":"00:07","environment":"a \"b\" <c>"},"applicationStats":{"registered-replicas":""},"healthy":true}"#;
        assert_eq!(text(Form::Json, &info()), said);
        let registered = StatusInfo { instance: Some(samples::rich()), healthy: None, ..info() };
        let parsed: serde_json::Value = serde_json::from_str(&text(Form::Json, &registered)).unwrap();
        assert_eq!(parsed["instanceInfo"]["status"], "OUT_OF_SERVICE");
        assert!(parsed.get("healthy").is_none());
        assert!(text(Form::Xml, &registered).contains("  <instanceInfo>\n    <instanceId>"));
    }

    #[test]
    fn rest_142_overrides_are_one_flat_object() {
        assert_eq!(encode_overrides(std::iter::empty()), b"{}");
        let overrides = [("n\"1", InstanceStatus::OutOfService), ("n2", InstanceStatus::Up)];
        let expected = br#"{"n\"1":"OUT_OF_SERVICE","n2":"UP"}"#;
        assert_eq!(encode_overrides(overrides.into_iter()), expected);
    }
}
