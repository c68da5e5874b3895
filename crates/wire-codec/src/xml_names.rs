//! Metadata keys as XML element names: the coding of Eureka's XML library. Called by `xml_output`.

/// Appends the element name of a key: `$` is `_-`, `_` is `__`, and a UTF-16 unit that may not stand at its place is `_.` and four hex digits.
pub(crate) fn push_element_name(out: &mut Vec<u8>, key: &str) {
    let mut allowed: fn(char) -> bool = may_start;
    for character in key.chars() {
        match character {
            '$' => out.extend_from_slice(b"_-"),
            '_' => out.extend_from_slice(b"__"),
            _ if allowed(character) => {
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    push_unit(out, *unit);
                }
            }
        }
        allowed = may_follow;
    }
}

fn push_unit(out: &mut Vec<u8>, unit: u16) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.extend_from_slice(b"_.");
    let digits = [unit >> 12, unit >> 8, unit >> 4, unit];
    out.extend(digits.iter().filter_map(|digit| HEX.get(usize::from(digit & 15))));
}

fn may_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == ':'
}

fn may_follow(character: char) -> bool {
    may_start(character) || character.is_ascii_digit() || matches!(character, '.' | '-')
}
