//! Cases of the register document in XML.

use super::*;
use DataCenterName::{Amazon, MyOwn, Netflix};

fn decode_xml(fields: &str) -> Result<RegistrationDraft, DecodeError> {
    whole(&format!("<instance><app>BILLING</app>{fields}</instance>"))
}

fn whole(document: &str) -> Result<RegistrationDraft, DecodeError> {
    decode_registration(MediaType::Xml, document.as_bytes())
}

fn draft_xml(fields: &str) -> RegistrationDraft {
    decode_xml(fields).unwrap_or_else(|error| panic!("{fields}: {error:?}"))
}

fn refusal_xml(document: &str) -> String {
    whole(document).map(|draft| format!("accepted: {draft:?}")).unwrap_or_else(|error| error.to_string())
}

#[test]
fn rest_111_ports_have_an_attribute_that_may_be_missing() {
    let table = [
        ("<port>8080</port>", 8080, true),
        (r#"<port enabled="false">8080</port>"#, 8080, false),
        (r#"<port enabled="FALSE">8080</port>"#, 8080, true),
        (r#"<port enabled="">-1</port>"#, -1, true),
        (r#"<port x="1" enabled='f&#97;lse'>8080</port>"#, 8080, false),
        ("<port><!-- one -->80<![CDATA[8]]>&#48;</port>", 8080, true),
    ];
    for (xml, number, enabled) in table {
        assert_eq!(draft_xml(xml).port, Some(Port { number, enabled }), "{xml}");
        let secure = draft_xml(&xml.replace("port", "securePort")).secure_port;
        assert_eq!(secure, Some(Port { number, enabled: false }), "{xml}");
    }
    let secure = |enabled: &str| draft_xml(&format!(r#"<securePort enabled="{enabled}">1</securePort>"#)).secure_port;
    assert_eq!(secure("true"), Some(Port { number: 1, enabled: true }));
    assert_eq!(secure("True"), Some(Port { number: 1, enabled: false }));
}

#[test]
fn rest_112_a_status_may_be_written_in_any_case() {
    let table = [
        ("up", InstanceStatus::Up),
        ("Out_of_Service", InstanceStatus::OutOfService),
        ("DOWN", InstanceStatus::Down),
        (" UP", InstanceStatus::Unknown),
        ("UP\n", InstanceStatus::Unknown),
        ("", InstanceStatus::Unknown),
        ("bogus", InstanceStatus::Unknown),
    ];
    for (text, status) in table {
        assert_eq!(draft_xml(&format!("<status>{text}</status>")).status, Some(status), "{text:?}");
        for name in ["overriddenstatus", "overriddenStatus"] {
            let xml = format!("<{name}>DOWN</{name}><{name}>{text}</{name}>");
            assert_eq!(draft_xml(&xml).overridden_status, Some(status), "{xml}");
        }
    }
}

#[test]
fn rest_113_what_has_to_be_a_number_is_one() {
    for field in ["port", "securePort", "countryId"] {
        for text in [" 8080 ", "abc", "", "1.5", "2147483648", "0x10", "<a/>"] {
            let said = decode_xml(&format!("<{field}>{text}</{field}>")).expect_err("no number").to_string();
            assert_eq!(said, format!("{field} is not a whole number"), "{text:?}");
        }
        assert!(decode_xml(&format!("<{field}/>")).is_err());
    }
    assert_eq!(draft_xml("<countryId>0</countryId>").country_id, Some(0));
}

#[test]
fn rest_114_a_data_centre_is_what_its_name_says() {
    let own = |name| Some(DataCenterDraft { name: Some(name), metadata: Metadata::default() });
    let amazon = |facts: &[(&str, &str)]| Some(DataCenterDraft { name: Some(Amazon), metadata: pairs(facts) });
    let table = [
        (r#"<dataCenterInfo class="foo.Bar"><name>MyOwn</name></dataCenterInfo>"#, own(MyOwn)),
        (
            r#"<dataCenterInfo class="com.netflix.appinfo.AmazonInfo"><name>Netflix</name></dataCenterInfo>"#,
            own(Netflix),
        ),
        ("<dataCenterInfo><name>MyOwn</name><metadata><a>b</a></metadata><x/></dataCenterInfo>", own(MyOwn)),
        ("<dataCenterInfo><name>aMaZon</name></dataCenterInfo>", amazon(&[])),
        (
            "<dataCenterInfo>\n<name>Amazon</name><metadata><ami-id>a</ami-id></metadata></dataCenterInfo>",
            amazon(&[("ami-id", "a")]),
        ),
        ("<dataCenterInfo><name>Amazon</name><metadata/></dataCenterInfo>", amazon(&[])),
        ("<dataCenterInfo/>", None),
        ("<dataCenterInfo><Name>MyOwn</Name>text</dataCenterInfo>", None),
        ("<hostName>h</hostName>", None),
    ];
    for (xml, center) in table {
        assert_eq!(draft_xml(xml).data_center, center, "{xml}");
    }
    for name in ["Bogus", "myown", "", " MyOwn"] {
        let error = decode_xml(&format!("<dataCenterInfo><name>{name}</name></dataCenterInfo>")).expect_err("unknown");
        assert_eq!(error.to_string(), format!("dataCenterInfo has the unknown name {name:?}"));
    }
    let backwards = "<dataCenterInfo><metadata/><name>Amazon</name></dataCenterInfo>";
    assert!(matches!(decode_xml(backwards), Err(DecodeError::FactsBeforeName)));
}

#[test]
fn rest_115_b123_document_types_are_refused_and_nothing_is_expanded() {
    let bomb: String = (0..30).fold(String::from(r#"<!ENTITY a0 "ha">"#), |bomb, n| {
        format!(r#"{bomb}<!ENTITY a{} "&a{n};&a{n};&a{n};&a{n};&a{n};&a{n};&a{n};&a{n};">"#, n + 1)
    });
    for declaration in [
        "<!DOCTYPE instance>".to_owned(),
        "<!doctype instance>".to_owned(),
        format!("<!DOCTYPE instance [{bomb}]>"),
        r#"<!DOCTYPE instance [<!ENTITY x SYSTEM "file:///etc/passwd">]>"#.to_owned(),
        r#"<!DOCTYPE instance SYSTEM "http://192.0.2.1/evil.dtd">"#.to_owned(),
        r#"<!DOCTYPE instance [<!ENTITY % p SYSTEM "http://192.0.2.1/p"> %p;]>"#.to_owned(),
    ] {
        for (prolog, inside) in [(&*declaration, ""), ("", &*declaration)] {
            let document = format!("{prolog}<instance>{inside}<app>&a30;&x;</app></instance>");
            let said = refusal_xml(&document);
            assert!(said == "body has a document type declaration" || said == "body is not valid XML", "{said}");
        }
    }
    for entity in ["&a30;", "&x;", "&nbsp;", "&%p;"] {
        assert!(decode_xml(&format!("<hostName>{entity}</hostName>")).is_err(), "{entity}");
        assert!(decode_xml(&format!(r#"<x y="{entity}"/>"#)).is_err(), "{entity} in an attribute");
    }
}

#[test]
fn b123_deep_nesting_is_refused_wherever_it_stands() {
    let nested =
        |name: &str, depth: usize| [format!("<{name}>").repeat(depth), format!("</{name}>").repeat(depth)].concat();
    for name in ["x", "metadata", "dataCenterInfo", "leaseInfo", "hostName", "port"] {
        for deep in [nested(name, 10_000), format!("<{name}>").repeat(10_000)] {
            assert!(matches!(decode_xml(&deep), Err(DecodeError::TooDeep)), "{name}");
        }
    }
    assert!(matches!(whole(&nested("instance", 10_000)), Err(DecodeError::TooDeep)));
    assert!(decode_xml(&nested("x", 90)).is_ok());
}

#[test]
fn a_crowd_of_elements_is_refused_wherever_it_stands() {
    let crowd = "<k>v</k>".repeat(10_000);
    for body in [format!("<metadata>{crowd}</metadata>"), format!("<x>{crowd}</x>"), crowd] {
        assert!(matches!(decode_xml(&body), Err(DecodeError::TooManyEntries)));
    }
}

#[test]
fn b123_class_names_are_inert_and_attributes_few() {
    let many = |count| (0..count).map(|n| format!(r#" a{n}="""#)).collect::<String>();
    assert!(decode_xml(&format!("<x class=\"java.lang.ProcessBuilder\"{}/>", many(60))).is_ok());
    assert!(decode_xml(&format!("<x{}/>", many(100_000))).is_err());
    for broken in ["<x a/>", "<x a=1/>", r#"<x a="<"/>"#, r#"<x a="1" a="2"/>"#, r#"<x a="1"#] {
        assert!(decode_xml(broken).is_err(), "{broken}");
    }
}

#[test]
fn rest_117_metadata_names_are_decoded() {
    let table = [
        (
            "<_.0031num>1</_.0031num><a__b>2</a__b><a_-b>3</a_-b><k_.003c1>4</k_.003c1><a.b-c:d>5</a.b-c:d><a_b>6</a_b>",
            pairs(&[("1num", "1"), ("a_b", "2"), ("a$b", "3"), ("k<1", "4"), ("a.b-c:d", "5"), ("a_b", "6")]),
        ),
        ("<a>1</a><a>2</a>", pairs(&[("a", "2")])),
        ("<a/><b></b><c> x\n</c>", pairs(&[("a", ""), ("b", ""), ("c", " x\n")])),
        ("<a>x<b>y</b>z</a><c>1</c>", pairs(&[("a", ""), ("c", "1")])),
        ("<_.0040class>x</_.0040class><class>y</class>", pairs(&[("class", "y")])),
        ("stray<a>1</a>text", pairs(&[("a", "1")])),
    ];
    for (xml, expected) in table {
        let read = draft_xml(&format!("<metadata class=\"java.util.Collections$EmptyMap\">{xml}</metadata>"));
        assert_eq!(read.metadata, expected, "{xml}");
    }
    assert_eq!(draft_xml("<metadata><a>1</a></metadata><metadata/>").metadata, pairs(&[]));
}

#[test]
fn rest_11_19_20_a_document_is_one_instance_with_an_application() {
    assert!(matches!(whole("<instance><hostName>h</hostName></instance>"), Err(DecodeError::MissingApp)));
    assert!(matches!(whole("<instance/>"), Err(DecodeError::MissingApp)));
    for (document, root) in [("<application><app>A</app></application>", "application"), ("<Instance/>", "Instance")] {
        assert_eq!(refusal_xml(document), format!("root element is {root:?} where instance belongs"));
    }
    for document in [
        "",
        " ",
        "text",
        "{\"instance\":{\"app\":\"A\"}}",
        "<instance><app>A</app>",
        "<instance><app>A</instance>",
        "<instance><app>A</app></instance></instance>",
        "<instance><app>A</app></instance><instance/>",
        "<instance><app>A</app></instance>x",
        "x<instance><app>A</app></instance>",
        "<instance><app>A & B</app></instance>",
        "<instance><app>A</app><></></instance>",
        "<instance><app>A</app><1/></instance>",
        "<instance><app>\u{1}</app></instance>",
        "<instance><app>&#1;</app></instance>",
        "<instance><app>&#xFFFF;</app></instance>",
        "<instance><app>&#0;</app></instance>",
        "<instance><app>&#xD800;</app></instance>",
        "<instance><app>A</app><!-- </instance>",
        "<instance><app>A</app><![CDATA[ </instance>",
    ] {
        assert!(whole(document).is_err(), "{document:?} is accepted");
    }
}

#[test]
fn declarations_namespaces_references_and_sections_are_fine() {
    for document in [
        "<instance><app>A</app></instance>",
        "\u{FEFF}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<instance xmlns=\"urn:x\">\n<app>A</app>\n</instance>\n",
        "<com.netflix.appinfo.InstanceInfo><app>&#65;</app></com.netflix.appinfo.InstanceInfo>",
        "<!-- c --><?pi x?><instance ><app ><![CDATA[A]]></app ></instance ><!-- c -->",
        "<instance><app>no</app><app>&#x41;</app><more><app>x</app></more><actionType>?</actionType></instance>",
    ] {
        assert_eq!(&*whole(document).unwrap_or_else(|error| panic!("{document}: {error:?}")).app, "A", "{document}");
    }
    let utf16: Vec<u8> = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><instance><app>\u{dc}</app></instance>"
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    assert_eq!(&*decode_registration(MediaType::Xml, &utf16).expect("readable").app, "\u{dc}");
    let read = draft_xml("<sid>a&lt;&amp;&gt;&quot;&apos;<![CDATA[<b>&]]>\r\n&#13;\u{1F600}</sid>");
    assert_eq!(read.sid.as_deref(), Some("a<&>\"'<b>&\n\r\u{1F600}"));
}

#[test]
fn names_are_exact_and_unknown_elements_are_skipped_whole() {
    let unknown = "<HostName>x</HostName><x><hostName>y</hostName><port>z</port></x><instance><app>Z</app></instance>";
    let read = draft_xml(&format!("<hostName>h</hostName>{unknown}<ipAddr>a</ipAddr>"));
    assert_eq!((read.host_name.as_deref(), read.ip_addr.as_deref(), &*read.app), (Some("h"), Some("a"), "BILLING"));
    assert_eq!(draft_xml("<appGroupName>grp</appGroupName>").app_group_name.as_deref(), Some("grp"));
    assert_eq!(draft_xml("<homePageUrl/><sid></sid>").home_page_url.as_deref(), Some(""));
}

#[test]
fn lease_terms_and_times_that_are_no_numbers_are_ignored() {
    let terms = |renewal_interval_secs, duration_secs| Some(LeaseTerms { renewal_interval_secs, duration_secs });
    let table = [
        ("<renewalIntervalInSecs>5</renewalIntervalInSecs><durationInSecs>10</durationInSecs>", terms(5, 10)),
        ("<renewalIntervalInSecs></renewalIntervalInSecs><durationInSecs>10</durationInSecs>", terms(30, 10)),
        ("<durationInSecs>x</durationInSecs><renewalIntervalInSecs>0</renewalIntervalInSecs>", terms(30, 90)),
        ("<durationInSecs>99999999999</durationInSecs><evictionTimestamp><x/></evictionTimestamp>", terms(30, 90)),
        ("", terms(30, 90)),
    ];
    for (xml, expected) in table {
        let read = draft_xml(&format!("<leaseInfo>{xml}</leaseInfo><hostName>h</hostName>"));
        assert_eq!((read.lease_terms, read.host_name.as_deref()), (expected, Some("h")), "{xml}");
    }
    for (text, millis) in
        [("12345", Some(12345)), ("-1", Some(-1)), ("soon", None), ("", None), ("99999999999999999999", None)]
    {
        let read = draft_xml(&format!(
            "<lastDirtyTimestamp>{text}</lastDirtyTimestamp><lastUpdatedTimestamp>{text}</lastUpdatedTimestamp>"
        ));
        let time = millis.map(UnixMillis);
        assert_eq!((read.last_dirty, read.last_updated), (time, time), "{text}");
    }
}

#[test]
fn rest_148_the_body_of_the_go_client_is_read() {
    let document = "<instance><instanceId></instanceId><hostName>h.test</hostName><app>GO</app><ipAddr>192.0.2.9</ipAddr>\
        <vipAddress>go</vipAddress><secureVipAddress></secureVipAddress><status>UP</status><overriddenstatus></overriddenstatus>\
        <homePageUrl></homePageUrl><statusPageUrl></statusPageUrl><healthCheckUrl></healthCheckUrl><countryId>0</countryId>\
        <dataCenterInfo><name>MyOwn</name><metadata><ami-launch-index></ami-launch-index></metadata></dataCenterInfo>\
        <leaseInfo><renewalIntervalInSecs>0</renewalIntervalInSecs><durationInSecs>0</durationInSecs></leaseInfo>\
        <metadata></metadata><port enabled=\"true\">9090</port><securePort enabled=\"false\">0</securePort></instance>";
    let app = registry_model::AppName::parse("go").expect("a name");
    let instance = whole(document).expect("decodes").validate(&app, UnixMillis(5)).expect("valid");
    assert_eq!(instance.key.to_string(), "GO/h.test");
    assert_eq!((instance.status, instance.overridden_status), (InstanceStatus::Up, InstanceStatus::Unknown));
    assert_eq!((instance.lease_terms, instance.country_id), (LeaseTerms::default(), 0));
    assert_eq!(instance.port, Port { number: 9090, enabled: true });
    assert_eq!(instance.secure_port, Port { number: 0, enabled: false });
    assert_eq!((instance.data_center, instance.metadata), (registry_model::DataCenterInfo::MyOwn, Metadata::default()));
}
