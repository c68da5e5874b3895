//! What an operator does over gRPC is what clients see over REST, in every wiring.

use registry_proto::{
    registry::{ClearStatusRequest, SetStatusRequest},
    types::InstanceStatus,
};
use scenario_tests::{
    Client, Request, Sandbox, in_every_wiring,
    story::{fixture, register, with},
};
use serde_json::json;

in_every_wiring! {
    b51_b54_an_operators_status_is_what_every_next_read_shows,
}

/// Status and override of `n1` in each view of the registry, JSON and XML.
async fn shown(client: &Client) -> Vec<(String, String)> {
    let one = client.instance("/eureka/apps/BILLING/n1").await;
    let of = |field: &str| one[field].as_str().unwrap().to_owned();
    let mut shown = vec![(of("status"), of("overriddenStatus"))];
    for target in ["apps", "apps/delta", "apps/BILLING", "vips/billing", "svips/billing-s"] {
        let target = format!("/eureka/{target}");
        for list in [client.applications(&target).await, client.send(Request::get(&target).xml()).await.applications()]
        {
            let instance = list.instances().find(|instance| instance.id() == "n1").unwrap();
            let overridden = instance.fields.iter().find(|(name, _)| name.eq_ignore_ascii_case("overriddenStatus"));
            shown.push((instance.field("status").to_owned(), overridden.unwrap().1.clone()));
        }
    }
    shown
}

async fn b51_b54_an_operators_status_is_what_every_next_read_shows(node: &Sandbox) {
    let (client, mut operator) = (node.client(), node.registry());
    register(&client, &fixture()).await;
    register(&client, &with(json!({"instanceId": "n2"}))).await;
    let key = || ("billing".to_owned(), "n1".to_owned());
    assert!(shown(&client).await.iter().all(|(status, _)| status == "UP"));

    let (app, instance_id) = key();
    let request =
        SetStatusRequest { app, instance_id, status: InstanceStatus::OutOfService.into(), ..Default::default() };
    assert!(operator.set_status(request).await.unwrap().into_inner().found);
    let out = ("OUT_OF_SERVICE".to_owned(), "OUT_OF_SERVICE".to_owned());
    assert_eq!(shown(&client).await, vec![out; 11]);

    let (app, instance_id) = key();
    let request = ClearStatusRequest { app, instance_id, status: InstanceStatus::Up.into(), ..Default::default() };
    assert!(operator.clear_status(request).await.unwrap().into_inner().found);
    let back = ("UP".to_owned(), "UNKNOWN".to_owned());
    assert_eq!(shown(&client).await, vec![back; 11]);
}
