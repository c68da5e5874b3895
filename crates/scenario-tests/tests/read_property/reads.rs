//! Judges what a reader was shown: which of tier 2's views it may be, and whether it is one of them.

use crate::{
    oracle::{Key, Oracle, Table, View, without_renewal},
    steps::{Payload, Scope, app_name},
};
use registry_model::{Clock as _, Mono, Position};
use scenario_tests::{Applications, Fields, Instance};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};
use testkit::ManualClock;

const RETENTION: Duration = Duration::from_secs(180);

/// What the facade showed last under one key.
#[derive(Clone, Debug)]
struct Served {
    /// The first view that it may have been.
    view: usize,
    /// None after a 404, since nothing is held then.
    held: Option<Held>,
}

/// Where what is held came from.
#[derive(Clone, Debug)]
struct Held {
    /// The lives of cache-sync that it may have come from: it may look the same in several.
    caches: BTreeSet<u64>,
    /// The follow stream; the earliest one that it may be, where that is not certain.
    stream: u64,
    is_certain: bool,
}

impl Held {
    /// Whether it may become this view: one that the same cache-sync went on to, or a complete one.
    fn may_become(&self, view: &View) -> bool {
        view.complete || self.caches.contains(&view.cache)
    }
}

/// A client that keeps its list by the Java client's algorithm.
#[derive(Clone, Debug)]
struct Reader {
    list: BTreeMap<String, BTreeMap<String, Fields>>,
    view: usize,
}

/// All readers of the facade.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    served: BTreeMap<Payload, Served>,
    /// The stream on which a payload was asked for that may have come after its reader was sent away.
    asked: BTreeMap<Payload, u64>,
    readers: BTreeMap<bool, Reader>,
}

/// What is known when a read begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    payload: Payload,
    /// Whether everything is up, and the facade level with it.
    pub(crate) healthy: bool,
    /// Whether nothing is under way either.
    settled: bool,
    push: bool,
    acknowledged: Option<Position>,
    views: usize,
    stream: u64,
    /// Whether the facade had ever seen a complete view.
    was_complete: bool,
    /// Whether the present one was.
    complete: bool,
}

/// What a reader was shown.
#[derive(Debug)]
pub(crate) enum Answer {
    Document(Applications),
    NotFound,
    Unavailable,
}

impl Reads {
    /// Whether the facade holds payloads that never end from before this stream.
    pub(crate) fn held_lists_before(&self, stream: u64) -> bool {
        self.served.iter().any(|(payload, served)| match payload.scope {
            Scope::All | Scope::Delta => {
                served.held.as_ref().is_some_and(|held| held.is_certain && held.stream < stream)
            }
            Scope::App(_) => false,
        })
    }

    pub(crate) fn begin(&self, oracle: &Oracle, payload: Payload, up: bool, settled: bool, push: bool) -> Begun {
        Begun {
            payload,
            healthy: up && oracle.follow.level,
            settled,
            push,
            // A write of a life that is over may be lost, and one that tier 2 has not come to may not be there yet.
            acknowledged: oracle.acknowledged.filter(|position| oracle.is_of_present_life(*position)),
            views: oracle.views.len(),
            stream: oracle.follow.stream,
            was_complete: oracle.was_complete,
            complete: oracle.follow.mark.is_some_and(|(_, complete)| complete),
        }
    }

