//! What instances say of themselves, in and out.

use super::*;

on_a_server! {
    ordinary:
        b29_b32_addresses_and_ids_go_out_as_they_came_in,
        b5_b13_no_data_centre_ever_breaks_a_list,
        b6_s10_metadata_becomes_text_and_its_marker_is_never_stored,
        b8_b9_b11_what_can_be_filled_in_is_and_the_rest_is_named,
        b10_s12_ports_are_numbers_with_a_flag_and_xml_has_its_attributes,
        b31_a_lease_that_says_nothing_is_one_of_30_and_90_seconds_and_counts,
        b112_whoever_sends_no_stamp_is_stamped_on_arrival,
        s20_any_id_up_to_4_kib_makes_the_round_trip,
}

async fn b5_b13_no_data_centre_ever_breaks_a_list(server: &Server) {
    let null = json!({"@class": AMAZON, "name": "Amazon", "metadata": {"instance-id": "i-1", "public-ipv4": null}});
    let refused = register(server, &j0(json!({"dataCenterInfo": null, "instanceId": "i0"}))).await;
    assert_eq!(refused, expected(400, "application/xml", "Missing dataCenterInfo"));
    let table = [
        ("i1", null, json!({"@class": AMAZON, "name": "Amazon", "metadata": {"instance-id": "i-1"}})),
        (
            "i2",
            json!({"@class": MARKER, "name": "Amazon"}),
            json!({"@class": AMAZON, "name": "Amazon", "metadata": {"instance-id": "i2"}}),
        ),
        (
            "i3",
            json!({"@class": AMAZON, "name": "Amazon", "metadata": null}),
            json!({"@class": AMAZON, "name": "Amazon", "metadata": {"instance-id": "i3"}}),
        ),
    ];
    for (id, center, shown) in table {
        server.register(&j0(json!({"instanceId": id, "dataCenterInfo": center}))).await;
        assert_eq!(server.get(&format!("apps/ORDERS/{id}")).await.json()["instance"]["dataCenterInfo"], shown, "{id}");
        lists_are_whole(server).await;
    }
    assert_eq!(server.list("apps").await.keys(), ["ORDERS/i1", "ORDERS/i2", "ORDERS/i3"]);
}

async fn b6_s10_metadata_becomes_text_and_its_marker_is_never_stored(server: &Server) {
    let empty = json!({"@class": "java.util.Collections$EmptyMap"});
    let table = [
        (
            json!({"n": 5, "b": true, "x": null, "o": {"a": "b"}, "l": [1, 2]}),
            json!({"n": "5", "b": "true", "o": "{\"a\":\"b\"}", "l": "[1,2]"}),
        ),
        (json!({}), empty.clone()),
        (empty.clone(), empty),
        (json!({"@class": "x", "k": "v"}), json!({"k": "v"})),
    ];
    for (metadata, shown) in table {
        server.register(&j0(json!({ "metadata": metadata }))).await;
        let instance = server.read_one("ORDERS/i1").await;
        assert_eq!(instance["metadata"], shown);
        let xml = server.xml(I1).await;
        let marker = xml.contains("<metadata class=\"java.util.Collections$EmptyMap\"/>");
        assert_eq!(marker, shown.get("@class").is_some(), "{xml}");
        lists_are_whole(server).await;
    }
}

