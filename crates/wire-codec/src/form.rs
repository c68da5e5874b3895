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

/// How much a document says of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Detail {
    /// Everything.
    Full,
    /// What a client needs to call it.
    Compact,
}

/// The version of the API that a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ApiVersion {
    /// Its full XML knows three statuses only.
    V1,
    /// Every other version.
    V2,
}

/// Which document form a payload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// Full JSON.
    Json,
    /// Full XML, pretty-printed.
    Xml,
    /// Full XML of the first version: a status other than `UP`, `DOWN` and `STARTING` reads `DOWN`.
    XmlV1,
    /// Compact JSON.
    JsonCompact,
    /// Compact XML, on one line.
    XmlCompact,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Json, Self::Xml, Self::XmlV1, Self::JsonCompact, Self::XmlCompact];

    /// The form that an answer has. Only full XML depends on the version.
    pub const fn of(media: MediaType, detail: Detail, version: ApiVersion) -> Self {
        match (media, detail, version) {
            (MediaType::Json, Detail::Full, _) => Self::Json,
            (MediaType::Json, Detail::Compact, _) => Self::JsonCompact,
            (MediaType::Xml, Detail::Full, ApiVersion::V2) => Self::Xml,
            (MediaType::Xml, Detail::Full, ApiVersion::V1) => Self::XmlV1,
            (MediaType::Xml, Detail::Compact, _) => Self::XmlCompact,
        }
    }

    /// The language of its documents.
    pub const fn media_type(self) -> MediaType {
        match self {
            Self::Json | Self::JsonCompact => MediaType::Json,
            Self::Xml | Self::XmlV1 | Self::XmlCompact => MediaType::Xml,
        }
    }

    /// The media type of its documents, without a charset, as Eureka labels them.
    pub const fn content_type(self) -> &'static str {
        self.media_type().name()
    }

    /// Which of the two writers writes it, and how.
    pub(crate) const fn style(self) -> Style {
        match self {
            Self::Json => Style::Json(Detail::Full),
            Self::JsonCompact => Style::Json(Detail::Compact),
            Self::Xml => Style::Xml(XmlStyle::Full),
            Self::XmlV1 => Style::Xml(XmlStyle::FullV1),
            Self::XmlCompact => Style::Xml(XmlStyle::Compact),
        }
    }
}

/// A writer, and how it writes.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Json(Detail),
    Xml(XmlStyle),
}

/// How XML is written.
#[derive(Clone, Copy)]
pub(crate) enum XmlStyle {
    Full,
    FullV1,
    Compact,
}

/// One of something for each form.
#[derive(Clone, Debug, Default)]
pub struct PerForm<T> {
    json: T,
    xml: T,
    xml_v1: T,
    json_compact: T,
    xml_compact: T,
}

impl<T> PerForm<T> {
    /// The one of a form.
    pub const fn of(&self, form: Form) -> &T {
        match form {
            Form::Json => &self.json,
            Form::Xml => &self.xml,
            Form::XmlV1 => &self.xml_v1,
            Form::JsonCompact => &self.json_compact,
            Form::XmlCompact => &self.xml_compact,
        }
    }
}
