//! Eureka's limiter of list reads: two token buckets for all clients together. Pure: the time is an argument. Asked by
//! `router` for every read of a list, unless it is off.

use parking_lot::Mutex;
use registry_model::Mono;
use std::{collections::HashSet, time::Duration};

/// What the limiter does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limiting {
    /// Nothing; nobody is looked at.
    Off,
    /// Counts whom it would refuse.
    Count,
    /// Refuses.
    On,
}

/// The limiter's settings.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct RateLimits {
    /// Whether reads of lists are limited: `false`, `true`, or `count` to count what would be refused.
    #[arg(long = "rate-limiter-enabled", value_name = "WHETHER", default_value = "false", num_args = 0..=1,
          default_missing_value = "true", value_parser = limiting)]
    pub(crate) limiting: Limiting,
    /// How many reads may come at once; 0 for any number.
    #[arg(long = "rate-limiter-burst-size", value_name = "COUNT", default_value = "10")]
    pub(crate) burst: u32,
    /// How many reads of lists may come a second in the long run; 0 for any number.
    #[arg(long = "rate-limiter-registry-fetch-average-rate", value_name = "COUNT", default_value = "500")]
    pub(crate) registry_fetch_rate: u32,
    /// How many of them may be reads of all applications; 0 for any number.
    #[arg(long = "rate-limiter-full-fetch-average-rate", value_name = "COUNT", default_value = "100")]
    pub(crate) full_fetch_rate: u32,
    /// Whether clients are limited that name themselves as Eureka's own do.
    #[arg(long = "rate-limiter-throttle-standard-clients", value_name = "BOOL", default_value = "false",
          action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    pub(crate) throttle_standard_clients: bool,
    /// Names of clients that are never limited, separated by commas.
    #[arg(long = "rate-limiter-privileged-clients", value_name = "NAMES", value_delimiter = ',')]
    pub(crate) privileged_clients: Vec<String>,
}

fn limiting(text: &str) -> Result<Limiting, String> {
    match text {
        "false" => Ok(Limiting::Off),
        "count" => Ok(Limiting::Count),
        "true" => Ok(Limiting::On),
        _ => Err("must be false, true or count".to_owned()),
    }
}

/// Which kind of list is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fetch {
    /// All applications.
    Full,
    /// The delta, or one application.
    Part,
}

/// What becomes of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It goes on.
    Admitted,
    /// It goes on, and would be refused if the limiter did so.
    Candidate,
    /// It is refused.
    Refused,
}

/// Both buckets, and who goes past them.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    limits: RateLimits,
    privileged: HashSet<String>,
    buckets: Mutex<Buckets>,
}

#[derive(Debug, Default)]
struct Buckets {
    all: Bucket,
    full: Bucket,
}

impl RateLimiter {
    pub(crate) fn new(limits: RateLimits) -> Self {
        let standard = ["DefaultClient", "DefaultServer"].map(str::to_owned);
        let privileged = match limits.throttle_standard_clients {
            // Then, as in Eureka, nobody is.
            true => HashSet::new(),
            false => limits.privileged_clients.iter().map(|name| name.trim().to_owned()).chain(standard).collect(),
        };
        Self { limits, privileged, buckets: Mutex::default() }
    }

    /// Whether nobody has to be looked at.
    pub(crate) fn is_off(&self) -> bool {
        self.limits.limiting == Limiting::Off
    }

    /// What becomes of a read by a client of this name.
    pub(crate) fn admit(&self, fetch: Fetch, client: Option<&str>, now: Mono) -> Admission {
        if self.is_off() || client.is_some_and(|name| self.privileged.contains(name)) {
            return Admission::Admitted;
        }
        let RateLimits { limiting, burst, registry_fetch_rate, full_fetch_rate, .. } = self.limits;
        let mut buckets = self.buckets.lock();
        let mut passes = buckets.all.acquire(burst, registry_fetch_rate, now);
        if fetch == Fetch::Full {
            // Taken also where the first bucket had none, as Eureka does.
            passes &= buckets.full.acquire(burst, full_fetch_rate, now);
        }
        match (passes, limiting) {
            (true, _) | (false, Limiting::Off) => Admission::Admitted,
            (false, Limiting::Count) => Admission::Candidate,
            (false, Limiting::On) => Admission::Refused,
        }
    }
}

/// Tokens in whole numbers: what is refilled is counted from the last whole token on.
#[derive(Debug, Default)]
struct Bucket {
    consumed: u64,
    refilled: Option<Mono>,
}

