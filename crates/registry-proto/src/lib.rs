//! Code generated from proto/, and the one place where messages become model types and back.
//! Used by every service; a service method converts at its first line. Map: docs/ARCHITECTURE.md.

mod convert;
mod instance_message;
mod remote;
mod services;
mod status;

pub use convert::{ConvertError, IntoModel, instance_status};
pub use instance_message::InstanceMessage;
pub use remote::{RemoteCache, RemoteEviction, RemoteRegistry};
pub use services::{BoxStream, Cache, Eviction, Registry};
pub use status::to_status;

#[allow(
    missing_docs,
    clippy::all,
    clippy::restriction,
    unused_qualifications,
    unreachable_pub,
    reason = "generated code"
)]
mod generated {
    /// The instance as a plain message, before it is replaced by [`crate::InstanceMessage`].
    pub(crate) mod plain {
        include!(concat!(env!("OUT_DIR"), "/instance/heureka.types.v1.rs"));
    }
    pub mod heureka {
        pub mod types {
            pub mod v1 {
                include!(concat!(env!("OUT_DIR"), "/services/heureka.types.v1.rs"));
            }
        }
        pub mod registry {
            pub mod v1 {
                include!(concat!(env!("OUT_DIR"), "/services/heureka.registry.v1.rs"));
            }
        }
        pub mod cache {
            pub mod v1 {
                include!(concat!(env!("OUT_DIR"), "/services/heureka.cache.v1.rs"));
            }
        }
        pub mod eviction {
            pub mod v1 {
                include!(concat!(env!("OUT_DIR"), "/services/heureka.eviction.v1.rs"));
            }
        }
    }
}

/// The contracts as an encoded `google.protobuf.FileDescriptorSet`, for gRPC reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));

/// The messages shared by all services.
pub mod types {
    pub use crate::generated::heureka::types::v1::*;
}

/// The registry's messages, client and server.
pub mod registry {
    pub use crate::generated::heureka::registry::v1::*;
}

/// The cache's messages, client and server.
pub mod cache {
    pub use crate::generated::heureka::cache::v1::*;
}

/// The evictor's messages, client and server.
pub mod eviction {
    pub use crate::generated::heureka::eviction::v1::*;
}
