//! Eureka's REST documents: decoding, encoding, negotiation, paged payloads.
