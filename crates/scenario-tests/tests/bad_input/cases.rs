//! What bad clients send, kind by kind, and the status that each gets. Used by `main`.

use flate2::{Compression, write::GzEncoder};
use scenario_tests::{
    Request,
    story::{self, fixture, gzip, post, registration, with},
};
use serde_json::{Value, json};
use std::io::{self, Read};

/// A request, and the status of its answer.
pub(crate) struct Case {
    pub(crate) what: String,
    pub(crate) request: Request,
    pub(crate) expected: u16,
}

const BILLING: &str = "/eureka/apps/BILLING";
const INSTANCE: &str = "/eureka/apps/BILLING/n1";
const BATCH: &str = "/eureka/peerreplication/batch/";
/// What the registry holds, so that every refused write would show.
const NEW: &str = "http://new.test/";

fn case(what: impl Into<String>, request: Request, expected: u16) -> Case {
    Case { what: what.into(), request, expected }
}

/// The instance that is there already, with another page, newer, and with these changes.
fn changed(changes: Value) -> Value {
    story::changed(with(json!({"homePageUrl": NEW, "lastDirtyTimestamp": "2000"})), changes)
}

fn json_body(changes: Value) -> String {
    json!({ "instance": changed(changes) }).to_string()
}

/// The same in XML, with more elements.
fn xml_body(more: &str) -> String {
    format!(
        "<instance><instanceId>n1</instanceId><hostName>n1.test</hostName><app>BILLING</app><ipAddr>192.0.2.10</ipAddr>\
         <homePageUrl>{NEW}</homePageUrl><dataCenterInfo class=\"com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo\">\
         <name>MyOwn</name></dataCenterInfo><lastDirtyTimestamp>2000</lastDirtyTimestamp>{more}</instance>"
    )
}

