//! What may happen, and how likely it is.

use proptest::{collection::vec, prelude::*, sample::select};
use wire_codec::Form;

/// One thing that happens. One that makes no sense at the moment does nothing.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Register(Registration),
    Cancel {
        app: u8,
        id: u8,
    },
    Renew {
        app: u8,
        id: u8,
    },
    ReadOne {
        app: u8,
        id: u8,
    },
    Read(Read),
    /// A read under way while something happens.
    ReadWhile(Read, Fault),
    Fault(Fault),
    /// Seconds on the manual clock, in one jump.
    Advance(u16),
    /// Milliseconds for the services to get on with what they are at.
    Pause(u8),
    /// Everything gets the time that it needs.
    Settle,
}

#[derive(Clone, Debug)]
pub(crate) struct Registration {
    pub(crate) app: u8,
    pub(crate) id: u8,
    pub(crate) status: &'static str,
    pub(crate) vip: u8,
    /// Against the stamp that the instance was last registered with.
    pub(crate) dirty: i8,
}

#[derive(Clone, Debug)]
pub(crate) struct Read {
    pub(crate) payload: Payload,
    pub(crate) gzip: bool,
}

/// What a facade holds under one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Payload {
    pub(crate) scope: Scope,
    pub(crate) is_json: bool,
}

impl Payload {
    pub(crate) fn form(self) -> Form {
        if self.is_json { Form::Json } else { Form::Xml }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    All,
    Delta,
    App(u8),
}

/// What happens to registry-core or cache-sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) part: Part,
    pub(crate) turn: Turn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Registry,
    Cache,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Cannot be reached any more.
    Down,
    /// Can be reached again, and is what it was; if it was up, its streams break.
    Back,
    /// A new one, empty, in its place.
    New,
}

pub(crate) const APPS: u8 = 3;
pub(crate) const IDS: u8 = 3;

pub(crate) fn app_name(app: u8) -> String {
    format!("APP-{app}")
}

pub(crate) fn instance_id(id: u8) -> String {
    format!("id-{id}")
}

/// Whether changes are pushed, and what happens.
pub(crate) fn any_case() -> impl Strategy<Value = (bool, Vec<Step>)> {
    (prop::bool::weighted(0.85), vec(any_step(), 1..60))
}

fn any_step() -> impl Strategy<Value = Step> {
    let instance = || (0..APPS, 0..IDS);
    prop_oneof![
        12 => any_registration().prop_map(Step::Register),
        5 => instance().prop_map(|(app, id)| Step::Cancel { app, id }),
        1 => instance().prop_map(|(app, id)| Step::Renew { app, id }),
        1 => instance().prop_map(|(app, id)| Step::ReadOne { app, id }),
        18 => any_read().prop_map(Step::Read),
        2 => (any_read(), any_fault()).prop_map(|(read, fault)| Step::ReadWhile(read, fault)),
        6 => any_fault().prop_map(Step::Fault),
        3 => select(vec![1, 6, 29, 31, 60, 89, 91, 181]).prop_map(Step::Advance),
        3 => (1..30u8).prop_map(Step::Pause),
        5 => Just(Step::Settle),
    ]
}

fn any_registration() -> impl Strategy<Value = Registration> {
    let status = select(vec!["UP", "UP", "DOWN", "STARTING", "OUT_OF_SERVICE"]);
    (0..APPS, 0..IDS, status, 0..3u8, select(vec![1i8, 1, 1, 0, -1]))
        .prop_map(|(app, id, status, vip, dirty)| Registration { app, id, status, vip, dirty })
}

fn any_read() -> impl Strategy<Value = Read> {
    let scope = prop_oneof![
        3 => Just(Scope::All),
        3 => Just(Scope::Delta),
        // One more than is ever registered.
        3 => (0..=APPS).prop_map(Scope::App),
    ];
    (scope, any::<bool>(), any::<bool>())
        .prop_map(|(scope, is_json, gzip)| Read { payload: Payload { scope, is_json }, gzip })
}

fn any_fault() -> impl Strategy<Value = Fault> {
    let turn = select(vec![Turn::Down, Turn::Back, Turn::New, Turn::New]);
    (select(vec![Part::Registry, Part::Cache]), turn).prop_map(|(part, turn)| Fault { part, turn })
}