    /// Judges an answer. `healthy`: whether the read was so from its beginning to its end.
    pub(crate) fn end(
        &mut self,
        begun: Begun,
        healthy: bool,
        answer: &Answer,
        oracle: &Oracle,
        clock: &ManualClock,
    ) -> Result<(), String> {
        let served = self.served.get(&begun.payload).cloned();
        let follow = oracle.follow;
        let complete = follow.mark.is_some_and(|(_, complete)| complete);
        // Held from an earlier stream, it is left alone until the view behind the present one is complete; a read meanwhile sees either.
        let held = served.as_ref().and_then(|served| served.held.as_ref());
        let since = held.map(|held| held.stream).or(self.asked.get(&begun.payload).copied());
        let may_be_frozen = since.is_some_and(|since| since < follow.stream) && !(complete && begun.complete);
        let mut first = served.as_ref().map_or(0, |served| served.view);
        if healthy && !may_be_frozen {
            if begun.settled {
                first = first.max(begun.views - 1);
            } else if begun.push
                && let Some(acknowledged) = begun.acknowledged
            {
                let shows = |view: &View| view.cache == oracle.cache() && view.at.includes(acknowledged);
                let shown = oracle.views.iter().position(shows);
                first = first.max(shown.ok_or("the read did not wait for the last acknowledged write")?);
            }
        }
        let surely_held = held.filter(|held| {
            let later = oracle.views.iter().skip(first);
            later.filter(|view| held.may_become(view)).all(|view| exists(view, begun.payload))
        });
        // What readers have seen complete they are not shown nearly empty, under whatever key.
        let may_show = |view: &View| match surely_held.or(held.filter(|_| begun.was_complete)) {
            Some(held) => held.may_become(view),
            None => view.complete || !begun.was_complete,
        };
        let is_refused = surely_held.is_none() && oracle.was_complete && !complete;
        let candidates: Vec<usize> = (first..oracle.views.len()).filter(|at| may_show(&oracle.views[*at])).collect();

        let document = match answer {
            Answer::Unavailable if healthy && !is_refused => return Err("503 while everything is up".to_owned()),
            Answer::Unavailable if surely_held.is_some() => return Err("503 for what is held".to_owned()),
            Answer::Unavailable => {
                self.asked.entry(begun.payload).or_insert(begun.stream);
                return Ok(());
            }
            Answer::NotFound => {
                let absent = candidates.iter().find(|at| !exists(&oracle.views[**at], begun.payload));
                let view = *absent.ok_or_else(|| format!("404, but it exists in all of {candidates:?}"))?;
                self.served.insert(begun.payload, Served { view, held: None });
                return Ok(());
            }
            Answer::Document(document) => Seen::of(document)?,
        };
        let now = clock.mono();
        let matching: Vec<usize> =
            candidates.iter().copied().filter(|at| document.is(&oracle.views[*at], begun.payload, now)).collect();
        let view = *matching.first().ok_or_else(|| {
            let candidates: Vec<_> = candidates.iter().map(|at| (at, describe(&oracle.views[*at]))).collect();
            format!("it is none of the views that it may be\nshown: {document:#?}\nviews: {candidates:#?}\nserved: {served:?}, begun: {begun:?}, follow: {follow:?}")
        })?;
        let stream = since.filter(|_| may_be_frozen).unwrap_or(follow.stream);
        let is_certain = held.map_or(!may_be_frozen, |held| held.is_certain || !may_be_frozen);
        let caches = matching.iter().map(|at| oracle.views[*at].cache).collect();
        self.served.insert(begun.payload, Served { view, held: Some(Held { caches, stream, is_certain }) });
        self.keep_list(begun.payload, &document, &matching, oracle, now)
    }

    /// The Java client: a full list replaces its own, a delta is applied to it, and the hash tells whether that went well.
    fn keep_list(
        &mut self,
        payload: Payload,
        document: &Seen,
        matching: &[usize],
        oracle: &Oracle,
        now: Mono,
    ) -> Result<(), String> {
        match payload.scope {
            Scope::All => {
                self.readers.insert(payload.is_json, Reader { list: document.list(), view: matching[0] });
            }
            Scope::Delta => {
                let Some(mut reader) = self.readers.remove(&payload.is_json) else { return Ok(()) };
                reader.apply(document);
                let fits = |at: &usize| reader.is(&oracle.views[*at].table) && reader.hash() == document.hash;
                let owed = |at: &usize| {
                    let cache = oracle.views[reader.view].cache;
                    // From the list that the reader had to this one without a restart, and nothing left the delta meanwhile.
                    *at >= reader.view
                        && oracle.views[reader.view..=*at].iter().all(|view| view.cache == cache)
                        && oracle.views[reader.view + 1..=*at]
                            .iter()
                            .all(|view| now.saturating_since(view.taken) <= RETENTION)
                };
                match matching.iter().find(|at| fits(at)) {
                    Some(at) => {
                        reader.view = (*at).max(reader.view);
                        self.readers.insert(payload.is_json, reader);
                    }
                    None if matching.iter().all(owed) => {
                        return Err(format!(
                            "a delta does not lead from one list to the next\n{document:#?}\n{reader:#?}"
                        ));
                    }
                    // It would fetch the full list now.
                    None => {}
                }
            }
            Scope::App(_) => {}
        }
        Ok(())
    }
}

impl Reader {
    fn apply(&mut self, delta: &Seen) {
        for (app, instances) in &delta.apps {
            for (id, action, fields) in instances {
                match action.as_str() {
                    "ADDED" | "MODIFIED" => {
                        // An application that it does not know yet it takes as it stands in the delta.
                        let whole = || instances.iter().map(|(id, _, fields)| (id.clone(), fields.clone())).collect();
                        let known = self.list.entry(app.clone()).or_insert_with(whole);
                        known.insert(id.clone(), fields.clone());
                    }
                    "DELETED" => {
                        if let Some(known) = self.list.get_mut(app) {
                            known.remove(id);
                            if known.is_empty() {
                                self.list.remove(app);
                            }
                        }
                    }
                    other => panic!("no such action: {other}"),
                }
            }
        }
    }

    fn hash(&self) -> Option<String> {
        let instances = self.list.values().flat_map(BTreeMap::values);
        let instances = instances.map(|fields| Instance { fields: fields.clone() }).collect();
        Some(Applications { apps: vec![(String::new(), instances)], ..Applications::default() }.counted_hash())
    }

