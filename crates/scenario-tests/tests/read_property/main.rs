//! Random writes, restarts of registry-core and cache-sync, and reads through one facade: every read equals the registry at
//! one revision, never older than the reader's own last acknowledged write while everything is up, and never older than what
//! this facade has served before. Everything runs on one thread, in virtual time and on a manual clock, so that a failure
//! repeats.
//!
//! `steps` says what may happen, `world` does it, `upstreams` cuts the facade off and listens in, `oracle` knows what tier 2
//! has to look like, `reads` judges what a reader was shown.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "this is how a test fails; its stories are functions of their own"
)]

mod oracle;
mod reads;
mod steps;
mod upstreams;
mod world;

use proptest::{prelude::*, test_runner::FileFailurePersistence};
use steps::{Fault, Part, Payload, Read, Registration, Scope, Step, Turn, any_case};
use world::World;

/// Cases in an ordinary run; `PROPTEST_CASES` says otherwise.
const CASES: u32 = 64;

fn config() -> ProptestConfig {
    ProptestConfig {
        max_shrink_iters: 4000,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..testkit::cases(CASES)
    }
}

fn run(push: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut world = World::new(push).await;
        for (place, step) in steps.iter().enumerate() {
            world.step(step).await.map_err(|fault| TestCaseError::fail(format!("step {place}, {step:?}: {fault}")))?;
        }
        world.finish().await.map_err(|fault| TestCaseError::fail(format!("in the end: {fault}")))
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_read_equals_the_registry_at_one_revision((push, steps) in any_case()) {
        run(push, &steps)?;
    }
}

const LISTING: Step = Step::Read(Read { payload: Payload { scope: Scope::All, is_json: true }, gzip: false });

const fn registration(id: u8) -> Step {
    Step::Register(Registration { app: 0, id, status: "UP", vip: 0, dirty: 1 })
}

const fn fault(part: Part, turn: Turn) -> Step {
    Step::Fault(Fault { part, turn })
}

#[test]
fn a_registry_that_becomes_warm_while_it_is_cut_off_is_told_so_on_coming_back() {
    let cut = [Step::Settle, fault(Part::Registry, Turn::Down), Step::Advance(91), fault(Part::Registry, Turn::Back)];
    run(true, &[&cut[..], &[Step::Settle, LISTING]].concat()).unwrap();
}

#[test]
fn a_life_that_ends_before_tier_2_has_seen_it_holds_up_no_read() {
    run(true, &[registration(0), fault(Part::Registry, Turn::New), Step::Settle, LISTING]).unwrap();
}

#[test]
fn without_push_a_page_of_an_incomplete_view_is_not_shown_once_the_view_is_complete() {
    let steps = [
        registration(0),
        Step::Settle,
        LISTING,
        fault(Part::Registry, Turn::New),
        fault(Part::Cache, Turn::New),
        Step::Settle,
        LISTING,
        registration(1),
        Step::Advance(91),
        LISTING,
        Step::Pause(20),
        LISTING,
        Step::Settle,
        LISTING,
    ];
    for push in [true, false] {
        run(push, &steps).unwrap();
    }
}
