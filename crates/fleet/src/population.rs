//! The simulated instances: names, dirty stamps and registration bodies, all fixed functions of an instance's number.
//! Called by the subcommands that write; shapes follow the body that the Spring Cloud client sends.

use crate::cli::FleetOptions;

/// Dirty stamp of instance 0 in milliseconds since 1970; instance n has n more. Lies in the past, so that a stamp of the
/// present is always newer.
const FIRST_DIRTY: u64 = 1_760_000_000_000;
/// Length of one filling metadata entry, `,"label-000":"` + text + `"`.
const LABEL_BYTES: usize = 15 + LABEL_TEXT_BYTES;
const LABEL_TEXT_BYTES: usize = 40;

/// A fleet of numbered instances spread round robin over applications.
#[derive(Debug)]
pub(crate) struct Population {
    instances: usize,
    /// Per application the metadata that fills a body up. Instances of one application share it, as real ones do, which
    /// keeps the compression ratio of the payload realistic.
    fillings: Vec<String>,
}

/// The parts of a registration that a change alters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    /// `lastDirtyTimestamp`, milliseconds since 1970.
    pub(crate) dirty: u64,
    /// Shown as the metadata entry `build`.
    pub(crate) build: u64,
}

impl Population {
    pub(crate) fn new(options: &FleetOptions) -> Self {
        let mut population =
            Self { instances: options.instances.get(), fillings: vec![String::new(); options.apps.get()] };
        let smallest = population.body(0, population.first_version(0)).len();
        let room = options.body_bytes.saturating_sub(smallest);
        for (app, filling) in population.fillings.iter_mut().enumerate() {
            *filling = filling_of(app, room);
        }
        population
    }

    /// Number of instances.
    pub(crate) fn len(&self) -> usize {
        self.instances
    }

    /// Application name in upper case.
    pub(crate) fn app(&self, instance: usize) -> String {
        format!("FLEET-{:04}", self.app_number(instance) + 1)
    }

    /// Instance id, `host:app:port`.
    pub(crate) fn id(&self, instance: usize) -> String {
        format!("host-{instance:06}:fleet-{:04}:8080", self.app_number(instance) + 1)
    }

    /// The version that a plain registration carries, hence the stamp that a renewal must name.
    pub(crate) fn first_version(&self, instance: usize) -> Version {
        Version { dirty: FIRST_DIRTY + instance as u64, build: mix(instance as u64) }
    }

    /// Registration body in JSON. Its length is the same for all instances below one million.
    pub(crate) fn body(&self, instance: usize, version: Version) -> String {
        let number = self.app_number(instance);
        let app = number + 1;
        let filling = self.fillings.get(number).map_or("", String::as_str);
        let Version { dirty, build } = version;
        // Octets of three digits keep the length constant.
        let (high, middle, low) = (100 + instance / 10_000 % 100, 100 + instance / 100 % 100, 100 + instance % 100);
        let host = format!("host-{instance:06}");
        format!(
            "{{\"instance\":{{\"instanceId\":\"{host}:fleet-{app:04}:8080\",\"app\":\"FLEET-{app:04}\",\
             \"appGroupName\":null,\"ipAddr\":\"10.{high}.{middle}.{low}\",\"sid\":\"na\",\
             \"homePageUrl\":\"http://{host}:8080/\",\"statusPageUrl\":\"http://{host}:8080/actuator/info\",\
             \"healthCheckUrl\":\"http://{host}:8080/actuator/health\",\"secureHealthCheckUrl\":null,\
             \"vipAddress\":\"fleet-{app:04}\",\"secureVipAddress\":\"fleet-{app:04}\",\"countryId\":1,\
             \"dataCenterInfo\":{{\"@class\":\"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo\",\
             \"name\":\"MyOwn\"}},\"hostName\":\"{host}\",\"status\":\"UP\",\"overriddenStatus\":\"UNKNOWN\",\
             \"leaseInfo\":{{\"renewalIntervalInSecs\":30,\"durationInSecs\":90,\"registrationTimestamp\":0,\
             \"lastRenewalTimestamp\":0,\"evictionTimestamp\":0,\"serviceUpTimestamp\":0}},\
             \"isCoordinatingDiscoveryServer\":false,\"lastUpdatedTimestamp\":{dirty},\
             \"lastDirtyTimestamp\":{dirty},\"actionType\":null,\"asgName\":null,\
             \"port\":{{\"$\":8080,\"@enabled\":\"true\"}},\"securePort\":{{\"$\":443,\"@enabled\":\"false\"}},\
             \"metadata\":{{\"management.port\":\"8080\",\"build\":\"{build:016x}\"{filling}}}}}}}"
        )
    }

