//! One facade over registry-core and cache-sync, all real, wired through switches; does what the steps say.

use crate::{
    oracle::Oracle,
    reads::{Answer, Begun, Reads},
    steps::{APPS, Fault, Part, Payload, Read, Registration, Scope, Step, Turn, app_name, instance_id},
    upstreams::Switched,
};
use bytes::Bytes;
use cache_sync::CacheSync;
use clap::Parser;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use http_facade::{Body, Facade, Upstream};
use parking_lot::Mutex;
use registry_core::{Life, RegistryCore};
use registry_model::{Epoch, NodeId};
use registry_proto::{Cache, Registry};
use scenario_tests::Applications;
use serde_json::json;
use service_runtime::{ProcessHandle, SharedClock};
use std::{collections::BTreeMap, io::Read as _, sync::Arc, time::Duration};
use testkit::ManualClock;
use tokio::time::{sleep, timeout};
use wire_codec::MediaType;

/// In virtual time, which passes only when nothing else is left to do: enough for any back-off.
const AGES: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(1);

#[derive(Parser)]
struct Settings {
    #[command(flatten)]
    registry: registry_core::Config,
    #[command(flatten)]
    cache: cache_sync::Config,
    #[command(flatten)]
    facade: http_facade::Config,
}

/// A service that runs, reachable or not.
struct Running<S> {
    service: S,
    process: ProcessHandle,
}

pub(crate) struct World {
    settings: Settings,
    clock: ManualClock,
    oracle: Arc<Mutex<Oracle>>,
    reads: Reads,
    registry_line: Arc<Switched<Registry>>,
    cache_line: Arc<Switched<Cache>>,
    registry: Running<Registry>,
    cache: Running<Cache>,
    facade: Arc<Facade>,
    facade_process: ProcessHandle,
    epoch: u64,
    settled: bool,
    /// The stamps of the last registrations.
    stamps: BTreeMap<(u8, u8), i64>,
}

fn check(condition: bool, fault: impl FnOnce() -> String) -> Result<(), String> {
    if condition { Ok(()) } else { Err(fault()) }
}

impl World {
    pub(crate) async fn new(push: bool) -> Self {
        let settings = Settings::try_parse_from(["test", "--cache-push", if push { "true" } else { "false" }]).unwrap();
        let clock = ManualClock::new();
        let oracle = Arc::new(Mutex::new(Oracle::new(clock.clone())));
        let (registry_line, cache_line) = (Switched::<Registry>::new(&oracle), Switched::<Cache>::new(&oracle));
        let registry = start_registry(&settings, 1, &clock, &oracle);
        registry_line.connect(Arc::clone(&registry.service));
        let cache = start_cache(&settings, &registry_line, &clock, &oracle);
        cache_line.connect(Arc::clone(&cache.service));
        let facade_process = process("http-facade", &clock);
        let upstream = Upstream::in_process(Arc::clone(&registry_line) as Registry, Arc::clone(&cache_line) as Cache);
        let facade = Facade::new(&settings.facade, upstream, &facade_process);
        Self {
            settings,
            clock,
            oracle,
            reads: Reads::default(),
            registry_line,
            cache_line,
            registry,
            cache,
            facade,
            facade_process,
            epoch: 1,
            settled: false,
            stamps: BTreeMap::new(),
        }
    }

    fn push(&self) -> bool {
        self.settings.facade.cache_push
    }

