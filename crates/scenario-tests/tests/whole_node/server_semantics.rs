//! Rules of the Java server that only a whole node shows, with its defaults; where nothing else is said changes are pushed, as if it
//! had no read-only cache.

use scenario_tests::{
    Applications, Client, Options, Request, Sandbox, in_every_wiring, in_wiring,
    story::{cancel, changed, lasting, listed, post, register, with},
};
use serde_json::{Value, json};
use std::time::Duration;

in_every_wiring! {
    with EUREKA:
        srv_24_k_17_an_instance_that_changes_its_address_is_off_the_old_list_at_once,
        srv_95_96_97_the_delta_has_one_entry_for_each_instance_and_the_hash_of_the_whole_list,
        srv_100_a_delta_without_changes_has_the_hash_of_the_whole_list,
        srv_104_the_hash_of_an_empty_registry_is_empty,
        srv_134_an_override_that_another_server_removes_leaves_the_senders_status,
        srv_135_an_item_without_a_stamp_is_done_and_so_is_the_next_one,
}

in_wiring! {
    as_the_java_server, OneProcess;
    with WITHOUT_EVICTIONS:
        srv_36_a_lease_that_has_run_out_is_listed_and_not_found_until_it_is_renewed;
    with PROFILE:
        srv_133_another_servers_registration_without_an_address_counts_as_done_and_stores_nothing,
}

const PROFILE: Options = Options { registry: &["--profile", "eureka"], cache: &[], facade: &[] };

/// Nobody evicts in between, as in the Java server, whose second round comes at 120 s.
const WITHOUT_EVICTIONS: Options = Options {
    registry: &["--profile", "eureka", "--enable-self-preservation", "false", "--eviction-interval", "1h"],
    cache: &[],
    facade: &[],
};

/// The profile, spelt out for parts that have none.
const EUREKA: Options = Options {
    registry: &[
        "--lease-expiry",
        "doubled",
        "--store-unchanged-override",
        "false",
        "--cancel-grace",
        "0s",
        "--self-preservation",
        "renewals-per-minute",
        "--self-preservation-max",
        "0s",
        "--expected-renewals",
        "clients",
        "--serve-before-sync",
        "always",
    ],
    cache: &["--response-cache-expiry-spread", "0s", "--first-delta-version", "one"],
    facade: &["--cache-push", "true"],
};

/// This instance, its lease outliving every story.
fn named(id: &str) -> Value {
    lasting(json!({"instanceId": id}))
}

/// What is read in both languages, which say the same.
async fn read(client: &Client, target: &str) -> Applications {
    let json = client.send(Request::get(target).json()).await.applications();
    let xml = client.send(Request::get(target).xml().gzip()).await.applications();
    assert_eq!((json.keys(), json.actions(), &json.hash), (xml.keys(), xml.actions(), &xml.hash), "{target}");
    json
}

/// The entries of the delta and its hash, which is that of the whole list.
async fn delta(client: &Client) -> (Vec<String>, String) {
    let delta = read(client, "/eureka/apps/delta").await;
    let all = read(client, "/eureka/apps").await;
    assert_eq!((&delta.hash, delta.hash.clone()), (&all.hash, Some(all.counted_hash())));
    (delta.actions(), delta.hash.unwrap())
}

fn entries(actions: &[&str], hash: &str) -> (Vec<String>, String) {
    (actions.iter().map(|action| (*action).to_owned()).collect(), hash.to_owned())
}

/// The result codes of a batch with these items.
async fn batch(client: &Client, items: &[Value]) -> Vec<u64> {
    let body = json!({ "replicationList": items }).to_string();
    let answer = client.send(post("/eureka/peerreplication/batch/", body).json()).await;
    assert_eq!(answer.status, 200);
    let results = answer.json()["responseList"].as_array().unwrap().clone();
    results.iter().map(|result| result["statusCode"].as_u64().unwrap()).collect()
}

async fn statuses(client: &Client) -> [Value; 2] {
    let instance = client.instance("/eureka/apps/BILLING/i1").await;
    ["status", "overriddenStatus"].map(|name| instance[name].clone())
}

async fn override_status(client: &Client, id: &str, status: &str) {
    let target = format!("/eureka/apps/BILLING/{id}/status?value={status}");
    assert_eq!(client.status(Request::new("PUT", &target)).await, 200);
}

async fn srv_24_k_17_an_instance_that_changes_its_address_is_off_the_old_list_at_once(node: &Sandbox) {
    let client = node.client();
    let lists = async |address: &str| {
        let plain = read(&client, &format!("/eureka/vips/{address}")).await;
        let secure = read(&client, &format!("/eureka/svips/{address}-s")).await;
        assert_eq!((plain.keys(), &plain.hash), (secure.keys(), &secure.hash));
        (plain.keys(), plain.hash.unwrap())
    };
    let at = |address: &str, dirty: &str| {
        let secure = format!("{address}-s");
        changed(named("i1"), json!({"vipAddress": address, "secureVipAddress": secure, "lastDirtyTimestamp": dirty}))
    };
    let here = (vec!["BILLING/i1".to_owned()], "UP_1_".to_owned());
    let nowhere = (vec![], String::new());
    register(&client, &at("old", "1000")).await;
    assert_eq!((lists("old").await, lists("new").await), (here.clone(), nowhere.clone()));
    register(&client, &at("new", "2000")).await;
    assert_eq!((lists("old").await, lists("new").await), (nowhere, here));
}

