//! JSON read value by value in one pass: objects, lists and plain strings here, everything else by serde_json.
//! Called by `decode`, `fields` and `batch`; follows `scalar`.

use super::{DecodeError, MAX_DEPTH, scalar::Value};
use serde::de::{Error, IgnoredAny};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What of a document is still to be read.
#[derive(Clone, Copy)]
pub(super) struct Json<'a> {
    rest: &'a str,
    /// Whether an object or a list has just begun, so that no comma is due.
    opened: bool,
}

impl<'a> Json<'a> {
    /// Reads a whole body. A body that is no JSON is refused as such, wherever the reading stopped.
    pub(super) fn read<T>(
        body: &'a str,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let mut json = Self::of(body);
        let outcome = read(&mut json).and_then(|value| if json.at_end() { Ok(value) } else { Err(malformed()) });
        outcome.map_err(|fault| serde_json::from_str::<IgnoredAny>(body).map_or_else(DecodeError::Syntax, |_| fault))
    }

    /// Reads one value, which has been read before.
    pub(super) fn of(rest: &'a str) -> Self {
        Self { rest, opened: false }
    }

    /// Enters an object; its keys follow.
    pub(super) fn open(&mut self, field: &'static str) -> Result<(), DecodeError> {
        self.enter('{').ok_or(DecodeError::NotAnObject { field })
    }

    /// Enters a list; its elements follow. `None` if there is none.
    pub(super) fn open_list(&mut self) -> Option<()> {
        self.enter('[')
    }

