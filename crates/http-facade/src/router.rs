//! All routes on one page. Called by `Facade::handle` for every request.

use crate::{
    body::Body,
    facade::Facade,
    identity::{self, Identity},
    keys::Scope,
    metrics::Subject,
    parameters,
    rate_limiter::{Admission, Fetch},
    respond::{self, Extent},
    routes::{
        apps, instances, metadata, operations, peer_batch, server_info,
        status::{self, Spelling},
    },
};
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode, header::ACCEPT, request::Parts};
use std::borrow::Cow;
use wire_codec::{ApiVersion, Detail, Form, MediaType, Resource};

const EUREKA_ACCEPT: &str = "x-eureka-accept";

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route<'a> {
    Apps(Extent),
    Delta(Extent),
    App(&'a str, Extent),
    Vip(&'a str, Extent),
    Svip(&'a str, Extent),
    Register(&'a str),
    Instance(&'a str, &'a str, Extent),
    Renew(&'a str, &'a str),
    Cancel(&'a str, &'a str),
    SetStatus(&'a str, &'a str, Spelling),
    ClearStatus(&'a str, &'a str),
    AddMetadata(&'a str, &'a str),
    ById(&'a str, Extent),
    AutoScalingGroup,
    ServerStatus(Extent),
    Overrides(Extent),
    Healthcheck(Extent),
    ActuatorHealth(Extent),
    PeerBatch,
    Operations(Extent),
    /// OPTIONS: the methods that there are.
    Methods(&'static str),
    NoSuchMethod(&'static str),
    NoSuchResource,
}

/// The methods that some resource knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Read(Extent),
    Post,
    Put,
    Delete,
    Options,
    Other,
}

impl Verb {
    fn of(method: &Method) -> Self {
        match *method {
            Method::PUT => Self::Put,
            Method::GET => Self::Read(Extent::Whole),
            Method::HEAD => Self::Read(Extent::HeadersOnly),
            Method::POST => Self::Post,
            Method::DELETE => Self::Delete,
            Method::OPTIONS => Self::Options,
            _ => Self::Other,
        }
    }
}

/// What the `Allow` header says.
const fn methods(resource: &Resource<'_>) -> &'static str {
    match resource {
        Resource::Apps
        | Resource::Delta
        | Resource::Vip(_)
        | Resource::Svip(_)
        | Resource::ById(_)
        | Resource::ServerStatus
        | Resource::Overrides
        | Resource::Healthcheck
        | Resource::ActuatorHealth
        | Resource::Operations
        | Resource::Nothing => "HEAD,GET,OPTIONS",
        Resource::InstanceStatus(..) => "PUT,DELETE,OPTIONS",
        Resource::LeaseStatus(..) | Resource::Metadata(..) | Resource::AutoScalingGroup => "PUT,OPTIONS",
        Resource::PeerBatch => "POST,OPTIONS",
        Resource::ServerInfo => "OPTIONS",
        Resource::App(_) => "HEAD,GET,POST,OPTIONS",
        Resource::Instance { .. } => "HEAD,GET,PUT,DELETE,OPTIONS",
    }
}

impl<'a> Route<'a> {
    fn of(resource: &'a Resource<'_>, method: &Method) -> Self {
        match (resource, Verb::of(method)) {
            (Resource::Instance { app, id }, Verb::Put) => Self::Renew(app, id),
            (Resource::Instance { app, id }, Verb::Read(extent)) => Self::Instance(app, id, extent),
            (Resource::Instance { app, id }, Verb::Delete) => Self::Cancel(app, id),
            (Resource::Apps, Verb::Read(extent)) => Self::Apps(extent),
            (Resource::Delta, Verb::Read(extent)) => Self::Delta(extent),
            (Resource::App(app), Verb::Read(extent)) => Self::App(app, extent),
            (Resource::Vip(vip), Verb::Read(extent)) => Self::Vip(vip, extent),
            (Resource::Svip(vip), Verb::Read(extent)) => Self::Svip(vip, extent),
            (Resource::App(app), Verb::Post) => Self::Register(app),
            (Resource::Operations, Verb::Read(extent)) => Self::Operations(extent),
            (Resource::InstanceStatus(app, id), Verb::Put) => Self::SetStatus(app, id, Spelling::Eureka),
            (Resource::InstanceStatus(app, id), Verb::Delete) => Self::ClearStatus(app, id),
            (Resource::LeaseStatus(app, id), Verb::Put) => Self::SetStatus(app, id, Spelling::LeaseStatus),
            (Resource::Metadata(app, id), Verb::Put) => Self::AddMetadata(app, id),
            (Resource::ById(id), Verb::Read(extent)) => Self::ById(id, extent),
            (Resource::AutoScalingGroup, Verb::Put) => Self::AutoScalingGroup,
            (Resource::ServerStatus, Verb::Read(extent)) => Self::ServerStatus(extent),
            (Resource::Overrides, Verb::Read(extent)) => Self::Overrides(extent),
            (Resource::Healthcheck, Verb::Read(extent)) => Self::Healthcheck(extent),
            (Resource::ActuatorHealth, Verb::Read(extent)) => Self::ActuatorHealth(extent),
            (Resource::PeerBatch, Verb::Post) => Self::PeerBatch,
            (Resource::Nothing, _) => Self::NoSuchResource,
            (resource, Verb::Options) => Self::Methods(methods(resource)),
            (resource, Verb::Read(_) | Verb::Post | Verb::Put | Verb::Delete | Verb::Other) => {
                Self::NoSuchMethod(methods(resource))
            }
        }
    }

    /// What the rate limiter calls it; the others it does not know.
    const fn fetch(&self) -> Option<Fetch> {
        match self {
            Self::Apps(Extent::Whole) => Some(Fetch::Full),
            Self::Delta(Extent::Whole) | Self::App(_, Extent::Whole) => Some(Fetch::Part),
            Self::Apps(Extent::HeadersOnly)
            | Self::Delta(Extent::HeadersOnly)
            | Self::App(_, Extent::HeadersOnly)
            | Self::Vip(..)
            | Self::Svip(..)
            | Self::Register(_)
            | Self::Instance(..)
            | Self::Renew(..)
            | Self::Cancel(..)
            | Self::SetStatus(..)
            | Self::ClearStatus(..)
            | Self::AddMetadata(..)
            | Self::ById(..)
            | Self::AutoScalingGroup
            | Self::ServerStatus(_)
            | Self::Overrides(_)
            | Self::Healthcheck(_)
            | Self::ActuatorHealth(_)
            | Self::PeerBatch
            | Self::Operations(_)
            | Self::Methods(_)
            | Self::NoSuchMethod(_)
            | Self::NoSuchResource => None,
        }
    }

    const fn subject(&self) -> Subject {
        match self {
            Self::Apps(_) => Subject::Apps,
            Self::Delta(_) => Subject::Delta,
            Self::App(..) => Subject::App,
            Self::Vip(..) | Self::Svip(..) => Subject::Vip,
            Self::Register(_) => Subject::Register,
            Self::Instance(..) | Self::ById(..) => Subject::Instance,
            Self::Renew(..) => Subject::Renew,
            Self::Cancel(..) => Subject::Cancel,
            Self::SetStatus(..) | Self::ClearStatus(..) => Subject::Status,
            Self::AddMetadata(..) => Subject::Metadata,
            Self::PeerBatch => Subject::PeerBatch,
            Self::ServerStatus(_) | Self::Overrides(_) | Self::Healthcheck(_) | Self::ActuatorHealth(_) => {
                Subject::ServerInfo
            }
            Self::Operations(_) => Subject::Operations,
            Self::AutoScalingGroup | Self::Methods(_) | Self::NoSuchMethod(_) | Self::NoSuchResource => Subject::Other,
        }
    }
}

/// Answers a request, and counts it.
pub(crate) async fn route<B>(facade: &Facade, request: Request<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    let (head, body) = request.into_parts();
    if facade.counts_identities {
        facade.metrics.identified(Identity::of(&head.headers));
    }
    // Outside there is nothing.
    let path = facade.context_path.within(head.uri.path()).unwrap_or_default();
    let (subject, response) = match Resource::of(path) {
        Ok(resource) => {
            let route = Route::of(&resource, &head.method);
            let response = match !facade.limiter.is_off() && is_refused(facade, &route, &head.headers) {
                true => respond::unavailable(),
                false => answer(facade, route, ApiVersion::of(path), &head, body).await,
            };
            (route.subject(), response)
        }
        Err(_) => (Subject::Other, respond::empty(StatusCode::BAD_REQUEST)),
    };
    facade.metrics.answered(subject, response.status());
    response
}

/// Asks the rate limiter.
fn is_refused(facade: &Facade, route: &Route<'_>, headers: &HeaderMap) -> bool {
    let Some(fetch) = route.fetch() else { return false };
    let admission = facade.limiter.admit(fetch, identity::name(headers), facade.clock.mono());
    facade.metrics.limited(fetch, admission);
    admission == Admission::Refused
}

async fn answer<B>(facade: &Facade, route: Route<'_>, version: ApiVersion, head: &Parts, body: B) -> Response<Body>
where
    B: http_body::Body<Data = Bytes>,
{
    let headers = &head.headers;
    // Every answer with content depends on what the client takes, so that is settled before anything is done.
    let form = negotiated(headers).map(|media| Form::of(media, Detail::Full, version));
    let list_form = |form: Form| Form::of(form.media_type(), detail(headers), version);
    match (route, form) {
        (Route::NoSuchResource, _) => respond::empty(StatusCode::NOT_FOUND),
        (Route::NoSuchMethod(methods), _) => respond::allow(StatusCode::METHOD_NOT_ALLOWED, methods),
        (Route::Methods(methods), _) => respond::allow(StatusCode::NO_CONTENT, methods),
        (Route::Operations(extent), _) => respond::cut(operations::answer(&facade.process, head.uri.path()), extent),
        (Route::Healthcheck(extent), _) => respond::cut(server_info::healthcheck(facade), extent),
        (Route::ActuatorHealth(extent), _) => respond::cut(server_info::actuator_health(facade), extent),
        (Route::Overrides(extent), _) if takes_json(headers) => {
            respond::cut(Box::pin(server_info::overrides(facade)).await, extent)
        }
        (Route::Overrides(_), _) | (_, None) => respond::empty(StatusCode::NOT_ACCEPTABLE),
        (Route::Renew(app, id), Some(form)) => instances::renew(facade, app, id, head, form, body).await,
        (Route::Apps(extent), Some(form)) => match parameters::regions(head.uri.query()) {
            Ok(_) => apps::cached(facade, Scope::All, list_form(form), headers, extent).await,
            Err(bad) => bad.response(),
        },
        (Route::Delta(extent), Some(form)) => match parameters::regions(head.uri.query()) {
            Ok(regions) => apps::delta(facade, regions, list_form(form), headers, extent).await,
            Err(bad) => bad.response(),
        },
        (Route::App(app, extent), Some(form)) => apps::application(facade, app, list_form(form), headers, extent).await,
        (Route::Vip(vip, extent), Some(form)) => {
            apps::listing(facade, Scope::Vip(vip.into()), list_form(form), headers, extent).await
        }
        (Route::Svip(vip, extent), Some(form)) => {
            apps::listing(facade, Scope::Svip(vip.into()), list_form(form), headers, extent).await
        }
        // Boxed: these are rarer, and every request carries the size of the largest future.
        (Route::Register(app), Some(form)) => Box::pin(instances::register(facade, app, headers, form, body)).await,
        (Route::Instance(app, id, extent), Some(form)) => {
            respond::cut(Box::pin(instances::read(facade, app, id, form)).await, extent)
        }
        (Route::Cancel(app, id), Some(_)) => Box::pin(instances::cancel(facade, app, id, headers)).await,
        (Route::SetStatus(app, id, spelling), Some(_)) => {
            Box::pin(status::set(facade, app, id, spelling, head, body)).await
        }
        (Route::ClearStatus(app, id), Some(_)) => Box::pin(status::clear(facade, app, id, head)).await,
        (Route::AddMetadata(app, id), Some(_)) => Box::pin(metadata::add(facade, app, id, head, body)).await,
        (Route::ById(id, extent), Some(form)) => {
            let read = instances::read(facade, instances::ANY_APPLICATION, id, form);
            respond::cut(Box::pin(read).await, extent)
        }
        (Route::ServerStatus(extent), Some(form)) => {
            respond::cut(Box::pin(server_info::report(facade, form)).await, extent)
        }
        // Only a server that runs on AWS knows such groups.
        (Route::AutoScalingGroup, Some(_)) => respond::empty(StatusCode::BAD_REQUEST),
        (Route::PeerBatch, Some(_)) => Box::pin(peer_batch::run(facade, headers, body)).await,
    }
}

/// How much a list says of its instances, as the client wishes; single instances are always written in full.
fn detail(headers: &HeaderMap) -> Detail {
    match headers.get(EUREKA_ACCEPT) {
        Some(value) if value.as_bytes().eq_ignore_ascii_case(b"compact") => Detail::Compact,
        Some(_) | None => Detail::Full,
    }
}

/// The language that the client takes; `None` if there is none.
fn negotiated(headers: &HeaderMap) -> Option<MediaType> {
    wire_codec::negotiate(accept(headers).as_deref())
}

fn takes_json(headers: &HeaderMap) -> bool {
    wire_codec::accepts_json(accept(headers).as_deref())
}

/// What the client takes. Several lines mean the same as one that joins them.
fn accept(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let mut lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let first = lines.next()?;
    Some(match lines.next() {
        None => Cow::Borrowed(first),
        Some(second) => Cow::Owned([first, second].into_iter().chain(lines).collect::<Vec<_>>().join(",")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(method: Method, path: &str) -> String {
        let resource = Resource::of(path).unwrap();
        format!("{:?}", Route::of(&resource, &method))
    }

    #[test]
    fn rest_82_84_methods_that_a_resource_lacks_are_refused_with_those_it_has() {
        let patch = Method::PATCH;
        let table = [
            (Method::POST, "apps/delta", "HEAD,GET,OPTIONS"),
            (patch.clone(), "apps", "HEAD,GET,OPTIONS"),
            (Method::POST, "apps", "HEAD,GET,OPTIONS"),
            (Method::DELETE, "apps/BILLING", "HEAD,GET,POST,OPTIONS"),
            (Method::POST, "apps/BILLING/n1", "HEAD,GET,PUT,DELETE,OPTIONS"),
            (patch, "apps/BILLING/n1", "HEAD,GET,PUT,DELETE,OPTIONS"),
        ];
        for (method, path, methods) in table {
            let route = route(method, &format!("/eureka/{path}"));
            assert_eq!(route, format!("NoSuchMethod({methods:?})"), "{path}");
        }
        for path in service_runtime::operations::PATHS {
            assert_eq!(route(Method::GET, path), "Operations(Whole)");
        }
        assert_eq!(route(Method::PUT, "/metrics"), "NoSuchMethod(\"HEAD,GET,OPTIONS\")");
        assert_eq!(route(Method::PUT, "/eureka/nope"), "NoSuchResource");
        assert_eq!(route(Method::OPTIONS, "/eureka/apps/A"), "Methods(\"HEAD,GET,POST,OPTIONS\")");
    }

    #[test]
    fn every_method_of_a_resource_has_its_route() {
        let table = [
            (Method::GET, "/eureka/apps/", "Apps(Whole)"),
            (Method::HEAD, "/eureka/apps", "Apps(HeadersOnly)"),
            (Method::GET, "/eureka/apps/delta", "Delta(Whole)"),
            (Method::GET, "/eureka/apps/orders", "App(\"orders\", Whole)"),
            (Method::POST, "/eureka/apps/DELTA", "Register(\"DELTA\")"),
            (Method::GET, "/eureka/apps/A/i", "Instance(\"A\", \"i\", Whole)"),
            (Method::PUT, "/eureka//apps/A/i", "Renew(\"A\", \"i\")"),
            (Method::DELETE, "/eureka/v2/apps/A/i", "Cancel(\"A\", \"i\")"),
            (Method::GET, "/eureka/vips/a%2Cb", "Vip(\"a,b\", Whole)"),
            (Method::HEAD, "/eureka/v2/svips/A/", "Svip(\"A\", HeadersOnly)"),
            (Method::GET, "/eureka/vips/a/b", "NoSuchResource"),
            (Method::GET, "/eureka/vips", "NoSuchResource"),
            (Method::PUT, "/eureka/vips/a", "NoSuchMethod(\"HEAD,GET,OPTIONS\")"),
            (Method::GET, "/livez", "Operations(Whole)"),
        ];
        for (method, path, expected) in table {
            assert_eq!(route(method, path), expected, "{path}");
        }
    }

    #[test]
    fn several_accept_lines_count_as_one() {
        let mut headers = HeaderMap::new();
        assert_eq!(negotiated(&headers), Some(MediaType::Xml));
        headers.append(ACCEPT, "text/html".parse().unwrap());
        assert_eq!(negotiated(&headers), None);
        headers.append(ACCEPT, "application/json".parse().unwrap());
        assert_eq!(negotiated(&headers), Some(MediaType::Json));
    }
}
