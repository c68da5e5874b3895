//! The command that adds metadata to an instance. Called by `service::commands`.

use super::Registry;
use registry_model::{InstanceInfo, Metadata, Origin, Position};
use std::{collections::HashSet, sync::Arc};

/// With the new metadata the instance would be larger than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MetadataTooLarge {
    /// About how many bytes its document would have.
    pub(crate) size: usize,
}

impl Registry {
    /// Adds pairs to an instance's metadata: the instance is registered again with its own dirty stamp. Of a repeated key the
    /// first value counts. Where nothing changes the lease is renewed, and that is all. A position that includes it, or none
    /// if there is no such instance.
    pub(crate) fn add_metadata(
        &self,
        app: &str,
        id: &str,
        pairs: &[(&str, &str)],
        max_size: usize,
    ) -> Result<Option<Position>, MetadataTooLarge> {
        let mut log = self.log.write();
        let now = self.now();
        let Some(stored) = self.present(app, id) else { return Ok(None) };
        let instance = stored.instance();
        let metadata = with_pairs(&instance.metadata, pairs);
        if metadata == instance.metadata {
            self.table.touch(&instance.key, now.mono);
            return Ok(Some(self.position(log.latest())));
        }
        let instance = InstanceInfo { metadata, ..(**instance).clone() };
        match instance.approximate_size() {
            size if size > max_size => Err(MetadataTooLarge { size }),
            // As in Eureka this counts as the client's own registration, whoever asks.
            _ => Ok(Some(self.put_registered(&mut log, Arc::new(instance), Some(&stored), Origin::Client, now))),
        }
    }
}

fn with_pairs(stored: &Metadata, pairs: &[(&str, &str)]) -> Metadata {
    let mut seen = HashSet::new();
    let added = pairs.iter().copied().filter(|(key, _)| seen.insert(*key));
    stored.iter().chain(added).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s17_of_a_repeated_key_the_first_value_counts_and_others_stay() {
        let stored: Metadata = [("a", "1"), ("c", "3")].into_iter().collect();
        for (pairs, expected) in [
            (&[][..], &[("a", "1"), ("c", "3")][..]),
            (&[("a", "2"), ("b", "x"), ("b", "y"), ("a", "9")], &[("a", "2"), ("c", "3"), ("b", "x")]),
            (&[("", ""), ("ü/%", "ñ")], &[("a", "1"), ("c", "3"), ("", ""), ("ü/%", "ñ")]),
        ] {
            assert_eq!(with_pairs(&stored, pairs), expected.iter().copied().collect(), "{pairs:?}");
        }
    }
}
