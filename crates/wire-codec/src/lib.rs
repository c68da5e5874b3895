//! Eureka's REST language: documents decoded and encoded, paths, negotiation, paged payloads. Pure functions of bytes, without I/O or async.
//! Called by cache-sync (pages), http-facade (paths, negotiation, decoding, single instances); follows registry-model. Map: docs/ARCHITECTURE.md.

mod batch_answer;
mod decode;
mod document;
mod form;
mod gunzip;
mod json_output;
mod negotiate;
mod pages;
mod resource;
#[cfg(test)]
mod samples;
mod status_info;
mod writer;
mod xml_names;
mod xml_output;

pub use batch_answer::BatchAnswer;
pub use decode::{BatchAction, BatchItem, DecodeError, MAX_BATCH_ITEMS, decode_batch, decode_registration};
pub use document::{Document, Extent, Nesting, Place, Run, encode_head, encode_instance, encode_page, encode_tail};
pub use form::{ApiVersion, Detail, Form, MediaType, PerForm};
pub use gunzip::{NotInflated, gunzip};
pub use negotiate::{Unsupported, accepts_gzip, accepts_json, body_type, negotiate};
pub use pages::{BadSplice, CorruptPage, Page, PageSplice, Payload};
pub use resource::{BrokenEncoding, Resource, query_pairs, query_value};
pub use status_info::{StatusInfo, encode_overrides, encode_status_info};
