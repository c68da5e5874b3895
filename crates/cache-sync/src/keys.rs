//! Which payload, in which form. Made from messages by `service`, used as the key of subscriptions.

use registry_model::AppName;
use registry_proto::{ConvertError, cache};
use std::sync::Arc;
use wire_codec::Form;

/// A payload in one form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PayloadKey {
    pub(crate) scope: Scope,
    pub(crate) form: Form,
}

/// Which payload. Applications are a kind of their own, so no application's name can be taken for "all".
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Scope {
    /// All applications.
    All,
    /// What changed within the retention.
    Delta,
    /// One application.
    Application(AppName),
    /// The instances that list an address.
    Vip(Vip),
}

impl Scope {
    /// Whether its document counts all instances, so that its ends may change while its pages do not.
    pub(crate) const fn counts_all(&self) -> bool {
        match self {
            Self::All | Self::Delta => true,
            Self::Application(_) | Self::Vip(_) => false,
        }
    }
}

/// One of the addresses that an instance lists, exactly as it writes it. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Vip {
    pub(crate) security: Security,
    pub(crate) address: Arc<str>,
}

/// In which of its two lists an instance has an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Security {
    /// `vipAddress`.
    Plain,
    /// `secureVipAddress`.
    Secure,
}

impl Vip {
    fn parse(security: Security, address: &str) -> Result<Self, ConvertError> {
        if address.is_empty() {
            return Err(ConvertError::Missing("key.vip"));
        }
        Ok(Self { security, address: address.into() })
    }
}

impl TryFrom<cache::PayloadKey> for PayloadKey {
    type Error = ConvertError;

    fn try_from(message: cache::PayloadKey) -> Result<Self, ConvertError> {
        let scope = match cache::PayloadScope::try_from(message.scope) {
            Ok(cache::PayloadScope::All) => Scope::All,
            Ok(cache::PayloadScope::Delta) => Scope::Delta,
            Ok(cache::PayloadScope::Application) => Scope::Application(AppName::parse(&message.app)?),
            Ok(cache::PayloadScope::Vip) => Scope::Vip(Vip::parse(Security::Plain, &message.vip)?),
            Ok(cache::PayloadScope::Svip) => Scope::Vip(Vip::parse(Security::Secure, &message.vip)?),
            Ok(cache::PayloadScope::Unspecified) => return Err(ConvertError::Missing("key.scope")),
            Err(_) => return Err(ConvertError::OutOfRange { field: "key.scope", value: message.scope.into() }),
        };
        let form = match cache::PayloadForm::try_from(message.form) {
            Ok(cache::PayloadForm::Json) => Form::Json,
            Ok(cache::PayloadForm::Xml) => Form::Xml,
            Ok(cache::PayloadForm::XmlV1) => Form::XmlV1,
            Ok(cache::PayloadForm::JsonCompact) => Form::JsonCompact,
            Ok(cache::PayloadForm::XmlCompact) => Form::XmlCompact,
            Ok(cache::PayloadForm::Unspecified) => return Err(ConvertError::Missing("key.form")),
            Err(_) => return Err(ConvertError::OutOfRange { field: "key.form", value: message.form.into() }),
        };
        Ok(Self { scope, form })
    }
}

impl From<&PayloadKey> for cache::PayloadKey {
    fn from(key: &PayloadKey) -> Self {
        let (scope, app, vip) = match &key.scope {
            Scope::All => (cache::PayloadScope::All, "", ""),
            Scope::Delta => (cache::PayloadScope::Delta, "", ""),
            Scope::Application(app) => (cache::PayloadScope::Application, app.as_str(), ""),
            Scope::Vip(Vip { security: Security::Plain, address }) => (cache::PayloadScope::Vip, "", &**address),
            Scope::Vip(Vip { security: Security::Secure, address }) => (cache::PayloadScope::Svip, "", &**address),
        };
        let form = match key.form {
            Form::Json => cache::PayloadForm::Json,
            Form::Xml => cache::PayloadForm::Xml,
            Form::XmlV1 => cache::PayloadForm::XmlV1,
            Form::JsonCompact => cache::PayloadForm::JsonCompact,
            Form::XmlCompact => cache::PayloadForm::XmlCompact,
        };
        Self { scope: scope.into(), app: app.to_owned(), form: form.into(), vip: vip.to_owned() }
    }
}
