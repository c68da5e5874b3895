//! The three tiers of the cache as clients see them: what is read when, how old it may be, lists by address.

mod by_its_metrics;

use scenario_tests::{
    Applications, Client, Options, Part, Request, Sandbox, Wiring, in_every_wiring, in_wiring,
    story::{cancel, lasting, listed, register},
};
use serde_json::{Value, json};
use std::time::Duration;
use testkit::eventually_async;

in_every_wiring! {
    srv_85_86_rest_99_100_regions_that_are_not_configured_are_the_local_content,
    srv_87_rest_108_s18_an_address_that_nobody_has_is_an_empty_list,
    srv_89_k_19_reserved_names_are_applications_like_any_other,
    srv_90_each_delta_that_is_made_has_a_greater_number,
    srv_93_k_16_b56_what_is_acknowledged_is_read_and_every_hash_is_that_of_its_list,
    rest_106_107_109_lists_by_address_have_the_instances_that_list_it,
    b64_a_first_reader_sees_present_lease_times,
    b65_one_application_and_one_address_are_small_answers,
    srv_103_s3_a_status_that_a_heartbeat_brings_is_in_the_delta,
    srv_41_s11_an_application_without_instances_is_not_listed;
    with EUREKA:
        srv_80_k_21_an_application_is_there_as_soon_as_it_registers_though_it_was_missed,
        srv_83_84_k_17_every_address_of_a_list_and_both_details_are_renewed;
    unstarted:
        srv_77_78_79_b59_the_read_only_tier_is_at_most_one_refresh_behind_and_cold_keys_are_fresh,
        srv_88_a_registration_is_seen_in_every_payload,
}

in_wiring! {
    unix_sockets_one_by_one, UnixSockets;
    unstarted:
        srv_82_the_read_only_tier_refreshes_at_multiples_of_thirty_seconds_whenever_it_started,
}

/// The Java server's caches: 30 s behind, expiring as a whole.
const EUREKA: Options = Options {
    registry: &["--lease-expiry", "doubled"],
    cache: &["--response-cache-expiry-spread", "0s"],
    facade: &["--cache-push", "false"],
};

const SECOND: Duration = Duration::from_secs(1);
const MILLISECOND: Duration = Duration::from_millis(1);

/// Until the clock stands at a multiple of 30 s.
fn until_multiple(node: &Sandbox) -> Duration {
    Duration::from_millis(30_000 - u64::try_from(node.now().0 % 30_000).unwrap())
}

async fn pass_to_multiple(node: &Sandbox) {
    node.pass(until_multiple(node)).await;
}

async fn xml(client: &Client, target: &str) -> Applications {
    client.send(Request::get(target).xml()).await.applications()
}

async fn compact(client: &Client, target: &str) -> Value {
    client.send(Request::get(target).json().header("x-eureka-accept", "compact")).await.json()["applications"].clone()
}