    pub(crate) async fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Read(read) => return self.read(read).await,
            Step::Settle => return self.settle().await,
            Step::ReadOne { app, id } => return self.read_one(*app, *id).await,
            Step::Renew { app, id } => return self.renew(*app, *id).await,
            Step::Register(_)
            | Step::Cancel { .. }
            | Step::ReadWhile(..)
            | Step::Fault(_)
            | Step::Advance(_)
            | Step::Pause(_) => {}
        }
        self.settled = false;
        match step {
            Step::Register(registration) => self.register(registration).await,
            Step::Cancel { app, id } => self.cancel(*app, *id).await,
            Step::ReadWhile(read, fault) => self.read_while(read, *fault).await,
            Step::Fault(fault) => {
                self.fault(*fault).await;
                Ok(())
            }
            Step::Advance(seconds) => {
                self.clock.advance(Duration::from_secs((*seconds).into()));
                Ok(())
            }
            Step::Pause(millis) => {
                sleep(Duration::from_millis((*millis).into())).await;
                Ok(())
            }
            Step::Read(_) | Step::Settle | Step::ReadOne { .. } | Step::Renew { .. } => Ok(()),
        }
    }

    /// Everything comes back, the registry becomes warm, and all reads show what it holds.
    pub(crate) async fn finish(mut self) -> Result<(), String> {
        self.settle().await?;
        for part in [Part::Registry, Part::Cache] {
            self.fault(Fault { part, turn: Turn::Back }).await;
        }
        self.settle().await?;
        self.clock.advance(Duration::from_secs(90));
        self.settle().await?;
        let complete = self.oracle.lock().follow.mark.is_some_and(|(_, complete)| complete);
        check(complete, || "the facade is not told that the view is complete".to_owned())?;
        let scopes = [Scope::All, Scope::Delta].into_iter().chain((0..=APPS).map(Scope::App));
        for scope in scopes {
            for (is_json, gzip) in [(true, false), (false, true)] {
                let read = Read { payload: Payload { scope, is_json }, gzip };
                self.read(&read).await.map_err(|fault| format!("{read:?}: {fault}"))?;
            }
        }
        for process in [&self.facade_process, &self.cache.process, &self.registry.process] {
            process.stop().await;
            check(process.failure().is_none(), || format!("{process:?}: {:?}", process.failure()))?;
        }
        Ok(())
    }

    async fn send(&self, method: &str, path: &str, body: String) -> Response<Bytes> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("accept", "application/json")
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        let (head, body) = self.facade.handle(request).await.into_parts();
        Response::from_parts(head, body.collect().await.unwrap().to_bytes())
    }

    /// A 503 says when to come back, and comes only while the registry is down.
    fn is_refused(&self, response: &Response<Bytes>) -> Result<bool, String> {
        if self.registry_line.is_connected() {
            return Ok(false);
        }
        let retry = response.headers().contains_key("retry-after");
        check(response.status() == StatusCode::SERVICE_UNAVAILABLE && retry, || {
            format!("{} while the registry is down", response.status())
        })?;
        Ok(true)
    }

    async fn register(&mut self, registration: &Registration) -> Result<(), String> {
        let Registration { app, id, status, vip, dirty } = *registration;
        let stamp = self.stamps.get(&(app, id)).copied().unwrap_or(1000) + i64::from(dirty);
        let instance = json!({
            "instanceId": instance_id(id), "hostName": format!("h{app}{id}.test"), "app": app_name(app),
            // Nobody is taken for somebody else, and no lease runs out: both are other tests' concern.
            "ipAddr": format!("192.0.{app}.{id}"), "leaseInfo": {"durationInSecs": 1_000_000},
            "status": status, "vipAddress": format!("vip-{vip}"), "lastDirtyTimestamp": stamp,
            "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
        });
        let body = json!({ "instance": instance }).to_string();
        let response = self.send("POST", &format!("/eureka/apps/{}", app_name(app)), body).await;
        if !self.is_refused(&response)? {
            check(response.status() == StatusCode::NO_CONTENT, || format!("{}", response.status()))?;
            self.stamps.insert((app, id), stamp);
        }
        Ok(())
    }

    fn is_registered(&self, app: u8, id: u8) -> bool {
        self.oracle.lock().present().contains_key(&(app_name(app), instance_id(id)))
    }

    async fn of_one(&self, method: &str, app: u8, id: u8) -> Result<Option<Response<Bytes>>, String> {
        let there = self.is_registered(app, id);
        let path = format!("/eureka/apps/{}/{}", app_name(app), instance_id(id));
        let response = self.send(method, &path, String::new()).await;
        if self.is_refused(&response)? {
            return Ok(None);
        }
        let expected = if there { StatusCode::OK } else { StatusCode::NOT_FOUND };
        check(response.status() == expected, || format!("{} for {path}", response.status()))?;
        Ok(there.then_some(response))
    }

    async fn cancel(&self, app: u8, id: u8) -> Result<(), String> {
        self.of_one("DELETE", app, id).await.map(drop)
    }

    async fn renew(&self, app: u8, id: u8) -> Result<(), String> {
        self.of_one("PUT", app, id).await.map(drop)
    }

    async fn read_one(&self, app: u8, id: u8) -> Result<(), String> {
        let Some(response) = self.of_one("GET", app, id).await? else { return Ok(()) };
        let document: serde_json::Value = serde_json::from_slice(response.body()).unwrap();
        let mut shown = scenario_tests::fields(&document["instance"]);
        crate::oracle::without_renewal(&mut shown);
        let expected = self.oracle.lock().present()[&(app_name(app), instance_id(id))].fields.clone();
        check(shown == expected, || format!("{shown:#?} instead of {expected:#?}"))
    }

    fn is_up(&self) -> bool {
        self.registry_line.is_connected() && self.cache_line.is_connected()
    }

    fn begin(&self, payload: Payload) -> Begun {
        self.reads.begin(&self.oracle.lock(), payload, self.is_up(), self.settled, self.push())
    }

    async fn read(&mut self, read: &Read) -> Result<(), String> {
        let begun = self.begin(read.payload);
        let mut reading = std::pin::pin!(request(Arc::clone(&self.facade), read.clone()));
        let (answer, healthy) = if begun.healthy {
            // The clock stands still, so a read that gives up waiting never ends.
            match timeout(AGES, reading.as_mut()).await {
                Ok(answer) => (answer?, true),
                Err(_) => {
                    let oracle = self.oracle.lock();
                    let (follow, last) = (oracle.follow, oracle.views.last().map(|view| (view.cache, view.at)));
                    let acknowledged = oracle.acknowledged;
                    return Err(format!(
                        "a read goes on for ever while everything is up: {follow:?}, last view {last:?}, {acknowledged:?}, {begun:?}"
                    ));
                }
            }
        } else {
            (self.impatient(reading).await?, false)
        };
        self.end(begun, healthy, &answer)
    }

    async fn read_while(&mut self, read: &Read, fault: Fault) -> Result<(), String> {
        let begun = self.begin(read.payload);
        let mut reading = Box::pin(request(Arc::clone(&self.facade), read.clone()));
        let early = futures::future::poll_immediate(&mut reading).await;
        if let Some(answer) = early {
            self.end(begun, begun.healthy, &answer?)?;
            self.fault(fault).await;
            return Ok(());
        }
        self.fault(fault).await;
        let answer = self.impatient(reading).await?;
        self.end(begun, false, &answer)
    }

    /// Waits for a read, and moves the clock past what it waits for on the clock.
    async fn impatient(
        &self,
        mut reading: impl Future<Output = Result<Answer, String>> + Unpin,
    ) -> Result<Answer, String> {
        for patience in [Duration::ZERO, Duration::from_millis(50), Duration::from_secs(5)] {
            self.clock.advance(patience);
            if let Ok(answer) = timeout(MOMENT, &mut reading).await {
                return answer;
            }
        }
        timeout(AGES, reading).await.unwrap_or_else(|_| Err("a read goes on for ever".to_owned()))
    }

    fn end(&mut self, begun: Begun, healthy: bool, answer: &Answer) -> Result<(), String> {
        let mut oracle = self.oracle.lock();
        // A payload may come after its reader has been sent away.
        oracle.may_hold |= !matches!(answer, Answer::NotFound);
        self.reads.end(begun, healthy, answer, &oracle, &self.clock)
    }

    async fn fault(&mut self, fault: Fault) {
        if fault.part == Part::Cache {
            // The facade has yet to notice.
            self.oracle.lock().follow_is_cut();
        }
        match (fault.part, fault.turn) {
            (Part::Registry, Turn::Down) => self.registry_line.cut(),
            (Part::Registry, Turn::Back) => {
                self.registry_line.cut();
                self.registry_line.connect(Arc::clone(&self.registry.service));
            }
            (Part::Registry, Turn::New) => {
                self.registry_line.cut();
                self.registry.process.stop().await;
                self.epoch += 1;
                self.registry = start_registry(&self.settings, self.epoch, &self.clock, &self.oracle);
                self.registry_line.connect(Arc::clone(&self.registry.service));
            }
            (Part::Cache, Turn::Down) => self.cache_line.cut(),
            (Part::Cache, Turn::Back) => {
                self.cache_line.cut();
                self.cache_line.connect(Arc::clone(&self.cache.service));
            }
            (Part::Cache, Turn::New) => {
                self.cache_line.cut();
                self.cache.process.stop().await;
                self.cache = start_cache(&self.settings, &self.registry_line, &self.clock, &self.oracle);
                self.cache_line.connect(Arc::clone(&self.cache.service));
            }
        }
    }

    /// Lets everything come as far as it can, and looks whether it has.
    async fn settle(&mut self) -> Result<(), String> {
        sleep(AGES).await;
        // The facade comes back on the clock, after five seconds at the latest, and repeats on it what failed.
        for _ in 0..6 {
            if !self.cache_line.is_connected() || self.oracle.lock().follow.level {
                break;
            }
            self.clock.advance(Duration::from_secs(1));
            sleep(AGES).await;
        }
        let stream = self.oracle.lock().follow.stream;
        let holds = self.reads.held_lists_before(stream);
        if holds && self.cache_line.is_connected() {
            self.oracle.lock().is_held_compared()?;
        }
        // Without push it asks at multiples of 30 s; at one of them the registry may have become warm just after it asked.
        let mut views = None;
        while !self.push() && views != Some(self.oracle.lock().views.len()) {
            views = Some(self.oracle.lock().views.len());
            self.clock.advance(Duration::from_secs(30));
            sleep(AGES).await;
        }
        let mut oracle = self.oracle.lock();
        if self.registry_line.is_connected() {
            oracle.is_view_level()?;
        }
        if self.cache_line.is_connected() {
            oracle.is_facade_level()?;
        }
        self.settled = true;
        Ok(())
    }
}

