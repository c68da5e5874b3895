//! One file per resource: what a request to it calls, and what it is answered. Called by `router`.

pub(crate) mod apps;
pub(crate) mod instances;
pub(crate) mod metadata;
pub(crate) mod operations;
pub(crate) mod peer_batch;
pub(crate) mod server_info;
pub(crate) mod status;
