//! 9.10 and 9.11: registry, delta, hash; look-ups by address and by id.

use scenario_tests::{
    on_a_server,
    server::{Server, answer, expected, wrapped},
    story::{fixture, with},
};
use serde_json::json;
use std::time::Duration;
use testkit::eventually_async;

on_a_server! {
    start:
        rest_93_an_empty_registry_is_this_document,
        rest_95_the_hash_counts_all_statuses_in_the_order_of_their_names,
        rest_96_97_98_the_delta_has_the_last_change_of_each_instance_and_a_number_for_each_payload,
        rest_106_107_108_109_lists_by_address_are_exact_and_may_be_empty;
    registered:
        rest_94_one_instance_stands_in_arrays_of_one,
        rest_99_regions_that_nobody_knows_are_the_local_content,
        rest_100_neither_order_nor_case_of_regions_counts,
        rest_110_an_id_is_looked_up_in_all_applications,
}

const N1: &str = "apps/BILLING/n1";

async fn rest_93_an_empty_registry_is_this_document(server: &Server) {
    let empty = r#"{"applications":{"versions__delta":"1","apps__hashcode":"","application":[]}}"#;
    for path in ["apps", "apps/delta"] {
        assert_eq!(answer(&server.get(path).await), expected(200, "application/json", empty), "{path}");
    }
    let empty =
        "<applications>\n  <versions__delta>1</versions__delta>\n  <apps__hashcode></apps__hashcode>\n</applications>";
    assert_eq!(server.xml("apps").await, empty);
}

