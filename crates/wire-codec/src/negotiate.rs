//! What a client asks for and what it sends, from its headers. Called by http-facade for every read, so nothing here allocates.

use crate::MediaType;

/// A request body of a type that nobody reads: 415.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("content type is neither application/json nor application/xml in UTF-8")]
pub struct Unsupported;

/// Weights in thousandths, as HTTP writes them with up to three decimals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Weight(u16);

impl Weight {
    const NONE: Self = Self(0);
    const FULL: Self = Self(1000);

    /// The weight that a list's element names; one that cannot be read counts as none given.
    fn of(element: &str) -> Self {
        parameter(element, "q").and_then(Self::parse).unwrap_or(Self::FULL)
    }

    fn parse(text: &str) -> Option<Self> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let whole = match whole {
            "" | "0" => 0,
            "1" => 1000,
            _ => return None,
        };
        if text.is_empty() || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let thousandths = decimals.bytes().zip([100, 10, 1]).map(|(digit, unit)| u16::from(digit - b'0') * unit);
        Some(Self((whole + thousandths.sum::<u16>()).min(1000)))
    }
}

/// How exactly a range names a type; the more exact one decides on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Precision {
    Anything,
    AnyApplication,
    Named,
}

/// What an `Accept` header says about one language.
#[derive(Clone, Copy)]
struct Offer {
    media: MediaType,
    weight: Weight,
    precision: Precision,
    position: usize,
}

/// The language of an answer: `Accept` decides by weight, then the type named more exactly, then the one named first; without a preference XML.
/// `None` where neither is accepted: 406.
pub fn negotiate(accept: Option<&str>) -> Option<MediaType> {
    let accept = accept.map(str::trim).filter(|accept| !accept.is_empty());
    let Some(accept) = accept else { return Some(MediaType::Xml) };
    let offers = [offer(accept, MediaType::Xml), offer(accept, MediaType::Json)];
    let mut best: Option<Offer> = None;
    for offer in offers.into_iter().flatten().filter(|offer| offer.weight > Weight::NONE) {
        let beats = |other: Offer| {
            (offer.weight, offer.precision) > (other.weight, other.precision)
                || (offer.weight, offer.precision) == (other.weight, other.precision) && offer.position < other.position
        };
        if best.is_none_or(beats) {
            best = Some(offer);
        }
    }
    best.map(|offer| offer.media)
}

/// Whether a document that exists in JSON only is acceptable.
pub fn accepts_json(accept: Option<&str>) -> bool {
    let accept = accept.map(str::trim).filter(|accept| !accept.is_empty());
    let offer = accept.map(|accept| offer(accept, MediaType::Json));
    offer.is_none_or(|offer| offer.is_some_and(|offer| offer.weight > Weight::NONE))
}

/// What the most exact range that covers a language says about it.
fn offer(accept: &str, media: MediaType) -> Option<Offer> {
    let mut found: Option<Offer> = None;
    for (position, element) in accept.split(',').enumerate() {
        let range = head(element);
        let precision = if range.eq_ignore_ascii_case(media.name()) {
            Precision::Named
        } else if range.eq_ignore_ascii_case("application/*") {
            Precision::AnyApplication
        } else if range == "*/*" || range == "*" {
            Precision::Anything
        } else {
            continue;
        };
        let offer = Offer { media, weight: Weight::of(element), precision, position };
        if found.is_none_or(|found| (offer.precision, offer.weight) > (found.precision, found.weight)) {
            found = Some(offer);
        }
    }
    found
}

/// The language of a request's body.
///
/// # Errors
/// No type, another type, or a charset other than UTF-8 and ISO-8859-1.
pub fn body_type(content_type: Option<&str>) -> Result<MediaType, Unsupported> {
    let content_type = content_type.ok_or(Unsupported)?;
    let charset = parameter(content_type, "charset");
    let readable = charset
        .is_none_or(|charset| charset.eq_ignore_ascii_case("utf-8") || charset.eq_ignore_ascii_case("iso-8859-1"));
    let named = MediaType::ALL.into_iter().find(|media| head(content_type).eq_ignore_ascii_case(media.name()));
    named.filter(|_| readable).ok_or(Unsupported)
}

/// Whether an answer may be compressed with gzip: only if the client names `gzip`, `x-gzip` or `*`.
pub fn accepts_gzip(accept_encoding: Option<&str>) -> bool {
    let elements = || accept_encoding.unwrap_or_default().split(',');
    let weight = |names: &[&str]| {
        elements()
            .filter(|element| names.iter().any(|name| head(element).eq_ignore_ascii_case(name)))
            .map(Weight::of)
            .max()
    };
    weight(&["gzip", "x-gzip"]).or_else(|| weight(&["*"])).is_some_and(|weight| weight > Weight::NONE)
}

/// An element without its parameters.
fn head(element: &str) -> &str {
    element.split(';').next().unwrap_or_default().trim()
}