    /// The next key of the innermost object, whose value follows; `None` at its end.
    pub(super) fn key(&mut self) -> Result<Option<Cow<'a, str>>, DecodeError> {
        if !self.goes_on('}')? {
            return Ok(None);
        }
        let key = match self.plain_string() {
            Some(key) => Cow::Borrowed(key),
            None if self.rest.starts_with('"') => Value::of(self.raw()?)?.into_json_text().unwrap_or_default(),
            None => return Err(malformed()),
        };
        if self.take(':') { Ok(Some(key)) } else { Err(malformed()) }
    }

    /// The same without the keys whose value is `null`.
    pub(super) fn given(&mut self) -> Result<Option<Cow<'a, str>>, DecodeError> {
        loop {
            let key = self.key()?;
            if key.is_none() || !self.take_null() {
                return Ok(key);
            }
        }
    }

    /// Whether the innermost list has one more element, which follows.
    pub(super) fn element(&mut self) -> Result<bool, DecodeError> {
        self.goes_on(']')
    }

    /// Whether an object or a list follows.
    pub(super) fn nests(&mut self) -> bool {
        self.skip_blanks();
        self.rest.starts_with(['{', '['])
    }

    /// The next value.
    pub(super) fn value(&mut self) -> Result<Value<'a>, DecodeError> {
        match self.plain_string() {
            Some(text) => Ok(Value::Text(Cow::Borrowed(text))),
            None => Value::of(self.raw()?),
        }
    }

    /// The JSON text of the next value.
    pub(super) fn raw(&mut self) -> Result<&'a str, DecodeError> {
        let mut values = serde_json::Deserializer::from_str(self.rest).into_iter::<&RawValue>();
        let value = values.next().ok_or_else(malformed)?.map_err(DecodeError::Syntax)?;
        self.rest = self.rest.get(values.byte_offset()..).unwrap_or_default();
        Ok(value.get())
    }

    /// Passes over the next value.
    pub(super) fn skip(&mut self) -> Result<(), DecodeError> {
        if self.plain_string().is_none() {
            self.raw()?;
        }
        Ok(())
    }

    fn enter(&mut self, bracket: char) -> Option<()> {
        self.opened = self.take(bracket);
        self.opened.then_some(())
    }

    /// Whether one more entry or element comes before this bracket.
    fn goes_on(&mut self, bracket: char) -> Result<bool, DecodeError> {
        let opened = std::mem::take(&mut self.opened);
        if self.take(bracket) {
            return Ok(false);
        }
        if opened || self.take(',') { Ok(true) } else { Err(malformed()) }
    }

    /// The next value if it is a string that stands for itself, as most do.
    fn plain_string(&mut self) -> Option<&'a str> {
        self.skip_blanks();
        let inner = self.rest.strip_prefix('"')?;
        let (text, rest) = inner.split_at_checked(plain_length(inner.as_bytes())?)?;
        self.rest = rest.strip_prefix('"')?;
        Some(text)
    }

    fn take_null(&mut self) -> bool {
        self.skip_blanks();
        let rest = self.rest.strip_prefix("null");
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn take(&mut self, token: char) -> bool {
        self.skip_blanks();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn at_end(&mut self) -> bool {
        self.skip_blanks();
        self.rest.is_empty()
    }

    fn skip_blanks(&mut self) {
        if self.rest.as_bytes().first().is_some_and(|byte| *byte <= b' ') {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        }
    }
}

/// How many bytes come before the first that ends a string, begins an escape or is forbidden in strings: eight at a time, since most
/// of a document is strings.
fn plain_length(text: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    /// Marks the bytes that are less than a limit: the first of them for certain, those behind it perhaps wrongly.
    const fn less(word: u64, limit: u8) -> u64 {
        word.wrapping_sub(ONES * limit as u64) & !word & HIGHS
    }
    let (words, rest) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quotes = less(word ^ (ONES * b'"' as u64), 1);
        let escapes = less(word ^ (ONES * b'\\' as u64), 1);
        let found = quotes | escapes | less(word, b' ');
        if found != 0 {
            return Some(at * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let at = rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..b' '))?;
    Some(text.len() - rest.len() + at)
}

/// Stands for what serde_json will say of the body.
fn malformed() -> DecodeError {
    DecodeError::Syntax(serde_json::Error::custom("another token is due"))
}

/// Refuses what nests too deep or has more entries than given before anything walks through it or is stored. Looks at brackets and
/// colons outside of strings only, so text that is no JSON may pass.
pub(super) fn check_shape(body: &str, most_entries: usize) -> Result<(), DecodeError> {
    // Nearly every body is so small that counting is enough. A chunk's sum fits a byte, which makes vector code of it.
    let openings = |chunk: &[u8]| chunk.iter().map(|byte| u8::from(matches!(byte, b'{' | b'['))).sum::<u8>();
    let most_depth: usize = body.as_bytes().chunks(255).map(|chunk| usize::from(openings(chunk))).sum();
    if most_depth <= MAX_DEPTH && body.len() <= most_entries {
        return Ok(());
    }
    let mut depth = 0_usize;
    let mut entries = 0_usize;
    let mut bytes = body.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            b':' => entries += 1,
            _ => {}
        }
        if entries > most_entries {
            return Err(DecodeError::TooManyEntries);
        }
        if depth > MAX_DEPTH {
            return Err(DecodeError::TooDeep);
        }
    }
    Ok(())
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads whatever follows.
    fn walk(json: &mut Json<'_>) -> Result<(), DecodeError> {
        if !json.nests() {
            return json.skip();
        }
        if json.open("this").is_ok() {
            while json.key()?.is_some() {
                walk(json)?;
            }
        } else if json.open_list().is_some() {
            while json.element()? {
                walk(json)?;
            }
        }
        Ok(())
    }

    fn is_readable(body: &str) -> bool {
        Json::read(body, walk).is_ok()
    }

    #[test]
    fn what_comes_between_values_has_to_be_json() {
        for body in
            ["{}", "[ ]", " { \"a\" :\t1 , \"a\":[{},\r\n2] } ", r#"{"\u0061\"":"\\"}"#, "[null,true,-1.5e3]", "7"]
        {
            assert!(is_readable(body), "{body}");
        }
        for body in [
            "",
            " ",
            "{",
            "[",
            "}",
            "{,}",
            "[,]",
            "[1,]",
            "{\"a\":1,}",
            "[1 2]",
            "{\"a\" 1}",
            "{\"a\"}",
            "{a:1}",
            "{1:1}",
            "[}",
            "{]",
            "[1]]",
            "{} {}",
            "[01]",
            "[nul]",
            "[nullx]",
            "[\"a]",
            "[\"a\u{1}\"]",
            "[\"\\x\"]",
            "[\u{a0}1]",
            "{\"a\":1;\"b\":2}",
        ] {
            assert!(!is_readable(body), "{body}");
        }
    }

    proptest! {
        #[test]
        fn a_plain_string_ends_where_a_search_by_bytes_finds_it(text in r#"[a-d\"\\\x00-\x24\x7F-\u{FFFF}]{0,40}"#) {
            for start in 0..text.len() {
                let text = &text.as_bytes()[start..];
                let oracle = text.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..b' '));
                prop_assert_eq!(plain_length(text), oracle, "{:?}", text);
            }
        }

        #[test]
        fn what_is_read_is_what_serde_json_reads(
            tokens in prop::collection::vec(
                prop::sample::select(vec!["{", "}", "[", "]", ",", ":", "\"a\"", "\"\\n\"", "\"a\":", "1", "null", " ", "\"", "{}", "[1]"]),
                0..12,
            ),
        ) {
            let body = tokens.concat();
            prop_assert_eq!(is_readable(&body), serde_json::from_str::<IgnoredAny>(&body).is_ok(), "{}", body);
        }
    }
}
