//! What an instance says about itself, and what the server adds to it: the 25 fields of Eureka's documents.

use crate::{InstanceKey, InstanceStatus, UnixMillis};

/// An instance's description at one moment. Unchanging: each change makes a new one, shared by everybody who holds it.
///
/// Texts are kept exactly as they were given; `None` means that the field is left out of documents, an empty text is a value.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceInfo {
    /// Application and instance id.
    pub key: InstanceKey,
    /// Host name, never empty.
    pub host_name: Box<str>,
    /// IP address as text, never empty, never parsed.
    pub ip_addr: Box<str>,
    /// A historical id; `None` for Eureka's `na` and `unknown`.
    pub sid: Option<Box<str>>,
    /// The status that counts, after overrides.
    pub status: InstanceStatus,
    /// The operator's override; [`InstanceStatus::Unknown`] for none.
    pub overridden_status: InstanceStatus,
    /// The plain port.
    pub port: Port,
    /// The TLS port.
    pub secure_port: Port,
    /// A historical number, 1 by default.
    pub country_id: i32,
    /// Where it runs.
    pub data_center: DataCenterInfo,
    /// The lease that the client asks for.
    pub lease_terms: LeaseTerms,
    /// Free pairs of text.
    pub metadata: Metadata,
    /// Group of applications, upper case in JSON.
    pub app_group_name: Option<Box<str>>,
    /// Home page.
    pub home_page_url: Option<Box<str>>,
    /// Status page.
    pub status_page_url: Option<Box<str>>,
    /// Health check.
    pub health_check_url: Option<Box<str>>,
    /// Health check over TLS.
    pub secure_health_check_url: Option<Box<str>>,
    /// Virtual addresses, a comma list, exactly as registered.
    pub vip_address: Option<Box<str>>,
    /// Virtual addresses over TLS.
    pub secure_vip_address: Option<Box<str>>,
    /// Auto-scaling group.
    pub asg_name: Option<Box<str>>,
    /// When the server last changed the entry.
    pub last_updated: UnixMillis,
    /// The client's version stamp of its own description; the only key that resolves conflicts in Eureka's protocol.
    pub last_dirty: UnixMillis,
    /// What last happened to it.
    pub action: ActionType,
    /// Whether this is the server itself that holds the entry, and so the one that answers. The registry says so, nobody else.
    pub coordinating: bool,
}

impl InstanceInfo {
    /// About how many bytes its JSON document has: what payload pages are measured by, so that their sizes need no encoding.
    pub fn approximate_size(&self) -> usize {
        /// Names, punctuation and numbers of a document without its texts.
        const FRAME: usize = 640;
        let optional = [
            &self.sid,
            &self.app_group_name,
            &self.home_page_url,
            &self.status_page_url,
            &self.health_check_url,
            &self.secure_health_check_url,
            &self.vip_address,
            &self.secure_vip_address,
            &self.asg_name,
        ];
        let optional: usize = optional.into_iter().flatten().map(|text| text.len() + 20).sum();
        let data_center = match &self.data_center {
            DataCenterInfo::MyOwn | DataCenterInfo::Netflix => 0,
            DataCenterInfo::Amazon(metadata) => metadata.text_size(),
        };
        FRAME
            + self.key.app.as_str().len()
            + self.key.id.as_str().len()
            + self.host_name.len()
            + self.ip_addr.len()
            + optional
            + data_center
            + self.metadata.text_size()
    }
}

/// A port and whether it is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Port {
    /// The number as given; Eureka checks only that it fits 32 bits.
    pub number: i32,
    /// Whether it is in use.
    pub enabled: bool,
}

impl Port {
    /// What an instance without a port gets.
    pub const DEFAULT: Self = Self { number: 7001, enabled: true };
    /// What an instance without a TLS port gets.
    pub const DEFAULT_SECURE: Self = Self { number: 7002, enabled: false };
}

/// The three names that a data centre may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataCenterName {
    /// Anything but the two others.
    MyOwn,
    /// Netflix's own.
    Netflix,
    /// AWS.
    Amazon,
}

impl DataCenterName {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MyOwn => "MyOwn",
            Self::Netflix => "Netflix",
            Self::Amazon => "Amazon",
        }
    }

    /// The data centre of that exact name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::MyOwn, Self::Netflix, Self::Amazon].into_iter().find(|name| name.as_str() == text)
    }
}

