//! The node as an instance of its own registry.

use super::*;

const OWN: [&str; 3] = ["--register-self", "--advertise", "node-1.test:8761"];
const ID: &str = "node-1.test:eureka:8761";

fn own(core: &RegistryCore) -> Option<registry_model::Record> {
    core.registry.get("EUREKA", ID)
}

#[tokio::test]
async fn b42_a_node_is_one_instance_that_renews_itself_and_comes_back() {
    let (core, clock, process) = started(&OWN);
    eventually("the node is registered", || own(&core).is_some()).await;
    let first = own(&core).unwrap();
    assert_eq!((first.instance.status, first.instance.coordinating), (InstanceStatus::Up, true));
    // Past what an unrenewed lease holds.
    for interval in 1..=4 {
        clock.advance(Duration::from_secs(30));
        eventually("it is renewed", || core.registry.metrics().renewals.get() == interval).await;
    }
    assert_eq!(own(&core).unwrap().lease.renewed, clock.unix());

    core.registry.cancel("EUREKA", ID);
    clock.advance(Duration::from_secs(30));
    eventually("it is registered again", || own(&core).is_some()).await;
    assert_eq!(
        (core.registry.snapshot(Duration::ZERO).leases.len(), core.registry.metrics().registrations.get()),
        (1, 2)
    );

    process.stop().await;
    assert_eq!((own(&core), core.registry.metrics().cancels.get()), (None, 2));
}

#[tokio::test]
async fn only_the_node_itself_is_the_one_that_answers() {
    let (core, _, _) = started(&OWN);
    let claims = |app: &str, id: &str| InstanceInfo { coordinating: true, ..instance(app, id) };
    core.register(registration(claims("EUREKA", "node-2.test:eureka:8761"))).await.unwrap();
    core.register(registration(claims("BILLING", "n1"))).await.unwrap();
    eventually("the node is registered", || own(&core).is_some()).await;
    let leases = core.registry.snapshot(Duration::ZERO).leases;
    let answering: Vec<_> =
        leases.iter().map(|entry| entry.instance()).filter(|instance| instance.coordinating).collect();
    assert_eq!((leases.len(), answering.len()), (3, 1));
    assert_eq!(answering[0].key.id.as_str(), ID);
    // As Eureka does it is found by its id, whoever registers it.
    core.register(registration(InstanceInfo { last_dirty: UnixMillis(i64::MAX), ..instance("EUREKA", ID) }))
        .await
        .unwrap();
    assert!(own(&core).unwrap().instance.coordinating);

    let (alone, _, _) = started(&["--advertise", "node-1.test:8761"]);
    alone.register(registration(claims("EUREKA", ID))).await.unwrap();
    assert!(!own(&alone).unwrap().instance.coordinating);
}