/// A parameter's value without quotes.
fn parameter<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    element.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim().eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(table: &[(&str, Option<MediaType>)]) {
        for (accept, form) in table {
            assert_eq!(negotiate(Some(accept)), *form, "{accept:?}");
        }
    }

    #[test]
    fn rest_86_without_a_preference_the_answer_is_xml() {
        assert_eq!(negotiate(None), Some(MediaType::Xml));
        check(&[
            ("", Some(MediaType::Xml)),
            (" ", Some(MediaType::Xml)),
            ("*/*", Some(MediaType::Xml)),
            ("application/*", Some(MediaType::Xml)),
        ]);
        assert_eq!(MediaType::Xml.name(), "application/xml");
    }

    #[test]
    fn rest_87_json_is_asked_for_by_name() {
        check(&[
            ("application/json", Some(MediaType::Json)),
            ("APPLICATION/JSON", Some(MediaType::Json)),
            ("application/json;charset=UTF-8; v=1", Some(MediaType::Json)),
            ("application/json, application/*+json", Some(MediaType::Json)),
        ]);
        assert_eq!(MediaType::Json.name(), "application/json");
    }

    #[test]
    fn rest_88_other_types_are_not_acceptable() {
        for accept in
            ["text/html", "text/plain", "text/json", "application/vnd.x+json", "application/json;q=0", "*/*;q=0"]
        {
            assert_eq!(negotiate(Some(accept)), None, "{accept:?}");
        }
    }

    #[test]
    fn rest_89_browsers_get_xml() {
        check(&[("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", Some(MediaType::Xml))]);
    }

    #[test]
    fn rest_90_weight_then_precision_then_order_decides() {
        check(&[
            ("application/json, application/xml", Some(MediaType::Json)),
            ("application/xml, application/json", Some(MediaType::Xml)),
            ("application/xml;q=0.5, application/json;q=0.6", Some(MediaType::Json)),
            ("application/json;q=0.5, application/xml", Some(MediaType::Xml)),
            ("application/json; Q=.9, application/xml;q=0.89", Some(MediaType::Json)),
            ("*/*, application/json", Some(MediaType::Json)),
            ("application/*, application/json", Some(MediaType::Json)),
            ("*/*;q=1, application/json;q=0.5", Some(MediaType::Xml)),
            ("*/*, application/xml;q=0", Some(MediaType::Json)),
            ("application/xml;q=0, application/*;q=0.1", Some(MediaType::Json)),
            ("text/html, *; q=.2, */*; q=.2", Some(MediaType::Xml)),
            ("application/json;q=nonsense", Some(MediaType::Json)),
            (",,application/json,", Some(MediaType::Json)),
        ]);
    }

    #[test]
    fn rest_15_16_bodies_are_json_or_xml_in_utf_8() {
        let json = Ok(MediaType::Json);
        let table = [
            (Some("application/json"), json),
            (Some("Application/JSON"), json),
            (Some("application/json;charset=UTF-8"), json),
            (Some("application/json; charset=\"utf-8\""), json),
            (Some("application/json; v=1; Charset=iso-8859-1"), json),
            (Some("application/xml"), Ok(MediaType::Xml)),
            (Some("application/json;charset=UTF-16"), Err(Unsupported)),
            (Some("application/json;charset="), Err(Unsupported)),
            (Some("text/plain"), Err(Unsupported)),
            (Some("text/xml"), Err(Unsupported)),
            (Some("application/vnd.x+json"), Err(Unsupported)),
            (Some("*/*"), Err(Unsupported)),
            (Some(""), Err(Unsupported)),
            (None, Err(Unsupported)),
        ];
        for (content_type, form) in table {
            assert_eq!(body_type(content_type), form, "{content_type:?}");
        }
    }

    #[test]
    fn gzip_has_to_be_named() {
        let table = [
            (None, false),
            (Some(""), false),
            (Some("identity"), false),
            (Some("deflate, br"), false),
            (Some("gzip"), true),
            (Some("GZIP"), true),
            (Some("x-gzip"), true),
            (Some("gzip, deflate"), true),
            (Some("deflate, gzip;q=0.5"), true),
            (Some("gzip;q=0"), false),
            (Some("gzip; q=0.000, *"), false),
            (Some("*"), true),
            (Some("*;q=0"), false),
            (Some("identity;q=1, *;q=0"), false),
            (Some("gzippy"), false),
        ];
        for (accept_encoding, accepted) in table {
            assert_eq!(accepts_gzip(accept_encoding), accepted, "{accept_encoding:?}");
        }
    }

    #[test]
    fn rest_143_what_exists_in_json_only_is_refused_to_those_who_take_none() {
        let taken =
            [None, Some(""), Some("*/*"), Some("application/json"), Some("application/xml, application/json;q=0.1")];
        assert!(taken.into_iter().all(accepts_json));
        let refused = ["application/xml", "text/html", "application/json;q=0", "application/json;q=0, */*"];
        assert!(!refused.into_iter().any(|accept| accepts_json(Some(accept))));
    }
}
