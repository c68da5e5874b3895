//! Deltas as real clients apply them: from any state that a client may have, it ends with the full list. Documents go through JSON.

use super::*;
use crate::{
    keys::{PayloadKey, Scope},
    view::View,
};
use registry_model::InstanceStatus;
use serde_json::Value;
use wire_codec::Form;

fn document(view: &View, scope: Scope) -> Value {
    let key = PayloadKey { scope, form: Form::Json };
    let pages = view.pages(&key.scope).unwrap();
    let (head, tail) = view.ends(&key);
    let middle = (0..pages.len()).map(|at| pages.page(at, Form::Json).unwrap());
    let plain: Vec<u8> =
        [head].into_iter().chain(middle).chain([tail]).flat_map(|page| page.inflate().unwrap()).collect();
    serde_json::from_slice::<Value>(&plain).unwrap()["applications"].take()
}

fn text(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap().to_owned()
}

fn instances(application: &Value) -> &Vec<Value> {
    application["instance"].as_array().unwrap()
}

/// What a client holds: instances in its order, by application.
type Held = BTreeMap<String, Vec<Value>>;

fn full(document: &Value) -> Held {
    let applications = document["application"].as_array().unwrap().iter();
    applications.map(|application| (text(application, "name"), instances(application).clone())).collect()
}

/// Replaces the instance of the same id, at the end, as the Java client does.
fn put(list: &mut Vec<Value>, instance: &Value) {
    list.retain(|held| held["instanceId"] != instance["instanceId"]);
    list.push(instance.clone());
}

/// The Java client: entries in their order; an application that it lacks it takes over as the delta has it, removed instances included; one
/// whose last instance goes is forgotten.
fn apply_as_java(held: &mut Held, delta: &Value) {
    for application in delta["application"].as_array().unwrap() {
        let name = text(application, "name");
        for instance in instances(application) {
            match instance["actionType"].as_str().unwrap() {
                "ADDED" | "MODIFIED" => {
                    put(held.entry(name.clone()).or_insert_with(|| instances(application).clone()), instance);
                }
                "DELETED" => {
                    if let Some(list) = held.get_mut(&name) {
                        list.retain(|other| other["instanceId"] != instance["instanceId"]);
                        if list.is_empty() {
                            held.remove(&name);
                        }
                    }
                }
                other => panic!("{other}"),
            }
        }
    }
}

/// The Node client: host and port tell instances apart; what it has already is not added again; a modified one is replaced where it is.
fn apply_as_node(held: &mut Held, delta: &Value) {
    for application in delta["application"].as_array().unwrap() {
        for instance in instances(application) {
            let list = held.entry(text(application, "name")).or_default();
            let is_same = |other: &Value| {
                other["hostName"] == instance["hostName"] && other["port"]["$"] == instance["port"]["$"]
            };
            let place = list.iter().position(is_same);
            match (instance["actionType"].as_str().unwrap(), place) {
                ("ADDED", Some(_)) | ("DELETED", None) => {}
                ("ADDED" | "MODIFIED", None) => list.push(instance.clone()),
                ("MODIFIED", Some(place)) => list[place] = instance.clone(),
                ("DELETED", Some(place)) => drop(list.remove(place)),
                (other, _) => panic!("{other}"),
            }
        }
    }
    held.retain(|_, list| !list.is_empty());
}

/// What tells one state of an instance from another.
fn identities(held: &Held, detail: impl Fn(&Value) -> String) -> Vec<String> {
    let mut all: Vec<String> = held
        .iter()
        .flat_map(|(app, list)| list.iter().map(move |instance| (app, instance)))
        .map(|(app, instance)| format!("{app} {}", detail(instance)))
        .collect();
    all.sort();
    all
}

fn hash(held: &Held) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    held.values().flatten().for_each(|instance| *counts.entry(text(instance, "status")).or_default() += 1);
    counts.into_iter().map(|(status, count)| format!("{status}_{count}_")).collect()
}

#[derive(Clone, Debug)]
enum Act {
    Put(u8, u8, bool),
    Remove(u8, u8),
    /// Time goes on by so many seconds; the retention job runs.
    Pass(u64),
    /// cache-sync starts anew, within the reach of the log.
    RestartCache,
    /// registry-core starts anew, warm and with all it had.
    RestartRegistry,
    /// A client reads the full list, and keeps it.
    Read,
    /// The delta expires: it is made anew.
    Expire,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => (0u8..3, 0u8..4, any::<bool>()).prop_map(|(app, id, up)| Act::Put(app, id, up)),
        5 => (0u8..3, 0u8..4).prop_map(|(app, id)| Act::Remove(app, id)),
        3 => (1u64..60).prop_map(Act::Pass),
        1 => Just(Act::RestartCache),
        1 => Just(Act::RestartRegistry),
        4 => Just(Act::Read),
        1 => Just(Act::Expire),
    ];
    prop::collection::vec(act, 1..80)
}

