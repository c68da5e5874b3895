//! A whole node, its paths relative to `/eureka/v2/`.
#![allow(dead_code, reason = "each test binary uses a part of this")]

use crate::story::post;
use scenario_tests::{Applications, Client, Fields, Options, Request, Response, Sandbox, Wiring, fields};
use serde_json::{Value, json};

pub(crate) const REPLICATED: (&str, &str) = ("x-netflix-discovery-replication", "true");

/// Its parts, one per line on the wire of the tests below: status, type, body.
pub(crate) type Answer = (u16, Option<String>, String);

pub(crate) struct Server {
    pub(crate) node: Sandbox,
    pub(crate) client: Client,
}

pub(crate) fn answer(response: &Response) -> Answer {
    (response.status, response.header("content-type").map(str::to_owned), response.text())
}

/// What a table says of an answer.
pub(crate) fn expected(status: u16, content_type: &str, body: &str) -> Answer {
    (status, Some(content_type.to_owned()), body.to_owned())
}

/// A body as clients send it.
pub(crate) fn wrapped(instance: &Value) -> String {
    json!({ "instance": instance }).to_string()
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(settings: &'static [&'static str]) -> Self {
        let push = &["--cache-push", "true"];
        Self::start_as(Options { registry: &["--profile", "eureka"], cache: settings, facade: push }).await
    }

    /// A node with the defaults that users have.
    pub(crate) async fn ordinary() -> Self {
        Self::start_as(Options::default()).await
    }

    pub(crate) async fn start_as(options: Options) -> Self {
        let node = Sandbox::start_with(Wiring::OneProcess, options).await;
        let client = node.client();
        Self { node, client }
    }

    pub(crate) async fn stop(self) {
        self.node.stop().await;
    }

    pub(crate) fn request(method: &str, path: &str) -> Request {
        Request::new(method, &format!("/eureka/v2/{path}"))
    }

    /// The status of an answer without a body, and without anything that speaks of one.
    pub(crate) async fn bare(&self, method: &str, path: &str) -> u16 {
        self.empty(Self::request(method, path)).await
    }

    pub(crate) async fn empty(&self, request: Request) -> u16 {
        let response = self.client.send(request).await;
        let status = response.status;
        assert_eq!(response.text(), "", "{response:?}");
        let length = (status != 204).then_some("0");
        let said = ["content-length", "content-type", "content-encoding"].map(|name| response.header(name));
        assert_eq!(said, [length, None, None], "{response:?}");
        status
    }

    pub(crate) fn post_of(path: &str, body: impl Into<Vec<u8>>) -> Request {
        post(&format!("/eureka/v2/{path}"), body)
    }

    /// Registers, which has to succeed.
    pub(crate) async fn register(&self, instance: &Value) {
        self.register_body(instance["app"].as_str().unwrap(), &wrapped(instance)).await;
    }

    pub(crate) async fn register_body(&self, app: &str, body: &str) {
        assert_eq!(self.empty(Self::post_of(&format!("apps/{app}"), body)).await, 204, "{body}");
    }

    /// Registers as another server does.
    pub(crate) async fn replicate(&self, instance: &Value) {
        let path = format!("apps/{}", instance["app"].as_str().unwrap());
        let request = Self::post_of(&path, wrapped(instance)).header(REPLICATED.0, REPLICATED.1);
        assert_eq!(self.empty(request).await, 204);
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.client.send(Self::request("GET", path).json()).await
    }

    pub(crate) async fn get_xml(&self, path: &str) -> Response {
        self.client.send(Self::request("GET", path).xml()).await
    }

    pub(crate) async fn xml(&self, path: &str) -> String {
        let response = self.get_xml(path).await;
        assert_eq!((response.status, response.header("content-type")), (200, Some("application/xml")), "{path}");
        response.text()
    }

    pub(crate) async fn list(&self, path: &str) -> Applications {
        self.get(path).await.applications()
    }

    /// The only instance of application `BILLING`.
    pub(crate) async fn read(&self) -> Value {
        self.read_one("BILLING/n1").await
    }

    /// An instance: the same one alone, in JSON and in XML, and in the list of its application.
    pub(crate) async fn read_one(&self, key: &str) -> Value {
        let path = format!("apps/{key}");
        let single = self.get(&path).await;
        assert_eq!((single.status, single.header("content-type")), (200, Some("application/json")), "{path}");
        let instance = single.json()["instance"].clone();
        let in_xml = format!("<application><name>X</name>{}</application>", self.xml(&path).await);
        let leaves = |document: &Applications, id: &str| {
            document.instances().find(|instance| instance.id() == id).map(|instance| instance.fields.clone())
        };
        let id = instance["instanceId"].as_str().unwrap();
        let json = fields(&instance);
        let is_plain =
            json.keys().all(|leaf| leaf.chars().all(|char| char.is_ascii_alphanumeric() || ".@".contains(char)));
        if is_plain {
            assert_eq!(leaves(&Applications::from_xml(in_xml.as_bytes()), id), Some(json.clone()), "{path} in XML");
        }
        let (app, _) = key.split_once('/').unwrap();
        let listed = leaves(&self.list(&format!("apps/{app}")).await, id).unwrap();
        assert_eq!(without_lease_times(listed), without_lease_times(json), "{path} in its list");
        instance
    }

    /// Values of `BILLING/n1` by their keys.
    pub(crate) async fn shows<const N: usize>(&self, keys: [&str; N]) -> [Value; N] {
        let instance = self.read().await;
        keys.map(|key| instance.get(key).cloned().unwrap_or(Value::Null))
    }

    pub(crate) async fn delta_number(&self) -> u64 {
        self.list("apps/delta").await.version.unwrap().parse().unwrap()
    }
}

/// Lists may show older ones.
fn without_lease_times(mut fields: Fields) -> Fields {
    fields.retain(|leaf, _| !leaf.ends_with("Timestamp") || !leaf.starts_with("leaseInfo"));
    fields
}
