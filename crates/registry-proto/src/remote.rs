//! Forwarders: the same interfaces over a channel. Used where a service runs in another process.

use crate::{
    BoxStream,
    cache::{
        FollowRequest, FollowResponse, SubscribeRequest, SubscribeResponse, cache_service_client::CacheServiceClient,
        cache_service_server::CacheService,
    },
    registry::{
        CancelRequest, CancelResponse, GetInstanceRequest, GetInstanceResponse, RegisterRequest, RegisterResponse,
        RenewBatchRequest, RenewBatchResponse, RenewRequest, RenewResponse, WatchRequest, WatchResponse,
        registry_service_client::RegistryServiceClient, registry_service_server::RegistryService,
    },
};
use std::time::Duration;
use tonic::{Request, Response, Status, transport::Channel};

/// How long a unary call may take. A registry answers in well under a millisecond; what takes longer is better refused.
const DEADLINE: Duration = Duration::from_secs(5);

/// How large a message may be, in bytes. Senders of streams keep each message far below.
const MAX_MESSAGE_BYTES: usize = 8 << 20;

fn with_deadline<T>(mut request: Request<T>) -> Request<T> {
    request.set_timeout(DEADLINE);
    request
}

/// `RegistryService` over a channel.
#[derive(Clone, Debug)]
pub struct RemoteRegistry(RegistryServiceClient<Channel>);

impl RemoteRegistry {
    /// A forwarder over this channel.
    pub fn new(channel: Channel) -> Self {
        Self(
            RegistryServiceClient::new(channel)
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(MAX_MESSAGE_BYTES),
        )
    }
}

#[tonic::async_trait]
impl RegistryService for RemoteRegistry {
    type WatchStream = BoxStream<WatchResponse>;

    async fn register(&self, request: Request<RegisterRequest>) -> Result<Response<RegisterResponse>, Status> {
        self.0.clone().register(with_deadline(request)).await
    }

    async fn renew(&self, request: Request<RenewRequest>) -> Result<Response<RenewResponse>, Status> {
        self.0.clone().renew(with_deadline(request)).await
    }

    async fn renew_batch(&self, request: Request<RenewBatchRequest>) -> Result<Response<RenewBatchResponse>, Status> {
        self.0.clone().renew_batch(with_deadline(request)).await
    }

    async fn cancel(&self, request: Request<CancelRequest>) -> Result<Response<CancelResponse>, Status> {
        self.0.clone().cancel(with_deadline(request)).await
    }

    async fn get_instance(
        &self,
        request: Request<GetInstanceRequest>,
    ) -> Result<Response<GetInstanceResponse>, Status> {
        self.0.clone().get_instance(with_deadline(request)).await
    }

    async fn watch(&self, request: Request<WatchRequest>) -> Result<Response<Self::WatchStream>, Status> {
        Ok(self.0.clone().watch(request).await?.map(|stream| Box::pin(stream) as Self::WatchStream))
    }
}

/// `CacheService` over a channel.
#[derive(Clone, Debug)]
pub struct RemoteCache(CacheServiceClient<Channel>);

impl RemoteCache {
    /// A forwarder over this channel.
    pub fn new(channel: Channel) -> Self {
        Self(
            CacheServiceClient::new(channel)
                .max_decoding_message_size(MAX_MESSAGE_BYTES)
                .max_encoding_message_size(MAX_MESSAGE_BYTES),
        )
    }
}

#[tonic::async_trait]
impl CacheService for RemoteCache {
    type FollowStream = BoxStream<FollowResponse>;

    async fn follow(&self, request: Request<FollowRequest>) -> Result<Response<Self::FollowStream>, Status> {
        Ok(self.0.clone().follow(request).await?.map(|stream| Box::pin(stream) as Self::FollowStream))
    }

    async fn subscribe(&self, request: Request<SubscribeRequest>) -> Result<Response<SubscribeResponse>, Status> {
        self.0.clone().subscribe(with_deadline(request)).await
    }
}