fn batch_body(item: &str) -> String {
    let register = json!({"action": "Register", "appName": "BILLING", "id": "n1", "instanceInfo": changed(json!({}))});
    format!(r#"{{"replicationList":[{register},{item}]}}"#)
}

/// A POST of XML.
fn post_xml(target: &str, body: impl Into<Vec<u8>>) -> Request {
    Request::new("POST", target).header("content-type", "application/xml").body(body)
}

fn post_gzip(target: &str, body: impl Into<Vec<u8>>) -> Request {
    post(target, body).header("content-encoding", "gzip")
}

/// Gzip of one byte so many times, which is never there as a whole.
pub(crate) fn bomb(byte: u8, length: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    io::copy(&mut io::repeat(byte).take(length as u64), &mut encoder).expect("memory");
    encoder.finish().expect("memory")
}

pub(crate) fn truncated() -> Vec<Case> {
    let (json, xml, batch) = (json_body(json!({})), xml_body(""), batch_body("{}"));
    let compressed = gzip(json.as_bytes());
    let mut cases = vec![
        case("nothing", post(BILLING, ""), 400),
        case("nothing in XML", post_xml(BILLING, ""), 400),
        case("nothing in a batch", post(BATCH, ""), 400),
        case("nothing compressed", post_gzip(BILLING, ""), 400),
    ];
    for tenth in 1..10 {
        let part = |whole: &[u8]| whole[..whole.len() * tenth / 10].to_vec();
        cases.push(case(format!("{tenth} tenths of JSON"), post(BILLING, part(json.as_bytes())), 400));
        cases.push(case(format!("{tenth} tenths of XML"), post_xml(BILLING, part(xml.as_bytes())), 400));
        cases.push(case(format!("{tenth} tenths of a batch"), post(BATCH, part(batch.as_bytes())), 400));
        cases.push(case(format!("{tenth} tenths of gzip"), post_gzip(BILLING, part(&compressed)), 400));
    }
    cases
}

pub(crate) fn oversized(limit: usize, batch_limit: usize) -> Vec<Case> {
    let padded = |body: String, length: usize| format!("{body}{}", " ".repeat(length - body.len()));
    let json = padded(json_body(json!({})), limit + 1);
    vec![
        case("JSON", post(BILLING, json.clone()), 413),
        case("JSON without a length", post_chunked(BILLING, json.as_bytes()), 413),
        case("XML", post_xml(BILLING, padded(xml_body(""), limit + 1)), 413),
        case("a batch", post(BATCH, padded(batch_body("{}"), batch_limit + 1)), 413),
        case("many times the limit", post(BILLING, " ".repeat(5 * limit)), 413),
        case("broken at the limit", post(BILLING, " ".repeat(limit)), 400),
        case("a name", registration(&with(json!({"instanceId": "x".repeat(5000)}))), 400),
        case(
            "a name of an application",
            post(&format!("/eureka/apps/{}", "x".repeat(5000)), json_body(json!({}))),
            400,
        ),
    ]
}

fn post_chunked(target: &str, body: &[u8]) -> Request {
    Request::new("POST", target).header("content-type", "application/json").chunked(body)
}

pub(crate) fn wrongly_typed() -> Vec<Case> {
    let wrong = [
        ("hostName", json!(["n1.test"])),
        ("hostName", json!({"a": 1})),
        ("app", json!(["BILLING"])),
        ("ipAddr", json!({})),
        ("instanceId", json!([])),
        ("status", json!({"$": "UP"})),
        ("port", json!(["8080"])),
        ("port", json!("http")),
        ("port", json!(true)),
        ("port", json!({"$": {}})),
        ("port", json!({"$": 99_999_999_999_i64})),
        ("securePort", json!([])),
        ("countryId", json!({})),
        ("dataCenterInfo", json!("MyOwn")),
        ("dataCenterInfo", json!([])),
        ("dataCenterInfo", json!({"name": {}})),
        ("dataCenterInfo", json!({"@class": ["a"], "name": "MyOwn"})),
        ("leaseInfo", json!("90")),
        ("leaseInfo", json!([30, 90])),
        ("leaseInfo", json!({"durationInSecs": {}})),
        ("metadata", json!("a=b")),
        ("metadata", json!([["a", "b"]])),
        ("vipAddress", json!(["billing"])),
        ("homePageUrl", json!({})),
        ("lastDirtyTimestamp", json!([2000])),
    ];
    let field = |(name, value): (&str, Value)| {
        case(format!("{name}: {value}"), post(BILLING, json_body(json!({ name: value }))), 400)
    };
    let mut cases: Vec<_> = wrong.into_iter().map(field).collect();
    for body in [r#"{"instance":"n1"}"#, r#"{"instance":[]}"#, r#"{"instance":null}"#, "{}", "[]", "1", "null", "\"a\""]
    {
        cases.push(case(body, post(BILLING, body), 400));
    }
    let flat = changed(json!({})).to_string();
    cases.push(case("an instance without its wrapper", post(BILLING, flat), 400));
    for body in [r#"{"replicationList":{}}"#, r#"{"replicationList":"a"}"#, r#"{"replicationList":null}"#, "{}", "[]"] {
        cases.push(case(format!("batch {body}"), post(BATCH, body), 400));
    }
    for item in
        ["\"a\"", "[]", "null", r#"{"id":{}}"#, r#"{"appName":[]}"#, r#"{"instanceInfo":"a"}"#, r#"{"action":{}}"#]
    {
        cases.push(case(format!("item {item}"), post(BATCH, batch_body(item)), 400));
    }
    for more in ["<port>http</port>", "<port/>", "<securePort>1.5</securePort>", "<countryId>a</countryId>"] {
        cases.push(case(more, post_xml(BILLING, xml_body(more)), 400));
    }
    for root in ["<application/>", "<instance/>", "<a><instance/></a>", "text"] {
        cases.push(case(root, post_xml(BILLING, root), 400));
    }
    cases
}

pub(crate) fn deeply_nested() -> Vec<Case> {
    const DEEP: usize = 100_000;
    let object = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let array = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let in_instance = |field: &str, value: &str| {
        let body = json_body(json!({}));
        format!(r#"{},"{field}":{value}}}}}"#, body.strip_suffix("}}").expect("two objects"))
    };
    let elements = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    vec![
        case("arrays without an end", post(BILLING, "[".repeat(DEEP)), 400),
        case("arrays", post(BILLING, array(DEEP)), 400),
        case("objects", post(BILLING, object(DEEP)), 400),
        case("an unknown field", post(BILLING, in_instance("unknown", &array(DEEP))), 400),
        case("metadata", post(BILLING, in_instance("metadata", &object(1000))), 400),
        case("elements", post_xml(BILLING, elements(DEEP)), 400),
        case("elements without an end", post_xml(BILLING, "<a>".repeat(DEEP)), 400),
        case("an unknown element", post_xml(BILLING, xml_body(&elements(10_000))), 400),
        case("metadata in XML", post_xml(BILLING, xml_body(&format!("<metadata>{}</metadata>", elements(1000)))), 400),
        case("a batch", post(BATCH, array(DEEP)), 400),
        case("an item", post(BATCH, batch_body(&object(DEEP))), 400),
        case(
            "entries",
            post(BILLING, in_instance("metadata", &format!("{{{}\"a\":1}}", "\"a\":1,".repeat(20_000)))),
            400,
        ),
        case("elements beside each other", post_xml(BILLING, xml_body(&"<a/>".repeat(20_000))), 400),
    ]
}

pub(crate) fn entities() -> Vec<Case> {
    let levels: String =
        (1..30).map(|level| format!("<!ENTITY e{level} \"{}\">", format!("&e{};", level - 1).repeat(10))).collect();
    let declared = |declarations: &str, sid: &str| {
        format!("<?xml version=\"1.0\"?><!DOCTYPE instance [{declarations}]>{}", xml_body(&format!("<sid>{sid}</sid>")))
    };
    let bodies = [
        declared(&format!("<!ENTITY e0 \"ha\">{levels}"), "&e29;"),
        declared("<!ENTITY e \"&e;\">", "&e;"),
        declared(&format!("<!ENTITY e \"{}\">", "x".repeat(100_000)), &"&e;".repeat(100_000)),
        declared("<!ENTITY e SYSTEM \"file:///etc/hostname\">", "&e;"),
        declared("<!ENTITY e SYSTEM \"http://127.0.0.1:1/\">", "&e;"),
        declared("<!ENTITY % p SYSTEM \"file:///etc/hostname\"> %p;", ""),
        format!("<!DOCTYPE instance SYSTEM \"http://127.0.0.1:1/i.dtd\">{}", xml_body("")),
        format!("<!DOCTYPE instance>{}", xml_body("")),
        xml_body("<sid>&nbsp;</sid>"),
        xml_body("<sid>&e0;</sid>"),
        xml_body("<port enabled=\"&e0;\">1</port>"),
    ];
    bodies
        .into_iter()
        .map(|body| case(body.get(..200).unwrap_or(&body).to_owned(), post_xml(BILLING, body), 400))
        .collect()
}

pub(crate) fn wrongly_encoded() -> Vec<Case> {
    let json = json_body(json!({"sid": "SID"}));
    let xml = xml_body("<sid>SID</sid>");
    let with_bytes = |text: &str, bytes: &[u8]| {
        let (before, after) = text.split_once("SID").expect("a place");
        [before.as_bytes(), bytes, after.as_bytes()].concat()
    };
    let mut cases = Vec::new();
    for bytes in [&b"\xff"[..], b"\xc3", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"J\xfcrgen"] {
        cases.push(case(format!("JSON with {bytes:?}"), post(BILLING, with_bytes(&json, bytes)), 400));
        cases.push(case(format!("XML with {bytes:?}"), post_xml(BILLING, with_bytes(&xml, bytes)), 400));
        let batch = batch_body(r#"{"id":"SID"}"#);
        cases.push(case(format!("batch with {bytes:?}"), post(BATCH, with_bytes(&batch, bytes)), 400));
    }
    let utf_16: Vec<u8> = json.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let charset = |charset: &str| Request::new("POST", BILLING).header("content-type", charset);
    cases.extend([
        case("half a unit of UTF-16", post(BILLING, &utf_16[..utf_16.len() - 1]), 400),
        case("half a pair of UTF-16", post(BILLING, [&utf_16[..], &[0xD8, 0]].concat()), 400),
        case("half a pair escaped", post(BILLING, json.replace("SID", "\\ud800")), 400),
        case("a mark of another encoding", post(BILLING, [b"\xff\xfe", json.as_bytes()].concat()), 400),
        case("another charset", charset("application/json;charset=UTF-16").body(json.clone()), 415),
        case("another type", charset("text/plain").body(json.clone()), 415),
        case("no type", Request::new("POST", BILLING).body(json.clone()), 415),
        case("JSON called XML", post_xml(BILLING, json.clone()), 400),
        case("XML called JSON", post(BILLING, xml), 400),
        case("plain called gzip", post_gzip(BILLING, json.clone()), 400),
        case("gzip called plain", post(BILLING, gzip(json.as_bytes())), 400),
        case("an unknown coding", post(BILLING, json.clone()).header("content-encoding", "br"), 415),
        case("a batch of an unknown coding", post(BATCH, "{}").header("content-encoding", "deflate"), 415),
    ]);
    cases
}

pub(crate) fn unknown_names() -> Vec<Case> {
    let put = |target: String| Request::new("PUT", &target);
    let mut cases = Vec::new();
    for name in ["PAUSED", "up", "", "UP%20", "null", "1"] {
        cases.push(case(format!("status {name}"), put(format!("{INSTANCE}/status?value={name}")), 400));
        cases.push(case(format!("newState {name}"), put(format!("{INSTANCE}/leaseStatus?newState={name}")), 400));
        let clear = Request::new("DELETE", &format!("{INSTANCE}/status?value={name}"));
        cases.push(case(format!("cleared to {name}"), clear, 400));
        let renewal = put(format!("{INSTANCE}?overriddenstatus={name}"));
        let replicated = renewal.header("x-netflix-discovery-replication", "true");
        cases.push(case(format!("replicated override {name}"), replicated, 400));
    }
    cases.push(case("no status", put(format!("{INSTANCE}/status")), 400));
    for center in [
        json!({"name": "Moon"}),
        json!({"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "myown"}),
        json!({"@class": "java.lang.ProcessBuilder", "name": "MyOwn"}),
    ] {
        cases.push(case(center.to_string(), post(BILLING, json_body(json!({"dataCenterInfo": center}))), 400));
    }
    let xml = xml_body("").replace("MyOwn", "Moon");
    cases.push(case("an unknown data centre in XML", post_xml(BILLING, xml), 400));
    for action in ["\"Explode\"", "\"register\"", "1", "\"\""] {
        cases.push(case(
            format!("action {action}"),
            post(BATCH, batch_body(&format!(r#"{{"action":{action}}}"#))),
            400,
        ));
    }
    cases.push(case("a method", Request::new("PATCH", INSTANCE), 405));
    cases.push(case("a resource", Request::new("DELETE", "/eureka/nothing"), 404));
    cases
}

pub(crate) fn bad_stamps() -> Vec<Case> {
    let mut cases = Vec::new();
    for stamp in ["abc", "", "1.5", "1e3", "0x10", "99999999999999999999", "-", "%201", "1%00", "%D9%A1"] {
        for (method, target) in [
            ("PUT", format!("{INSTANCE}?lastDirtyTimestamp={stamp}")),
            ("PUT", format!("{INSTANCE}/status?value=DOWN&lastDirtyTimestamp={stamp}")),
            ("PUT", format!("{INSTANCE}/leaseStatus?newState=DOWN&syncTime={stamp}")),
            ("DELETE", format!("{INSTANCE}/status?lastDirtyTimestamp={stamp}")),
        ] {
            cases.push(case(format!("{method} {target}"), Request::new(method, &target), 400));
        }
    }
    for stamp in ["\"abc\"", "99999999999999999999", "true", "{}"] {
        let item = format!(r#"{{"action":"Heartbeat","appName":"BILLING","id":"n1","lastDirtyTimestamp":{stamp}}}"#);
        cases.push(case(item.clone(), post(BATCH, batch_body(&item)), 400));
    }
    for field in ["lastDirtyTimestamp", "lastUpdatedTimestamp"] {
        let body = json_body(json!({ field: "99999999999999999999" }));
        cases.push(case(format!("{field} in a registration"), post(BILLING, body), 400));
    }
    cases
}

pub(crate) fn forbidden_characters() -> Vec<Case> {
    let texts = ["\0", "\u{1}", "\u{8}", "\u{b}", "\u{1f}", "\u{fffe}", "\u{ffff}"];
    let references =
        ["&#0;", "&#1;", "&#x1f;", "&#xD800;", "&#xFFFE;", "&#x110000;", "&#99999999999;", "&#;", "&#x;", "&#-1;"];
    let all = texts.iter().chain(&references);
    let text = |text: &&str| case(format!("{text:?}"), post_xml(BILLING, xml_body(&format!("<sid>{text}</sid>"))), 400);
    let mut cases: Vec<_> = all.map(text).collect();
    for more in
        ["<a\u{1}/>", "<metadata><1a>x</1a></metadata>", "<a b=\"\u{1}\"/>", "<![CDATA[\0]]>", "<!-- \u{1f} -->"]
    {
        cases.push(case(format!("{more:?}"), post_xml(BILLING, xml_body(more)), 400));
    }
    cases
}

pub(crate) fn bombs() -> Vec<Case> {
    let blanks = bomb(b' ', 17 << 20);
    let instance = json_body(json!({}));
    let padded = gzip(format!("{instance}{}", " ".repeat(11 << 20)).as_bytes());
    let long = gzip(json_body(json!({"sid": "x".repeat(11 << 20)})).as_bytes());
    vec![
        case("blanks", post_gzip(BILLING, blanks.clone()), 413),
        case("an instance and blanks", post_gzip(BILLING, padded), 413),
        case("a long text", post_gzip(BILLING, long), 413),
        case("in XML", post_xml(BILLING, blanks.clone()).header("content-encoding", "gzip"), 413),
        case("as a batch", post_gzip(BATCH, blanks.clone()), 413),
        case("many members", post_gzip(BILLING, bomb(b' ', 1 << 20).repeat(400)), 413),
        case("many empty members", post_gzip(BILLING, gzip(b"").repeat(50_000)), 400),
        case("a bomb in a bomb", post_gzip(BILLING, gzip(&blanks)), 400),
        case("brackets", post_gzip(BILLING, bomb(b'[', 9 << 20)), 400),
        case("tags", post_xml(BILLING, gzip(&b"<a>".repeat(3 << 20))).header("content-encoding", "gzip"), 400),
        case(
            "a renewal",
            Request::new("PUT", &format!("{INSTANCE}?lastDirtyTimestamp=x"))
                .header("content-encoding", "gzip")
                .body(blanks),
            400,
        ),
    ]
}

pub(crate) fn broken_escapes() -> Vec<Case> {
    let body = json!({ "instance": fixture() }).to_string();
    let mut cases = Vec::new();
    for bad in ["%", "%2", "%zz", "%+1", "%%", "%ff", "%c0%af", "%ED%A0%80", "a%2"] {
        let app = format!("/eureka/apps/{bad}");
        cases.push(case(format!("registration in {bad}"), post(&app, body.clone()), 400));
        for (method, target) in [
            ("GET", app.clone()),
            ("GET", format!("{BILLING}/{bad}")),
            ("PUT", format!("{BILLING}/{bad}")),
            ("DELETE", format!("{BILLING}/n1{bad}")),
            ("PUT", format!("{BILLING}/{bad}/status?value=DOWN")),
            ("GET", format!("/eureka/instances/{bad}")),
            ("GET", format!("/eureka/vips/{bad}")),
            ("GET", format!("/eureka/svips/{bad}")),
            ("PUT", format!("{INSTANCE}/metadata?a={bad}&b=1")),
            ("PUT", format!("{INSTANCE}/metadata?a=1&{bad}=1")),
            ("PUT", format!("{INSTANCE}/status?value={bad}")),
            ("PUT", format!("{INSTANCE}?lastDirtyTimestamp={bad}")),
            ("GET", format!("/eureka/apps/delta?regions={bad}")),
        ] {
            cases.push(case(format!("{method} {target}"), Request::new(method, &target), 400));
        }
    }
    cases
}

pub(crate) fn broken_http() -> Vec<Case> {
    let renew = || Request::new("PUT", INSTANCE);
    let register = || Request::new("POST", BILLING).header("content-type", "application/json");
    let body = json_body(json!({}));
    let crowd = (0..200).fold(renew(), |request, n| request.header(&format!("x-{n}"), "1"));
    vec![
        case("a blank in the target", Request::new("PUT", "/eureka/apps/BILLING/n 1"), 400),
        case("a control character in the target", Request::new("PUT", "/eureka/apps/BILLING/n\u{1}"), 400),
        case("a target that is none", Request::new("PUT", "eureka/apps"), 400),
        case("a method that is none", Request::new("P(T", INSTANCE), 400),
        case("a header's name that is none", renew().header("a b", "c"), 400),
        case("a header's value that is none", renew().header("a", "\0"), 400),
        case("too many headers", crowd, 431),
        case("a length that is none", register().header("content-length", "abc"), 400),
        case("a negative length", register().header("content-length", "-1"), 400),
        case("a length beyond all numbers", register().header("content-length", "99999999999999999999"), 400),
        case("two lengths", register().header("content-length", "1").body(body.clone()), 400),
        case("a chunk's length that is none", register().header("transfer-encoding", "chunked").body("zz\r\n"), 400),
        case("chunked, and not at the end", register().header("transfer-encoding", "chunked, gzip").body(body), 400),
    ]
}