    fn app_number(&self, instance: usize) -> usize {
        instance % self.fillings.len().max(1)
    }
}

/// Spreads the bits of a number evenly (the finisher of SplitMix64): text that looks random and is the same every time.
pub(crate) fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Metadata entries of exactly `room` bytes, or nothing if not even one entry fits.
fn filling_of(app: usize, room: usize) -> String {
    let frame = LABEL_BYTES - LABEL_TEXT_BYTES;
    let mut filling = String::with_capacity(room);
    let mut label = 0;
    while room - filling.len() >= frame {
        let left = room - filling.len();
        // The last entry takes what is left, because a remainder smaller than a frame could not be filled.
        let entry = if left >= LABEL_BYTES + frame { LABEL_BYTES } else { left };
        let text = text_of(app, label, entry - frame);
        filling.push_str(&format!(",\"label-{label:03}\":\"{text}\""));
        label += 1;
    }
    filling
}

/// Words and digits of exactly `length` bytes.
fn text_of(app: usize, label: usize, length: usize) -> String {
    const WORDS: [&str; 8] = ["team-", "zone-", "release-", "commit-", "region-", "owner-", "tier-", "cost-centre-"];
    let mut text = String::with_capacity(length + 32);
    let mut seed = mix((app as u64) << 16 | label as u64);
    while text.len() < length {
        seed = mix(seed);
        let word = WORDS.get((seed % WORDS.len() as u64) as usize).copied().unwrap_or_default();
        text.push_str(&format!("{word}{:x} ", seed >> 40));
    }
    text.truncate(length);
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn population(instances: usize, apps: usize, body_bytes: usize) -> Population {
        Population::new(&FleetOptions {
            instances: instances.try_into().unwrap(),
            apps: apps.try_into().unwrap(),
            body_bytes,
        })
    }

    #[test]
    fn bodies_parse_and_have_the_asked_size() {
        let smallest = population(1, 1, 0).body(0, Version { dirty: FIRST_DIRTY, build: 0 }).len();
        for (asked, tolerance) in [(0, smallest), (1000, 0), (smallest + 7, 7), (1500, 0), (1234, 0), (4000, 0)] {
            let population = population(200_000, 300, asked);
            for instance in [0, 1, 299, 300, 99_999, 199_999] {
                let body = population.body(instance, population.first_version(instance));
                assert!(body.len().abs_diff(asked) <= tolerance, "asked {asked}, got {}", body.len());
                let parsed: serde_json::Value = serde_json::from_str(&body).unwrap();
                let written = &parsed["instance"];
                assert_eq!(written["instanceId"], population.id(instance).as_str());
                assert_eq!(written["app"], population.app(instance).as_str());
                assert_eq!(written["lastDirtyTimestamp"], FIRST_DIRTY + instance as u64);
            }
        }
    }

    #[test]
    fn ids_are_distinct_and_applications_share_them_evenly() {
        let population = population(1000, 10, 1000);
        let ids: HashSet<String> = (0..population.len()).map(|instance| population.id(instance)).collect();
        assert_eq!(ids.len(), 1000);
        assert_eq!(population.app(0), "FLEET-0001");
        assert_eq!(population.app(19), "FLEET-0010");
        assert_eq!(population.id(123), "host-000123:fleet-0004:8080");
    }
}
