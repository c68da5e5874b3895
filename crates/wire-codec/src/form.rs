//! The forms that a document may have. Used by everything in this crate, and as part of cache keys.

/// The language of a document, as `Accept` and `Content-Type` name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MediaType {
    /// JSON.
    Json,
    /// XML.
    Xml,
}

impl MediaType {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Json, Self::Xml];

    /// Its name, without a charset, as Eureka labels its documents.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Xml => "application/xml",
        }
    }
}

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

    /// The full form of a language.
    pub const fn full(media: MediaType) -> Self {
        match media {
            MediaType::Json => Self::Json,
            MediaType::Xml => Self::Xml,
        }
    }

    /// The language of its documents.
    pub const fn media_type(self) -> MediaType {
        match self {
            Self::Json => MediaType::Json,
            Self::Xml => MediaType::Xml,
        }
    }

    /// The media type of its documents, without a charset, as Eureka labels them.
    pub const fn content_type(self) -> &'static str {
        self.media_type().name()
    }
}
