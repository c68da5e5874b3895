"""A registry of everything odd that clients have sent, or might: what is registered, and what a reader has to find.

The rows of the field reports (B5, B6, B8, B10, B11, B15, B22, B29, B31, B40, B44, B105, S10, S20 and more) as instances.
Registered by stage.py, compared by arrival.py. A record has the keys of PLAIN; whatever is no text there stays what it is.
"""

import copy
import json
import urllib.parse
import urllib.request

MARKER = "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo"
AMAZON = "com.netflix.appinfo.AmazonInfo"
# Everything XML has a meaning for, or forbids.
HOSTILE = {
    "markup": "<a href=\"x\">&amp; 'y'</a>",
    "cdata": "<![CDATA[ x ]]>",
    "cdata-end": "]]>",
    "comment": "<!-- -- -->",
    "instruction": "<?xml version=\"1.1\"?>",
    "doctype": "<!DOCTYPE d [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>&e;",
    "references": "&#x41; &lt; &unknown; & &;",
    "lines": "one\ntwo\r\nthree\rfour\tfive",
    "blanks": "  in front and behind  ",
    "only blanks": "   ",
    "empty": "",
    "controls": "\x01\x08\x0b\x0c\x1f\x7f\x80\x9f",
    "nul": "a\x00b",
    "no characters": "\ufffe\uffff",
    "separators": "\u2028\u2029\ufeff\u200f",
}
NAMES = {
    "1num": "digit first",
    "-dash": "dash first",
    ".dot": "dot first",
    "a b": "blank",
    "a<b>&'\"": "markup",
    "@class2": "at sign",
    "a$b": "dollar",
    "a_b": "underscore",
    "a__b": "two underscores",
    "_.0041": "looks coded",
    "a.b-c": "allowed",
    "é": "letter",
    "日本": "letters",
    "😀": "two units",
    "a/b?c=d#e%20": "as in a path",
    "line\nbreak": "line break",
    "\x01": "control character",
    "xml": "reserved",
    "xmlns": "reserved",
    "class": "as the attribute",
    "instance": "as the element around it",
    "metadata": "as its own element",
    "__proto__": "means something to JavaScript",
    "constructor": "means something to JavaScript",
    "": "the empty key",
}
NUMBERS = {
    "zeros": "007",
    "exponent": "1e5",
    "big": "123456789012345678901234567890",
    "decimal": "1.50",
    "negative": "-1",
    "truth": "true",
    "null": "null",
    "infinite": "Infinity",
    "not a number": "NaN",
    "hex": "0x10",
}


def _instance(name: str, app: str, **changes) -> dict:
    """A body with nothing odd but `changes`; None removes a key."""
    body = {
        "instanceId": name,
        "hostName": f"{name}.test",
        "app": app,
        "ipAddr": "192.0.2.10",
        "status": "UP",
        "port": {"$": 8080, "@enabled": "true"},
        "securePort": {"$": 8443, "@enabled": "false"},
        "vipAddress": "odd",
        "secureVipAddress": "odd-s",
        "homePageUrl": "http://192.0.2.10:8080/",
        "dataCenterInfo": {"@class": MARKER, "name": "MyOwn"},
        "metadata": {"zone": "west-1"},
    }
    for key, value in changes.items():
        if value is None:
            del body[key]
        else:
            body[key] = value
    return body


# What a reader finds where nothing odd was sent.
PLAIN = {
    "ipAddr": "192.0.2.10",
    "status": "UP",
    "port": 8080,
    "portEnabled": True,
    "securePort": 8443,
    "securePortEnabled": False,
    "vipAddress": "odd",
    "secureVipAddress": "odd-s",
    "homePageUrl": "http://192.0.2.10:8080/",
    "dataCenter": "MyOwn",
    "dataCenterMetadata": {},
    "metadata": {"zone": "west-1"},
}
_ALL = []


def _odd(sent: dict, **want):
    record = {"app": sent["app"].upper(), "instanceId": sent.get("instanceId"), "hostName": sent["hostName"]}
    _ALL.append((sent, record | copy.deepcopy(PLAIN) | want))


def _simple(name: str, app: str, **changes):
    """An oddity that comes back under the name, and as the value, that was sent."""
    _odd(_instance(name, app, **changes), **changes)


