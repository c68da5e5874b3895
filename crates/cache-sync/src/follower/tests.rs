//! A reader that applies every message ends with the documents of the view.

use super::*;
use crate::{
    keys::{Scope, Security, Vip},
    leaf::Entry as _,
    view_state::{Now, Snapshot, ViewState},
};
use proptest::prelude::*;
use registry_model::{ActionType, AppName, Change, Epoch, Mono, NodeId, Record, Revision, UnixMillis};
use registry_proto::cache::{self, Page as PageMessage, PayloadUpdate};
use std::{collections::HashSet, sync::Arc, time::Duration};
use testkit::instances::{instance, record};
use wire_codec::{Document, Extent, Form, Nesting, Page, Payload, Place, Run, encode_head, encode_page, encode_tail};

const NOW: Now = Now { mono: Mono::from_nanos(1), unix: UnixMillis(1_700_000_000_000) };

fn change(revision: u64, app: u8, id: u16, action: ActionType) -> Change {
    let (app, id) = (format!("APP-{app}"), format!("i{id:03}"));
    let mut instance = instance(&app, &id);
    instance.action = action;
    instance.last_dirty = UnixMillis(revision as i64);
    // Each change of an instance may move it to other addresses.
    instance.vip_address = [Some("a"), Some("a,b"), Some("b"), None][revision as usize % 4].map(Into::into);
    instance.secure_vip_address = revision.is_multiple_of(3).then(|| "a".into());
    instance.metadata = [("filler", "x".repeat(3000))].into_iter().collect();
    Change {
        revision: Revision(revision),
        at: NOW.unix,
        record: Record { instance: Arc::new(instance), ..record(&app, &id) },
    }
}

/// A read-only cache in a few lines.
#[derive(Default)]
struct Reader {
    held: HashMap<cache::PayloadKey, (Position, Payload)>,
    /// What it has subscribed to and waits for.
    awaited: HashSet<cache::PayloadKey>,
    parts: Vec<PayloadUpdate>,
    seen: u64,
    watermark: Option<Position>,
}

fn page(message: &PageMessage) -> Page {
    Page::from_parts(message.deflated.clone(), message.crc, message.length.into())
}

impl Reader {
    fn apply(&mut self, message: FollowResponse) {
        assert_eq!(message.sequence, self.seen + 1);
        self.seen = message.sequence;
        match message.step.unwrap() {
            Step::Update(update) if !update.complete => self.parts.push(update),
            Step::Update(last) => {
                let (head, tail) = (page(last.head.as_ref().unwrap()), page(last.tail.as_ref().unwrap()));
                let (key, previous, position) =
                    (last.key.clone().unwrap(), last.previous.map(Position::from), last.position.unwrap().into());
                let parts: Vec<_> = self.parts.drain(..).chain([last]).collect();
                let splices: Vec<_> = parts
                    .iter()
                    .flat_map(|part| &part.splices)
                    .map(|splice| wire_codec::PageSplice {
                        at: splice.at as usize,
                        removed: splice.removed as usize,
                        inserted: splice.pages.iter().map(page).collect(),
                    })
                    .collect();
                let base = match previous {
                    None => Payload::new(head.clone(), vec![], tail.clone()),
                    Some(previous) => {
                        let (held, payload) = &self.held[&key];
                        assert_eq!(*held, previous);
                        payload.clone()
                    }
                };
                let payload = base.splice(head, &splices, tail).unwrap();
                self.awaited.remove(&key);
                self.held.insert(key, (position, payload));
            }
            Step::Gone(gone) => {
                let key = gone.key.unwrap();
                let (held, awaited) = (self.held.remove(&key).is_some(), self.awaited.remove(&key));
                assert!(held || awaited);
            }
            Step::Watermark(mark) => self.watermark = mark.position.map(Into::into),
        }
    }

    fn text(&self, key: &PayloadKey) -> Option<String> {
        let (_, payload) = self.held.get(&key.into())?;
        let plain = payload.pages().flat_map(|page| page.inflate().unwrap()).collect();
        Some(String::from_utf8(plain).unwrap())
    }
}

/// The document that a view has for a key, without any paging history.
fn whole(view: &View, key: &PayloadKey) -> Option<String> {
    let pages = view.pages(&key.scope)?;
    let middle = (0..pages.len()).map(|at| pages.page(at, key.form).unwrap());
    let all = [view.ends(key).0].into_iter().chain(middle).chain([view.ends(key).1]);
    Some(String::from_utf8(all.flat_map(|page| page.inflate().unwrap()).collect()).unwrap())
}

