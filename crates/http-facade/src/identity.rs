//! Who a client says it is. Nothing is refused for it but by the rate limiter; called by `router`.

use http::{HeaderMap, HeaderName};

static NAME: HeaderName = HeaderName::from_static("discoveryidentity-name");

/// The name that a client gives itself.
pub(crate) fn name(headers: &HeaderMap) -> Option<&str> {
    headers.get(&NAME).and_then(|name| name.to_str().ok()).filter(|name| !name.is_empty())
}

/// The names that are told apart: those of Eureka's own clients and servers. Any others are as many as clients like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identity {
    Client,
    Server,
    Other,
    None,
}

impl Identity {
    pub(crate) const ALL: [Self; 4] = [Self::Client, Self::Server, Self::Other, Self::None];

    pub(crate) fn of(headers: &HeaderMap) -> Self {
        match headers.get(&NAME).map(http::HeaderValue::as_bytes) {
            None | Some(b"") => Self::None,
            Some(b"DefaultClient") => Self::Client,
            Some(b"DefaultServer") => Self::Server,
            Some(_) => Self::Other,
        }
    }

    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Client => "DefaultClient",
            Self::Server => "DefaultServer",
            Self::Other => "other",
            Self::None => "none",
        }
    }
}