impl Bucket {
    /// Takes one token, if there is one.
    fn acquire(&mut self, burst: u32, rate: u32, now: Mono) -> bool {
        if burst == 0 || rate == 0 {
            return true;
        }
        let (burst, rate) = (u64::from(burst), u64::from(rate));
        let refilled = *self.refilled.get_or_insert(now);
        let passed = u64::try_from(now.saturating_since(refilled).as_millis()).unwrap_or(u64::MAX);
        let new = passed.saturating_mul(rate) / 1000;
        if new > 0 {
            self.refilled = Some(refilled + Duration::from_millis(new.saturating_mul(1000) / rate));
            self.consumed = self.consumed.min(burst).saturating_sub(new);
        }
        let passes = self.consumed < burst;
        self.consumed += u64::from(passes);
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Settings {
        #[command(flatten)]
        limits: RateLimits,
    }

    fn limiter(arguments: &[&str]) -> RateLimiter {
        RateLimiter::new(Settings::try_parse_from([&["test"], arguments].concat()).unwrap().limits)
    }

    fn at(millis: u64) -> Mono {
        Mono::from_nanos(millis * 1_000_000)
    }

    const TIGHT: [&str; 4] = [
        "--rate-limiter-enabled=true",
        "--rate-limiter-burst-size=2",
        "--rate-limiter-registry-fetch-average-rate=1",
        "--rate-limiter-full-fetch-average-rate=1",
    ];

    #[test]
    fn srv_152_tokens_come_back_whole_and_on_time() {
        use Admission::{Admitted, Refused};
        let limiter = limiter(&TIGHT);
        let table = [
            (0, Admitted),
            (0, Admitted),
            (0, Refused),
            (0, Refused),
            (999, Refused),
            (1000, Admitted),
            (1000, Refused),
            (1999, Refused),
            (2000, Admitted),
        ];
        // The clock's own start is no special moment.
        for (place, (millis, expected)) in table.into_iter().enumerate() {
            assert_eq!(limiter.admit(Fetch::Full, Some("someone"), at(millis)), expected, "read {place}");
        }
    }

    #[test]
    fn srv_154_155_known_clients_pass_unless_nobody_is_to() {
        let named = [&TIGHT[..], &["--rate-limiter-privileged-clients=mine, other"]].concat();
        let limiter_of_others = limiter(&named);
        for client in ["DefaultClient", "DefaultServer", "mine", "other"] {
            for _ in 0..5 {
                assert_eq!(limiter_of_others.admit(Fetch::Full, Some(client), at(5)), Admission::Admitted, "{client}");
            }
        }
        let limiter_of_all = limiter(&[&named[..], &["--rate-limiter-throttle-standard-clients"]].concat());
        for (client, expected) in [
            ("DefaultClient", Admission::Admitted),
            ("mine", Admission::Admitted),
            ("DefaultClient", Admission::Refused),
            ("mine", Admission::Refused),
        ] {
            assert_eq!(limiter_of_all.admit(Fetch::Full, Some(client), at(5)), expected, "{client}");
        }
    }

    #[test]
    fn srv_157_a_token_every_second_millisecond_is_none_in_the_first() {
        let limiter = limiter(&["--rate-limiter-enabled"]);
        for _ in 0..10 {
            assert_eq!(limiter.admit(Fetch::Part, None, at(7)), Admission::Admitted);
        }
        let admitted = [8, 9, 10, 11].map(|millis| limiter.admit(Fetch::Part, None, at(millis)));
        assert_eq!(admitted, [Admission::Refused, Admission::Admitted, Admission::Refused, Admission::Admitted]);
    }

    #[test]
    fn reads_of_everything_have_a_bucket_of_their_own_and_take_from_both() {
        let limits =
            ["--rate-limiter-enabled", "--rate-limiter-burst-size=3", "--rate-limiter-full-fetch-average-rate=0"];
        let limiter_of_parts = limiter(&limits);
        let admitted = [Fetch::Full, Fetch::Part, Fetch::Full, Fetch::Full]
            .map(|fetch| limiter_of_parts.admit(fetch, None, at(1)) == Admission::Admitted);
        assert_eq!(admitted, [true, true, true, false]);
        let endless = limiter(&["--rate-limiter-enabled", "--rate-limiter-burst-size=0"]);
        assert!((0..100).all(|_| endless.admit(Fetch::Full, None, at(1)) == Admission::Admitted));
        assert!(Settings::try_parse_from(["test", "--rate-limiter-enabled", "perhaps"]).is_err());
    }
}
