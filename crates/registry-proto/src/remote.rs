//! Forwarders: the same interfaces over a channel. Used where a service runs in another process.

use crate::{
    BoxStream,
    cache::{self, cache_service_client::CacheServiceClient, cache_service_server::CacheService},
    eviction::{self, eviction_service_client::EvictionServiceClient, eviction_service_server::EvictionService},
    registry::{self, registry_service_client::RegistryServiceClient, registry_service_server::RegistryService},
};
use futures::TryStreamExt;
use std::{error::Error, time::Duration};
use tonic::{Code, Request, Response, Status, transport::Channel};

/// How long a unary call may take. A registry answers in well under a millisecond; what takes longer is better refused.
const DEADLINE: Duration = Duration::from_secs(5);

/// How large a message may be, in bytes. Senders of streams keep each message far below.
const MAX_MESSAGE_BYTES: usize = 8 << 20;

fn with_deadline<T>(mut request: Request<T>) -> Request<T> {
    request.set_timeout(DEADLINE);
    request
}

/// A failure of the way to a service, which in places reads as one of the service, as what it is: a reason to try again. The
/// service's own failures have no source here, because they came as a code and a text; ours name their reason besides.
fn or_unavailable(status: Status) -> Status {
    let indefinite = matches!(status.code(), Code::Unknown | Code::Internal);
    if indefinite && status.source().is_some() && status.details().is_empty() {
        Status::unavailable(status.message())
    } else {
        status
    }
}

/// A forwarder: a type over a channel that implements a service by calling the same service elsewhere.
macro_rules! forwarder {
    (
        $(#[$doc:meta])* $name:ident: $service:ident over $client:ident;
        streams { $($stream_method:ident($stream_request:ty) -> $stream_type:ident = $stream_response:ty;)? }
        unary { $($method:ident($request:ty) -> $response:ty;)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name($client<Channel>);

        impl $name {
            /// A forwarder over this channel.
            pub fn new(channel: Channel) -> Self {
                Self(
                    $client::new(channel)
                        .max_decoding_message_size(MAX_MESSAGE_BYTES)
                        .max_encoding_message_size(MAX_MESSAGE_BYTES),
                )
            }
        }

        #[tonic::async_trait]
        impl $service for $name {
            $(
                type $stream_type = BoxStream<$stream_response>;

                async fn $stream_method(
                    &self,
                    request: Request<$stream_request>,
                ) -> Result<Response<Self::$stream_type>, Status> {
                    let response = self.0.clone().$stream_method(request).await.map_err(or_unavailable)?;
                    Ok(response.map(|stream| Box::pin(stream.map_err(or_unavailable)) as Self::$stream_type))
                }
            )?
            $(
                async fn $method(&self, request: Request<$request>) -> Result<Response<$response>, Status> {
                    self.0.clone().$method(with_deadline(request)).await.map_err(or_unavailable)
                }
            )*
        }
    };
}

forwarder! {
    /// `RegistryService` over a channel.
    RemoteRegistry: RegistryService over RegistryServiceClient;
    streams {
        watch(registry::WatchRequest) -> WatchStream = registry::WatchResponse;
    }
    unary {
        register(registry::RegisterRequest) -> registry::RegisterResponse;
        renew(registry::RenewRequest) -> registry::RenewResponse;
        renew_batch(registry::RenewBatchRequest) -> registry::RenewBatchResponse;
        cancel(registry::CancelRequest) -> registry::CancelResponse;
        set_status(registry::SetStatusRequest) -> registry::SetStatusResponse;
        clear_status(registry::ClearStatusRequest) -> registry::ClearStatusResponse;
        add_metadata(registry::AddMetadataRequest) -> registry::AddMetadataResponse;
        get_instance(registry::GetInstanceRequest) -> registry::GetInstanceResponse;
        get_lease_times(registry::GetLeaseTimesRequest) -> registry::GetLeaseTimesResponse;
        list_overrides(registry::ListOverridesRequest) -> registry::ListOverridesResponse;
        get_statistics(registry::GetStatisticsRequest) -> registry::GetStatisticsResponse;
        report_leases(registry::ReportLeasesRequest) -> registry::ReportLeasesResponse;
        evict(registry::EvictRequest) -> registry::EvictResponse;
        give_up_missing(registry::GiveUpMissingRequest) -> registry::GiveUpMissingResponse;
    }
}

forwarder! {
    /// `CacheService` over a channel.
    RemoteCache: CacheService over CacheServiceClient;
    streams {
        follow(cache::FollowRequest) -> FollowStream = cache::FollowResponse;
    }
    unary {
        subscribe(cache::SubscribeRequest) -> cache::SubscribeResponse;
    }
}

forwarder! {
    /// `EvictionService` over a channel.
    RemoteEviction: EvictionService over EvictionServiceClient;
    streams {}
    unary {
        show_plan(eviction::ShowPlanRequest) -> eviction::ShowPlanResponse;
        suspend(eviction::SuspendRequest) -> eviction::SuspendResponse;
        resume(eviction::ResumeRequest) -> eviction::ResumeResponse;
    }
}

#[cfg(test)]
mod tests;
