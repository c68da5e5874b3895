//! A whole node, its paths relative to `/eureka/v2/`.

use crate::{
    Applications, Client, Fields, Options, Request, Response, Sandbox, Wiring, fields,
    story::{fixture, post},
};
use serde_json::{Value, json};

/// The header of what another server sends.
pub const REPLICATED: (&str, &str) = ("x-netflix-discovery-replication", "true");

/// What came back: status, type, body.
pub type Answer = (u16, Option<String>, String);

/// A node in one process.
pub struct Server {
    /// The node itself.
    pub node: Sandbox,
    /// A client of its REST API.
    pub client: Client,
}

/// The [`Answer`] that came.
pub fn answer(response: &Response) -> Answer {
    (response.status, response.header("content-type").map(str::to_owned), response.text())
}

/// What a table says of an answer.
pub fn expected(status: u16, content_type: &str, body: &str) -> Answer {
    (status, Some(content_type.to_owned()), body.to_owned())
}

/// A body as clients send it.
pub fn wrapped(instance: &Value) -> String {
    json!({ "instance": instance }).to_string()
}

impl Server {
    /// With Eureka's defaults, except that changes are pushed.
    pub async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// With `BILLING/n1`.
    pub async fn registered() -> Self {
        let server = Self::start().await;
        server.register(&fixture()).await;
        server
    }

    /// The same with more settings.
    pub async fn start_with(settings: &'static [&'static str]) -> Self {
        let push = &["--cache-push", "true"];
        Self::start_as(Options { registry: &["--profile", "eureka"], cache: settings, facade: push }).await
    }

    /// A node with the defaults that users have.
    pub async fn ordinary() -> Self {
        Self::start_as(Options::default()).await
    }

    /// With these settings.
    pub async fn start_as(options: Options) -> Self {
        let node = Sandbox::start_with(Wiring::OneProcess, options).await;
        let client = node.client();
        Self { node, client }
    }

    /// Stops it in order.
    pub async fn stop(self) {
        self.node.stop().await;
    }

    /// A request without body.
    pub fn request(method: &str, path: &str) -> Request {
        Request::new(method, &format!("/eureka/v2/{path}"))
    }

    /// The status of an answer without a body, and without anything that speaks of one.
    pub async fn bare(&self, method: &str, path: &str) -> u16 {
        self.empty(Self::request(method, path)).await
    }

    /// As [`bare`](Self::bare), of any request.
    pub async fn empty(&self, request: Request) -> u16 {
        let response = self.client.send(request).await;
        let status = response.status;
        assert_eq!(response.text(), "", "{response:?}");
        let length = (status != 204).then_some("0");
        let said = ["content-length", "content-type", "content-encoding"].map(|name| response.header(name));
        assert_eq!(said, [length, None, None], "{response:?}");
        status
    }

    /// A POST of JSON.
    pub fn post_of(path: &str, body: impl Into<Vec<u8>>) -> Request {
        post(&format!("/eureka/v2/{path}"), body)
    }

    /// Registers, which has to succeed.
    pub async fn register(&self, instance: &Value) {
        self.register_body(instance["app"].as_str().unwrap(), &wrapped(instance)).await;
    }

    /// The same with a body as it is sent.
    pub async fn register_body(&self, app: &str, body: &str) {
        assert_eq!(self.empty(Self::post_of(&format!("apps/{app}"), body)).await, 204, "{body}");
    }

    /// Registers as another server does.
    pub async fn replicate(&self, instance: &Value) {
        let path = format!("apps/{}", instance["app"].as_str().unwrap());
        let request = Self::post_of(&path, wrapped(instance)).header(REPLICATED.0, REPLICATED.1);
        assert_eq!(self.empty(request).await, 204);
    }

    /// Reads JSON.
    pub async fn get(&self, path: &str) -> Response {
        self.client.send(Self::request("GET", path).json()).await
    }

    /// Reads XML.
    pub async fn get_xml(&self, path: &str) -> Response {
        self.client.send(Self::request("GET", path).xml()).await
    }

    /// Reads XML, which has to be there.
    pub async fn xml(&self, path: &str) -> String {
        let response = self.get_xml(path).await;
        assert_eq!((response.status, response.header("content-type")), (200, Some("application/xml")), "{path}");
        response.text()
    }

    /// Reads a document of applications.
    pub async fn list(&self, path: &str) -> Applications {
        self.get(path).await.applications()
    }

    /// The only instance of application `BILLING`.
    pub async fn read(&self) -> Value {
        self.read_one("BILLING/n1").await
    }

    /// An instance: the same one alone, in JSON and in XML, and in the list of its application.
    pub async fn read_one(&self, key: &str) -> Value {
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
    pub async fn shows<const N: usize>(&self, keys: [&str; N]) -> [Value; N] {
        let instance = self.read().await;
        keys.map(|key| instance.get(key).cloned().unwrap_or(Value::Null))
    }

    /// `versions__delta` of the delta.
    pub async fn delta_number(&self) -> u64 {
        self.list("apps/delta").await.version.unwrap().parse().unwrap()
    }
}

/// Lists may show older ones.
fn without_lease_times(mut fields: Fields) -> Fields {
    fields.retain(|leaf, _| !leaf.ends_with("Timestamp") || !leaf.starts_with("leaseInfo"));
    fields
}
