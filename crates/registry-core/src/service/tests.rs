//! The service as its callers see it: through the interface in process, and through the codec.

mod access_gate;
mod counting;
mod opening;
mod operators;
mod own_instance;

use super::*;
use clap::Parser;
use futures::StreamExt;
use registry_model::{Clock, Epoch, InstanceInfo, InstanceStatus, Metadata, NodeId, Origin, UnixMillis};
use registry_proto::{
    InstanceMessage, IntoModel, Registry as Remote,
    registry::{
        RenewOutcome, registry_service_client::RegistryServiceClient, registry_service_server::RegistryServiceServer,
        watch_response::Step,
    },
    types,
};
use std::time::Duration;
use testkit::{ManualClock, eventually, instances::instance};
use tonic::Code;

#[derive(Parser)]
struct Settings {
    #[command(flatten)]
    config: Config,
}

fn started(arguments: &[&str]) -> (Arc<RegistryCore>, ManualClock, ProcessHandle) {
    let clock = ManualClock::new();
    let process = ProcessHandle::detached("registry-core", Arc::new(clock.clone()));
    let settings = Settings::parse_from([&["registry-core"], arguments].concat());
    let life = Life { node: NodeId(7), epoch: Epoch(9) };
    (RegistryCore::start(&settings.config, life, &process), clock, process)
}

fn registration(instance: InstanceInfo) -> Request<RegisterRequest> {
    let instance = InstanceMessage::from(Arc::new(instance));
    Request::new(RegisterRequest { instance: Some(instance), origin: types::Origin::Client.into() })
}

fn renewal(id: &str, last_dirty_ms: Option<i64>, origin: Origin) -> RenewRequest {
    RenewRequest {
        app: "billing".into(),
        instance_id: id.into(),
        last_dirty_ms,
        origin: types::Origin::from(origin).into(),
        ..RenewRequest::default()
    }
}

fn named(id: &str) -> Request<GetInstanceRequest> {
    Request::new(GetInstanceRequest { app: "billing".into(), instance_id: id.into() })
}

#[tokio::test]
async fn a_registration_answers_with_a_position_that_includes_it() {
    let (core, _, _) = started(&[]);
    // As its callers hold it.
    let core: Remote = core;
    let answer = core.register(registration(instance("BILLING", "n1"))).await.unwrap().into_inner();
    assert_eq!(answer.position, Some(types::Position { epoch: 9, revision: 1 }));
    let cancel = CancelRequest { app: "billing".into(), instance_id: "n1".into(), origin: 0 };
    let answer = core.cancel(Request::new(cancel.clone())).await.unwrap().into_inner();
    assert_eq!((answer.found, answer.position.unwrap().revision), (true, 2));
    let answer = core.cancel(Request::new(cancel)).await.unwrap().into_inner();
    assert_eq!((answer.found, answer.position.unwrap().revision), (false, 2));
    assert!(core.get_instance(named("n1")).await.unwrap().into_inner().record.is_none());
}

#[tokio::test]
async fn srv_25_a_registration_without_a_stamp_gets_the_time_of_its_arrival() {
    let (core, clock, _) = started(&[]);
    clock.advance(Duration::from_secs(7));
    let now = clock.unix();
    // Only a message from the wire can lack the stamp.
    let mut client = RegistryServiceClient::new(RegistryServiceServer::from_arc(Arc::clone(&core)));
    let unstamped = unstamped(&instance("BILLING", "n1"));
    client.register(RegisterRequest { instance: Some(unstamped), origin: 0 }).await.unwrap();
    let stored = client.get_instance(named("n1")).await.unwrap().into_inner().record.into_model().unwrap();
    assert_eq!((stored.instance.last_dirty, stored.instance.last_updated), (now, now));
}

/// The instance as a message from the wire without `last_dirty_ms`.
fn unstamped(instance: &InstanceInfo) -> InstanceMessage {
    use prost::{
        Message,
        encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field},
    };
    const LAST_DIRTY: u32 = 24;
    let whole = InstanceMessage::from(Arc::new(instance.clone())).encode_to_vec();
    let (mut rest, mut kept) = (whole.as_slice(), Vec::new());
    while !rest.is_empty() {
        let field = rest;
        let (tag, wire) = decode_key(&mut rest).unwrap();
        if tag == LAST_DIRTY && wire == WireType::Varint {
            decode_varint(&mut rest).unwrap();
            continue;
        }
        skip_field(wire, tag, &mut rest, Default::default()).unwrap();
        kept.extend_from_slice(&field[..field.len() - rest.len()]);
    }
    // An empty field that nobody knows keeps the encoders in use honest.
    encode_key(200, WireType::Varint, &mut kept);
    encode_varint(0, &mut kept);
    InstanceMessage::decode(kept.as_slice()).unwrap()
}