fn process(name: &'static str, clock: &ManualClock) -> ProcessHandle {
    let clock: SharedClock = Arc::new(clock.clone());
    ProcessHandle::detached(name, clock)
}

fn start_registry(settings: &Settings, epoch: u64, clock: &ManualClock, oracle: &Mutex<Oracle>) -> Running<Registry> {
    let process = process("registry-core", clock);
    oracle.lock().registry_started(epoch);
    let life = Life { node: NodeId(1), epoch: Epoch(epoch) };
    Running { service: RegistryCore::start(&settings.registry, life, &process), process }
}

fn start_cache(
    settings: &Settings,
    registry: &Arc<Switched<Registry>>,
    clock: &ManualClock,
    oracle: &Mutex<Oracle>,
) -> Running<Cache> {
    let process = process("cache-sync", clock);
    oracle.lock().cache_started();
    let registry: Registry = Arc::clone(registry) as Registry;
    Running { service: CacheSync::start(&settings.cache, registry, &process), process }
}

/// One read, from the request to the document.
async fn request(facade: Arc<Facade>, read: Read) -> Result<Answer, String> {
    let path = match read.payload.scope {
        Scope::All => "/eureka/apps".to_owned(),
        Scope::Delta => "/eureka/apps/delta".to_owned(),
        Scope::App(app) => format!("/eureka/apps/{}", app_name(app)),
    };
    let form = read.payload.form();
    let request = Request::builder()
        .uri(path)
        .header("accept", form.content_type())
        .header("accept-encoding", if read.gzip { "gzip" } else { "identity" })
        .body(Full::new(Bytes::new()))
        .unwrap();
    let (head, body): (_, Body) = facade.handle(request).await.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    match head.status {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND if body.is_empty() => return Ok(Answer::NotFound),
        StatusCode::SERVICE_UNAVAILABLE if body.is_empty() => return Ok(Answer::Unavailable),
        other => return Err(format!("{other}: {body:?}")),
    }
    check(head.headers.contains_key("content-encoding") == read.gzip, || format!("{:?}", head.headers))?;
    let plain = if read.gzip {
        let mut plain = Vec::new();
        flate2::read::GzDecoder::new(&body[..]).read_to_end(&mut plain).map_err(|error| error.to_string())?;
        plain
    } else {
        body.to_vec()
    };
    let document = match form.media_type() {
        MediaType::Json => Applications::from_json(&plain),
        MediaType::Xml => Applications::from_xml(&plain),
    };
    if read.payload.scope == Scope::All {
        let counted = document.counted_hash();
        check(document.hash.as_deref() == Some(&counted), || format!("hash {:?}, counted {counted}", document.hash))?;
    }
    Ok(Answer::Document(document))
}
