//! 9.15 and 9.16: the rest, and what known clients send and read.

use crate::decoder;
use scenario_tests::{Request, on_a_server, server::Server, story::with};
use serde_json::{Value, json};

on_a_server! {
    start:
        rest_141_without_aws_there_are_no_groups,
        rest_146_spring_reads_back_what_it_sends,
        rest_147_the_javascript_client_has_no_id_and_bare_booleans,
        rest_148_149_the_go_client_sends_empty_elements_and_numbers_as_text,
        rest_150_the_python_client_reads_xml_with_its_attributes,
        rest_151_the_strictest_client_reads_every_list;
    registered:
        rest_142_143_overrides_are_a_json_object,
}

const MARKER: &str = "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo";

async fn rest_141_without_aws_there_are_no_groups(server: &Server) {
    for path in ["asg/x/status?value=DISABLED", "asg/x/status?value=ENABLED", "asg/x/status", "asg/x/status/?value=z"] {
        assert_eq!(server.bare("PUT", path).await, 400, "{path}");
    }
}

async fn rest_142_143_overrides_are_a_json_object(server: &Server) {
    assert_eq!(server.get("serverinfo/statusoverrides").await.text(), "{}");
    assert_eq!(server.bare("PUT", "apps/BILLING/n1/status?value=OUT_OF_SERVICE").await, 200);
    for target in ["/eureka/serverinfo/statusoverrides", "/eureka/v2/serverinfo/statusoverrides"] {
        for request in [Request::get(target), Request::get(target).json(), Request::get(target).header("accept", "*/*")]
        {
            let answer = server.client.send(request).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
            assert_eq!(answer.text(), r#"{"n1":"OUT_OF_SERVICE"}"#);
        }
        assert_eq!(server.empty(Request::get(target).xml()).await, 406);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rest_144_145_the_status_is_a_whole_document_in_both_languages() {
    let server = Server::start_with(&["--register-self", "--advertise", "node-1.test:8761"]).await;
    let own = "apps/EUREKA/node-1.test:eureka:8761";
    testkit::eventually_async("the node is registered", async || server.get(own).await.status == 200).await;
    let xml = server.xml("status").await;
    let root = "com.netflix.eureka.util.StatusInfo";
    assert!(xml.starts_with(&format!("<{root}>")) && xml.ends_with(&format!("</{root}>")), "{xml}");
    for element in
        ["generalStats", "applicationStats", "instanceInfo", "isHeathly", "server-uptime", "available-replicas"]
    {
        assert_eq!(xml.matches(&format!("<{element}>")).count(), 1, "{element}: {xml}");
    }
    let answer = server.get("status").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let status = answer.json();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&status), ["applicationStats", "generalStats", "healthy", "instanceInfo"]);
    for key in ["server-uptime", "environment", "num-of-cpus", "total-avail-memory", "current-memory-usage"] {
        assert!(status["generalStats"][key].is_string(), "{key}");
    }
    let replicas = ["available-replicas", "registered-replicas", "unavailable-replicas"];
    assert_eq!(keys(&status["applicationStats"]), replicas);
    assert_eq!(status["generalStats"]["server-uptime"], "00:00");
    assert_eq!(status["healthy"], true);
    assert_eq!(status["instanceInfo"], server.get(own).await.json()["instance"]);
    assert_eq!(status["instanceInfo"]["isCoordinatingDiscoveryServer"], "true");
    server.stop().await;
}

const SPRING: &str = concat!(
    r#"{"instance":{"instanceId":"n1:billing:8080","app":"BILLING","appGroupName":null,"ipAddr":"192.0.2.10","sid":"na","#,
    r#""homePageUrl":"http://n1.test:8080/","statusPageUrl":"http://n1.test:8080/actuator/info","#,
    r#""healthCheckUrl":"http://n1.test:8080/actuator/health","secureHealthCheckUrl":null,"vipAddress":"billing","#,
    r#""secureVipAddress":"billing","countryId":1,"dataCenterInfo":{"@class":"#,
    r#""com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},"hostName":"n1.test","status":"UP","#,
    r#""overriddenStatus":"UNKNOWN","leaseInfo":{"renewalIntervalInSecs":30,"durationInSecs":90,"#,
    r#""registrationTimestamp":0,"lastRenewalTimestamp":0,"evictionTimestamp":0,"serviceUpTimestamp":0},"#,
    r#""isCoordinatingDiscoveryServer":false,"lastUpdatedTimestamp":1760000000000,"lastDirtyTimestamp":1760000000000,"#,
    r#""actionType":null,"asgName":null,"port":{"$":8080,"@enabled":"true"},"securePort":{"$":443,"@enabled":"false"},"#,
    r#""metadata":{"management.port":"8080"}}}"#
);

async fn rest_146_spring_reads_back_what_it_sends(server: &Server) {
    let request = Server::post_of("apps/BILLING", SPRING).gzip();
    assert_eq!(server.empty(request).await, 204);
    let now = server.node.now().0;
    let written = [
        r#"{"instance":{"instanceId":"n1:billing:8080","hostName":"n1.test","app":"BILLING","ipAddr":"192.0.2.10","#,
        r#""status":"UP","overriddenStatus":"UNKNOWN","port":{"$":8080,"@enabled":"true"},"#,
        r#""securePort":{"$":443,"@enabled":"false"},"countryId":1,"dataCenterInfo":{"@class":"#,
        r#""com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo","name":"MyOwn"},"leaseInfo":{"#,
        r#""renewalIntervalInSecs":30,"durationInSecs":90,"registrationTimestamp":@now@,"lastRenewalTimestamp":@now@,"#,
        r#""evictionTimestamp":0,"serviceUpTimestamp":@now@},"metadata":{"management.port":"8080"},"#,
        r#""homePageUrl":"http://n1.test:8080/","statusPageUrl":"http://n1.test:8080/actuator/info","#,
        r#""healthCheckUrl":"http://n1.test:8080/actuator/health","vipAddress":"billing","#,
        r#""secureVipAddress":"billing","isCoordinatingDiscoveryServer":"false","lastUpdatedTimestamp":"@now@","#,
        r#""lastDirtyTimestamp":"1760000000000","actionType":"ADDED"}}"#,
    ];
    let written = written.concat().replace("@now@", &now.to_string());
    assert_eq!(server.get("apps/BILLING/n1%3Abilling%3A8080").await.text(), written);
    server.read_one("BILLING/n1:billing:8080").await;
}

async fn rest_147_the_javascript_client_has_no_id_and_bare_booleans(server: &Server) {
    let body = json!({"instance": {
        "app": "jq", "hostName": "js.test", "ipAddr": "192.0.2.11", "port": {"$": 8080, "@enabled": true},
        "vipAddress": "jq", "dataCenterInfo": {"@class": MARKER, "name": "MyOwn"}, "status": "UP"
    }});
    server.register_body("jq", &body.to_string()).await;
    let beat = Server::request("PUT", "apps/jq/js.test").header("content-length", "0");
    assert_eq!(server.empty(beat).await, 200);
    let instance = server.read_one("JQ/js.test").await;
    assert_eq!(instance["port"], json!({"$": 8080, "@enabled": "true"}));
    assert_eq!(server.bare("DELETE", "apps/jq/js.test").await, 200);
}

async fn rest_148_149_the_go_client_sends_empty_elements_and_numbers_as_text(server: &Server) {
    let body = "<instance><instanceId></instanceId><hostName>go.test</hostName><app>GO</app><ipAddr>192.0.2.12</ipAddr>\
                <vipAddress>go</vipAddress><secureVipAddress></secureVipAddress><status>UP</status>\
                <overriddenstatus></overriddenstatus><homePageUrl></homePageUrl><statusPageUrl></statusPageUrl>\
                <healthCheckUrl></healthCheckUrl><countryId>0</countryId><dataCenterInfo><name>MyOwn</name>\
                <metadata><ami-launch-index></ami-launch-index></metadata></dataCenterInfo><leaseInfo>\
                <renewalIntervalInSecs>0</renewalIntervalInSecs><durationInSecs>0</durationInSecs></leaseInfo>\
                <metadata></metadata><port enabled=\"true\">9090</port><securePort enabled=\"false\">0</securePort></instance>";
    let request = Server::request("POST", "apps/GO").header("content-type", "application/xml").xml().body(body);
    assert_eq!(server.empty(request).await, 204);
    let instance = server.read_one("GO/go.test").await;
    let shown = ["instanceId", "overriddenStatus", "countryId", "status"].map(|key| instance[key].clone());
    assert_eq!(shown, [json!("go.test"), json!("UNKNOWN"), json!(0), json!("UP")]);
    let lease = &instance["leaseInfo"];
    assert_eq!((&lease["renewalIntervalInSecs"], &lease["durationInSecs"]), (&json!(30), &json!(90)));
    assert_eq!(instance["dataCenterInfo"], json!({"@class": MARKER, "name": "MyOwn"}));

    let center = json!({"@class": "com.netflix.appinfo.MyDataCenterInfo", "name": "MyOwn", "metadata": {}});
    let changes = json!({
        "dataCenterInfo": center, "port": {"$": "9090", "@enabled": "true"}, "securePort": {"$": "0", "@enabled": "false"},
        "overriddenstatus": "", "countryId": 0
    });
    server.register(&with(changes)).await;
    let shown = server.shows(["dataCenterInfo", "port", "securePort", "overriddenStatus"]).await;
    let expected = [
        json!({"@class": MARKER, "name": "MyOwn"}),
        json!({"$": 9090, "@enabled": "true"}),
        json!({"$": 0, "@enabled": "false"}),
        json!("UNKNOWN"),
    ];
    assert_eq!(shown, expected);
}

/// As the Python client sends it.
fn python() -> Value {
    json!({"instance": {
        "instanceId": "192.0.2.13:py:9090", "hostName": "192.0.2.13", "app": "PY", "ipAddr": "192.0.2.13",
        "port": {"$": 9090, "@enabled": "true"}, "securePort": {"$": 9443, "@enabled": "false"}, "countryId": 1,
        "dataCenterInfo": {"@class": MARKER, "name": "MyOwn"},
        "leaseInfo": {
            "renewalIntervalInSecs": 30, "durationInSecs": 90, "registrationTimestamp": 0, "lastRenewalTimestamp": 0,
            "evictionTimestamp": 0, "serviceUpTimestamp": 0
        },
        "metadata": {"management.port": "9090", "zone": "default"}, "homePageUrl": "http://192.0.2.13:9090/",
        "statusPageUrl": "http://192.0.2.13:9090/info", "healthCheckUrl": "http://192.0.2.13:9090/health",
        "secureHealthCheckUrl": "", "vipAddress": "py", "secureVipAddress": "py",
        "isCoordinatingDiscoveryServer": "false", "status": "UP", "overriddenstatus": "UNKNOWN",
        "lastUpdatedTimestamp": "1760000000000", "lastDirtyTimestamp": "1760000000000"
    }})
}

async fn rest_150_the_python_client_reads_xml_with_its_attributes(server: &Server) {
    let coding = "gzip, deflate";
    let request = Server::post_of("apps/PY", python().to_string()).header("accept-encoding", coding);
    assert_eq!(server.empty(request).await, 204);
    let beat = "apps/PY/192.0.2.13%3Apy%3A9090?status=UP&lastDirtyTimestamp=1760000000000";
    assert_eq!(server.empty(Server::request("PUT", beat).header("content-length", "0")).await, 200);
    for path in ["apps/", "apps/delta"] {
        let response = server.client.send(Server::request("GET", path).header("accept-encoding", coding)).await;
        assert_eq!((response.status, response.header("content-type")), (200, Some("application/xml")));
        assert_eq!(response.header("content-encoding"), Some("gzip"));
        let xml = response.text();
        assert!(xml.starts_with("<applications>\n  <versions__delta>"), "{xml}");
        for part in [
            &format!("<dataCenterInfo class=\"{MARKER}\">"),
            "<port enabled=\"true\">9090</port>",
            "<securePort enabled=\"false\">9443</securePort>",
            "<overriddenstatus>UNKNOWN</overriddenstatus>",
            "<management.port>9090</management.port>",
        ] {
            assert!(xml.contains(part), "{part} in {xml}");
        }
        assert_eq!(response.applications().keys(), ["PY/192.0.2.13:py:9090"]);
    }
}

async fn rest_151_the_strictest_client_reads_every_list(server: &Server) {
    assert_eq!(decoder::read(&server.get("apps/").await.json()), 0);
    server.register_body("BILLING", SPRING).await;
    server.register_body("PY", &python().to_string()).await;
    let class = "com.netflix.appinfo.AmazonInfo";
    let metadata = json!({"deep": {"a": [1]}, "none": null, "number": 1.5, "@class": "java.util.HashMap"});
    let odd = [
        json!({"dataCenterInfo": {"@class": class, "name": "Amazon", "metadata": {"ami-id": "a", "public-ipv4": null}}}),
        json!({"dataCenterInfo": {"@class": class, "name": "Amazon"}}),
        json!({"dataCenterInfo": {"@class": MARKER, "name": "Amazon"}}),
        json!({"dataCenterInfo": {"@class": MARKER, "name": "Netflix", "metadata": {}, "more": [1]}}),
        json!({"dataCenterInfo": {"name": "MyOwn"}, "port": 8080, "securePort": {}, "status": "sleeping"}),
        json!({"metadata": metadata, "leaseInfo": {"durationInSecs": -5, "foreign": {"x": 1}}, "foreign": {"y": [2]}}),
        json!({"metadata": {"@class": "java.util.Collections$EmptyMap"}, "isCoordinatingDiscoveryServer": true}),
        json!({"asgName": "g", "sid": "s", "appGroupName": "g", "secureHealthCheckUrl": "", "overriddenStatus": "DOWN"}),
    ];
    for (place, changes) in odd.into_iter().enumerate() {
        let mut instance = with(changes);
        instance["instanceId"] = json!(format!("odd{place}"));
        server.register(&instance).await;
    }
    assert_eq!(server.bare("PUT", "apps/BILLING/odd0/status?value=OUT_OF_SERVICE").await, 200);
    assert_eq!(server.bare("DELETE", "apps/BILLING/odd1").await, 200);
    for (path, count) in [("apps/", 9), ("apps/delta", 10), ("apps/BILLING", 8), ("vips/billing", 8), ("svips/none", 0)]
    {
        let response = server.client.send(Server::request("GET", path).json().gzip()).await;
        assert_eq!(decoder::read(&response.json()), count, "{path}");
    }
}