#[tokio::test]
async fn a_registration_that_makes_no_instance_names_the_field_and_changes_nothing() {
    let (core, _, _) = started(&[]);
    let missing = RegisterRequest { instance: None, origin: 0 };
    let empty = RegisterRequest { instance: Some(InstanceMessage::default()), origin: 0 };
    let huge =
        InstanceInfo { metadata: Metadata::default().with("blob", &"x".repeat(1 << 20)), ..instance("BILLING", "n1") };
    for (request, text) in [
        (Request::new(missing), "instance is missing"),
        (Request::new(empty), "app is empty"),
        (registration(huge), "at most 1048576 are allowed"),
    ] {
        let status = core.register(request).await.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(status.message().ends_with(text), "{status}");
    }
    assert_eq!(core.registry.hub().level().latest.0, 0);
}

#[tokio::test]
async fn a_batch_of_renewals_is_answered_in_order() {
    let (core, clock, process) = started(&[]);
    core.register(registration(instance("BILLING", "n1"))).await.unwrap();
    clock.advance(Duration::from_secs(30));
    let renewals = vec![
        renewal("n1", None, Origin::Client),
        renewal("n2", None, Origin::Client),
        renewal("n1", Some(1001), Origin::Client),
        renewal("n1", Some(999), Origin::Peer),
        renewal("n1", Some(999), Origin::Client),
    ];
    let answer = core.renew_batch(Request::new(RenewBatchRequest { renewals })).await.unwrap().into_inner();
    let outcomes: Vec<_> = answer.results.iter().map(RenewResponse::outcome).collect();
    let expected = [
        RenewOutcome::Renewed,
        RenewOutcome::NotFound,
        RenewOutcome::StoredIsOlder,
        RenewOutcome::StoredIsNewer,
        RenewOutcome::Renewed,
    ];
    assert_eq!(outcomes, expected);
    for result in &answer.results {
        assert_eq!(result.stored.is_some(), result.outcome() == RenewOutcome::StoredIsNewer);
    }
    let stored = answer.results[3].stored.clone().into_model().unwrap();
    assert_eq!((stored.instance.last_dirty, stored.lease.renewed), (UnixMillis(1000), clock.unix()));
    let metrics = process.metrics().encode();
    for line in ["renewals_total 4", "renewals_not_found_total 1", "registrations_total 1", "leases 1", "revision 1"] {
        assert!(metrics.contains(&format!("heureka_registry_{line}\n")), "{line} in {metrics}");
    }
}

