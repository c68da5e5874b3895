//! Status commands, metadata and look-ups through the codec.

use super::*;
use registry_proto::registry::{
    AddMetadataRequest, ClearStatusRequest, GetLeaseTimesRequest, ListOverridesRequest, SetStatusRequest,
};

type Client = RegistryServiceClient<RegistryServiceServer<RegistryCore>>;

async fn with_instance() -> (Client, ManualClock, ProcessHandle) {
    let (core, clock, process) = started(&["--cold-start", "0"]);
    core.register(registration(instance("BILLING", "n1"))).await.unwrap();
    (RegistryServiceClient::new(RegistryServiceServer::from_arc(core)), clock, process)
}

fn set(id: &str, status: i32) -> SetStatusRequest {
    SetStatusRequest { app: "billing".into(), instance_id: id.into(), status, ..SetStatusRequest::default() }
}

fn clear(id: &str, status: i32) -> ClearStatusRequest {
    ClearStatusRequest { app: "billing".into(), instance_id: id.into(), status, ..ClearStatusRequest::default() }
}

fn add(id: &str, pairs: &[(&str, &str)]) -> AddMetadataRequest {
    let metadata =
        pairs.iter().map(|(key, value)| types::MetadataEntry { key: (*key).into(), value: (*value).into() }).collect();
    AddMetadataRequest { app: "billing".into(), instance_id: id.into(), metadata, ..AddMetadataRequest::default() }
}

async fn stored(client: &mut Client) -> registry_model::Record {
    client.get_instance(named("n1")).await.unwrap().into_inner().record.into_model().unwrap()
}

const OUT_OF_SERVICE: i32 = types::InstanceStatus::OutOfService as i32;
const UP: i32 = types::InstanceStatus::Up as i32;

#[tokio::test]
async fn commands_answer_with_a_position_that_includes_them_or_find_nothing() {
    let (mut client, _, _) = with_instance().await;
    let answer = client.set_status(set("n1", OUT_OF_SERVICE)).await.unwrap().into_inner();
    assert_eq!((answer.found, answer.position.unwrap().revision), (true, 2));
    let answer = client.add_metadata(add("n1", &[("k", "v")])).await.unwrap().into_inner();
    assert_eq!((answer.found, answer.position.unwrap().revision), (true, 3));
    let answer = client.clear_status(clear("n1", UP)).await.unwrap().into_inner();
    assert_eq!((answer.found, answer.position.unwrap().revision), (true, 4));
    let instance = stored(&mut client).await.instance;
    assert_eq!((instance.status, instance.metadata.get("k")), (InstanceStatus::Up, Some("v")));
    assert!(!client.set_status(set("n2", OUT_OF_SERVICE)).await.unwrap().into_inner().found);
    assert!(!client.clear_status(clear("n2", UP)).await.unwrap().into_inner().found);
    assert!(!client.add_metadata(add("n2", &[("k", "v")])).await.unwrap().into_inner().found);
}

