//! Paths and queries: what they name can be written plainly and names the same again; what they do not name is an error.

use wire_codec::{ApiVersion, BrokenEncoding, Resource, query_pairs, query_value};

/// A path, and a query behind the first question mark.
pub fn path(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (path, query) = match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (&*text, None),
    };
    check_path(path);
    check_query(query);
    // Any text is a name once it is encoded.
    if !text.is_empty() {
        let path = format!("/eureka/apps/{}/{}/status", encoded(&text), encoded(&text));
        assert_eq!(Resource::of(&path), Ok(Resource::InstanceStatus(text.clone(), text.clone())));
    }
}

fn check_path(path: &str) {
    let resource = Resource::of(path);
    match &resource {
        // 400
        Err(BrokenEncoding) => assert!(path.contains('%'), "nothing else can be broken"),
        // 404, or a resource.
        Ok(resource) => {
            if let Some(plain) = written(resource) {
                assert_eq!(Resource::of(&plain).as_ref(), Ok(resource), "the same path in plain writing: {plain}");
            }
        }
    }
    let same = |other: &str| {
        assert_eq!(Resource::of(other), resource, "{other}");
        assert_eq!(ApiVersion::of(other), ApiVersion::of(path), "{other}");
    };
    if resource != Ok(Resource::Operations) && Resource::of(&format!("/{path}")) != Ok(Resource::Operations) {
        same(&format!("{path}/"));
        same(&format!("//{path};a=1"));
        same(&path.replace('/', "/;x//"));
    }
}

/// The path of a resource, every byte of a name encoded.
fn written(resource: &Resource<'_>) -> Option<String> {
    Some(match resource {
        Resource::Apps => "/eureka/apps".to_owned(),
        Resource::Delta => "/eureka/apps/delta".to_owned(),
        Resource::App(app) => format!("/eureka/apps/{}", encoded(app)),
        Resource::Instance { app, id } => format!("/eureka/apps/{}/{}", encoded(app), encoded(id)),
        Resource::InstanceStatus(app, id) => format!("/eureka/apps/{}/{}/status", encoded(app), encoded(id)),
        Resource::LeaseStatus(app, id) => format!("/eureka/apps/{}/{}/leaseStatus", encoded(app), encoded(id)),
        Resource::Metadata(app, id) => format!("/eureka/apps/{}/{}/metadata", encoded(app), encoded(id)),
        Resource::Vip(vip) => format!("/eureka/vips/{}", encoded(vip)),
        Resource::Svip(vip) => format!("/eureka/svips/{}", encoded(vip)),
        Resource::ById(id) => format!("/eureka/instances/{}", encoded(id)),
        Resource::AutoScalingGroup => "/eureka/asg/group/status".to_owned(),
        Resource::ServerStatus => "/eureka/status".to_owned(),
        Resource::ServerInfo => "/eureka/serverinfo".to_owned(),
        Resource::Overrides => "/eureka/serverinfo/statusoverrides".to_owned(),
        Resource::Healthcheck => "/eureka/healthcheck".to_owned(),
        Resource::ActuatorHealth => "/actuator/health".to_owned(),
        Resource::PeerBatch => "/eureka/peerreplication/batch".to_owned(),
        Resource::Operations | Resource::Nothing => return None,
    })
}

fn check_query(query: Option<&str>) {
    let Ok(pairs) = query_pairs(query).collect::<Result<Vec<_>, BrokenEncoding>>() else {
        assert!(query.is_some_and(|query| query.contains('%')), "nothing else can be broken");
        return;
    };
    let written = pairs.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value)));
    let plain = written.collect::<Vec<_>>().join("&");
    let again: Result<Vec<_>, _> = query_pairs(Some(&plain)).collect();
    assert_eq!(again.as_ref(), Ok(&pairs), "the same query in plain writing: {plain}");
    for (key, _) in &pairs {
        let first = pairs.iter().find(|(other, _)| other == key).map(|(_, value)| value.clone());
        assert_eq!(query_value(query, key), Ok(first), "the first value of {key:?}");
    }
}

fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(3 * text.len());
    for byte in text.bytes() {
        encoded.push('%');
        encoded.extend([byte >> 4, byte & 15].iter().filter_map(|digit| char::from_digit((*digit).into(), 16)));
    }
    encoded
}