/// The document of an address, made of the registry's records in one piece.
fn whole_vip(view: &View, vip: &Vip, form: Form) -> Option<String> {
    let lists = |record: &&Record| {
        let list = match vip.security {
            Security::Plain => &record.instance.vip_address,
            Security::Secure => &record.instance.secure_vip_address,
        };
        list.as_deref().is_some_and(|list| list.split(',').any(|address| *address == *vip.address))
    };
    let records: Vec<&Record> =
        view.registry.iter().flat_map(|leaf| leaf.entries()).map(|entry| entry.record()).filter(lists).collect();
    let hash: StatusCounts = records.iter().map(|record| record.instance.status).collect();
    let document = Document::Registry { version: -1, hash };
    let runs = records.chunk_by(|left, right| left.key().app == right.key().app).map(|run| Run {
        app: &run[0].key().app,
        records: run.iter().copied(),
        extent: Extent::Whole,
    });
    let page = encode_page(form, Nesting::Registry, Place::First, runs);
    let all = [encode_head(form, &document), page, encode_tail(form, &document)].concat();
    (!records.is_empty()).then(|| String::from_utf8(all).unwrap())
}

fn key(scope: Scope, form: Form) -> PayloadKey {
    PayloadKey { scope, form }
}

fn keys() -> Vec<PayloadKey> {
    let app = |name| Scope::Application(AppName::parse(name).unwrap());
    let scopes = [Scope::All, Scope::Delta, app("APP-0")];
    let in_all_forms = scopes.into_iter().flat_map(|scope| Form::ALL.map(|form| key(scope.clone(), form)));
    let vips = VIPS.map(|(security, address)| Scope::Vip(Vip { security, address: address.into() }));
    let vips = vips.into_iter().flat_map(|scope| [Form::Json, Form::XmlCompact].map(|form| key(scope.clone(), form)));
    in_all_forms.chain(["APP-1", "APP-2"].map(|name| key(app(name), Form::Json))).chain(vips).collect()
}

const VIPS: [(Security, &str); 4] =
    [(Security::Plain, "a"), (Security::Plain, "b"), (Security::Secure, "a"), (Security::Plain, "nobody")];

fn empty_state() -> ViewState {
    let mut state = ViewState::new(Duration::from_secs(180), NOW.unix.0);
    let position = Position { epoch: Epoch(1), revision: Revision(0) };
    state.snapshot(
        Snapshot { node: NodeId(1), position, warm: true, gate_open: true, records: vec![], recent: vec![] },
        NOW,
    );
    state
}

#[derive(Clone, Debug)]
enum Act {
    Change(u8, u16, bool),
    Subscribe(usize),
    Level,
    Forget(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => (0u8..3, 0u16..60, prop::bool::weighted(0.7)).prop_map(|(app, id, put)| Act::Change(app, id, put)),
        2 => (0..keys().len()).prop_map(Act::Subscribe),
        4 => Just(Act::Level),
        1 => (0..keys().len()).prop_map(Act::Forget),
    ];
    prop::collection::vec(act, 1..150)
}