    fn is(&self, table: &Table) -> bool {
        let list = self.list.iter().flat_map(|(app, instances)| {
            instances.iter().map(move |(id, fields)| ((app.as_str(), id.as_str()), fields))
        });
        list.eq(table.iter().map(|((app, id), shown)| ((app.as_str(), id.as_str()), &shown.fields)))
    }
}

/// Id, action and leaves.
type Entry = (String, String, Fields);

/// A document in a shape to be compared.
#[derive(Debug)]
struct Seen {
    hash: Option<String>,
    apps: Vec<(String, Vec<Entry>)>,
}

impl Seen {
    fn of(document: &Applications) -> Result<Self, String> {
        let instance = |instance: &Instance| {
            let mut fields = instance.fields.clone();
            without_renewal(&mut fields);
            (instance.id().to_owned(), instance.action().to_owned(), fields)
        };
        let apps: Vec<_> = document
            .apps
            .iter()
            .map(|(app, instances)| (app.clone(), instances.iter().map(instance).collect::<Vec<_>>()))
            .collect();
        let names: Vec<_> = apps.iter().map(|(app, _)| app).collect();
        let ordered = names.windows(2).all(|pair| pair[0] < pair[1]) && apps.iter().all(|(_, list)| !list.is_empty());
        if ordered { Ok(Self { hash: document.hash.clone(), apps }) } else { Err(format!("applications {names:?}")) }
    }

    fn list(&self) -> BTreeMap<String, BTreeMap<String, Fields>> {
        let list =
            |instances: &Vec<Entry>| instances.iter().map(|(id, _, fields)| (id.clone(), fields.clone())).collect();
        self.apps.iter().map(|(app, instances)| (app.clone(), list(instances))).collect()
    }

    fn entries(&self) -> impl Iterator<Item = (Key, &str, &Fields)> {
        self.apps.iter().flat_map(|(app, instances)| {
            instances.iter().map(move |(id, action, fields)| ((app.clone(), id.clone()), action.as_str(), fields))
        })
    }

    fn is(&self, view: &View, payload: Payload, now: Mono) -> bool {
        match payload.scope {
            Scope::All => self.hash == Some(hash(&view.table)) && self.is_list(view.table.iter()),
            Scope::App(app) => {
                let app = app_name(app);
                self.hash.is_none() && self.is_list(view.table.iter().filter(|((name, _), _)| *name == app))
            }
            Scope::Delta => self.hash == Some(hash(&view.table)) && self.is_delta(view, now),
        }
    }

    /// In the order of the names.
    fn is_list<'a>(&self, table: impl Iterator<Item = (&'a Key, &'a std::sync::Arc<crate::oracle::Shown>)>) -> bool {
        let expected = table.map(|(key, shown)| (key.clone(), &shown.fields));
        self.entries().map(|(key, _, fields)| (key, fields)).eq(expected)
    }

    /// Each entry is the last change of its instance, what is young enough is there, and removals come last.
    fn is_delta(&self, view: &View, now: Mono) -> bool {
        let entries: BTreeMap<Key, &Fields> = self.entries().map(|(key, _, fields)| (key, fields)).collect();
        let one_each = entries.len() == self.entries().count();
        let known =
            entries.iter().all(|(key, fields)| view.delta.get(key).is_some_and(|entry| entry.shown.fields == **fields));
        let young = view.delta.iter().filter(|(_, entry)| now.saturating_since(entry.taken) <= RETENTION);
        let whole = young.map(|(key, _)| key).all(|key| entries.contains_key(key));
        let ordered = self.apps.iter().all(|(_, list)| list.is_sorted_by_key(|(_, action, _)| action == "DELETED"));
        one_each && known && whole && ordered
    }
}

fn exists(view: &View, payload: Payload) -> bool {
    match payload.scope {
        Scope::All | Scope::Delta => true,
        Scope::App(app) => {
            let app = app_name(app);
            view.table.keys().any(|(name, _)| *name == app)
        }
    }
}

fn hash(table: &Table) -> String {
    let instances = table.values().map(|shown| Instance { fields: shown.fields.clone() }).collect();
    Applications { apps: vec![(String::new(), instances)], ..Applications::default() }.counted_hash()
}

fn describe(view: &View) -> String {
    let list = |(key, shown): (&Key, &std::sync::Arc<crate::oracle::Shown>)| {
        format!("{}/{} {} {}", key.0, key.1, shown.record.instance.action.as_str(), shown.record.instance.last_dirty)
    };
    let table: Vec<_> = view.table.iter().map(list).collect();
    let delta: Vec<_> = view.delta.iter().map(|(key, entry)| list((key, &entry.shown))).collect();
    format!("cache {} at {} complete {}: {table:?}, delta {delta:?}", view.cache, view.at, view.complete)
}