#[tokio::test]
async fn a_batch_without_end_is_refused_whole() {
    let (core, _, _) = started(&[]);
    let renewals = vec![renewal("n1", None, Origin::Client); 65_537];
    let status = core.renew_batch(Request::new(RenewBatchRequest { renewals })).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn the_registry_is_cold_for_as_long_as_the_settings_say() {
    let (core, clock, _) = started(&["--cold-start", "90s"]);
    eventually("the wait and the ticks have begun", || clock.sleepers() == 2).await;
    clock.advance(Duration::from_millis(89_999));
    assert_eq!(core.registry.hub().level().warm_since, None);
    clock.advance(Duration::from_millis(1));
    eventually("warm", || core.registry.hub().level().warm_since.is_some()).await;
    let (core, _, _) = started(&["--cold-start", "0"]);
    assert!(core.registry.hub().level().warm_since.is_some());
}

#[tokio::test]
async fn a_watch_through_the_codec_says_the_same_and_ends_when_the_process_stops() {
    let (core, _, process) = started(&["--cold-start", "0"]);
    let mut client = RegistryServiceClient::new(RegistryServiceServer::from_arc(Arc::clone(&core)));
    core.register(registration(instance("BILLING", "n1"))).await.unwrap();
    let mut stream = client.watch(WatchRequest::default()).await.unwrap().into_inner();
    let mut next = async || stream.next().await.map(|message| message.unwrap().step.unwrap());
    assert!(matches!(next().await, Some(Step::Start(start)) if start.snapshot_follows && start.warm));
    let Some(Step::Snapshot(part)) = next().await else { panic!("a part comes next") };
    let record = part.records.into_iter().next().unwrap().into_model().unwrap();
    assert_eq!(record.instance.host_name, instance("BILLING", "n1").host_name);
    assert!(matches!(next().await, Some(Step::SnapshotEnd(_))));
    core.register(registration(instance("BILLING", "n2"))).await.unwrap();
    let Some(Step::Changes(batch)) = next().await else { panic!("a change comes next") };
    assert_eq!((batch.previous_revision, batch.revision, batch.changes.len()), (1, 2, 1));
    process.stop().await;
    assert!(next().await.is_none());
}

#[tokio::test]
async fn statistics_tell_eurekas_figures_protection_and_what_happened_lately() {
    let (core, clock, _) = started(&[]);
    let started_ms = clock.unix().0;
    for id in ["n1", "n2", "n3"] {
        core.register(registration(instance("BILLING", id))).await.unwrap();
    }
    let cancel = CancelRequest { app: "billing".into(), instance_id: "n3".into(), origin: types::Origin::Peer.into() };
    core.cancel(Request::new(cancel)).await.unwrap();
    core.renew(Request::new(renewal("n1", None, Origin::Client))).await.unwrap();
    // Nobody renews for as long as two intervals last, in seconds that the ticks have seen.
    for _ in 0..91 {
        clock.advance(Duration::from_secs(1));
        core.registry.tick();
    }
    let mut client = RegistryServiceClient::new(RegistryServiceServer::from_arc(Arc::clone(&core)));
    let answer = client.get_statistics(registry::GetStatisticsRequest { recent: 2 }).await.unwrap().into_inner();
    assert_eq!((answer.leases, answer.expected_clients, answer.started_ms), (2, 3, started_ms));
    assert_eq!((answer.renewals_last_minute, answer.replications_last_minute), (1, 1));
    assert_eq!((answer.expected_renewals_per_minute, answer.renewals_per_minute_threshold), (4.0, 3));
    let ids = |recent: Vec<registry::RecentLease>| -> Vec<_> {
        recent.into_iter().map(|lease| lease.key.unwrap().instance_id).collect()
    };
    assert_eq!((ids(answer.registered), ids(answer.cancelled)), (vec!["n3".into(), "n2".into()], vec!["n3".into()]));
    let preservation = answer.preservation.unwrap();
    assert_eq!(preservation.reason, "2 of 2 instances have missed two renewals");
    assert_eq!((preservation.enabled, preservation.protecting, preservation.missing), (true, true, 2));
    assert_eq!((preservation.since_ms, preservation.until_ms), (started_ms + 61_000, started_ms + 3_661_000));
}

#[tokio::test]
async fn leases_are_reported_evicted_and_given_up_through_the_codec() {
    let (core, clock, process) = started(&[]);
    for id in ["n1", "n2"] {
        core.register(registration(instance("BILLING", id))).await.unwrap();
    }
    for _ in 0..91 {
        clock.advance(Duration::from_secs(1));
        core.registry.tick();
    }
    let mut client = RegistryServiceClient::new(RegistryServiceServer::from_arc(Arc::clone(&core)));
    let mut report =
        async |extra_ms| client.report_leases(registry::ReportLeasesRequest { extra_ms }).await.unwrap().into_inner();
    assert_eq!(report(1000).await.expired.len(), 0);
    let protected = report(0).await;
    assert_eq!((protected.leases, protected.expired.len(), protected.expiration_enabled), (2, 2, false));
    let given_up = core.give_up_missing(Request::new(registry::GiveUpMissingRequest {})).await.unwrap();
    assert_eq!(given_up.into_inner().given_up, 2);
    core.renew(Request::new(renewal("n2", None, Origin::Client))).await.unwrap();
    let evict = |leases| Request::new(registry::EvictRequest { leases });
    let answer = core.evict(evict(protected.expired)).await.unwrap().into_inner();
    assert_eq!((answer.evicted, answer.position.unwrap().revision), (1, 3));
    let nobody = registry::ExpiredLease::default();
    assert_eq!(core.evict(evict(vec![nobody])).await.unwrap_err().code(), Code::InvalidArgument);
    let metrics = process.metrics().encode();
    for line in ["evictions_total 1", "leases 1", "eviction_delay_seconds_count 1"] {
        assert!(metrics.contains(&format!("heureka_registry_{line}\n")), "{line} in {metrics}");
    }
}