proptest! {
    #![proptest_config(testkit::cases(16))]

    #[test]
    fn a_reader_that_applies_every_message_holds_the_documents_of_the_view(mode in prop::sample::select(vec![FollowMode::Push, FollowMode::OnRequest]), acts in acts()) {
        let metrics = Metrics::default();
        let (mut state, follower, mut reader, keys) = (empty_state(), Follower::new(mode, Arc::default()), Reader::default(), keys());
        let mut revision = 0;
        let mut view = state.view().unwrap();
        for act in acts.into_iter().chain((0..keys.len()).map(Act::Subscribe)).chain([Act::Level]) {
            match act {
                Act::Change(app, id, put) => {
                    revision += 1;
                    let action = if put { ActionType::Added } else { ActionType::Deleted };
                    state.changes(Revision(revision - 1), Revision(revision), vec![change(revision, app, id, action)], NOW.mono).unwrap();
                    view = state.view().unwrap();
                }
                Act::Subscribe(at) => {
                    let held = reader.held.get(&(&keys[at]).into()).map(|(position, _)| *position);
                    let outcome = follower.subscribe(keys[at].clone(), held, reader.seen, &view, &metrics);
                    // Whoever still waits for what has gone meanwhile is told so by the stream.
                    let awaited = reader.awaited.contains(&(&keys[at]).into());
                    let known = view.pages(&keys[at].scope).is_some() || held.is_some() || awaited;
                    prop_assert_eq!(outcome == SubscribeOutcome::Subscribed, known);
                    if known {
                        reader.awaited.insert((&keys[at]).into());
                    }
                }
                Act::Level => {
                    follower.carry_out(follower.plan(&view), &metrics).into_iter().for_each(|message| reader.apply(message));
                    prop_assert_eq!(reader.watermark, Some(view.level.position));
                    if mode == FollowMode::Push {
                        for key in &keys {
                            if reader.text(key).is_some() {
                                prop_assert_eq!(reader.text(key), whole(&view, key));
                            }
                        }
                    }
                }
                // A message was lost: the next subscription tells, and the payload comes whole.
                Act::Forget(at) => {
                    if let Some((position, _)) = reader.held.get_mut(&(&keys[at]).into()) {
                        position.revision = Revision(u64::MAX);
                        follower.subscribe(keys[at].clone(), Some(*position), reader.seen, &view, &metrics);
                    }
                }
            }
        }
        for key in &keys {
            prop_assert_eq!(reader.text(key), whole(&view, key));
            if let Scope::Vip(vip) = &key.scope {
                prop_assert_eq!(reader.text(key), whole_vip(&view, vip, key.form));
            }
        }
    }
}

#[test]
fn b65_only_payloads_that_a_change_touches_are_looked_at() {
    let metrics = Metrics::default();
    let interest: Arc<Interest> = Arc::default();
    let (mut state, follower) = (empty_state(), Follower::new(FollowMode::Push, Arc::clone(&interest)));
    let placed = |revision: u64, app: u8, id: u16, vip: &str| {
        let mut change = change(revision, app, id, ActionType::Added);
        let instance = Arc::make_mut(&mut change.record.instance);
        (instance.vip_address, instance.secure_vip_address) = (Some(vip.into()), None);
        change
    };
    let changes = (1..=200).map(|n| placed(n, n as u8, n as u16, &format!("v{n}"))).collect();
    state.changes(Revision(0), Revision(200), changes, NOW.mono).unwrap();
    let view = state.view().unwrap();
    let vip = |n: u64| Scope::Vip(Vip { security: Security::Plain, address: format!("v{n}").into() });
    for n in 1..=200 {
        let app = Scope::Application(AppName::parse(&format!("APP-{n}")).unwrap());
        for scope in [app, vip(n)] {
            follower.subscribe(key(scope, Form::Json), None, 0, &view, &metrics);
        }
    }
    assert_eq!(follower.plan(&view).work.len(), 400);
    assert_eq!(follower.plan(&view).work.len(), 0);
    state.changes(Revision(200), Revision(201), vec![placed(201, 7, 7, "v8")], NOW.mono).unwrap();
    let plan = follower.plan(&state.view().unwrap());
    let mut scopes: Vec<_> =
        plan.work.iter().map(|work| (format!("{:?}", work.key.scope), work.now.is_some())).collect();
    scopes.sort();
    let app = Scope::Application(AppName::parse("APP-7").unwrap());
    let expected = [(app, true), (vip(7), false), (vip(8), true)].map(|(scope, there)| (format!("{scope:?}"), there));
    assert_eq!(scopes, expected);

    follower.carry_out(plan, &metrics);
    assert!(interest.lacks(&vip(7)), "what is gone interests nobody");
    assert!(!interest.lacks(&vip(8)));
    drop(follower);
    assert_eq!(interest.scopes(), []);
}

