//! The text of a body in whichever Unicode encoding it came. Called by `decode`.
//!
//! Eureka's readers ignore what `Content-Type` says of the charset and look at the first bytes: every document begins with an ASCII
//! character, and where its zero bytes are tells the encoding.

use super::DecodeError;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16(ByteOrder),
    Utf32(ByteOrder),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteOrder {
    Big,
    Little,
}

/// The text, without a byte order mark; borrowed if it is UTF-8.
pub(super) fn text_of(body: &[u8]) -> Result<Cow<'_, str>, DecodeError> {
    let (encoding, rest) = detect(body);
    match encoding {
        Encoding::Utf8 => std::str::from_utf8(rest).map(Cow::Borrowed).map_err(|_| DecodeError::NotUnicode),
        Encoding::Utf16(order) => utf16(rest, order).map(Cow::Owned),
        Encoding::Utf32(order) => utf32(rest, order).map(Cow::Owned),
    }
}

/// The encoding, and what follows the byte order mark. Wrong guesses are no danger: what does not decode is refused.
fn detect(body: &[u8]) -> (Encoding, &[u8]) {
    use ByteOrder::{Big, Little};
    match body {
        [0x00, 0x00, 0xFE, 0xFF, rest @ ..] => (Encoding::Utf32(Big), rest),
        [0xFF, 0xFE, 0x00, 0x00, rest @ ..] => (Encoding::Utf32(Little), rest),
        [0xFE, 0xFF, rest @ ..] => (Encoding::Utf16(Big), rest),
        [0xFF, 0xFE, rest @ ..] => (Encoding::Utf16(Little), rest),
        [0xEF, 0xBB, 0xBF, rest @ ..] => (Encoding::Utf8, rest),
        [0, 0, 0, 1..=0xFF, ..] => (Encoding::Utf32(Big), body),
        [1..=0xFF, 0, 0, 0, ..] => (Encoding::Utf32(Little), body),
        [0, 1..=0xFF, ..] => (Encoding::Utf16(Big), body),
        [1..=0xFF, 0, ..] => (Encoding::Utf16(Little), body),
        _ => (Encoding::Utf8, body),
    }
}

fn utf16(body: &[u8], order: ByteOrder) -> Result<String, DecodeError> {
    let (units, []) = body.as_chunks::<2>() else { return Err(DecodeError::NotUnicode) };
    let units = units.iter().map(|unit| match order {
        ByteOrder::Big => u16::from_be_bytes(*unit),
        ByteOrder::Little => u16::from_le_bytes(*unit),
    });
    char::decode_utf16(units).collect::<Result<_, _>>().map_err(|_| DecodeError::NotUnicode)
}

fn utf32(body: &[u8], order: ByteOrder) -> Result<String, DecodeError> {
    let (units, []) = body.as_chunks::<4>() else { return Err(DecodeError::NotUnicode) };
    let characters = units.iter().map(|unit| {
        char::from_u32(match order {
            ByteOrder::Big => u32::from_be_bytes(*unit),
            ByteOrder::Little => u32::from_le_bytes(*unit),
        })
    });
    characters.collect::<Option<_>>().ok_or(DecodeError::NotUnicode)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text in every encoding.
    fn encodings(text: &str) -> Vec<(&'static str, Vec<u8>)> {
        let utf16 = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect();
        let utf32 = |bytes: fn(u32) -> [u8; 4]| text.chars().flat_map(|character| bytes(character.into())).collect();
        vec![
            ("UTF-8", text.as_bytes().to_vec()),
            ("UTF-16BE", utf16(u16::to_be_bytes)),
            ("UTF-16LE", utf16(u16::to_le_bytes)),
            ("UTF-32BE", utf32(u32::to_be_bytes)),
            ("UTF-32LE", utf32(u32::to_le_bytes)),
        ]
    }

    #[test]
    fn rest_16_every_unicode_encoding_is_told_by_its_first_bytes() {
        for text in ["{\"\u{e9}\u{1F600}\"}", "<\u{4e2d}/>", " {}", "1"] {
            for (name, bytes) in encodings(text) {
                assert_eq!(text_of(&bytes).expect("readable"), text, "{name}");
            }
            for (name, bytes) in encodings(&format!("\u{FEFF}{text}")) {
                assert_eq!(text_of(&bytes).expect("readable"), text, "{name} with a mark");
            }
        }
        assert_eq!(text_of(b"").expect("nothing"), "");
    }

    #[test]
    fn bytes_that_are_no_unicode_are_refused() {
        let table: [&[u8]; 10] = [
            b"{\"\xff\"}",
            b"\xc0\xaf",
            b"\xef\xbb\xbf\x80",
            b"\0{\0",
            b"{\0\"",
            b"\0{\xd8\0",
            b"\0\0\0{\0\0\xd8\0",
            b"{\0\0\0}",
            b"{\0\0\0\xff\xff\xff\xff",
            b"\xff\xfe\0",
        ];
        for bytes in table {
            assert!(matches!(text_of(bytes), Err(DecodeError::NotUnicode)), "{bytes:?}");
        }
    }
}
