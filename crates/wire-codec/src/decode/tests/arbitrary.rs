//! Whatever comes, a decoder answers, and says no by an error.

use super::*;
use crate::{Form, encode_instance, samples};
use proptest::{prelude::*, sample::Index};

/// One damage done to a document.
#[derive(Clone, Debug)]
enum Damage {
    Replace(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, usize),
    Repeat(Index, usize),
    Cut(Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    let token = prop::sample::select(vec![
        "<",
        ">",
        "/",
        "&",
        ";",
        "\"",
        "'",
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\\",
        "\\u",
        "<!",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<?",
        "?>",
        "</",
        "/>",
        "&#x",
        "&amp;",
        "null",
        "<port>",
        "<metadata>",
        "<name>",
        "</instance>",
        "_.",
        "<_.d83d/>",
        "\0",
        "\u{FEFF}",
        "\u{FFFF}",
        "1e999",
        "-",
        "<!DOCTYPE a>",
    ]);
    prop_oneof![
        2 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Replace(at, byte)),
        4 => (any::<Index>(), token).prop_map(|(at, token)| Damage::Insert(at, token.as_bytes().to_vec())),
        2 => (any::<Index>(), 1usize..20).prop_map(|(at, count)| Damage::Remove(at, count)),
        2 => (any::<Index>(), 1usize..60).prop_map(|(at, count)| Damage::Repeat(at, count)),
        1 => any::<Index>().prop_map(Damage::Cut),
    ]
}

fn damaged(mut document: Vec<u8>, all: &[Damage]) -> Vec<u8> {
    for one in all {
        let length = document.len();
        let end = |at: usize, count: usize| (at + count).min(length);
        match one {
            _ if length == 0 => {}
            Damage::Replace(at, byte) => document[at.index(length)] = *byte,
            Damage::Insert(at, bytes) => {
                let at = at.index(length);
                document.splice(at..at, bytes.iter().copied());
            }
            Damage::Remove(at, count) => {
                let at = at.index(length);
                document.drain(at..end(at, *count));
            }
            Damage::Repeat(at, count) => {
                let at = at.index(length);
                let part = document[at..end(at, *count)].to_vec();
                document.splice(at..at, part);
            }
            Damage::Cut(at) => document.truncate(at.index(length)),
        }
    }
    document
}

proptest! {
    #[test]
    fn no_bytes_make_a_decoder_fail_otherwise_than_by_an_error(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        json in r#"[{}\[\]",:a0\\ntue$@-]{0,60}"#,
        xml in r#"[<>/&;#x!?="'a1_.\-\[\] CDATA]{0,60}"#,
    ) {
        for media in MediaType::ALL {
            for body in [&*bytes, json.as_bytes(), xml.as_bytes()] {
                let _ = decode_registration(media, body);
            }
            let _ = decode_registration(media, format!("<instance><app>A</app>{xml}</instance>").as_bytes());
        }
        let _ = decode(&format!(r#""port":{json},"metadata":{{"a":{json}}}"#));
    }

    #[test]
    fn no_damage_to_a_document_makes_a_decoder_fail_otherwise_than_by_an_error(
        record in samples::record(),
        all in prop::collection::vec(damage(), 1..8),
    ) {
        for form in [Form::Json, Form::Xml] {
            let body = damaged(encode_instance(form, &record), &all);
            for media in MediaType::ALL {
                let _ = decode_registration(media, &body);
            }
        }
    }
}
