//! The facade driven without sockets: a real one between a fake cache and a fake registry, on a manual clock.

mod commands;
pub(crate) mod fakes;
mod gate;
mod limits;
mod peer_batch;
mod reads;
mod server;
mod server_info;
mod writes;

use crate::{Config, Facade, Settings, Upstream, body::Body};
use bytes::Bytes;
use clap::Parser;
use fakes::{FakeCache, FakeRegistry};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use service_runtime::ProcessHandle;
use std::sync::Arc;
use testkit::{ManualClock, eventually};

/// A facade and what it stands between.
pub(crate) struct Bench {
    pub(crate) clock: ManualClock,
    pub(crate) process: ProcessHandle,
    pub(crate) cache: Arc<FakeCache>,
    pub(crate) registry: Arc<FakeRegistry>,
    pub(crate) facade: Arc<Facade>,
}

/// An answer with its body collected.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Answer {
    pub(crate) async fn of(response: http::Response<Body>) -> Self {
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Self { status: head.status, headers: head.headers, body }
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

pub(crate) fn config(arguments: &[&str]) -> Config {
    Settings::try_parse_from([&["test"], arguments].concat()).unwrap().facade
}

impl Bench {
    /// A facade with these settings, before its first stream.
    pub(crate) fn new(arguments: &[&str]) -> Self {
        let clock = ManualClock::new();
        let process = ProcessHandle::detached("test", Arc::new(clock.clone()));
        let (cache, registry) = (Arc::new(FakeCache::default()), Arc::new(FakeRegistry::default()));
        let upstream = Upstream::in_process(registry.clone(), cache.clone());
        let facade = Facade::new(&config(arguments), upstream, &process);
        Self { clock, process, cache, registry, facade }
    }

    /// A facade that follows a complete view at revision 1 of epoch 1.
    pub(crate) async fn following(arguments: &[&str]) -> Self {
        let bench = Self::new(arguments);
        bench.cache.watermark(1, 1, true).await;
        eventually("the facade is ready", || bench.process.not_ready().is_empty()).await;
        bench
    }

    pub(crate) async fn send(&self, method: Method, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("/eureka/{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap();
        Answer::of(self.facade.handle(request).await).await
    }

    /// GET as JSON.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, &[("accept", "application/json")], "").await
    }

    /// GET as JSON, in a task of its own.
    pub(crate) fn get_later(&self, path: &'static str) -> tokio::task::JoinHandle<Answer> {
        let facade = Arc::clone(&self.facade);
        tokio::spawn(async move {
            let request = Request::get(format!("/eureka/{path}")).header("accept", "application/json");
            Answer::of(facade.handle(request.body(Full::<Bytes>::default()).unwrap()).await).await
        })
    }
}