/// Where an instance runs. Only Amazon has metadata.
#[derive(Clone, Debug, PartialEq)]
pub enum DataCenterInfo {
    /// Anything but the two others.
    MyOwn,
    /// Netflix's own.
    Netflix,
    /// AWS, with its facts about the machine (`instance-id`, `availability-zone`, ...).
    Amazon(Metadata),
}

impl DataCenterInfo {
    /// Its name.
    pub const fn name(&self) -> DataCenterName {
        match self {
            Self::MyOwn => DataCenterName::MyOwn,
            Self::Netflix => DataCenterName::Netflix,
            Self::Amazon(_) => DataCenterName::Amazon,
        }
    }
}

/// The lease that a client asks for, in seconds, always positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaseTerms {
    /// How often the client means to renew.
    pub renewal_interval_secs: u32,
    /// How long the lease holds without renewal.
    pub duration_secs: u32,
}

impl LeaseTerms {
    /// Terms as a client gave them; zero or less stands for the default, as in Eureka.
    pub fn of(renewal_interval_secs: i32, duration_secs: i32) -> Self {
        let positive =
            |given: i32, default| u32::try_from(given).ok().filter(|seconds| *seconds > 0).unwrap_or(default);
        let default = Self::default();
        Self {
            renewal_interval_secs: positive(renewal_interval_secs, default.renewal_interval_secs),
            duration_secs: positive(duration_secs, default.duration_secs),
        }
    }
}

/// Eureka's defaults: renew every 30 s, hold 90 s.
impl Default for LeaseTerms {
    fn default() -> Self {
        Self { renewal_interval_secs: 30, duration_secs: 90 }
    }
}

/// What last happened to an instance, as documents name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ActionType {
    /// Registered, again or for the first time.
    Added,
    /// Its status was changed by an override.
    Modified,
    /// Cancelled or evicted.
    Deleted,
}

impl ActionType {
    /// The name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// Pairs of text in the order in which they came; a key occurs once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata(Box<[(Box<str>, Box<str>)]>);

impl Metadata {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.iter().find_map(|(name, value)| (name == key).then_some(value))
    }

    /// All pairs.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// These pairs with one more; the value of a key that exists is replaced in its place.
    #[must_use]
    pub fn with(&self, key: &str, value: &str) -> Self {
        self.iter().chain([(key, value)]).collect()
    }

    fn text_size(&self) -> usize {
        self.iter().map(|(key, value)| key.len() + value.len() + 6).sum()
    }
}

/// Of a repeated key the last value counts, at the first one's place.
impl<K: Into<Box<str>>, V: Into<Box<str>>> FromIterator<(K, V)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        /// Up to here a search through the pairs is faster than a table.
        const FEW: usize = 32;
        let pairs = pairs.into_iter();
        let mut kept: Vec<(Box<str>, Box<str>)> = Vec::with_capacity(pairs.size_hint().0);
        let mut places = std::collections::HashMap::new();
        for (key, value) in pairs {
            let (key, value) = (key.into(), value.into());
            let place = if kept.len() < FEW {
                kept.iter().position(|(name, _)| *name == key)
            } else {
                places.get(&key).copied()
            };
            match place.and_then(|place| kept.get_mut(place)) {
                Some(pair) => pair.1 = value,
                None => {
                    kept.push((key, value));
                    if kept.len() == FEW {
                        places.extend(kept.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)));
                    } else if kept.len() > FEW
                        && let Some((name, _)) = kept.last()
                    {
                        places.insert(name.clone(), kept.len() - 1);
                    }
                }
            }
        }
        Self(kept.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn srv_7_terms_of_zero_or_less_are_the_defaults() {
        for (given, kept) in [((0, 0), (30, 90)), ((-1, -5), (30, 90)), ((5, 10), (5, 10)), ((0, 10), (30, 10))] {
            let terms = LeaseTerms::of(given.0, given.1);
            assert_eq!((terms.renewal_interval_secs, terms.duration_secs), kept);
        }
    }

    proptest! {
        #[test]
        fn of_a_repeated_metadata_key_the_last_value_counts(pairs in prop::collection::vec((0u8..60, 0u8..9), 0..90)) {
            let metadata: Metadata = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            let oracle: std::collections::BTreeMap<_, _> = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
            prop_assert_eq!(metadata.iter().len(), oracle.len());
            for (key, value) in &oracle {
                prop_assert_eq!(metadata.get(key), Some(value.as_str()));
            }
        }
    }
}