#[test]
fn a_follower_that_looks_at_nothing_is_told_how_far_the_view_is_and_keeps_none() {
    let metrics = Metrics::default();
    for mode in [FollowMode::Push, FollowMode::OnRequest] {
        let (mut state, follower) = (empty_state(), Follower::new(mode, Arc::default()));
        assert!(!follower.looks_at_something());
        let told = follower.tell(state.level().unwrap()).unwrap();
        assert!(matches!(told.step, Some(Step::Watermark(_))));
        assert!(follower.tell(state.level().unwrap()).is_none(), "it knows that");

        state.changes(Revision(0), Revision(1), vec![change(1, 0, 0, ActionType::Added)], NOW.mono).unwrap();
        let view = state.view().unwrap();
        let app = Scope::Application(AppName::parse("APP-0").unwrap());
        follower.subscribe(key(app, Form::Json), None, told.sequence, &view, &metrics);
        assert!(follower.looks_at_something());
        follower.carry_out(follower.plan(&view), &metrics);
        assert_eq!(
            follower.looks_at_something(),
            mode == FollowMode::Push,
            "pages are kept fresh for who wants them pushed"
        );

        let earlier = state.level().unwrap();
        state.changes(Revision(1), Revision(2), vec![change(2, 0, 0, ActionType::Deleted)], NOW.mono).unwrap();
        follower.carry_out(follower.plan(&state.view().unwrap()), &metrics);
        assert!(follower.tell(earlier).is_none(), "a watermark never goes back");
        if mode == FollowMode::Push {
            assert!(!follower.looks_at_something(), "its only payload is gone");
            assert_eq!(Arc::strong_count(&view), 1);
        }
    }
}

#[test]
fn s4_names_that_nobody_registered_leave_nothing_behind() {
    let metrics = Metrics::default();
    let interest: Arc<Interest> = Arc::default();
    let (state, follower) = (empty_state(), Follower::new(FollowMode::Push, Arc::clone(&interest)));
    let view = state.view().unwrap();
    for n in 0..1000 {
        let app = Scope::Application(AppName::parse(&format!("APP-{n}")).unwrap());
        let vip = Scope::Vip(Vip { security: Security::Secure, address: format!("v{n}").into() });
        for scope in [app, vip] {
            let outcome = follower.subscribe(key(scope, Form::Json), None, 0, &view, &metrics);
            assert_eq!(outcome, SubscribeOutcome::NotFound);
        }
    }
    let kept = follower.state.lock();
    assert_eq!((kept.subscriptions.len(), kept.demanding.len()), (0, 0));
    assert_eq!(interest.scopes(), []);
}

#[test]
fn a_reader_that_holds_nothing_gets_a_whole_payload_even_while_updates_are_on_their_way() {
    let metrics = Metrics::default();
    let (mut state, follower, all) =
        (empty_state(), Follower::new(FollowMode::Push, Arc::default()), key(Scope::All, Form::Json));
    let mut level = |revision: u64| {
        state
            .changes(
                Revision(revision - 1),
                Revision(revision),
                vec![change(revision, 0, 1, ActionType::Added)],
                NOW.mono,
            )
            .unwrap();
        let view = state.view().unwrap();
        (follower.carry_out(follower.plan(&view), &metrics), view)
    };
    let (_, view) = level(1);
    follower.subscribe(all.clone(), None, 0, &view, &metrics);
    let (whole, _) = level(2);
    let seen = whole.back().unwrap().sequence;
    // The reader could not use what it saw, and says so; an incremental update has left meanwhile.
    let (_, view) = level(3);
    follower.subscribe(all, None, seen, &view, &metrics);
    let (repaired, _) = level(4);
    let update = repaired.into_iter().find_map(|message| match message.step {
        Some(Step::Update(update)) => Some(update),
        _ => None,
    });
    assert_eq!(update.unwrap().previous, None);
}

#[test]
fn a_large_payload_comes_in_parts() {
    let metrics = Metrics::default();
    let (mut state, follower, mut reader) =
        (empty_state(), Follower::new(FollowMode::Push, Arc::default()), Reader::default());
    let noise = |seed: u64| {
        let numbers =
            std::iter::successors(Some(seed + 1), |n| Some(n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1)));
        numbers.take(12_000).map(|n| char::from(b'a' + (n >> 33) as u8 % 26)).collect::<String>()
    };
    let records: Vec<Change> = (0..300u16)
        .map(|id| {
            let mut change = change(u64::from(id) + 1, 0, id, ActionType::Added);
            Arc::make_mut(&mut change.record.instance).metadata = [("noise", noise(id.into()))].into_iter().collect();
            change
        })
        .collect();
    state.changes(Revision(0), Revision(300), records, NOW.mono).unwrap();
    let view = state.view().unwrap();
    let all = key(Scope::All, Form::Json);
    follower.subscribe(all.clone(), None, 0, &view, &metrics);
    let plan = follower.plan(&view);
    assert!(plan.pages() > 20, "{} pages", plan.pages());
    let messages = follower.carry_out(plan, &metrics);
    assert!(messages.len() > 2, "{} messages", messages.len());
    messages.into_iter().for_each(|message| reader.apply(message));
    assert_eq!(reader.text(&all), whole(&view, &all));
    let plan = follower.plan(&view);
    assert_eq!(plan.pages(), 0);
    assert!(follower.carry_out(plan, &metrics).is_empty());
}

