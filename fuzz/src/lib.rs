//! What has to hold whatever bytes a client sends: each function takes bytes and panics where it does not.
//! Run by the targets in `fuzz_targets`, and with the seeds in `corpus` by wire-codec's test `fuzz_seeds`, which includes this file.

mod documents;
mod headers;
mod listing;
mod paths;

pub use documents::{batch, gzip_body, json_instance, xml_instance};
pub use headers::headers;
pub use paths::path;

/// What is run with bytes.
pub type Target = fn(&[u8]);

/// Every target by the name of its seeds' folder.
pub const TARGETS: [(&str, Target); 6] = [
    ("json_instance", json_instance),
    ("xml_instance", xml_instance),
    ("batch", batch),
    ("gzip_body", gzip_body),
    ("path", path),
    ("headers", headers),
];
