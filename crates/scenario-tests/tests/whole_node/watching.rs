//! Watches of users, on the gRPC port of a facade, in every wiring.

use futures::{FutureExt as _, future::join_all};
use registry_model::ActionType;
use registry_proto::{
    IntoModel as _,
    registry::{
        ResumeToken, WatchRequest, WatchResponse, registry_service_client::RegistryServiceClient, watch_response::Step,
    },
    types::Position,
};
use scenario_tests::{
    Part, Request, Sandbox, in_every_wiring,
    story::{cancel, fixture, register, register_all, with},
};
use serde_json::json;
use std::{collections::BTreeSet, time::Duration};
use testkit::eventually_async;
use tonic::{Streaming, transport::Channel};

in_every_wiring! {
    b53_a_watcher_is_told_each_change_once_when_it_can_be_read,
    a_watcher_that_comes_back_goes_on_where_it_was;
    a_thousand_watchers_are_one_watch_of_the_registry,
}

/// In one process registry-core does not restart alone.
mod restarts {
    use super::watchers_outlive_a_restart_of_registry_core;

    scenario_tests::in_split_wirings! {
        watchers_outlive_a_restart_of_registry_core,
    }
}

/// A watcher and what it knows.
struct Watcher {
    stream: Streaming<WatchResponse>,
    node: u64,
    position: Position,
    ids: BTreeSet<String>,
    snapshots: usize,
    warm: bool,
}

/// Something that a watcher was told.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Resumed,
    Snapshot(Vec<String>),
    Change(ActionType, String),
    Warm,
}

impl Watcher {
    async fn open(client: &mut RegistryServiceClient<Channel>, resume: Option<ResumeToken>) -> Self {
        let stream = client.watch(WatchRequest { resume, recent_ms: 0 }).await.unwrap().into_inner();
        let (position, ids) = Default::default();
        Self { stream, node: 0, position, ids, snapshots: 0, warm: false }
    }

    fn token(&self) -> ResumeToken {
        ResumeToken { node: self.node, position: Some(self.position) }
    }

    /// What comes next, within a bound.
    async fn next(&mut self) -> Vec<Told> {
        tokio::time::timeout(Duration::from_secs(20), self.told()).await.expect("something is told")
    }

    async fn told(&mut self) -> Vec<Told> {
        loop {
            match self.stream.message().await.unwrap().unwrap().step.unwrap() {
                Step::Start(start) => {
                    (self.node, self.position, self.warm) = (start.node, start.position.unwrap(), start.warm);
                    if !start.snapshot_follows {
                        return vec![Told::Resumed];
                    }
                    self.ids.clear();
                    self.snapshots += 1;
                }
                Step::Snapshot(part) => {
                    for record in part.records {
                        let new = self.ids.insert(record.into_model().unwrap().key().id.as_str().to_owned());
                        assert!(new, "sent twice");
                    }
                }
                Step::SnapshotEnd(_) => return vec![Told::Snapshot(self.ids.iter().cloned().collect())],
                Step::Changes(batch) => {
                    assert_eq!(batch.previous_revision, self.position.revision, "a gap");
                    self.position.revision = batch.revision;
                    let changes = batch.changes.into_iter().map(|change| {
                        let instance = change.into_model().unwrap().record.instance;
                        Told::Change(instance.action, instance.key.id.as_str().to_owned())
                    });
                    return changes.collect();
                }
                Step::Warm(_) => {
                    self.warm = true;
                    return vec![Told::Warm];
                }
                Step::GateOpened(_) => {}
            }
        }
    }

    /// Whether nothing is under way; meaningful only once everybody else has been told.
    fn is_silent(&mut self) -> bool {
        self.stream.message().now_or_never().is_none()
    }
}

fn added(id: &str) -> Vec<Told> {
    vec![Told::Change(ActionType::Added, id.to_owned())]
}

async fn b53_a_watcher_is_told_each_change_once_when_it_can_be_read(node: &Sandbox) {
    let client = node.client();
    let mut users = node.registry();
    let mut watcher = Watcher::open(&mut users, None).await;
    assert_eq!(watcher.next().await, [Told::Snapshot(Vec::new())]);
    register(&client, &fixture()).await;
    assert_eq!(watcher.next().await, added("n1"));
    assert_eq!(client.instance("/eureka/apps/BILLING/n1").await["status"], "UP", "it can be read");

    // Heartbeats are no changes: what is told next is the change after them.
    for _ in 0..5 {
        assert_eq!(client.status(Request::new("PUT", "/eureka/apps/BILLING/n1")).await, 200);
    }
    assert!(watcher.is_silent());
    let target = "/eureka/apps/BILLING/n1/status?value=OUT_OF_SERVICE";
    assert_eq!(client.status(Request::new("PUT", target)).await, 200);
    assert_eq!(watcher.next().await, [Told::Change(ActionType::Modified, "n1".to_owned())]);
    assert_eq!(client.instance("/eureka/apps/BILLING/n1").await["status"], "OUT_OF_SERVICE");

    cancel(&client, "BILLING", "n1").await;
    assert_eq!(watcher.next().await, [Told::Change(ActionType::Deleted, "n1".to_owned())]);
    assert_eq!(client.send(Request::get("/eureka/apps/BILLING/n1").json()).await.status, 404, "it is gone");
    assert_eq!(client.status(Request::new("DELETE", "/eureka/apps/BILLING/n1")).await, 404);
    register(&client, &with(json!({"instanceId": "n2"}))).await;
    assert_eq!(watcher.next().await, added("n2"));
    assert_eq!((watcher.position.revision, watcher.snapshots), (4, 1));
}