/// The number in the head or the tail of a delta in this form, and that part.
fn numbered((head, tail): &(Page, Page), form: Form) -> (i64, String) {
    let text = |page: &Page| String::from_utf8(page.inflate().unwrap().to_vec()).unwrap();
    let ends = [text(head), text(tail)];
    let numbered: Vec<&String> = ends.iter().filter(|text| text.contains("versions__delta")).collect();
    let is_compact = matches!(form, Form::JsonCompact | Form::XmlCompact);
    assert_eq!(numbered, [&ends[usize::from(is_compact)]], "{form:?}");
    let digits = numbered[0].split("versions__delta").nth(1).unwrap();
    let number: String =
        digits.chars().skip_while(|digit| !digit.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
    (number.parse().unwrap(), numbered[0].clone())
}

#[test]
fn a_delta_document_has_one_number_in_its_head_or_its_tail_and_no_other_document_has_it() {
    let mut state = empty_state();
    let (mut seen, mut regional) = (HashSet::new(), HashSet::new());
    for revision in 1..4 {
        let changes = vec![change(revision, 0, 1, ActionType::Added)];
        state.changes(Revision(revision - 1), Revision(revision), changes, NOW.mono).unwrap();
        let view = state.view().unwrap();
        for form in Form::ALL {
            let key = key(Scope::Delta, form);
            for (ends, seen) in [(view.ends(&key), &mut seen), (view.regional_ends(&key).unwrap(), &mut regional)] {
                let (number, text) = numbered(&ends, form);
                assert!(text.contains("UP_1_"), "{form:?}: {text}");
                assert!(seen.insert(number), "{form:?}: a number comes twice");
            }
            assert_eq!(view.ends(&key), view.ends(&key));
            assert_eq!(view.regional_ends(&key), view.regional_ends(&key));
        }
    }
    assert_eq!((seen.len(), regional.len()), (3 * Form::ALL.len(), 3 * Form::ALL.len()));
}

#[test]
fn srv_90_deltas_are_numbered_from_the_first_over_all_forms_and_those_for_regions_apart() {
    let mut state = ViewState::new(Duration::from_secs(180), 1);
    let position = Position { epoch: Epoch(1), revision: Revision(0) };
    let (records, recent) = Default::default();
    state.snapshot(Snapshot { node: NodeId(1), position, warm: true, gate_open: true, records, recent }, NOW);
    let view = state.view().unwrap();
    let number = |form| numbered(&view.ends(&key(Scope::Delta, form)), form).0;
    assert_eq!((number(Form::Json), number(Form::Xml)), (1, 2));
    let regional = view.regional_ends(&key(Scope::Delta, Form::Json)).unwrap();
    assert_eq!(numbered(&regional, Form::Json).0, 1);
    assert_eq!(view.regional_ends(&key(Scope::All, Form::Json)), None);
}

#[test]
fn followers_are_told_when_lists_may_be_served_and_never_that_they_may_not_any_more() {
    let position = |epoch| Position { epoch: Epoch(epoch), revision: Revision(0) };
    let snapshot = |epoch| {
        let (records, recent) = Default::default();
        Snapshot { node: NodeId(1), position: position(epoch), warm: false, gate_open: false, records, recent }
    };
    for mode in [FollowMode::Push, FollowMode::OnRequest] {
        let follower = Follower::new(mode, Arc::default());
        let told = |state: &ViewState| {
            let plan = follower.plan(&state.view().unwrap());
            let messages = follower.carry_out(plan, &Metrics::default());
            let watermark = |message: FollowResponse| match message.step.unwrap() {
                Step::Watermark(watermark) => watermark.gate_closed,
                other => panic!("{other:?}"),
            };
            messages.into_iter().map(watermark).collect::<Vec<_>>()
        };
        let mut state = ViewState::new(Duration::from_secs(180), 1);
        state.snapshot(snapshot(1), NOW);
        assert_eq!((told(&state), told(&state)), (vec![true], vec![]));
        state.open_gate();
        assert_eq!((told(&state), told(&state)), (vec![false], vec![]));
        // A registry that starts over, its gate closed.
        state.snapshot(snapshot(2), NOW);
        assert_eq!(told(&state), [false]);
    }
}
