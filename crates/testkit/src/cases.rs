//! How many cases a property is tried with. Called by the tests whose cases are slow.

use proptest::test_runner::Config;

/// So many cases in an ordinary run; where `PROPTEST_CASES` is set, it says how many.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the environment of a test run is no setting of the product")]
pub fn cases(ordinary: u32) -> Config {
    let default = Config::default();
    let cases = if std::env::var("PROPTEST_CASES").is_ok() { default.cases } else { ordinary };
    Config { cases, ..default }
}
