//! 9.12: XML in and out.

use crate::register::AS_XML;
use scenario_tests::{
    Request, on_a_server,
    server::{Server, answer, expected},
    story::{fixture, with},
};
use serde_json::{Value, json};

on_a_server! {
    start:
        rest_116_117_keys_of_metadata_become_names_of_elements_and_keys_again,
        rest_111_112_114_what_an_xml_registration_leaves_open_is_filled_in,
        rest_113_115_numbers_have_to_be_such_and_document_types_are_refused,
        rest_119_120_121_only_the_xml_of_the_first_version_knows_three_statuses;
    registered:
        rest_118_122_empty_metadata_is_a_marker_and_the_override_is_spelt_in_lower_case,
}

const PORTS: &str = "<port>8080</port><securePort>8443</securePort>";
const CENTER: &str = "<dataCenterInfo><name>MyOwn</name></dataCenterInfo>";

/// A document for `BILLING/n1` with this in it.
fn instance(inner: &str) -> String {
    format!(
        "<instance><instanceId>n1</instanceId><hostName>n1.test</hostName><app>BILLING</app>\
         <ipAddr>192.0.2.10</ipAddr>{inner}</instance>"
    )
}

fn post(body: &str) -> Request {
    Server::request("POST", "apps/BILLING").header("content-type", "application/xml").body(body)
}

async fn rest_111_112_114_what_an_xml_registration_leaves_open_is_filled_in(server: &Server) {
    let center = "<dataCenterInfo class=\"foo.Bar\"><name>MyOwn</name></dataCenterInfo>";
    let body = instance(&format!("{PORTS}<status>up</status>{center}"));
    assert_eq!(server.empty(post(&body)).await, 204);
    let expected = [
        json!({"$": 8080, "@enabled": "true"}),
        json!({"$": 8443, "@enabled": "false"}),
        json!("UP"),
        fixture()["dataCenterInfo"].clone(),
    ];
    assert_eq!(server.shows(["port", "securePort", "status", "dataCenterInfo"]).await, expected);
}

async fn rest_113_115_numbers_have_to_be_such_and_document_types_are_refused(server: &Server) {
    let port = |text: &str| instance(&format!("<port enabled=\"true\">{text}</port>{CENTER}"));
    let entity = "<!DOCTYPE instance [<!ENTITY x SYSTEM \"file:///etc/hostname\">]>";
    let table = [
        port(" 8080 "),
        port("abc"),
        port(""),
        format!("<!DOCTYPE instance>{}", instance(CENTER)),
        format!("{entity}{}", instance(&format!("<sid>&x;</sid>{CENTER}"))),
        format!("<application>{}</application>", instance(CENTER)),
    ];
    for body in table {
        let refused = answer(&server.client.send(post(&body)).await);
        assert_eq!(refused, expected(400, "application/xml", AS_XML), "{body}");
    }
    assert_eq!(server.list("apps").await.apps, []);
    assert_eq!(server.empty(post(&port("8080"))).await, 204);
}

async fn rest_116_117_keys_of_metadata_become_names_of_elements_and_keys_again(server: &Server) {
    let keys = ["1num", "a_b", "a$b", "k<1", "a.b-c:d"];
    let elements = ["_.0031num", "a__b", "a_-b", "k_.003c1", "a.b-c:d"];
    let metadata: Value = keys.iter().map(|key| ((*key).to_owned(), json!(format!("of {key}")))).collect();
    server.register(&with(json!({ "metadata": metadata }))).await;
    for path in ["apps", "apps/delta", "apps/BILLING", "apps/BILLING/n1"] {
        let xml = server.xml(path).await;
        for (key, element) in keys.iter().zip(elements) {
            let escaped = key.replace('<', "&lt;");
            assert!(xml.contains(&format!("<{element}>of {escaped}</{element}>")), "{element} in {xml}");
        }
    }
    assert_eq!(server.bare("DELETE", "apps/BILLING/n1").await, 200);

    let children: String = elements
        .iter()
        .zip(keys)
        .map(|(element, key)| format!("<{element}>of {}</{element}>", key.replace('<', "&lt;")))
        .collect();
    assert_eq!(server.empty(post(&instance(&format!("{CENTER}<metadata>{children}</metadata>")))).await, 204);
    assert_eq!(server.get("apps/BILLING/n1").await.json()["instance"]["metadata"], metadata);
}

async fn rest_118_122_empty_metadata_is_a_marker_and_the_override_is_spelt_in_lower_case(server: &Server) {
    assert_eq!(server.bare("PUT", "apps/BILLING/n1/status?value=OUT_OF_SERVICE").await, 200);
    for path in ["apps", "apps/delta", "apps/BILLING", "vips/billing", "apps/BILLING/n1", "instances/n1"] {
        let xml = server.xml(path).await;
        assert!(xml.contains("<metadata class=\"java.util.Collections$EmptyMap\"/>"), "{path}: {xml}");
        assert!(xml.contains("<overriddenstatus>OUT_OF_SERVICE</overriddenstatus>"), "{path}: {xml}");
        assert!(!xml.contains("overriddenStatus"), "{path}");
    }
}

async fn rest_119_120_121_only_the_xml_of_the_first_version_knows_three_statuses(server: &Server) {
    let real = ["UP", "OUT_OF_SERVICE", "STARTING", "UNKNOWN"];
    for (place, status) in real.into_iter().enumerate() {
        server.register(&with(json!({"app": "C", "instanceId": format!("c{}", place + 1), "status": status}))).await;
    }
    let statuses = async |request: Request| {
        let list = server.client.send(request).await.applications();
        if let Some(hash) = &list.hash {
            assert_eq!(hash, "OUT_OF_SERVICE_1_STARTING_1_UNKNOWN_1_UP_1_");
        }
        list.instances().map(|instance| instance.field("status").to_owned()).collect::<Vec<_>>()
    };
    for path in ["apps", "apps/delta", "apps/C", "vips/billing"] {
        let (one, two) = (format!("/eureka/v1/{path}"), format!("/eureka/v2/{path}"));
        assert_eq!(statuses(Request::get(&one).xml()).await, ["UP", "DOWN", "STARTING", "DOWN"], "{one}");
        assert_eq!(statuses(Request::get(&one).json()).await, real, "{one}");
        assert_eq!(statuses(Request::get(&two).xml()).await, real, "{two}");
        assert_eq!(statuses(Request::get(&format!("/eureka/{path}")).xml()).await, real, "{path}");
    }
    for path in ["apps/C/c2", "instances/c2"] {
        assert!(server.xml(path).await.contains("<status>OUT_OF_SERVICE</status>"), "{path}");
    }
}
