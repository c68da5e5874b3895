use super::*;
use proptest::prelude::*;

fn app(name: &str) -> Resource<'_> {
    Resource::App(name.into())
}

fn instance<'a>(app: &'a str, id: &'a str) -> Resource<'a> {
    Resource::Instance { app: app.into(), id: id.into() }
}

fn check<'a>(table: impl IntoIterator<Item = (&'a str, Resource<'a>)>) {
    for (path, expected) in table {
        assert_eq!(Resource::of(path), Ok(expected), "{path}");
    }
}

#[test]
fn rest_77_escaped_names_are_decoded_after_splitting() {
    check([
        ("/eureka/apps/BILLING/a%2Fb", instance("BILLING", "a/b")),
        ("/eureka/apps/BILLING/a%20b", instance("BILLING", "a b")),
        ("/eureka/apps/BILLING/a%25b", instance("BILLING", "a%b")),
        ("/eureka/apps/BILLING/a%3Fb", instance("BILLING", "a?b")),
        ("/eureka/apps/BILLING/a%23b", instance("BILLING", "a#b")),
        ("/eureka/apps/BILLING/%C3%BC", instance("BILLING", "ü")),
        ("/eureka/apps/a%2fb/a+b", instance("a/b", "a+b")),
    ]);
}

#[test]
fn rest_78_a_colon_may_be_escaped() {
    check([
        ("/eureka/v2/apps/BILLING/h%3Ax%3A80", instance("BILLING", "h:x:80")),
        ("/eureka/v2/apps/BILLING/h:x:80", instance("BILLING", "h:x:80")),
    ]);
}

#[test]
fn rest_79_matrix_parameters_are_dropped() {
    check([
        ("/eureka/apps/ID/a;x=1", instance("ID", "a")),
        ("/eureka/apps;x=1/ID;y/a;x=1;z", instance("ID", "a")),
        ("/eureka/apps/ID/a%3Bx", instance("ID", "a;x")),
        ("/eureka/apps/;x=1", Resource::Apps),
    ]);
}

#[test]
fn rest_80_b26_slashes_at_the_end_and_doubled_ones_do_not_count() {
    check([
        ("/eureka/apps", Resource::Apps),
        ("/eureka/apps/", Resource::Apps),
        ("/eureka//apps/", Resource::Apps),
        ("//eureka/apps", Resource::Apps),
        ("/eureka/apps/delta/", Resource::Delta),
        ("/eureka/apps/BILLING/", app("BILLING")),
        ("/eureka//apps/ORDERS/i1", instance("ORDERS", "i1")),
        ("/eureka/apps/ORDERS//i1/", instance("ORDERS", "i1")),
    ]);
}

#[test]
fn rest_81_b27_every_route_exists_with_and_without_version() {
    for base in ["/eureka", "/eureka/v2", "/eureka/V2", "/eureka/v1"] {
        for (rest, expected) in [
            ("apps", Resource::Apps),
            ("apps/delta", Resource::Delta),
            ("apps/orders", app("orders")),
            ("apps/orders/i1", instance("orders", "i1")),
            ("apps/orders/status", instance("orders", "status")),
            ("apps/orders/i1/status", Resource::InstanceStatus("orders".into(), "i1".into())),
            ("apps/orders/i1/leaseStatus/", Resource::LeaseStatus("orders".into(), "i1".into())),
            ("apps/orders/i1/metadata", Resource::Metadata("orders".into(), "i1".into())),
            ("instances/i%2F1", Resource::ById("i/1".into())),
            ("asg/group/status", Resource::AutoScalingGroup),
            ("status", Resource::ServerStatus),
            ("serverinfo", Resource::ServerInfo),
            ("serverinfo/statusoverrides", Resource::Overrides),
            ("healthcheck", Resource::Healthcheck),
            ("peerreplication/batch/", Resource::PeerBatch),
            ("apps/orders/i1/status/x", Resource::Nothing),
            ("apps/orders/i1/Status", Resource::Nothing),
            ("instances", Resource::Nothing),
            ("instances/i1/status", Resource::Nothing),
            ("asg/group", Resource::Nothing),
            ("status/x", Resource::Nothing),
            ("serverinfo/x", Resource::Nothing),
            ("peerreplication", Resource::Nothing),
        ] {
            assert_eq!(Resource::of(&format!("{base}/{rest}")), Ok(expected), "{base}/{rest}");
        }
    }
    check([("/eureka/v2/apps/V2", app("V2")), ("/eureka/apps/v1", app("v1"))]);
}