async fn srv_95_96_97_the_delta_has_one_entry_for_each_instance_and_the_hash_of_the_whole_list(node: &Sandbox) {
    let client = node.client();
    register(&client, &named("i1")).await;
    cancel(&client, "BILLING", "i1").await;
    assert_eq!(delta(&client).await, entries(&["i1 DELETED"], ""));
    register(&client, &named("i1")).await;
    assert_eq!(delta(&client).await, entries(&["i1 ADDED"], "UP_1_"));
    register(&client, &named("i2")).await;
    override_status(&client, "i1", "OUT_OF_SERVICE").await;
    assert_eq!(delta(&client).await, entries(&["i2 ADDED", "i1 MODIFIED"], "OUT_OF_SERVICE_1_UP_1_"));
}

async fn srv_100_a_delta_without_changes_has_the_hash_of_the_whole_list(node: &Sandbox) {
    let client = node.client();
    for id in ["i1", "i2", "i3"] {
        register(&client, &named(id)).await;
    }
    node.pass(Duration::from_secs(300)).await;
    let document = client.send(Request::get("/eureka/apps/delta").json()).await.json();
    assert_eq!(document["applications"]["application"], json!([]));
    assert_eq!(delta(&client).await, entries(&[], "UP_3_"));
}

async fn srv_104_the_hash_of_an_empty_registry_is_empty(node: &Sandbox) {
    let client = node.client();
    assert_eq!(delta(&client).await, entries(&[], ""));
    for target in ["/eureka/apps", "/eureka/apps/delta"] {
        let text = client.send(Request::get(target).xml()).await.text();
        assert!(text.contains("<apps__hashcode></apps__hashcode>"), "{target}: {text}");
        let json = client.send(Request::get(target).json()).await.json();
        assert_eq!(json["applications"]["apps__hashcode"], "", "{target}");
    }
}

async fn srv_134_an_override_that_another_server_removes_leaves_the_senders_status(node: &Sandbox) {
    let client = node.client();
    register(&client, &named("i1")).await;
    override_status(&client, "i1", "OUT_OF_SERVICE").await;
    assert_eq!(statuses(&client).await, ["OUT_OF_SERVICE", "OUT_OF_SERVICE"]);
    let item = json!({"appName": "BILLING", "id": "i1", "status": "UP", "lastDirtyTimestamp": 1000,
        "action": "DeleteStatusOverride"});
    assert_eq!(batch(&client, &[item]).await, [200]);
    assert_eq!(statuses(&client).await, ["UP", "UNKNOWN"]);
    let overrides = client.send(Request::get("/eureka/serverinfo/statusoverrides").json()).await;
    assert_eq!(overrides.json(), json!({}));
}

async fn srv_135_an_item_without_a_stamp_is_done_and_so_is_the_next_one(node: &Sandbox) {
    let client = node.client();
    register(&client, &named("i1")).await;
    override_status(&client, "i1", "OUT_OF_SERVICE").await;
    let of = |action: &str| json!({"appName": "BILLING", "id": "i1", "status": "UP", "action": action});
    let mut heartbeat = of("Heartbeat");
    heartbeat["lastDirtyTimestamp"] = json!(1000);
    assert_eq!(batch(&client, &[of("DeleteStatusOverride"), heartbeat]).await, [200, 200]);
    assert_eq!(statuses(&client).await, ["UP", "UNKNOWN"]);
    assert_eq!(client.instance("/eureka/apps/BILLING/i1").await["lastDirtyTimestamp"], "1000");
}

async fn srv_36_a_lease_that_has_run_out_is_listed_and_not_found_until_it_is_renewed(node: &Sandbox) {
    let client = node.client();
    register(&client, &with(json!({"instanceId": "i1"}))).await;
    let found = async || client.send(Request::get("/eureka/apps/BILLING/i1").json()).await.status;
    assert_eq!(found().await, 200);
    node.pass(Duration::from_secs(100)).await;
    assert_eq!(found().await, 404);
    assert_eq!(client.applications("/eureka/apps/BILLING").await.keys(), ["BILLING/i1"]);
    node.pass(Duration::from_secs(1)).await;
    assert_eq!(client.status(Request::new("PUT", "/eureka/apps/BILLING/i1")).await, 200);
    assert_eq!(found().await, 200);
}

async fn srv_133_another_servers_registration_without_an_address_counts_as_done_and_stores_nothing(node: &Sandbox) {
    let client = node.client();
    let item =
        |instance: Value| json!({"appName": "BILLING", "id": "i1", "instanceInfo": instance, "action": "Register"});
    let mut without_address = named("i1");
    without_address["ipAddr"] = Value::Null;
    assert_eq!(batch(&client, &[item(without_address)]).await, [200]);
    assert_eq!(client.status(Request::get("/eureka/apps/BILLING/i1").json()).await, 404);
    assert_eq!(listed(&client).await, [""; 0]);
    assert_eq!(batch(&client, &[item(named("i1"))]).await, [200]);
    assert_eq!(statuses(&client).await, ["UP", "UNKNOWN"]);
}
