//! Whole nodes in one test process, on one manual clock: in one process as `heureka` wires them, or in three that talk
//! over sockets.

use crate::http_client::{Client, Request};
use clap::Parser;
use futures::future::Either;
use http_facade::{Facade, Upstream};
use registry_core::{Life, RegistryCore};
use registry_model::{Clock as _, UnixMillis};
use registry_proto::registry::registry_service_client::RegistryServiceClient;
use service_runtime::{Address, Listener, ProcessHandle, SharedClock, Sources, config, grpc};
use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc, time::Duration};
use tempfile::TempDir;
use testkit::{ManualClock, eventually, eventually_async};
use tokio::net::TcpSocket;
use tonic::{service::Routes, transport::Channel};

/// How the parts of a node reach each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wiring {
    /// One process; a call is a call.
    OneProcess,
    /// A process each, over unix sockets.
    UnixSockets,
    /// A process each, over TCP.
    Tcp,
}

/// A part of a split node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// registry-core.
    Registry,
    /// cache-sync.
    Cache,
    /// http-facade.
    Facade,
}

impl Part {
    const fn name(self) -> &'static str {
        match self {
            Self::Registry => "registry-core",
            Self::Cache => "cache-sync",
            Self::Facade => "http-facade",
        }
    }
}

/// Command-line settings of the parts; a node in one process takes them all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Those of registry-core.
    pub registry: &'static [&'static str],
    /// Those of cache-sync.
    pub cache: &'static [&'static str],
    /// Those of http-facade.
    pub facade: &'static [&'static str],
}

/// A node.
#[derive(Debug)]
pub struct Sandbox {
    /// The clock of all its parts.
    pub clock: ManualClock,
    wiring: Wiring,
    options: Options,
    http: Address,
    grpc: Address,
    addresses: BTreeMap<Part, Address>,
    running: BTreeMap<Part, ProcessHandle>,
    _sockets: TempDir,
    /// Bound but not listening: the parts' ports stay theirs while they are down.
    _ports: Vec<TcpSocket>,
}

#[derive(Parser)]
struct RegistrySettings {
    #[command(flatten)]
    config: registry_core::Config,
}

#[derive(Parser)]
struct CacheSettings {
    #[command(flatten)]
    config: cache_sync::Config,
}

#[derive(Parser)]
struct FacadeSettings {
    #[command(flatten)]
    config: http_facade::Config,
}

fn settings<S: Parser>(arguments: &[&str]) -> S {
    config::load(&Sources::of(["test"].into_iter().chain(arguments.iter().copied()), [])).expect("settings")
}

fn port_zero() -> Address {
    "127.0.0.1:0".parse().expect("an address")
}

fn reserve_port() -> (TcpSocket, Address) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseaddr(true).expect("a shared port");
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
    let port = socket.local_addr().expect("a bound socket").port();
    (socket, Address::Tcp { host: Ipv4Addr::LOCALHOST.to_string(), port })
}

impl Sandbox {
    /// A node with the default settings, ready.
    pub async fn start(wiring: Wiring) -> Self {
        Self::start_with(wiring, Options::default()).await
    }

    /// A node with these settings, ready.
    pub async fn start_with(wiring: Wiring, options: Options) -> Self {
        let mut node = Self::prepare(wiring, options);
        match wiring {
            Wiring::OneProcess => node.start_whole().await,
            Wiring::UnixSockets | Wiring::Tcp => {
                for part in [Part::Registry, Part::Cache, Part::Facade] {
                    node.start_part(part).await;
                }
            }
        }
        node.is_ready().await;
        node
    }

    /// A split node of which nothing runs yet.
    ///
    /// # Panics
    /// In one process there are no parts to start.
    pub fn prepare_split(wiring: Wiring, options: Options) -> Self {
        assert_ne!(wiring, Wiring::OneProcess, "one process is started as a whole");
        Self::prepare(wiring, options)
    }

    fn prepare(wiring: Wiring, options: Options) -> Self {
        let sockets = tempfile::tempdir().expect("a directory");
        let (mut addresses, mut ports) = (BTreeMap::new(), Vec::new());
        for part in [Part::Registry, Part::Cache] {
            match wiring {
                Wiring::OneProcess => {}
                Wiring::UnixSockets => {
                    addresses.insert(part, Address::Unix(sockets.path().join(part.name())));
                }
                Wiring::Tcp => {
                    let (socket, address) = reserve_port();
                    ports.push(socket);
                    addresses.insert(part, address);
                }
            }
        }
        Self {
            clock: ManualClock::new(),
            wiring,
            options,
            http: port_zero(),
            grpc: port_zero(),
            addresses,
            running: BTreeMap::new(),
            _sockets: sockets,
            _ports: ports,
        }
    }

    fn process(&self, name: &'static str) -> ProcessHandle {
        let clock: SharedClock = Arc::new(self.clock.clone());
        ProcessHandle::detached(name, clock)
    }

    async fn start_whole(&mut self) {
        let own = ["heureka", "--grpc-listen", "127.0.0.1:0"];
        let Options { registry, cache, facade } = self.options;
        // A test may want another address.
        let http: &[_] = if facade.contains(&"--http-listen") { &[] } else { &["--http-listen", "127.0.0.1:0"] };
        let arguments = own.iter().chain(http).chain(registry).chain(cache).chain(facade).copied();
        let settings = heureka::Settings::load(&Sources::of(arguments, [])).expect("settings");
        let ports = heureka::Ports::bind(&settings).await.expect("ports");
        self.http = ports.http_address().clone();
        self.grpc = ports.grpc_address().clone();
        let process = self.process("heureka");
        process.spawn("node", heureka::run(settings, ports, process.clone()));
        self.running.insert(Part::Facade, process);
    }

