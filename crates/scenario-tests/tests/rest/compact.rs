//! 9.13: the compact forms.

use scenario_tests::{Request, Response, on_a_server, server::Server, story::with};
use serde_json::json;

on_a_server! {
    start:
        rest_123_124_compact_documents_have_these_keys_in_this_order,
        rest_127_of_amazon_machines_five_facts_are_told;
    registered:
        rest_125_126_single_instances_and_other_wishes_are_full,
}

async fn read(server: &Server, path: &str, detail: &str, language: fn(Request) -> Request) -> Response {
    let request = language(Server::request("GET", path)).header("x-eureka-accept", detail);
    server.client.send(request).await
}

async fn rest_123_124_compact_documents_have_these_keys_in_this_order(server: &Server) {
    server.register(&with(json!({"metadata": {"k": "v"}, "sid": "s", "homePageUrl": "u", "asgName": "g"}))).await;
    let now = server.node.now().0;
    let json = [
        r#"{"applications":{"application":[{"name":"BILLING","instance":[{"instanceId":"n1","app":"BILLING","#,
        r#""ipAddr":"192.0.2.10","vipAddress":"billing","secureVipAddress":"billing-s","dataCenterInfo":"#,
        r#"{"@class":"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},"hostName":"n1.test","#,
        r#""status":"UP","lastUpdatedTimestamp":@now@,"actionType":"ADDED","asgName":"g","#,
        r#""port":{"$":8080,"@enabled":"true"},"securePort":{"$":8443,"@enabled":"false"}}]}],"#,
        r#""versions__delta":"1","apps__hashcode":"UP_1_"}}"#,
    ];
    let application = [
        "<application><name>BILLING</name><instance><instanceId>n1</instanceId><app>BILLING</app>",
        "<ipAddr>192.0.2.10</ipAddr><vipAddress>billing</vipAddress><secureVipAddress>billing-s</secureVipAddress>",
        "<dataCenterInfo class=\"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo\"><name>MyOwn</name>",
        "</dataCenterInfo><hostName>n1.test</hostName><status>UP</status>",
        "<lastUpdatedTimestamp>@now@</lastUpdatedTimestamp><actionType>ADDED</actionType><asgName>g</asgName>",
        "<port enabled=\"true\">8080</port><securePort enabled=\"false\">8443</securePort></instance></application>",
    ];
    let dated = |parts: &[&str]| parts.concat().replace("@now@", &now.to_string());
    let application = dated(&application);
    let numbers = "<versions__delta>1</versions__delta><apps__hashcode>UP_1_</apps__hashcode>";
    for detail in ["compact", "COMPACT"] {
        let answer = read(server, "apps", detail, Request::json).await;
        assert_eq!((answer.header("content-type"), answer.text()), (Some("application/json"), dated(&json)));
        let answer = read(server, "apps", detail, Request::xml).await;
        let expected = format!("<applications>{application}{numbers}</applications>");
        assert_eq!((answer.header("content-type"), answer.text()), (Some("application/xml"), expected));
        assert_eq!(read(server, "apps/BILLING", detail, Request::xml).await.text(), application);
    }
    for path in ["apps/delta", "vips/billing", "svips/billing-s", "apps/BILLING"] {
        for language in [Request::json, Request::xml] {
            let text = read(server, path, "compact", language).await.text();
            assert!(!text.contains("leaseInfo") && !text.contains("metadata") && !text.contains('\n'), "{path}");
        }
    }
}

async fn rest_125_126_single_instances_and_other_wishes_are_full(server: &Server) {
    for language in [Request::json, Request::xml] {
        for path in ["apps/BILLING/n1", "instances/n1"] {
            let full = server.client.send(language(Server::request("GET", path))).await;
            assert!(full.text().contains("leaseInfo"));
            assert_eq!(read(server, path, "compact", language).await, full, "{path}");
        }
        for path in ["apps", "apps/delta", "apps/BILLING", "vips/billing"] {
            let full = server.client.send(language(Server::request("GET", path))).await;
            assert!(full.text().contains("leaseInfo"));
            for detail in ["bogus", "full", ""] {
                assert_eq!(read(server, path, detail, language).await, full, "{path} {detail}");
            }
        }
    }
}

async fn rest_127_of_amazon_machines_five_facts_are_told(server: &Server) {
    let facts = [
        "instance-id",
        "ami-id",
        "instance-type",
        "local-ipv4",
        "local-hostname",
        "availability-zone",
        "public-hostname",
        "public-ipv4",
        "macs",
        "vpc-id",
        "accountId",
        "other",
    ];
    let metadata: serde_json::Value = facts.iter().map(|fact| ((*fact).to_owned(), json!("v"))).collect();
    let center = json!({"@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon", "metadata": metadata});
    server.register(&with(json!({"dataCenterInfo": center}))).await;
    let [full] = server.shows(["dataCenterInfo"]).await;
    assert_eq!(full, center);
    let five = json!({
        "instance-id": "v", "public-ipv4": "v", "public-hostname": "v", "local-ipv4": "v", "availability-zone": "v"
    });
    let document = read(server, "apps", "compact", Request::json).await.json();
    let compact = &document["applications"]["application"][0]["instance"][0]["dataCenterInfo"];
    assert_eq!(compact, &json!({"@class": "com.netflix.appinfo.AmazonInfo", "name": "Amazon", "metadata": five}));
    let xml = read(server, "apps", "compact", Request::xml).await.text();
    let said = facts.iter().filter(|fact| xml.contains(&format!("<{fact}>v</{fact}>"))).count();
    assert_eq!(said, 5, "{xml}");
}