async fn rest_94_one_instance_stands_in_arrays_of_one(server: &Server) {
    let document = server.get("apps").await;
    let start = r#"{"applications":{"versions__delta":"1","apps__hashcode":"UP_1_","application":[{"name":"BILLING","instance":[{"instanceId":"n1","#;
    assert!(document.text().starts_with(start), "{}", document.text());
    assert!(document.text().ends_with(r#""actionType":"ADDED"}]}]}}"#), "{}", document.text());
    let application = server.get("apps/BILLING").await.text();
    assert!(
        application.starts_with(r#"{"application":{"name":"BILLING","instance":[{"instanceId":"n1","#),
        "{application}"
    );
}

async fn rest_95_the_hash_counts_all_statuses_in_the_order_of_their_names(server: &Server) {
    for (place, status) in ["UP", "DOWN", "STARTING", "OUT_OF_SERVICE", "UNKNOWN", "UP"].into_iter().enumerate() {
        server.register(&with(json!({"instanceId": format!("n{place}"), "status": status}))).await;
    }
    for path in ["apps", "apps/delta"] {
        for response in [server.get(path).await, server.get_xml(path).await] {
            let list = response.applications();
            assert_eq!(list.hash.unwrap(), "DOWN_1_OUT_OF_SERVICE_1_STARTING_1_UNKNOWN_1_UP_2_", "{path}");
        }
    }
}

async fn rest_96_97_98_the_delta_has_the_last_change_of_each_instance_and_a_number_for_each_payload(server: &Server) {
    let mut numbers = Vec::new();
    let mut look = async |action: &str, hash: &str| {
        let delta = server.list("apps/delta").await;
        assert_eq!((delta.actions(), delta.hash.as_deref()), (vec![format!("n1 {action}")], Some(hash)));
        assert_eq!(server.list("apps/delta").await, delta, "no change, no new number");
        numbers.push(delta.version.unwrap().parse::<u64>().unwrap());
    };
    server.register(&fixture()).await;
    look("ADDED", "UP_1_").await;
    assert_eq!(server.bare("PUT", &format!("{N1}/status?value=OUT_OF_SERVICE")).await, 200);
    look("MODIFIED", "OUT_OF_SERVICE_1_").await;
    assert_eq!(server.bare("DELETE", N1).await, 200);
    look("DELETED", "").await;
    server.register(&fixture()).await;
    look("ADDED", "UP_1_").await;
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");
}

async fn rest_99_regions_that_nobody_knows_are_the_local_content(server: &Server) {
    let local = server.get("apps").await;
    for query in ["regions=", "regions=nowhere", "regions=nowhere,elsewhere", "regions"] {
        assert_eq!(server.get(&format!("apps?{query}")).await, local, "{query}");
    }
    assert_eq!(server.get("apps/delta?regions=").await, server.get("apps/delta").await);
}

async fn rest_100_neither_order_nor_case_of_regions_counts(server: &Server) {
    let one = server.get("apps/delta?regions=b,a").await;
    assert_eq!(one.applications().keys(), ["BILLING/n1"]);
    assert_eq!(server.get("apps/delta?regions=A,B").await, one);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rest_104_105_an_instance_that_ran_out_is_hidden_until_it_renews_and_listed_until_it_is_evicted() {
    let server = Server::start_with(&["--enable-self-preservation", "false", "--cold-start", "0"]).await;
    let lease = json!({"renewalIntervalInSecs": 1, "durationInSecs": 5});
    let short = with(json!({"app": "L", "instanceId": "l1", "leaseInfo": lease}));
    server.register(&short).await;
    assert_eq!(server.read_one("L/l1").await["status"], "UP");

    server.node.pass(Duration::from_millis(5001)).await;
    server.node.pass(Duration::from_secs(1)).await;
    let is_hidden = async || server.get("apps/L/l1").await.status == 404;
    eventually_async("it is hidden", is_hidden).await;
    assert_eq!(server.bare("GET", "apps/L/l1").await, 404);
    assert_eq!(server.bare("GET", "instances/l1").await, 404);
    assert_eq!(server.bare("PUT", "apps/L/l1/status?value=DOWN").await, 404);
    assert_eq!(server.bare("DELETE", "apps/L/l1/status").await, 404);
    assert_eq!(server.bare("PUT", "apps/L/l1/metadata?a=b").await, 404);
    assert_eq!(server.list("apps/L").await.keys(), ["L/l1"]);
    assert_eq!(server.list("apps").await.keys(), ["L/l1"]);

    assert_eq!(server.bare("PUT", "apps/L/l1").await, 200);
    assert_eq!(server.read_one("L/l1").await["status"], "UP");
    assert_eq!(server.get("instances/l1").await.status, 200);
    assert_eq!(server.bare("PUT", "apps/L/l1/status?value=DOWN").await, 200);
    server.stop().await;
}

async fn rest_106_107_108_109_lists_by_address_are_exact_and_may_be_empty(server: &Server) {
    let table = [("n1", "foo", "UP"), ("n2", "foo,bar", "DOWN"), ("n3", "FOO", "UP"), ("n4", "other", "UP")];
    for (id, address, status) in table {
        let addresses = json!({"instanceId": id, "status": status, "vipAddress": address, "secureVipAddress": address});
        server.register(&with(addresses)).await;
    }
    for resource in ["vips", "svips"] {
        let table = [
            ("foo", &["BILLING/n1", "BILLING/n2"][..], "DOWN_1_UP_1_"),
            ("bar", &["BILLING/n2"], "DOWN_1_"),
            ("FOO", &["BILLING/n3"], "UP_1_"),
            ("nope", &[], ""),
            ("foo,bar", &[], ""),
        ];
        for (address, keys, hash) in table {
            let path = format!("{resource}/{address}");
            for list in [server.get(&path).await.applications(), server.get_xml(&path).await.applications()] {
                assert_eq!(list.keys(), keys, "{path}");
                assert_eq!((list.version.as_deref(), list.hash.as_deref()), (Some("-1"), Some(hash)), "{path}");
            }
        }
        let nobody = r#"{"applications":{"versions__delta":"-1","apps__hashcode":"","application":[]}}"#;
        let found = answer(&server.get(&format!("{resource}/nope")).await);
        assert_eq!(found, expected(200, "application/json", nobody));
    }
    let secure = with(json!({"instanceId": "n5", "vipAddress": "plain", "secureVipAddress": "secure"}));
    assert_eq!(server.empty(Server::post_of("apps/BILLING", wrapped(&secure))).await, 204);
    let lists = [("vips/plain", 1), ("svips/plain", 0), ("vips/secure", 0), ("svips/secure", 1)];
    for (path, length) in lists {
        assert_eq!(server.list(path).await.keys().len(), length, "{path}");
    }
}

async fn rest_110_an_id_is_looked_up_in_all_applications(server: &Server) {
    let found = server.get("instances/n1").await;
    assert_eq!(found, server.get(N1).await);
    assert_eq!(found.json()["instance"], server.read().await);
    assert_eq!(server.get_xml("instances/n1").await, server.get_xml(N1).await);
    assert_eq!(server.bare("GET", "instances/nope").await, 404);
    assert_eq!(server.bare("GET", "instances/N1").await, 404);
}