async fn metric(client: &Client, name: &str) -> u64 {
    let text = client.send(Request::get("/metrics")).await.text();
    let line = text.lines().find_map(|line| line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')));
    line.unwrap_or_else(|| panic!("no {name}")).parse().unwrap()
}

async fn renew(client: &Client, id: &str) {
    assert_eq!(client.status(Request::new("PUT", &format!("/eureka/apps/BILLING/{id}"))).await, 200);
}

fn renewals(document: &Applications) -> Vec<String> {
    document.instances().map(|instance| instance.field("leaseInfo.lastRenewalTimestamp").to_owned()).collect()
}

async fn srv_77_78_79_b59_the_read_only_tier_is_at_most_one_refresh_behind_and_cold_keys_are_fresh(wiring: Wiring) {
    let node = Sandbox::start_with(wiring, EUREKA).await;
    pass_to_multiple(&node).await;
    let client = node.client();
    node.pass(SECOND).await;
    assert_eq!(listed(&client).await, [""; 0]);
    node.pass(SECOND).await;
    register(&client, &lasting(json!({}))).await;
    node.pass(SECOND).await;
    assert_eq!(xml(&client, "/eureka/apps").await.keys(), ["BILLING/n1"], "a key that nobody asked for");
    assert_eq!(listed(&client).await, [""; 0]);
    node.pass(until_multiple(&node) - MILLISECOND).await;
    assert_eq!(listed(&client).await, [""; 0]);
    node.pass(MILLISECOND).await;
    eventually_async("the listing is renewed", async || listed(&client).await == ["BILLING/n1"]).await;
    node.stop().await;

    let node = Sandbox::start(wiring).await;
    let client = node.client();
    assert_eq!(listed(&client).await, [""; 0]);
    register(&client, &lasting(json!({}))).await;
    assert_eq!(listed(&client).await, ["BILLING/n1"], "with push the next read shows it");
    node.stop().await;
}

async fn srv_80_k_21_an_application_is_there_as_soon_as_it_registers_though_it_was_missed(node: &Sandbox) {
    pass_to_multiple(node).await;
    let client = node.client();
    node.pass(SECOND).await;
    assert_eq!(client.status(Request::get("/eureka/apps/BILLING").json()).await, 404);
    node.pass(SECOND).await;
    register(&client, &lasting(json!({}))).await;
    node.pass(SECOND).await;
    let is_there = async || client.send(Request::get("/eureka/apps/BILLING").json()).await.status == 200;
    eventually_async("the application is there", is_there).await;
}

async fn srv_82_the_read_only_tier_refreshes_at_multiples_of_thirty_seconds_whenever_it_started(wiring: Wiring) {
    let mut node = Sandbox::prepare_split(wiring, EUREKA);
    node.clock.advance(7 * SECOND);
    assert_eq!(until_multiple(&node), 23 * SECOND);
    for part in [Part::Registry, Part::Cache, Part::Facade] {
        node.start_part(part).await;
    }
    node.is_ready().await;
    let client = node.client();
    assert_eq!(listed(&client).await.len(), 0);
    for count in 1..4 {
        register(&client, &lasting(json!({"instanceId": format!("n{count}")}))).await;
        node.pass(until_multiple(&node) - MILLISECOND).await;
        assert_eq!(listed(&client).await.len(), count - 1);
        node.pass(MILLISECOND).await;
        eventually_async("the refresh", async || listed(&client).await.len() == count).await;
    }
    node.stop().await;
}

async fn srv_83_84_k_17_every_address_of_a_list_and_both_details_are_renewed(node: &Sandbox) {
    pass_to_multiple(node).await;
    let client = node.client();
    register(&client, &lasting(json!({"instanceId": "i0", "vipAddress": "a"}))).await;
    node.pass(SECOND).await;
    let full = async || client.applications("/eureka/vips/a").await.keys();
    let short = async || compact(&client, "/eureka/vips/a").await["apps__hashcode"].clone();
    eventually_async("the list is there", async || full().await == ["BILLING/i0"]).await;
    assert_eq!(short().await, "UP_1_");
    register(&client, &lasting(json!({"instanceId": "i2", "vipAddress": "a,b"}))).await;
    node.pass(28 * SECOND).await;
    assert_eq!((full().await, short().await), (vec!["BILLING/i0".to_owned()], "UP_1_".into()));
    node.pass(until_multiple(node)).await;
    eventually_async("both are listed", async || full().await == ["BILLING/i0", "BILLING/i2"]).await;
    eventually_async("in both details", async || short().await == "UP_2_").await;
    assert_eq!(client.applications("/eureka/vips/b").await.keys(), ["BILLING/i2"]);

    // Away from an address, and from its list.
    register(&client, &lasting(json!({"instanceId": "i2", "vipAddress": "c", "lastDirtyTimestamp": "2000"}))).await;
    cancel(&client, "BILLING", "i0").await;
    node.pass(until_multiple(node)).await;
    eventually_async("neither is listed", async || full().await.is_empty() && short().await == "").await;
    assert_eq!(client.applications("/eureka/vips/c").await.keys(), ["BILLING/i2"]);
}

async fn srv_85_86_rest_99_100_regions_that_are_not_configured_are_the_local_content(node: &Sandbox) {
    let client = node.client();
    register(&client, &lasting(json!({}))).await;
    let get = async |target: &str| client.send(Request::get(target).json()).await;
    let local = get("/eureka/apps").await;
    for query in ["regions=", "regions=nowhere", "regions=B,A", "regions=a,b"] {
        assert_eq!(get(&format!("/eureka/apps?{query}")).await, local, "{query}");
    }
    assert_eq!(get("/eureka/apps/delta?regions=b,a").await, get("/eureka/apps/delta?regions=A,B").await);
    register(&client, &lasting(json!({"instanceId": "n2"}))).await;
    let listed = client.applications("/eureka/apps?regions=us-east-1").await;
    assert_eq!(listed.keys(), ["BILLING/n1", "BILLING/n2"]);
}

async fn srv_87_rest_108_s18_an_address_that_nobody_has_is_an_empty_list(node: &Sandbox) {
    let client = node.client();
    register(&client, &lasting(json!({}))).await;
    let nothing = r#"{"applications":{"versions__delta":"-1","apps__hashcode":"","application":[]}}"#;
    for target in ["/eureka/vips/none", "/eureka/svips/none", "/eureka/v2/vips/a%2Cb", "/eureka/vips/BILLING"] {
        for request in [Request::get(target).json(), Request::get(target).json().gzip()] {
            let answer = client.send(request).await;
            assert_eq!((answer.status, answer.text().as_str()), (200, nothing), "{target}");
        }
        let document = xml(&client, target).await;
        assert_eq!((document.version, document.hash), (Some("-1".into()), Some(String::new())), "{target}");
        assert_eq!(compact(&client, target).await["application"], json!([]), "{target}");
    }
    for target in ["/eureka/vips", "/eureka/vips/", "/eureka/vips/a/b"] {
        assert_eq!(client.status(Request::get(target).json()).await, 404, "{target}");
    }
    assert_eq!(client.status(Request::get("/eureka/vips/%ff").json()).await, 400);
}

/// Every payload that there is of the fixture, each with its name.
async fn every_payload(client: &Client) -> Vec<(String, String)> {
    let targets = ["apps", "apps/delta", "apps/BILLING", "vips/billing", "svips/billing-s"];
    let mut read = Vec::new();
    for (version, target) in ["v1", "v2"].into_iter().flat_map(|version| targets.map(|target| (version, target))) {
        for media in ["application/json", "application/xml"] {
            for detail in ["full", "compact"] {
                let request = Request::get(&format!("/eureka/{version}/{target}"));
                let answer = client.send(request.header("accept", media).header("x-eureka-accept", detail)).await;
                assert_eq!(answer.status, 200);
                read.push((format!("{version} {target} {media} {detail}"), answer.text()));
            }
        }
    }
    assert_eq!(read.len(), 40);
    read
}

async fn srv_88_a_registration_is_seen_in_every_payload(wiring: Wiring) {
    // Compact documents leave out the id, and some of them nothing else tells instances apart.
    let second = lasting(json!({"instanceId": "n2", "hostName": "n2.test"}));
    let node = Sandbox::start(wiring).await;
    let client = node.client();
    register(&client, &lasting(json!({}))).await;
    let before = every_payload(&client).await;
    register(&client, &second).await;
    for ((key, before), (_, after)) in before.into_iter().zip(every_payload(&client).await) {
        assert_ne!(before, after, "{key}");
        assert!(after.contains("n2.test"), "{key}: {after}");
    }
    node.stop().await;

    let node = Sandbox::start_with(wiring, EUREKA).await;
    pass_to_multiple(&node).await;
    let client = node.client();
    register(&client, &lasting(json!({}))).await;
    let before = every_payload(&client).await;
    register(&client, &second).await;
    assert_eq!(every_payload(&client).await, before, "the read-only tier is behind");
    node.pass(until_multiple(&node)).await;
    let renewed = async || every_payload(&client).await.iter().all(|(_, text)| text.contains("n2.test"));
    eventually_async("all of them have it", renewed).await;
    node.stop().await;
}

async fn srv_89_k_19_reserved_names_are_applications_like_any_other(node: &Sandbox) {
    let client = node.client();
    for id in ["n1", "n2"] {
        register(&client, &lasting(json!({"instanceId": id}))).await;
    }
    for name in ["ALL_APPS", "ALL_APPS_DELTA", "DELTA"] {
        assert_eq!(client.status(Request::get(&format!("/eureka/apps/{name}")).json()).await, 404, "{name}");
    }
    register(&client, &lasting(json!({"app": "ALL_APPS"}))).await;
    assert_eq!(client.applications("/eureka/apps/ALL_APPS").await.keys(), ["ALL_APPS/n1"]);
}

async fn srv_90_each_delta_that_is_made_has_a_greater_number(node: &Sandbox) {
    let client = node.client();
    let number = |document: Applications| document.version.unwrap().parse::<i64>().unwrap();
    let mut numbers = Vec::new();
    for id in ["n1", "n2"] {
        register(&client, &lasting(json!({"instanceId": id}))).await;
        let json = number(client.applications("/eureka/apps/delta").await);
        let xml = number(xml(&client, "/eureka/apps/delta").await);
        assert_ne!(json, xml, "each form is made for itself");
        numbers.push(json.min(xml));
        assert!(numbers.is_sorted());
        numbers.push(json.max(xml));
    }
    numbers.dedup();
    assert!(numbers.is_sorted() && numbers.len() == 4, "{numbers:?}");
    assert_eq!(client.applications("/eureka/apps").await.version.as_deref(), Some("1"));
}

async fn srv_93_k_16_b56_what_is_acknowledged_is_read_and_every_hash_is_that_of_its_list(node: &Sandbox) {
    const STATUSES: [&str; 3] = ["UP", "DOWN", "STARTING"];
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            let client = node.client();
            tokio::spawn(async move {
                let id = format!("n{writer}");
                for turn in 0..12 {
                    let status = STATUSES[(writer + turn) % 3];
                    let changes =
                        json!({"instanceId": id, "status": status, "lastDirtyTimestamp": (1000 + turn).to_string()});
                    register(&client, &lasting(changes)).await;
                    let list = client.applications("/eureka/apps").await;
                    let mine = list.instances().find(|instance| instance.id() == id).expect("what was acknowledged");
                    assert_eq!(mine.field("status"), status);
                    for target in ["/eureka/apps", "/eureka/vips/billing"] {
                        let list = client.send(Request::get(target).json().gzip()).await.applications();
                        assert_eq!(list.hash, Some(list.counted_hash()), "{target}");
                    }
                    // All instances are in the delta, so its hash is that of its own list, too.
                    let delta = client.applications("/eureka/apps/delta").await;
                    assert_eq!(delta.hash, Some(delta.counted_hash()));
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
}

async fn rest_106_107_109_lists_by_address_have_the_instances_that_list_it(node: &Sandbox) {
    let client = node.client();
    let instances = [
        ("i1", "BILLING", "foo", "UP", "x"),
        ("i2", "ORDERS", "foo,bar", "DOWN", "x,y"),
        ("i3", "ORDERS", "FOO", "UP", "X"),
    ];
    for (id, app, vips, status, svips) in instances {
        let changes =
            json!({"instanceId": id, "app": app, "vipAddress": vips, "status": status, "secureVipAddress": svips});
        register(&client, &lasting(changes)).await;
    }
    let table: [(&str, &[&str], &str); 7] = [
        ("vips/foo", &["BILLING/i1", "ORDERS/i2"], "DOWN_1_UP_1_"),
        ("vips/bar", &["ORDERS/i2"], "DOWN_1_"),
        ("vips/FOO", &["ORDERS/i3"], "UP_1_"),
        ("svips/x", &["BILLING/i1", "ORDERS/i2"], "DOWN_1_UP_1_"),
        ("svips/y", &["ORDERS/i2"], "DOWN_1_"),
        ("svips/X", &["ORDERS/i3"], "UP_1_"),
        ("svips/foo", &[], ""),
    ];
    for (target, keys, hash) in table {
        let target = format!("/eureka/{target}");
        for list in [client.applications(&target).await, xml(&client, &target).await] {
            assert_eq!(list.keys(), keys, "{target}");
            assert_eq!((list.version.as_deref(), list.hash.as_deref()), (Some("-1"), Some(hash)), "{target}");
        }
    }
    // The last one leaves an address.
    cancel(&client, "ORDERS", "i2").await;
    assert_eq!(client.applications("/eureka/vips/bar").await.keys(), [""; 0]);
    assert_eq!(client.applications("/eureka/vips/foo").await.keys(), ["BILLING/i1"]);
    register(&client, &lasting(json!({"instanceId": "i4", "vipAddress": "bar"}))).await;
    assert_eq!(client.applications("/eureka/vips/bar").await.keys(), ["BILLING/i4"]);
}

async fn b64_a_first_reader_sees_present_lease_times(node: &Sandbox) {
    let client = node.client();
    register(&client, &lasting(json!({}))).await;
    for target in ["apps", "apps/BILLING", "vips/billing", "svips/billing-s", "apps/delta"] {
        node.pass(20 * SECOND).await;
        renew(&client, "n1").await;
        let one = client.instance("/eureka/apps/BILLING/n1").await["leaseInfo"]["lastRenewalTimestamp"].to_string();
        let list = client.applications(&format!("/eureka/{target}")).await;
        assert_eq!(renewals(&list), [one], "{target}");
    }
    assert_eq!(client.applications("/eureka/apps/delta").await.actions(), ["n1 ADDED"], "heartbeats are no changes");
}

async fn b65_one_application_and_one_address_are_small_answers(node: &Sandbox) {
    let client = node.client();
    for n in 0..300 {
        let app = format!("APP-{}", n / 3);
        let changes = json!({"instanceId": format!("n{n}"), "app": app, "vipAddress": app.to_lowercase()});
        register(&client, &lasting(changes)).await;
    }
    let size = async |target: &str| client.send(Request::get(target).json()).await.body.len();
    let all = size("/eureka/apps").await;
    for target in ["/eureka/apps/APP-7", "/eureka/vips/app-7"] {
        assert_eq!(client.applications(target).await.keys(), ["APP-7/n21", "APP-7/n22", "APP-7/n23"]);
        assert!(size(target).await < all / 80, "{target}");
    }
}

async fn srv_103_s3_a_status_that_a_heartbeat_brings_is_in_the_delta(node: &Sandbox) {
    let client = node.client();
    register(&client, &lasting(json!({}))).await;
    assert_eq!(client.applications("/eureka/apps/delta").await.actions(), ["n1 ADDED"]);
    let heartbeat = |query: &str| {
        Request::new("PUT", &format!("/eureka/apps/BILLING/n1{query}"))
            .header("x-netflix-discovery-replication", "true")
    };
    let newer = heartbeat("?status=UP&lastDirtyTimestamp=2000&overriddenstatus=OUT_OF_SERVICE");
    assert_eq!(client.send(newer).await.status, 404);
    renew(&client, "n1").await;
    for target in ["/eureka/apps", "/eureka/apps/delta", "/eureka/vips/billing"] {
        // Nobody is told by a heartbeat's answer that it has changed something, so nobody waits for that.
        let statuses = async || {
            let list = client.applications(target).await;
            list.instances().map(|instance| instance.field("status").to_owned()).collect::<Vec<_>>()
        };
        eventually_async(target, async || statuses().await == ["OUT_OF_SERVICE"]).await;
        let list = client.applications(target).await;
        assert_eq!(list.hash.as_deref(), Some("OUT_OF_SERVICE_1_"), "{target}");
    }
    assert_eq!(client.applications("/eureka/apps/delta").await.actions(), ["n1 MODIFIED"]);
}

async fn srv_41_s11_an_application_without_instances_is_not_listed(node: &Sandbox) {
    let client = node.client();
    for app in ["BILLING", "ORDERS"] {
        register(&client, &lasting(json!({"app": app, "vipAddress": "both"}))).await;
    }
    let apps = async |target: &str| {
        client.applications(target).await.apps.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    for target in ["/eureka/apps", "/eureka/vips/both"] {
        assert_eq!(apps(target).await, ["BILLING", "ORDERS"]);
    }
    cancel(&client, "BILLING", "n1").await;
    for target in ["/eureka/apps", "/eureka/vips/both"] {
        assert_eq!(apps(target).await, ["ORDERS"], "{target}");
    }
    assert_eq!(client.status(Request::get("/eureka/apps/BILLING").json()).await, 404);
    cancel(&client, "ORDERS", "n1").await;
    for target in ["/eureka/apps", "/eureka/vips/both"] {
        assert_eq!(client.send(Request::get(target).json()).await.json()["applications"]["application"], json!([]));
    }
}
