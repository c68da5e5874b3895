//! An instance's key by reference, so that tables by [`InstanceKey`] are asked without making one. Used by `overrides` and `cancel_grace`.

use hashbrown::Equivalent;
use registry_model::InstanceKey;

/// Hashes as the key of these two names does: same fields, same order. The application's name is in upper case.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct KeyRef<'a> {
    pub(crate) app: &'a str,
    pub(crate) id: &'a str,
}

impl Equivalent<InstanceKey> for KeyRef<'_> {
    fn equivalent(&self, key: &InstanceKey) -> bool {
        self.id == key.id.as_str() && self.app == key.app.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, RandomState};
    use testkit::instances::key;

    #[test]
    fn a_reference_hashes_as_its_key() {
        let hashing = RandomState::new();
        for (app, id) in [("A", "b"), ("AB", "n:8080"), ("É", "ñ")] {
            let reference = KeyRef { app, id };
            assert_eq!(hashing.hash_one(reference), hashing.hash_one(key(app, id)));
            assert!(reference.equivalent(&key(app, id)) && !reference.equivalent(&key(app, "other")));
        }
    }
}
