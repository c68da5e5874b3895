//! The forms that a document may have. Used by everything in this crate, and as part of cache keys.

/// Which document form a payload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// Full JSON.
    Json,
    /// Full XML, pretty-printed.
    Xml,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Json, Self::Xml];

    /// The media type of its documents, without a charset, as Eureka labels them.
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Xml => "application/xml",
        }
    }
}