_simple("plain", "PLAIN")
_odd(_instance("lower", "lower-case"))
_simple("ünïcode-日本-😀-\u0301", "ÜNÏ-日本", hostName="ü.test", vipAddress="größe,日本", metadata={"größe": "€ 😀 \U0010ffff é e\u0301"})
_simple("no-metadata-1", "EMPTY", metadata={})
_odd(_instance("no-metadata-2", "EMPTY", metadata=None), metadata={})
_odd(_instance("no-metadata-3", "EMPTY", metadata={"@class": "java.util.Collections$EmptyMap"}), metadata={})
_odd(_instance("class-key", "EMPTY", metadata={"@class": "x", "k": "v"}), metadata={"k": "v"})
_odd(_instance("no-vips", "VIPS", vipAddress=None, secureVipAddress=None), vipAddress=None, secureVipAddress=None)
_simple("two-vips", "VIPS", vipAddress="a.b,c", secureVipAddress="a.b-s, c-s")
_simple("long-vip", "VIPS", vipAddress="v" * 1000)
_amazon = {"instance-id": "i-1", "ami-id": "ami-1", "availability-zone": "west-1a", "public-ipv4": None, "local-ipv4": "192.0.2.11"}
_there = {key: value for key, value in _amazon.items() if value is not None}
_odd(_instance("i-1", "AMAZON", dataCenterInfo={"@class": AMAZON, "name": "Amazon", "metadata": _amazon}), dataCenter="Amazon", dataCenterMetadata=_there)
_strange = {"instance-id": "i-2", "public-hostname": "<&>]]>", "hostname": "with \x02 in it", "public-ipv4": ""}
_odd(_instance("i-2", "AMAZON", dataCenterInfo={"@class": AMAZON, "name": "Amazon", "metadata": _strange}), dataCenter="Amazon", dataCenterMetadata=_strange)
# The registry fills in the id that Amazon's metadata lacks.
_odd(_instance("i-3", "AMAZON", dataCenterInfo={"@class": MARKER, "name": "Amazon"}), dataCenter="Amazon", dataCenterMetadata={"instance-id": "i-3"})
_odd(_instance("i-4", "AMAZON", dataCenterInfo={"@class": MARKER, "name": "Netflix"}), dataCenter="Netflix")
_odd(_instance("no-class", "CENTERS", dataCenterInfo={"name": "MyOwn"}))
_odd(_instance("fargo-class", "CENTERS", dataCenterInfo={"@class": "com.netflix.appinfo.MyDataCenterInfo", "name": "MyOwn", "metadata": {"x": "y"}}))
_simple("h" * 4000, "HUGE", hostName="huge.test")
_simple("large", "HUGE", metadata={"long": "x" * 65536, **{f"key{number}": f"value {number}" for number in range(300)}})
for _id in ("a/b", "a b", "a%2Fb", "a?b", "a#b", "a;b=1", "192.0.2.10:ids:8080", "<i&d>]]>", "..", "\"quoted\""):
    _simple(_id, "IDS", hostName=f"ids-{len(_ALL)}.test")
_odd(_instance("absent-id", "IDS", instanceId=None), instanceId="absent-id.test")
_odd(_instance("empty-id", "IDS", instanceId=""), instanceId="empty-id.test")
_simple("plain", "IDS")
_simple("hostile", "HOSTILE", metadata=HOSTILE)
_simple("hostile-fields", "HOSTILE", homePageUrl="http://h/?a=1&b=<2>'\"]]>\x01", vipAddress="v&<>\x03")
_simple("names", "NAMES", metadata=NAMES)
_simple("numbers", "NUMBERS", metadata=NUMBERS)
_odd(
    _instance("scalars", "NUMBERS", metadata={"n": 5, "b": True, "x": None, "o": {"a": "b"}, "l": [1, 2]}),
    metadata={"n": "5", "b": "true", "o": '{"a":"b"}', "l": "[1,2]"},
)
_odd(_instance("number", "PORTS", port=8081, securePort=None), port=8081, securePort=7002)
_odd(_instance("text", "PORTS", port={"$": "7101", "@enabled": True}), port=7101)
_odd(_instance("none", "PORTS", port=None, securePort=None), port=7001, securePort=7002)
_odd(_instance("secure", "PORTS", port={"$": 80, "@enabled": "false"}, securePort={"$": 443, "@enabled": "true"}), port=80, portEnabled=False, securePort=443, securePortEnabled=True)
_odd(_instance("zero", "PORTS", port={"$": 0, "@enabled": "true"}), port=0)
_simple("six", "ADDRESSES", ipAddr="2001:db8::1", homePageUrl="http://[2001:db8::1]:8080/")
_simple("under_score", "USER_SERVICE", hostName="stack_orders_1")
for _status in ("DOWN", "STARTING", "OUT_OF_SERVICE", "UNKNOWN"):
    _simple(_status.lower(), "STATUSES", status=_status)
_odd(_instance("lease-null", "LEASES") | {"leaseInfo": None})
_odd(_instance("lease-long", "LEASES", leaseInfo={"renewalIntervalInSecs": 2147483647, "durationInSecs": 2147483647}))
_odd(_instance("stamps", "LEASES", lastDirtyTimestamp=str(2**63 - 1), countryId=-1))
_simple("delta", "DELTA")

# Only these keys of Amazon's metadata are in compact listings.
COMPACT_AMAZON = ("instance-id", "public-ipv4", "public-hostname", "local-ipv4", "availability-zone")


def expected() -> list:
    """The records of a full listing, of all applications together, and of the delta right after the registrations."""
    return [copy.deepcopy(want) for _, want in _ALL]


def compact(record: dict) -> dict:
    """What a compact listing has of it."""
    amazon = {key: value for key, value in record["dataCenterMetadata"].items() if key in COMPACT_AMAZON}
    return record | {"metadata": {}, "homePageUrl": None, "dataCenterMetadata": amazon}


def register(url: str, sent: dict):
    request = urllib.request.Request(
        f"{url}/apps/{urllib.parse.quote(sent['app'], safe='')}",
        data=json.dumps({"instance": sent}, separators=(",", ":")).encode(),
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            status = answer.status
    except urllib.error.HTTPError as error:
        status = f"{error.code} {error.read().decode('utf-8', 'replace')}"
    if status != 204:
        raise ValueError(f"{sent['app']}/{str(sent.get('instanceId'))[:40]}: {status}")


def register_all(url: str):
    for sent, _ in _ALL:
        register(url, sent)
