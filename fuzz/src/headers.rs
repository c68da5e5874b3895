//! What headers say about documents: decided for any text, and by what is named in it only.

use wire_codec::{MediaType, accepts_gzip, accepts_json, body_type, negotiate};

/// A text as `Accept`, `Accept-Encoding` and `Content-Type`.
pub fn headers(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let language = negotiate(Some(text));
    assert!(language != Some(MediaType::Json) || accepts_json(Some(text)), "JSON is chosen where it is not taken");
    if !text.trim().is_empty() {
        let more = format!("text/html;q=1,{text},x/y");
        assert_eq!(negotiate(Some(&more)), language, "languages that nobody writes make no difference");
        assert_eq!(accepts_json(Some(&more)), accepts_json(Some(text)));
    }
    let more = format!("br, {text} ,deflate;q=0.1");
    assert_eq!(accepts_gzip(Some(&more)), accepts_gzip(Some(text)), "codings that nobody writes make no difference");
    if let Ok(media) = body_type(Some(text)) {
        assert!(
            text.trim_start().get(..media.name().len()).is_some_and(|name| name.eq_ignore_ascii_case(media.name()))
        );
        assert_eq!(body_type(Some(media.name())), Ok(media));
    }
}
