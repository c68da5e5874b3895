//! Which payloads somebody subscribes to, in whatever form: only their pages are kept fresh. Kept by the followers, read by `refresh`.

use crate::keys::Scope;
use parking_lot::Mutex;
use std::collections::HashMap;

/// How many subscriptions each payload has.
#[derive(Debug, Default)]
pub(crate) struct Interest(Mutex<HashMap<Scope, usize>>);

impl Interest {
    /// One more subscription.
    pub(crate) fn begins(&self, scope: &Scope) {
        *self.0.lock().entry(scope.clone()).or_default() += 1;
    }

    /// One subscription less.
    pub(crate) fn ends(&self, scope: &Scope) {
        let mut scopes = self.0.lock();
        if let Some(count) = scopes.get_mut(scope) {
            *count -= 1;
            if *count == 0 {
                scopes.remove(scope);
            }
        }
    }

    /// Whether nobody subscribes to a payload.
    pub(crate) fn lacks(&self, scope: &Scope) -> bool {
        !self.0.lock().contains_key(scope)
    }

    /// The payloads whose pages together are all that somebody subscribes to: who keeps all applications fresh keeps each of them
    /// fresh, and their addresses.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        let scopes = self.0.lock();
        if scopes.contains_key(&Scope::All) {
            [Scope::All, Scope::Delta].into_iter().filter(|scope| scopes.contains_key(scope)).collect()
        } else {
            scopes.keys().cloned().collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use registry_model::AppName;

    #[test]
    fn a_payload_counts_as_long_as_one_subscription_is_left() {
        let (interest, app) = (Interest::default(), Scope::Application(AppName::parse("A").unwrap()));
        interest.begins(&app);
        interest.begins(&app);
        interest.ends(&app);
        assert!(!interest.lacks(&app));
        assert_eq!(interest.scopes(), std::slice::from_ref(&app));
        interest.begins(&Scope::All);
        assert_eq!(interest.scopes(), [Scope::All]);
        interest.ends(&Scope::All);
        interest.ends(&app);
        assert!(interest.lacks(&app));
        assert_eq!(interest.scopes(), []);
    }
}