    /// Starts a part that does not run.
    ///
    /// # Panics
    /// It runs, or its port is taken.
    pub async fn start_part(&mut self, part: Part) {
        let process = self.process(part.name());
        match part {
            Part::Registry => {
                let listener = Listener::bind(&self.addresses[&part]).await.expect("a listener");
                let config = settings::<RegistrySettings>(self.options.registry).config;
                let core = RegistryCore::start(&config, Life::random(), &process);
                let services = Routes::new(registry_core::server(core));
                process.spawn("grpc", grpc::serve(services, listener, process.clone()));
            }
            Part::Cache => {
                let registry = self.addresses[&Part::Registry].clone();
                let listener = Listener::bind(&self.addresses[&part]).await.expect("a listener");
                let config = settings::<CacheSettings>(self.options.cache).config;
                let registry = Arc::new(registry_proto::RemoteRegistry::new(grpc::channel(&registry)));
                let cache = cache_sync::CacheSync::start(&config, registry, &process);
                let services = Routes::new(cache_sync::server(cache));
                process.spawn("grpc", grpc::serve(services, listener, process.clone()));
            }
            Part::Facade => {
                let upstream = Upstream::remote(&self.addresses[&Part::Registry], &self.addresses[&Part::Cache]);
                let listener = Listener::bind(&self.http).await.expect("a listener");
                self.http = listener.local_address().clone();
                let config = settings::<FacadeSettings>(self.options.facade).config;
                let facade = Facade::new(&config, upstream, &process);
                let users = Listener::bind(&self.grpc).await.expect("a listener");
                self.grpc = users.local_address().clone();
                let services = Routes::new(http_facade::server(&facade));
                process.spawn("grpc", grpc::serve(services, users, process.clone()));
                process.spawn("http", async move {
                    facade.serve(listener).await;
                    Ok(())
                });
            }
        }
        assert!(self.running.insert(part, process).is_none(), "{part:?} runs already");
    }

    /// Stops a part in order and waits until nothing of it runs.
    ///
    /// # Panics
    /// It does not run, or has failed.
    pub async fn stop_part(&mut self, part: Part) {
        let process = self.running.remove(&part).expect("a part that runs");
        assert_eq!(process.failure(), None, "{part:?} failed");
        process.stop().await;
        assert_eq!(process.failure(), None, "{part:?} failed while stopping");
    }

    /// A client of the REST API.
    pub fn client(&self) -> Client {
        Client::new(self.http.clone())
    }

    /// A client of the gRPC API for users, with a connection of its own.
    pub fn registry(&self) -> RegistryServiceClient<Channel> {
        RegistryServiceClient::new(grpc::channel(&self.grpc))
    }

    /// What a part counts under this name; in one process all parts count together.
    ///
    /// # Panics
    /// The part does not run, or counts no such thing.
    pub fn counted(&self, part: Part, metric: &str) -> f64 {
        let part = if self.wiring == Wiring::OneProcess { Part::Facade } else { part };
        let text = self.running[&part].metrics().encode();
        let value = text.lines().find_map(|line| line.strip_prefix(metric)?.strip_prefix(' '));
        value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{part:?} counts no {metric}"))
    }

    /// How the parts are wired.
    pub fn wiring(&self) -> Wiring {
        self.wiring
    }

    /// Waits until the facade says that it is ready.
    pub async fn is_ready(&self) {
        let client = self.client();
        let ready = async || client.send(Request::get("/readyz")).await.status == 200;
        eventually_async("the node is ready", ready).await;
    }

    /// The time on the wall.
    pub fn now(&self) -> UnixMillis {
        self.clock.unix()
    }

    /// Waits until cache-sync has every change that the registry has made, so that what happened before time passes is not taken
    /// for something later.
    async fn settle(&self) {
        let revision = |part: Part, name: &str| {
            let process = self.running.get(&part).or_else(|| self.whole())?;
            let text = process.metrics().encode();
            text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok())
        };
        let level = || {
            let made = revision(Part::Registry, "heureka_registry_revision ");
            let seen = revision(Part::Cache, "heureka_cache_revision ");
            made.is_none() || seen.is_none() || made == seen
        };
        eventually("cache-sync has seen every change", level).await;
    }

    /// The process that has all parts, if there is one.
    fn whole(&self) -> Option<&ProcessHandle> {
        (self.wiring == Wiring::OneProcess).then(|| self.running.get(&Part::Facade)).flatten()
    }

    /// Moves the clock on, in steps that let every loop run as often as it wants to.
    pub async fn pass(&self, period: Duration) {
        const STEP: Duration = Duration::from_secs(5);
        self.settle().await;
        let mut left = period;
        while !left.is_zero() {
            let step = left.min(STEP);
            self.clock.advance(step);
            left -= step;
            // Loops that were due are given the chance to look at the time before it moves again.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Does something while the clock goes on, much faster than real time: what waits for another part, and gives up by the clock,
    /// neither hangs nor gives up at once.
    pub async fn while_time_passes<T>(&self, action: impl Future<Output = T>) -> T {
        let passing = async {
            loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
                self.clock.advance(Duration::from_millis(10));
            }
        };
        match futures::future::select(std::pin::pin!(action), std::pin::pin!(passing)).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => never,
        }
    }

    /// Stops everything, the callers first.
    pub async fn stop(mut self) {
        for part in [Part::Facade, Part::Cache, Part::Registry] {
            if self.running.contains_key(&part) {
                self.stop_part(part).await;
            }
        }
    }
}
