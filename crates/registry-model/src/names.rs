//! Names: applications, instances, nodes. Normalised once, here.

use std::{fmt, sync::Arc};

/// The longest name accepted, in bytes. Eureka has no limit; a name is a key in several tables and a URL segment.
pub const MAX_NAME_BYTES: usize = 4096;

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("{field} is empty")]
    Empty {
        /// Which name it was.
        field: &'static str,
    },
    /// The text is longer than [`MAX_NAME_BYTES`].
    #[error("{field} is {length} bytes long, at most {MAX_NAME_BYTES} are allowed")]
    TooLong {
        /// Which name it was.
        field: &'static str,
        /// Its length in bytes.
        length: usize,
    },
}

fn check(field: &'static str, text: &str) -> Result<(), NameError> {
    match text.len() {
        0 => Err(NameError::Empty { field }),
        length if length > MAX_NAME_BYTES => Err(NameError::TooLong { field, length }),
        _ => Ok(()),
    }
}

/// An application's name: upper case (Unicode, independent of locale), never empty. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AppName(Arc<str>);

impl AppName {
    /// Upper-cases and checks a name.
    ///
    /// # Errors
    /// The name is empty or too long.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        check("app", text)?;
        let plain = text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_lowercase());
        let name: Arc<str> = if plain { text.into() } else { text.to_uppercase().into() };
        // A name may grow when it is upper-cased; what is accepted once is accepted for ever.
        check("app", &name)?;
        Ok(Self(name))
    }

    /// The upper-cased name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An instance's id within its application: opaque, case-sensitive, never changed, never empty. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceId(Arc<str>);

impl InstanceId {
    /// Checks an id.
    ///
    /// # Errors
    /// The id is empty or too long.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        check("instanceId", text)?;
        Ok(Self(text.into()))
    }

    /// The id as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! text_of_name {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
    };
}
text_of_name!(AppName);
text_of_name!(InstanceId);

/// What identifies an instance in a registry: ids are unique only within an application.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceKey {
    /// The application.
    pub app: AppName,
    /// The instance's id in it.
    pub id: InstanceId,
}

impl fmt::Display for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.app, self.id)
    }
}

impl fmt::Debug for InstanceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A node of a cluster: random, made at each start, told to peers in the handshake. Not a host name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn app_names_are_upper_cased_independent_of_locale() {
        for (given, kept) in
            [("orders", "ORDERS"), ("Orders-1", "ORDERS-1"), ("ORDERS", "ORDERS"), ("straße", "STRASSE"), ("i", "I")]
        {
            assert_eq!(AppName::parse(given).unwrap().as_str(), kept);
        }
    }

    #[test]
    fn a_name_that_is_accepted_is_accepted_again() {
        let growing = "\u{390}".repeat(2048);
        assert_eq!(growing.len(), MAX_NAME_BYTES);
        assert!(AppName::parse(&growing).is_err());
        let largest = AppName::parse(&"\u{390}".repeat(682)).unwrap();
        assert_eq!(AppName::parse(largest.as_str()).unwrap(), largest);
    }

    #[test]
    fn empty_and_endless_names_are_refused_by_field() {
        assert_eq!(AppName::parse("").unwrap_err().to_string(), "app is empty");
        assert_eq!(InstanceId::parse("").unwrap_err().to_string(), "instanceId is empty");
        let error = InstanceId::parse(&"x".repeat(5000)).unwrap_err().to_string();
        assert_eq!(error, "instanceId is 5000 bytes long, at most 4096 are allowed");
    }
}