#[test]
fn rest_82_83_only_the_lower_case_word_is_the_delta() {
    check([
        ("/eureka/apps/delta", Resource::Delta),
        ("/eureka/apps/DELTA", app("DELTA")),
        ("/eureka/apps/delta/i1", instance("delta", "i1")),
    ]);
}

#[test]
fn what_is_no_resource_is_nothing() {
    for path in ["/", "", "*", "/eureka", "/eureka/", "/eureka/v2", "/eureka/v3/apps", "/apps", "/eureka/v2/v2/apps"] {
        assert_eq!(Resource::of(path), Ok(Resource::Nothing), "{path}");
    }
    check([("/eureka/apps/a/b/c", Resource::Nothing), ("/Eureka/apps", Resource::Nothing)]);
    check([("/metrics", Resource::Operations), ("/readyz", Resource::Operations), ("/metrics/x", Resource::Nothing)]);
    check([("/actuator/health", Resource::ActuatorHealth), ("/actuator", Resource::Nothing)]);
}

#[test]
fn broken_escapes_are_refused() {
    for path in ["/eureka/apps/%", "/eureka/apps/a%2", "/eureka/apps/A/%zz", "/eureka/apps/%ff", "/eureka/apps/%C3/i"] {
        assert_eq!(Resource::of(path), Err(BrokenEncoding), "{path}");
    }
}

#[test]
fn names_without_escapes_are_borrowed() {
    let Ok(Resource::Instance { app: Cow::Borrowed(_), id: Cow::Borrowed(_) }) = Resource::of("/eureka/apps/A/h:x:80")
    else {
        panic!("copied");
    };
    let Ok(Some(Cow::Borrowed(_))) = query_value(Some("status=UP&lastDirtyTimestamp=5"), "lastDirtyTimestamp") else {
        panic!("copied");
    };
}

#[test]
fn of_a_repeated_parameter_the_first_value_counts() {
    let table = [
        (None, Ok(None)),
        (Some(""), Ok(None)),
        (Some("a=1&b=2"), Ok(None)),
        (Some("ts=1&ts=2"), Ok(Some("1"))),
        (Some("x=%zz&&ts=a%2Bb+c"), Ok(Some("a+b c"))),
        (Some("ts"), Ok(Some(""))),
        (Some("TS=1"), Ok(None)),
        (Some("t%73=1"), Ok(Some("1"))),
        (Some("ts=a=b"), Ok(Some("a=b"))),
        (Some("ts=%zz"), Err(BrokenEncoding)),
    ];
    for (query, expected) in table {
        assert_eq!(query_value(query, "ts"), expected.map(|value| value.map(Cow::Borrowed)), "{query:?}");
    }
}

proptest! {
    #[test]
    fn any_name_survives_its_percent_encoding(app in ".{1,20}", id in ".{1,20}") {
        let escaped = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let path = format!("/eureka/apps/{}/{}", escaped(&app), escaped(&id));
        prop_assert_eq!(Resource::of(&path), Ok(instance(&app, &id)));
    }

    #[test]
    fn no_path_or_query_panics(path in ".{0,60}", query in ".{0,60}") {
        let _ = Resource::of(&path);
        let _ = query_value(Some(&query), "ts");
        let _ = query_pairs(Some(&query)).count();
    }
}

#[test]
fn rest_119_only_v1_in_its_place_is_the_first_version() {
    for path in ["/eureka/v1/apps", "/eureka/V1/apps/", "//eureka//v1;x=1/apps/A/i"] {
        assert_eq!(ApiVersion::of(path), ApiVersion::V1, "{path}");
    }
    for path in
        ["/eureka/apps", "/eureka/v2/apps", "/eureka/v2/apps/v1", "/eureka/apps/v1", "/v1", "/", "", "/eureka/v11/apps"]
    {
        assert_eq!(ApiVersion::of(path), ApiVersion::V2, "{path}");
    }
}