#[tokio::test]
async fn s7_k_32_a_status_that_is_none_and_metadata_without_end_are_refused_and_change_nothing() {
    let (mut client, _, _) = with_instance().await;
    for status in [0, 99, -1] {
        let refused = client.set_status(set("n1", status)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{status}");
    }
    assert_eq!(client.clear_status(clear("n1", 99)).await.unwrap_err().code(), Code::InvalidArgument);
    let huge = "x".repeat(1 << 20);
    assert_eq!(client.add_metadata(add("n1", &[("k", &huge)])).await.unwrap_err().code(), Code::InvalidArgument);
    let answer = client.clear_status(clear("n1", 0)).await.unwrap().into_inner();
    assert_eq!((answer.found, answer.position.unwrap().revision), (true, 1));
}

#[tokio::test]
async fn srv_48_an_override_that_is_removed_without_a_status_leaves_unknown() {
    let (mut client, _, _) = with_instance().await;
    client.set_status(set("n1", OUT_OF_SERVICE)).await.unwrap();
    client.clear_status(clear("n1", 0)).await.unwrap();
    assert_eq!(stored(&mut client).await.instance.status, InstanceStatus::Unknown);
    let answer = client.renew(renewal("n1", None, Origin::Client)).await.unwrap().into_inner();
    assert_eq!(answer.outcome(), RenewOutcome::NotFound);
}

#[tokio::test]
async fn srv_31_a_peers_heartbeat_carries_its_override_and_a_clients_status_is_only_counted() {
    let (mut client, _, process) = with_instance().await;
    let peers = RenewRequest { overridden_status: OUT_OF_SERVICE, ..renewal("n1", Some(2000), Origin::Peer) };
    assert_eq!(client.renew(peers).await.unwrap().into_inner().outcome(), RenewOutcome::StoredIsOlder);
    let instance = stored(&mut client).await.instance;
    assert_eq!((instance.status, instance.overridden_status), (InstanceStatus::Up, InstanceStatus::OutOfService));
    let down = types::InstanceStatus::Down.into();
    for said_status in [down, 99] {
        let clients = RenewRequest { said_status, ..renewal("n1", Some(1000), Origin::Client) };
        assert_eq!(client.renew(clients).await.unwrap().into_inner().outcome(), RenewOutcome::Renewed);
    }
    assert_eq!(stored(&mut client).await.instance.status, InstanceStatus::OutOfService);
    assert!(process.metrics().encode().contains("heureka_registry_status_mismatches_total 1\n"));
}

#[tokio::test]
async fn overrides_are_listed_by_application_and_id() {
    let (mut client, clock, _) = with_instance().await;
    client.set_status(set("n1", OUT_OF_SERVICE)).await.unwrap();
    clock.advance(Duration::from_secs(3599));
    let listed = client.list_overrides(ListOverridesRequest {}).await.unwrap().into_inner().overrides;
    let [listed] = listed.as_slice() else { panic!("one override: {listed:?}") };
    assert_eq!(listed.key, Some(types::InstanceKey { app: "BILLING".into(), instance_id: "n1".into() }));
    assert_eq!(listed.status(), types::InstanceStatus::OutOfService);
    clock.advance(Duration::from_secs(1));
    assert!(client.list_overrides(ListOverridesRequest {}).await.unwrap().into_inner().overrides.is_empty());
}

#[tokio::test]
async fn lease_times_come_in_the_order_asked_for_and_an_instance_by_its_id_alone() {
    let (mut client, clock, _) = with_instance().await;
    clock.advance(Duration::from_secs(30));
    client.renew(renewal("n1", None, Origin::Client)).await.unwrap();
    let key = |id: &str| types::InstanceKey { app: "billing".into(), instance_id: id.into() };
    let keys = vec![key("n2"), key("n1")];
    let results = client.get_lease_times(GetLeaseTimesRequest { keys }).await.unwrap().into_inner().results;
    let [absent, present] = results.as_slice() else { panic!("two results: {results:?}") };
    assert_eq!((absent.lease, present.lease.unwrap().renewed_ms), (None, clock.unix().0));
    let keys = vec![key("n1"); 65_537];
    let refused = client.get_lease_times(GetLeaseTimesRequest { keys }).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let mut by_id = async |id: &str| {
        let request = GetInstanceRequest { app: String::new(), instance_id: id.into() };
        client.get_instance(request).await.unwrap().into_inner().record
    };
    assert!(by_id("n1").await.is_some() && by_id("n2").await.is_none());
}

#[tokio::test]
async fn b112_a_registration_without_a_stamp_is_superseded_by_a_later_one() {
    let (core, clock, _) = started(&["--cold-start", "0"]);
    let mut client = RegistryServiceClient::new(RegistryServiceServer::from_arc(core));
    for status in [InstanceStatus::Up, InstanceStatus::Down] {
        clock.advance(Duration::from_secs(1));
        let unstamped = unstamped(&InstanceInfo { status, ..instance("BILLING", "n1") });
        client.register(RegisterRequest { instance: Some(unstamped), origin: 0 }).await.unwrap();
        let stored = stored(&mut client).await.instance;
        assert_eq!((stored.status, stored.last_dirty), (status, clock.unix()));
    }
}
