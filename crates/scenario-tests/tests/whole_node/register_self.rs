//! A node that is an instance of its own registry, as every document tells of it.

use scenario_tests::{
    Options, Request, Sandbox, in_every_wiring,
    story::{fixture, listed, register},
};
use testkit::eventually_async;

in_every_wiring! {
    with OWN:
        b42_a_node_shows_itself_once_and_as_the_one_that_answers,
}

const ID: &str = "node-1.test:eureka:8761";
const OWN: Options =
    Options { registry: &["--register-self", "--advertise", "node-1.test:8761"], cache: &[], facade: &[] };

/// How often a document says of an instance that it answers, and that it does not.
fn marks(document: &str) -> (usize, usize) {
    let count = |value: &str| {
        let json = format!("\"isCoordinatingDiscoveryServer\":\"{value}\"");
        let xml = format!("<isCoordinatingDiscoveryServer>{value}<");
        document.matches(&json).count() + document.matches(&xml).count()
    };
    (count("true"), count("false"))
}

async fn b42_a_node_shows_itself_once_and_as_the_one_that_answers(node: &Sandbox) {
    let client = node.client();
    register(&client, &fixture()).await;
    let both = ["BILLING/n1".to_owned(), format!("EUREKA/{ID}")];
    node.while_time_passes(eventually_async("both are listed", async || listed(&client).await == both)).await;
    for (path, expected) in [
        ("/eureka/apps", (1, 1)),
        ("/eureka/v2/apps/delta", (1, 1)),
        ("/eureka/apps/eureka", (1, 0)),
        ("/eureka/apps/BILLING", (0, 1)),
        (&format!("/eureka/apps/EUREKA/{ID}"), (1, 0)),
        (&format!("/eureka/instances/{ID}"), (1, 0)),
        ("/eureka/apps/BILLING/n1", (0, 1)),
    ] {
        for accept in ["application/json", "application/xml"] {
            let response = client.send(Request::get(path).header("accept", accept)).await;
            assert_eq!(response.status, 200, "{path}");
            assert_eq!(marks(std::str::from_utf8(&response.body).unwrap()), expected, "{path} as {accept}");
        }
    }
}