async fn b8_b9_b11_what_can_be_filled_in_is_and_the_rest_is_named(server: &Server) {
    let nameless = json!({"name": "MyOwn"});
    let refused = [
        (json!({"dataCenterInfo": null}), "Missing dataCenterInfo"),
        (json!({"dataCenterInfo": {"@class": MARKER}}), "Missing dataCenterInfo Name"),
        (json!({"hostName": null}), "Missing hostname"),
        (json!({"ipAddr": null}), "Missing ip address"),
    ];
    for (changes, text) in refused {
        assert_eq!(register(server, &j0(changes)).await, expected(400, "application/xml", text));
    }
    assert_eq!(server.list("apps").await.apps, []);
    let (plain, secure) = (json!({"$": 8080, "@enabled": "true"}), json!({"$": 8443, "@enabled": "false"}));
    let (no_plain, no_secure) = (json!({"$": 7001, "@enabled": "true"}), json!({"$": 7002, "@enabled": "false"}));
    let taken = [
        (json!({"port": null}), &no_plain, &secure),
        (json!({"securePort": null}), &plain, &no_secure),
        (json!({"port": null, "securePort": null}), &no_plain, &no_secure),
        (json!({"dataCenterInfo": nameless}), &plain, &secure),
        (json!({"port": 8080, "securePort": null, "dataCenterInfo": nameless}), &plain, &no_secure),
    ];
    for (changes, port, secure_port) in taken {
        server.register(&j0(changes.clone())).await;
        let instance = server.read_one("ORDERS/i1").await;
        assert_eq!((&instance["port"], &instance["securePort"]), (port, secure_port), "{changes}");
        assert_eq!(instance["dataCenterInfo"], json!({"@class": MARKER, "name": "MyOwn"}), "{changes}");
        let xml = server.xml(I1).await;
        for (element, port) in [("port", port), ("securePort", secure_port)] {
            let enabled = port["@enabled"].as_str().unwrap();
            assert!(xml.contains(&format!("<{element} enabled=\"{enabled}\">{}</{element}>", port["$"])), "{xml}");
        }
    }
}

async fn b10_s12_ports_are_numbers_with_a_flag_and_xml_has_its_attributes(server: &Server) {
    for number in [json!("7101"), json!(7101)] {
        server.register(&j0(json!({"port": {"$": number, "@enabled": "true"}}))).await;
        let instance = server.read_one("ORDERS/i1").await;
        assert_eq!(instance["port"], json!({"$": 7101, "@enabled": "true"}));
        for path in [I1, "apps", "apps/delta", "apps/ORDERS", "vips/orders", "instances/i1"] {
            let xml = server.xml(path).await;
            for part in [
                "<port enabled=\"true\">7101</port>",
                "<securePort enabled=\"false\">8443</securePort>",
                &format!("<dataCenterInfo class=\"{MARKER}\">"),
            ] {
                assert!(xml.contains(part), "{part} in {xml}");
            }
        }
    }
}

async fn b29_b32_addresses_and_ids_go_out_as_they_came_in(server: &Server) {
    const ID: &str = "192.0.2.10:8080";
    let (vip, secure) = ("a.b,c", "A.b, c");
    server.register(&j0(json!({"instanceId": ID, "vipAddress": vip, "secureVipAddress": secure}))).await;
    let instance = server.read_one(&format!("ORDERS/{ID}")).await;
    let shown = ["instanceId", "vipAddress", "secureVipAddress"].map(|key| instance[key].clone());
    assert_eq!(shown, [ID, vip, secure]);
    for path in ["apps", "apps/delta", "apps/ORDERS", "vips/a.b", "vips/c", "svips/A.b", "svips/%20c"] {
        for compact in ["compact", "full"] {
            for request in [Server::request("GET", path).json(), Server::request("GET", path).xml()] {
                let list = send(server, request, &[("x-eureka-accept", compact)]).await.applications();
                let listed = list.instances().next().unwrap_or_else(|| panic!("nothing in {path}"));
                let shown = ["instanceId", "vipAddress", "secureVipAddress"].map(|key| listed.field(key));
                assert_eq!(shown, [ID, vip, secure], "{path}");
            }
        }
    }
    assert_eq!(server.bare("PUT", &format!("apps/ORDERS/{ID}/status?value=DOWN")).await, 200);
    assert_eq!(server.get("serverinfo/statusoverrides").await.json(), json!({ ID: "DOWN" }));
    assert_eq!(server.bare("DELETE", &format!("apps/ORDERS/{ID}")).await, 200);
    assert_eq!(server.list("apps/delta").await.actions(), [format!("{ID} DELETED")]);
}