/// The registry and its log, plainly.
#[derive(Default)]
struct Registry {
    epoch: u64,
    table: BTreeMap<(u8, u8), Record>,
    log: Vec<Change>,
    revision: u64,
}

impl Registry {
    /// A change of an instance; none if there is nothing to remove.
    fn change(&mut self, app: u8, id: u8, status: Option<InstanceStatus>, now: Now) -> Option<Change> {
        let (app_name, id_name) = (format!("APP-{app}"), format!("i{id}"));
        let mut instance = instance(&app_name, &id_name);
        let held = self.table.contains_key(&(app, id));
        instance.action = match (status, held) {
            (Some(_), false) => ActionType::Added,
            // Registering again says so too.
            (Some(_), true) if self.revision.is_multiple_of(2) => ActionType::Added,
            (Some(_), true) => ActionType::Modified,
            (None, true) => ActionType::Deleted,
            (None, false) => return None,
        };
        self.revision += 1;
        instance.last_dirty = UnixMillis(self.revision as i64);
        instance.status = status.unwrap_or(InstanceStatus::Up);
        let record = Record { instance: Arc::new(instance), ..record(&app_name, &id_name) };
        match status {
            Some(_) => self.table.insert((app, id), record.clone()),
            None => self.table.remove(&(app, id)),
        };
        let change = Change { revision: Revision(self.revision), at: now.unix, record };
        self.log.push(change.clone());
        Some(change)
    }

    fn snapshot(&self, now: Now) -> Snapshot {
        let recent = self.log.iter().filter(|change| now.unix.since(change.at) <= RETENTION).cloned().collect();
        let records = self.table.values().cloned().collect();
        Snapshot { recent, ..snapshot(at(self.epoch, self.revision), true, records) }
    }
}

proptest! {
    #![proptest_config(testkit::cases(200))]

    #[test]
    fn b55_b56_the_delta_brings_every_client_level_from_any_earlier_list(acts in acts()) {
        let mut seconds = 1000;
        let mut registry = Registry { epoch: 1, ..Registry::default() };
        let mut state = ViewState::new(RETENTION, now(seconds).unix.0);
        state.snapshot(registry.snapshot(now(seconds)), now(seconds));
        let mut readers: Vec<(u64, Held)> = vec![(seconds, Held::new())];
        for act in acts {
            match act {
                Act::Put(app, id, up) => {
                    let status = if up { InstanceStatus::Up } else { InstanceStatus::Down };
                    let change = registry.change(app, id, Some(status), now(seconds)).unwrap();
                    state.changes(Revision(change.revision.0 - 1), change.revision, vec![change], now(seconds).mono).unwrap();
                }
                Act::Remove(app, id) => {
                    let Some(change) = registry.change(app, id, None, now(seconds)) else { continue };
                    state.changes(Revision(change.revision.0 - 1), change.revision, vec![change], now(seconds).mono).unwrap();
                }
                Act::Pass(period) => {
                    seconds += period;
                    state.drop_old_changes(now(seconds).mono);
                    readers.retain(|(read, _)| seconds - read <= RETENTION.as_secs());
                }
                Act::RestartCache => {
                    state = ViewState::new(RETENTION, now(seconds).unix.0);
                    state.snapshot(registry.snapshot(now(seconds)), now(seconds));
                }
                Act::RestartRegistry => {
                    // Its log is gone; a cache-sync that starts after it would know nothing of what was before.
                    if registry.log.iter().any(|change| now(seconds).unix.since(change.at) <= RETENTION) {
                        continue;
                    }
                    registry.epoch += 1;
                    registry.log.clear();
                    state.snapshot(registry.snapshot(now(seconds)), now(seconds));
                }
                Act::Read => readers.push((seconds, full(&document(&state.view().unwrap(), Scope::All)))),
                Act::Expire => {
                    let stale = state.whole(&[Scope::Delta], now(seconds).mono);
                    state.read_lease_times(&stale, Vec::new(), now(seconds).mono, now(seconds).mono);
                }
            }
            let view = state.view().unwrap();
            let (list, delta) = (document(&view, Scope::All), document(&view, Scope::Delta));
            let expected = full(&list);
            prop_assert_eq!(text(&list, "apps__hashcode"), hash(&expected));
            prop_assert_eq!(text(&delta, "apps__hashcode"), hash(&expected));
            for (read, held) in &readers {
                let exactly = |instance: &Value| format!("{} {} {}", instance["instanceId"], instance["status"], instance["lastDirtyTimestamp"]);
                let mut java = held.clone();
                apply_as_java(&mut java, &delta);
                prop_assert_eq!(identities(&java, exactly), identities(&expected, exactly), "Java, {} s later", seconds - read);
                prop_assert_eq!(hash(&java), text(&delta, "apps__hashcode"));
                let address = |instance: &Value| format!("{} {}", instance["hostName"], instance["port"]["$"]);
                let mut node = held.clone();
                apply_as_node(&mut node, &delta);
                prop_assert_eq!(identities(&node, address), identities(&expected, address), "Node, {} s later", seconds - read);
            }
        }
    }
}
