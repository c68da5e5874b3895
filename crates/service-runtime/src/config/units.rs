//! Value parsers for settings with a unit; named in `#[arg(value_parser = ...)]` of the services' settings.

use std::time::Duration;

/// Reads a duration with its unit: `30s`, `500ms`, `1m 30s`; a bare `0` needs none.
pub fn duration(text: &str) -> Result<Duration, String> {
    if text.trim() == "0" {
        return Ok(Duration::ZERO);
    }
    humantime::parse_duration(text).map_err(|error| format!("{error} (write `30s`, `500ms`, `5m`)"))
}

const BYTE_UNITS: [(&str, usize); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Reads a size in bytes: `65536`, `512KiB`, `1MiB`, `2GiB`.
pub fn byte_size(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let (digits, unit) = BYTE_UNITS
        .iter()
        .find_map(|(suffix, bytes)| text.strip_suffix(suffix).map(|digits| (digits.trim_end(), *bytes)))
        .unwrap_or((text, 1));
    let count: usize = digits.parse().map_err(|_| "write bytes as `65536`, `512KiB`, `1MiB` or `2GiB`".to_owned())?;
    count.checked_mul(unit).ok_or_else(|| "is more than this machine can address".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_their_unit() {
        let cases = [("30s", 30_000), ("500ms", 500), ("1m 30s", 90_000), ("0", 0), ("0s", 0)];
        for (text, millis) in cases {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["30", "", "-1s", "soon"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_bytes_or_binary_multiples() {
        let cases = [("0", 0), ("65536", 65_536), ("512KiB", 524_288), ("1 MiB", 1_048_576), ("2GiB", 2_147_483_648)];
        for (text, bytes) in cases {
            assert_eq!(byte_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "1MB", "-1", "1.5MiB", "99999999999999GiB"] {
            assert!(byte_size(text).is_err(), "{text}");
        }
    }
}