async fn b31_a_lease_that_says_nothing_is_one_of_30_and_90_seconds_and_counts(server: &Server) {
    let threshold = async || {
        let status = server.get("status").await.json();
        status["generalStats"]["renews-threshold"].as_str().unwrap().parse::<u64>().unwrap()
    };
    for place in 0..10 {
        let mut instance = j0(json!({"instanceId": format!("i{place}"), "leaseInfo": null}));
        if place % 2 == 0 {
            instance["leaseInfo"] = Value::Null;
        }
        server.register(&instance).await;
        let lease = server.read_one(&format!("ORDERS/i{place}")).await["leaseInfo"].clone();
        assert_eq!((&lease["renewalIntervalInSecs"], &lease["durationInSecs"]), (&json!(30), &json!(90)));
    }
    // 85 % of two renewals a minute each.
    assert_eq!(threshold().await, 17);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b105_addresses_of_version_6_are_kept_and_served() {
    let settings = &["--http-listen", "[::1]:0"];
    let registry = &["--register-self", "--advertise", "[2001:db8::5]:8761"];
    let server = Server::start_as(Options { registry, facade: settings, ..Options::default() }).await;
    let (address, url) = ("2001:db8::1", "http://[2001:db8::1]:8080/");
    server.register(&j0(json!({"ipAddr": address, "hostName": address, "homePageUrl": url}))).await;
    let instance = server.read_one("ORDERS/i1").await;
    let shown = ["ipAddr", "hostName", "homePageUrl"].map(|key| instance[key].clone());
    assert_eq!(shown, [address, address, url]);
    let id = format!("{address}:orders:8080");
    server.register(&j0(json!({"instanceId": id}))).await;
    assert_eq!(server.bare("PUT", &format!("apps/ORDERS/{id}")).await, 200);
    assert_eq!(server.bare("DELETE", &format!("apps/ORDERS/{}", id.replace(':', "%3A"))).await, 200);

    let is_registered = async || server.get("apps/EUREKA").await.status == 200;
    testkit::eventually_async("the node is registered", is_registered).await;
    let own = server.list("apps/EUREKA").await;
    let own = own.instances().next().unwrap();
    assert_eq!((own.field("ipAddr"), own.field("homePageUrl")), ("2001:db8::5", "http://[2001:db8::5]:8761/"));
    for url in ["statusPageUrl", "healthCheckUrl"] {
        assert!(own.field(url).starts_with("http://[2001:db8::5]:8761/eureka/"), "{}", own.field(url));
    }
    server.stop().await;
}

async fn b112_whoever_sends_no_stamp_is_stamped_on_arrival(server: &Server) {
    for (seconds, status) in [(0, "UP"), (1, "DOWN"), (0, "UP"), (5, "STARTING")] {
        server.node.pass(std::time::Duration::from_secs(seconds)).await;
        server.register(&j0(json!({"lastDirtyTimestamp": null, "status": status}))).await;
        let instance = server.read_one("ORDERS/i1").await;
        assert_eq!(instance["status"], status);
        assert_eq!(instance["lastDirtyTimestamp"], server.node.now().0.to_string());
    }
}

async fn s20_any_id_up_to_4_kib_makes_the_round_trip(server: &Server) {
    let encoded = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let (long, wide) = ("x".repeat(4096), "ü".repeat(2048));
    let ids = ["a/b", "/", "a?b", "?", "a#b", "a%b", "%2F", "a b", " ", "a;b", ";", "a+b", "..", ".", &long, &wide];
    for app in ["ORDERS", "O/R?D#E%R S;"] {
        for id in ids {
            let body = wrapped(&j0(json!({"app": app, "instanceId": id})));
            assert_eq!(server.empty(Server::post_of(&format!("apps/{}", encoded(app)), body)).await, 204, "{app} {id}");
            let path = format!("apps/{}/{}", encoded(app), encoded(id));
            assert_eq!(server.bare("PUT", &path).await, 200, "{id}");
            assert_eq!(server.get(&path).await.json()["instance"]["instanceId"], id);
            assert_eq!(server.get(&format!("instances/{}", encoded(id))).await.json()["instance"]["instanceId"], id);
            for response in [server.get("apps").await, server.get_xml("apps").await] {
                assert_eq!(response.applications().keys(), [format!("{app}/{id}")]);
            }
            assert_eq!(server.bare("PUT", &format!("{path}/status?value=DOWN")).await, 200, "{id}");
            assert_eq!(server.bare("DELETE", &path).await, 200, "{id}");
        }
    }
    let too_long = format!("{long}x");
    let (status, _, text) = register(server, &j0(json!({"instanceId": too_long}))).await;
    assert_eq!(status, 400);
    assert!(text.contains("4097 bytes") && text.len() < 200, "{text}");
    for method in ["GET", "PUT", "DELETE"] {
        let status = server.bare(method, &format!("apps/ORDERS/{too_long}")).await;
        assert!([400, 404].contains(&status), "{method} {status}");
    }
    assert_eq!(server.list("apps").await.apps, []);
}
