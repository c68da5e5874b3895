//! Random writes, restarts of registry-core and cache-sync, and reads through one facade: every read equals the registry at
//! one revision, never older than the reader's own last acknowledged write while everything is up, and never older than what
//! this facade has served before. Everything runs on one thread, in virtual time and on a manual clock, so that a failure
//! repeats.
//!
//! `steps` says what may happen, `world` does it, `upstreams` cuts the facade off and listens in, `oracle` knows what tier 2
//! has to look like, `reads` judges what a reader was shown.

mod oracle;
mod reads;
mod steps;
mod upstreams;
mod world;

use proptest::{prelude::*, test_runner::FileFailurePersistence};
use steps::{Step, any_case};
use world::World;

/// Cases in an ordinary run; `PROPTEST_CASES` says otherwise.
const CASES: u32 = 64;

fn config() -> ProptestConfig {
    let cases = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default().cases,
        None => CASES,
    };
    ProptestConfig {
        cases,
        max_shrink_iters: 4000,
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
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
