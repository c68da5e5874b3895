//! Which payload in which form: what the read-only tier keeps its pages under. Used by `read_only`, `follow` and `misses`.

use registry_model::AppName;
use registry_proto::cache::{PayloadForm, PayloadKey, PayloadScope};
use std::sync::Arc;
use wire_codec::Form;

/// Which payload.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// All applications.
    All,
    /// What changed in the last minutes.
    Delta,
    /// One application.
    Application(AppName),
    /// The instances that list this `vipAddress`.
    Vip(Arc<str>),
    /// The instances that list this `secureVipAddress`.
    Svip(Arc<str>),
}

/// A payload in one form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) scope: Scope,
    pub(crate) form: Form,
}

impl From<&Key> for PayloadKey {
    fn from(key: &Key) -> Self {
        let (scope, app, vip) = match &key.scope {
            Scope::All => (PayloadScope::All, "", ""),
            Scope::Delta => (PayloadScope::Delta, "", ""),
            Scope::Application(app) => (PayloadScope::Application, app.as_str(), ""),
            Scope::Vip(vip) => (PayloadScope::Vip, "", &**vip),
            Scope::Svip(vip) => (PayloadScope::Svip, "", &**vip),
        };
        let form = match key.form {
            Form::Json => PayloadForm::Json,
            Form::Xml => PayloadForm::Xml,
            Form::XmlV1 => PayloadForm::XmlV1,
            Form::JsonCompact => PayloadForm::JsonCompact,
            Form::XmlCompact => PayloadForm::XmlCompact,
        };
        Self { scope: scope.into(), app: app.to_owned(), form: form.into(), vip: vip.to_owned() }
    }
}

impl Key {
    /// The key that a message names; `None` for one that this version does not know.
    pub(crate) fn of(message: &PayloadKey) -> Option<Self> {
        let scope = match message.scope() {
            PayloadScope::All => Scope::All,
            PayloadScope::Delta => Scope::Delta,
            PayloadScope::Application => Scope::Application(AppName::parse(&message.app).ok()?),
            PayloadScope::Vip => Scope::Vip(message.vip.as_str().into()),
            PayloadScope::Svip => Scope::Svip(message.vip.as_str().into()),
            PayloadScope::Unspecified => return None,
        };
        let form = match message.form() {
            PayloadForm::Json => Form::Json,
            PayloadForm::Xml => Form::Xml,
            PayloadForm::XmlV1 => Form::XmlV1,
            PayloadForm::JsonCompact => Form::JsonCompact,
            PayloadForm::XmlCompact => Form::XmlCompact,
            PayloadForm::Unspecified => return None,
        };
        Some(Self { scope, form })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_its_message() {
        let app = Scope::Application(AppName::parse("ORDERS").unwrap());
        for scope in [Scope::All, Scope::Delta, app, Scope::Vip("a".into()), Scope::Svip("a".into())] {
            for form in Form::ALL {
                let key = Key { scope: scope.clone(), form };
                assert_eq!(Key::of(&PayloadKey::from(&key)), Some(key));
            }
        }
        assert_eq!(Key::of(&PayloadKey::default()), None);
    }
}
