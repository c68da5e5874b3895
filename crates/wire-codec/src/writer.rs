//! Appending to a document that is being written, and the class names that both forms share. Called by `json_output` and `xml_output`.

use crate::Detail;
use registry_model::{Metadata, StatusCounts};
use std::borrow::Cow;

/// The class that Eureka's documents name for a data centre.
pub(crate) const MARKER_CLASS: &str = "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo";
/// The class of Amazon's data centre.
pub(crate) const AMAZON_CLASS: &str = "com.netflix.appinfo.AmazonInfo";
/// The class that stands for metadata without entries.
pub(crate) const EMPTY_MAP_CLASS: &str = "java.util.Collections$EmptyMap";

/// What compact documents say about an Amazon machine.
const COMPACT_FACTS: [&str; 5] = ["instance-id", "public-ipv4", "public-hostname", "local-ipv4", "availability-zone"];

/// What a document says about an Amazon machine.
pub(crate) fn facts(metadata: &Metadata, detail: Detail) -> impl Iterator<Item = (&str, &str)> {
    metadata.iter().filter(move |(key, _)| match detail {
        Detail::Full => true,
        Detail::Compact => COMPACT_FACTS.contains(key),
    })
}

/// Appends a text with the bytes that `must_escape` names handed, with what follows them, to `escape`, which says how many it took.
///
/// The first pass has no early exit on purpose: the compiler makes vector code of it, and nearly all texts have nothing to escape.
pub(crate) fn push_escaped(
    out: &mut Vec<u8>,
    text: &str,
    must_escape: impl Fn(u8) -> bool,
    mut escape: impl FnMut(&mut Vec<u8>, &[u8]) -> usize,
) {
    let mut rest = text.as_bytes();
    if !rest.iter().fold(false, |found, byte| found | must_escape(*byte)) {
        out.extend_from_slice(rest);
        return;
    }
    while let Some(at) = rest.iter().position(|byte| must_escape(*byte)) {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        let taken = escape(out, special).max(1);
        rest = special.get(taken..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

/// Appends a number in decimal.
pub(crate) fn push_number(out: &mut Vec<u8>, number: impl itoa::Integer) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// The hash code as text; nothing to allocate when there are no instances.
pub(crate) fn hash_text(hash: &StatusCounts) -> Cow<'static, str> {
    match hash.total() {
        0 => Cow::Borrowed(""),
        1.. => Cow::Owned(hash.to_string()),
    }
}
