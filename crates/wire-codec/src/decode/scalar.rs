//! A JSON value read as what a field wants: text from numbers, numbers from text. Called by `fields` and `batch`; made by `json`.

use super::DecodeError;
use std::borrow::Cow;

/// A value by its kind. Numbers, booleans, `null` and nested values keep their JSON text.
pub(super) enum Value<'a> {
    Text(Cow<'a, str>),
    Number(&'a str),
    True,
    False,
    Null,
    Nested(&'a str),
}

impl<'a> Value<'a> {
    /// Reads the JSON text of one value.
    pub(super) fn of(json: &'a str) -> Result<Self, DecodeError> {
        Ok(match json.as_bytes().first() {
            Some(b'"') => Self::Text(serde_json::from_str(json).map(Cow::Owned).map_err(DecodeError::Syntax)?),
            Some(b'{' | b'[') => Self::Nested(json),
            Some(b't') => Self::True,
            Some(b'f') => Self::False,
            Some(b'n') => Self::Null,
            Some(_) | None => Self::Number(json),
        })
    }

    /// As text; scalars have their JSON text, `null` has none.
    pub(super) fn into_text(self, field: &'static str) -> Result<Option<Cow<'a, str>>, DecodeError> {
        match self {
            Self::Nested(_) => Err(DecodeError::NotASingleValue { field }),
            other => Ok(other.into_json_text()),
        }
    }

    /// As text, nested values too; `null` has none.
    pub(super) fn into_json_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(json) | Self::Nested(json) => Some(Cow::Borrowed(json)),
            Self::True => Some(Cow::Borrowed("true")),
            Self::False => Some(Cow::Borrowed("false")),
            Self::Null => None,
        }
    }

    /// As a whole number, decimals cut off; `None` if it is not numeric.
    pub(super) fn numeric(&self, field: &'static str) -> Result<Option<i64>, DecodeError> {
        let number = match self {
            Self::Text(text) => integer(text.trim()),
            Self::Number(json) => integer(json),
            Self::True | Self::False | Self::Null => Integer::NotNumeric,
            Self::Nested(_) => return Err(DecodeError::NotASingleValue { field }),
        };
        match number {
            Integer::Fits(number) => Ok(Some(number)),
            Integer::TooLarge => Err(DecodeError::TooLarge { field }),
            Integer::NotNumeric => Ok(None),
        }
    }

    /// As a whole number; what is not numeric is 0, as in Eureka.
    pub(super) fn to_integer(&self, field: &'static str) -> Result<i64, DecodeError> {
        Ok(self.numeric(field)?.unwrap_or(0))
    }

    /// As a number of 32 bits.
    pub(super) fn to_small_integer(&self, field: &'static str) -> Result<i32, DecodeError> {
        i32::try_from(self.to_integer(field)?).map_err(|_| DecodeError::TooLarge { field })
    }
}

enum Integer {
    Fits(i64),
    TooLarge,
    NotNumeric,
}

/// Reads decimal digits exactly; only an exponent takes the way over floating point.
fn integer(text: &str) -> Integer {
    if let Ok(number) = text.parse() {
        return Integer::Fits(number);
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    let plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    if !digits.is_empty() && plain(digits) && plain(fraction) {
        return whole.parse().map_or(Integer::TooLarge, Integer::Fits);
    }
    // Names such as "infinity", which Rust would read as numbers, are none here.
    let numeric = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
    match text.parse::<f64>() {
        Ok(number) if numeric => {
            // 2^63 is the first float that does not fit.
            const LIMIT: f64 = 9_223_372_036_854_775_808.0;
            #[expect(clippy::cast_possible_truncation, reason = "within the limit; cutting decimals off is the point")]
            if (-LIMIT..LIMIT).contains(&number) { Integer::Fits(number as i64) } else { Integer::TooLarge }
        }
        Ok(_) | Err(_) => Integer::NotNumeric,
    }
}