async fn a_thousand_watchers_are_one_watch_of_the_registry(node: &Sandbox) {
    const WATCHES: &str = "heureka_registry_watches_started_total";
    let client = node.client();
    register_all(&client, "BILLING", &["n1", "n2", "n3"]).await;
    let before = node.counted(Part::Registry, WATCHES);
    // A connection carries two hundred streams.
    let mut connections: Vec<_> = (0..10).map(|_| node.registry()).collect();
    let mut watchers = Vec::new();
    for connection in &mut connections {
        for _ in 0..100 {
            watchers.push(Watcher::open(connection, None).await);
        }
    }
    for told in join_all(watchers.iter_mut().map(Watcher::next)).await {
        assert_eq!(told, [Told::Snapshot(["n1", "n2", "n3"].map(str::to_owned).to_vec())]);
    }
    register(&client, &with(json!({"instanceId": "n4"}))).await;
    for told in join_all(watchers.iter_mut().map(Watcher::next)).await {
        assert_eq!(told, added("n4"));
    }
    assert!(watchers.iter_mut().all(Watcher::is_silent));
    assert_eq!(node.counted(Part::Registry, WATCHES) - before, 1.0);
    assert_eq!(node.counted(Part::Facade, "heureka_facade_watches_started_total"), 1000.0);
    drop(watchers);
}

async fn a_watcher_that_comes_back_goes_on_where_it_was(node: &Sandbox) {
    let client = node.client();
    let mut users = node.registry();
    register(&client, &fixture()).await;
    let mut first = Watcher::open(&mut users, None).await;
    assert_eq!(first.next().await, [Told::Snapshot(vec!["n1".to_owned()])]);
    let token = first.token();
    drop(first);
    register(&client, &with(json!({"instanceId": "n2"}))).await;

    let mut again = Watcher::open(&mut users, Some(token)).await;
    assert_eq!(again.next().await, [Told::Resumed]);
    assert_eq!(again.next().await, added("n2"));

    // A token of another node says nothing.
    let other = ResumeToken { node: token.node.wrapping_add(1), ..token };
    let mut stranger = Watcher::open(&mut users, Some(other)).await;
    assert_eq!(stranger.next().await, [Told::Snapshot(vec!["n1".to_owned(), "n2".to_owned()])]);
}

async fn watchers_outlive_a_restart_of_registry_core(node: &mut Sandbox) {
    let client = node.client();
    let mut users = node.registry();
    register_all(&client, "BILLING", &["n1", "n2"]).await;
    let mut watcher = Watcher::open(&mut users, None).await;
    let both = || vec![Told::Snapshot(vec!["n1".to_owned(), "n2".to_owned()])];
    assert_eq!(watcher.next().await, both());
    let before = watcher.token();

    node.stop_part(Part::Registry).await;

    // It stays, and who comes meanwhile is told what is known.
    assert_eq!(Watcher::open(&mut users, None).await.next().await, both());
    assert!(watcher.is_silent());

    node.start_part(Part::Registry).await;

    // A new life, that knows nobody and says that it does not.
    let told = node.while_time_passes(watcher.next()).await;
    assert_eq!((told, watcher.warm), (vec![Told::Snapshot(Vec::new())], false));
    assert_ne!(watcher.position.epoch, before.position.unwrap().epoch);
    eventually_async("the registry is reached", async || {
        client.send(Request::new("PUT", "/eureka/apps/BILLING/n1").json()).await.status == 404
    })
    .await;
    register(&client, &with(json!({"lastDirtyTimestamp": "2000"}))).await;
    assert_eq!(watcher.next().await, added("n1"));
    node.pass(Duration::from_secs(90)).await;
    assert_eq!(watcher.next().await, [Told::Warm]);
    let mut late = Watcher::open(&mut users, Some(before)).await;
    assert_eq!((late.next().await, late.warm), (vec![Told::Snapshot(vec!["n1".to_owned()])], true));
}
