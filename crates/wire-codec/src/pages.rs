//! Payloads kept as deflated pages, which joined are one ordinary gzip member.
//! Built by cache-sync, walked by http-facade for every answer.

mod checksum;
mod page;
mod payload;
mod run;

pub use page::{CorruptPage, Page};
pub use payload::{BadSplice, PageSplice, Payload};
