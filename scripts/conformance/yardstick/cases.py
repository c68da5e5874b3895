"""The cases REST-n that are requests alone, as steps that both servers get. Used by run.py.

What a case expects stands nowhere here: the Java server says it. Cases that need other settings of the server are missing: REST-101 to 103.
"""

from cases_shapes import SHAPES
from making import *
from runner import ALL, DELTA, Until


def _bodies(*bodies, **more) -> list:
    return [post(body, **more) for body in bodies]


def _changes(*changes: dict) -> list:
    """Each change to the instance is registered and read back, and the instance cancelled."""
    steps = []
    for change in changes:
        steps += [register(**change), one(), one(APP, ID, XML), cancel()]
    return steps


def _each_apart(name: str, steps: list, before: tuple = ()) -> dict:
    """Steps after which the two may hold different things: each becomes a case of its own."""
    return {f"{name} {letter}": [*before, step, one()] for letter, step in zip("abcdefghijklmnopqrstuvwxyz", steps)}


_HEARTBEAT = {"lastDirtyTimestamp": 1000, "status": "UP"}
_FIVE = ("UP", "DOWN", "STARTING", "OUT_OF_SERVICE", "UNKNOWN")
_FLEET = [register(APP, f"s{number}{TAG}", status=status) for number, status in enumerate(_FIVE)] + [register(APP, f"s5{TAG}")]
_VIPS = [
    register(f"V{TAG}", f"v1{TAG}", vipAddress=f"x{TAG}", secureVipAddress=f"sx{TAG}"),
    register(f"V{TAG}", f"v2{TAG}", vipAddress=f"x{TAG},y{TAG}"),
    register(f"W{TAG}", f"v3{TAG}", vipAddress=f"X{TAG}"),
]
_MADE_OF_XML = f"<metadata><_.0031num>1</_.0031num><a__b>2</a__b><a_-b>3</a_-b><k_.003c1>4</k_.003c1><a.b-c:d>5</a.b-c:d><a_b>6</a_b></metadata>"
_AMAZON = {"@class": AMAZON, "name": "Amazon", "metadata": {"instance-id": f"i{TAG}", "ami-id": "x", "mac": "m", "local-ipv4": "l"}}

# Cases that an eviction in the wrong moment spoils: each may fail three times.
RACES = {"REST-104, 105"}

CASES: dict = {
    # First, as heureka evicts no more than a share of the leases in a minute where it looks for expired ones more often than once in one.
    "eviction": [
        register(),
        register(f"E{TAG}", f"e1{TAG}", leaseInfo={"durationInSecs": 1}),
        Until(get(path("apps", f"E{TAG}"), JSON), 404, 15.0),
        ALL,
        DELTA,
        get("apps/delta", XML),
        renew(f"E{TAG}", f"e1{TAG}"),
    ],
    "REST-1": [register(), one()],
    "REST-2": [post({"instance": instance(app=f"OrDers{TAG}")}, f"orders{TAG}"), one(), one(f"orders{TAG}")],
    "REST-3": [Request("POST", path("apps", APP) + "/", (TYPE_JSON,), register().body), one()],
    "REST-4": [post({"instance": instance(app="OTHER")}), post({"instance": instance(app="OTHER")}, f"orders{TAG}", JSON)],
    "REST-5 to 7": [register(hostName=LEFT_OUT), register(hostName=""), register(hostName=LEFT_OUT, instanceId=LEFT_OUT), register(hostName="", instanceId="")],
    "REST-8": [register(instanceId=LEFT_OUT), get(path("apps", APP, f"o1{TAG}.test"), JSON), get(path("apps", APP, f"o1{TAG}.test"), XML)],
    "REST-9": [register(APP, ID, JSON, ipAddr=LEFT_OUT), register(APP, ID, XML, ipAddr=""), register(ipAddr=None)],
    "REST-10 to 13": [
        register(app=""),
        post({"instance": instance()}, ""),
        post({"instance": instance(app=LEFT_OUT)}),
        register(dataCenterInfo=LEFT_OUT),
        register(dataCenterInfo=None),
        register(dataCenterInfo={"@class": MARKER}),
    ],
    "REST-14": [register(dataCenterInfo={"@class": MARKER, "name": name}) for name in ("Bogus", "myown")],
    "REST-15": [post({"instance": instance()}, type=type) for type in (None, ("Content-Type", "text/plain"), ("Content-Type", "text/xml"), ("Content-Type", "application/vnd.x+json"))],
    "REST-16": [post({"instance": instance()}, type=("Content-Type", f"application/json;charset={charset}")) for charset in ("UTF-16", "utf-32", "windows-1252")],
    "REST-17, 18": [post("not json", type=("Content-Type", type)) for type in ("application/json", "application/json;charset=UTF-8", "APPLICATION/JSON")],
    "REST-19": _bodies(instance(), {"Instance": instance()}),
    "REST-20": _bodies("", "{}", '{"instance":null}'),
    "REST-21, 22": [register(), register(lastDirtyTimestamp="500", vipAddress=f"old{TAG}"), one(), register(vipAddress=f"same{TAG}"), one()],
    "REST-23 to 25": [
        register(),
        register(lastDirtyTimestamp="1001", status="OUT_OF_SERVICE"),
        register(APP, ID, PEER, lastDirtyTimestamp="1002", status="OUT_OF_SERVICE"),
        register(lastDirtyTimestamp="1003", status="DOWN"),
        register(lastDirtyTimestamp="1004", status="UP"),
    ],
    "REST-26": [register(dataCenterInfo={"@class": AMAZON, "name": "Amazon", "metadata": {"ami-id": "a"}}), one(), one(APP, ID, XML)],
    "REST-27": [post({"instance": instance()}, APP, ("Content-Encoding", "gzip"), compressed=True)],
    "REST-28": [register(**{key: LEFT_OUT for key in ("status", "port", "securePort", "vipAddress", "secureVipAddress", "lastDirtyTimestamp")}), one(), one(APP, ID, XML)],
    "REST-29": _changes({"port": {"$": "8081", "@enabled": True}}, {"port": {"$": 8081.9}}, {"port": {"@enabled": "TRUE"}}, {"port": {"$": None}}, {"port": {}}, {"securePort": {"$": "x", "@enabled": 1}}),
    **_each_apart("REST-30", [register(port=8080), register(port={"$": 1, "x": 2}), register(port="8080")]),
    "REST-31 to 33": _changes({"status": "up"}, {"status": None}, {"status": ""}, {"overriddenstatus": "OUT_OF_SERVICE"}, {"overriddenStatus": "OUT_OF_SERVICE"}, {"overriddenStatus": "down"}, {"overriddenStatus": ""}),
    "REST-34": _changes({"lastDirtyTimestamp": 12345}, {"lastDirtyTimestamp": "12345"}, {"lastDirtyTimestamp": 12345.7}, {"lastDirtyTimestamp": "abc"}, {"lastDirtyTimestamp": LEFT_OUT}, {"lastDirtyTimestamp": None}),
    "REST-35, 36": _changes(
        {"leaseInfo": {"durationInSecs": "10", "renewalIntervalInSecs": 0}},
        {"leaseInfo": {"durationInSecs": -1, "renewalIntervalInSecs": "-5"}},
        {"leaseInfo": {"registrationTimestamp": 1, "lastRenewalTimestamp": 2, "evictionTimestamp": 3, "serviceUpTimestamp": 4, "more": 5}},
        {"leaseInfo": {}},
        {"leaseInfo": None},
    ),
    **_each_apart("REST-37", [register(metadata={"a": 1, "b": True, "@class": "x", "class": "y"}), register(metadata={"c": None}), register(metadata={"d": {"e": "f"}}), register(metadata={"g": [1]}), register(metadata={"h": 1.50})]),
    "REST-38": _changes({"zzz": 1, "yyy": None, "xxx": "w"}),
    **_each_apart("REST-39", [post({"instance": {"more": {"a": {"b": 1}}, **instance()}}), post({"instance": {**instance(), "more": [1, 2]}})]),
    "REST-40 to 42": _changes({"sid": "na"}, {"sid": "unknown"}, {"sid": "abc"}, {"homePageUrl": ""}, {"appGroupName": "grp"}, {"asgName": "asg"}, {"countryId": "7"}, {"homePageUrl": "http://h/?a=1&b=<2>"}),
    "REST-43 to 48": [
        register(),
        renew(),
        renew(f"orders{TAG}"),
        renew(APP, f"O1{TAG}"),
        renew(APP, "nope"),
        renew("NOPE", ID),
        renew(APP, "nope", JSON),
        renew(APP, "nope", JSON, body="{}"),
        renew(status="DOWN"),
        renew(lastDirtyTimestamp=1000),
        renew(lastDirtyTimestamp=999),
        one(),
    ],
    "REST-49 to 51": [register()] + [renew(APP, ID, *headers, lastDirtyTimestamp=time) for time in (999, 1000, 1001) for headers in ((), (PEER,), (PEER, JSON), (PEER, XML), (("x-netflix-discovery-replication", "TRUE"),))],
    "REST-52": [register(), renew(APP, ID, PEER, lastDirtyTimestamp=1001, overriddenstatus="OUT_OF_SERVICE"), one()],
    "REST-52 b": [register(), renew(APP, ID, PEER, lastDirtyTimestamp=1001, overriddenstatus="OUT_OF_SERVICE"), renew(), one()],
    **_each_apart("REST-53", [renew(lastDirtyTimestamp=time) for time in ("abc", "", "1.5", "99999999999999999999")], (register(),)),
    "REST-54": [register(), renew(APP, ID, TYPE_JSON, body="{}"), renew(APP, ID, TYPE_JSON, JSON, body="{}"), renew(APP, ID, ("Content-Type", "text/plain"), body="x")],
    "REST-55, 56": [register(), DELTA, renew(), one(), DELTA],
    "REST-57 to 59": [register(), cancel(), cancel(), one(), get(path("apps", APP), JSON), get(path("apps", APP), XML)],
    "REST-60": [register(), set_status(value="OUT_OF_SERVICE"), cancel(), register(), one()],
    "REST-61, 62": [register(), set_status(value="UP"), set_status(value="OUT_OF_SERVICE"), one(), set_status(value="OUT_OF_SERVICE")],
    **_each_apart("REST-63", [set_status(value="out_of_service"), set_status(value="BOGUS"), set_status(), set_status(value="DOWN", lastDirtyTimestamp="x")], (register(),)),
    "REST-64, 65": [register(), set_status(APP, "nope", value="UP"), set_status(value="DOWN", lastDirtyTimestamp=2000), set_status(value="UP", lastDirtyTimestamp=5), one(), set_status(value="UNKNOWN"), renew()],
    "REST-66 to 68": [register(), set_status(value="OUT_OF_SERVICE"), register(lastDirtyTimestamp="1001"), register(lastDirtyTimestamp="1002", status="DOWN"), register(lastDirtyTimestamp="1003"), remove_status(value="UP"), one()],
    "REST-69": [register(), set_status(value="OUT_OF_SERVICE"), remove_status(), one(), renew(), register(lastDirtyTimestamp="1001"), one(), renew()],
    "REST-70": [register(), remove_status(), remove_status(value="DOWN"), remove_status(APP, "nope"), one()],
    **_each_apart("REST-71", [remove_status(value="zz"), remove_status(value="DOWN", lastDirtyTimestamp="x")], (register(), set_status(value="OUT_OF_SERVICE"))),
    "REST-72": [register(), get(path("apps", APP, ID, "status"), JSON), get(path("apps", APP, ID, "metadata"), JSON), Request("POST", path("apps", APP, ID), (JSON, TYPE_JSON), "{}")],
    "REST-73, 74": [register(metadata={"k": "v"}), metadata("a=b&c=d"), one(), metadata("a=1&a=2&e&x%20y=%26+z&%C3%BC=%F0%9F%98%80"), one(), one(APP, ID, XML)],
    "REST-75, 76": [register(), metadata("a=b", APP, "nope"), metadata("a=b"), DELTA, metadata("a=c", APP, ID, PEER), renew(), metadata("k=v")],
    **{f"REST-77 {id!r}": [register(APP, id), one(APP, id), one(APP, id, XML), renew(APP, id), cancel(APP, id)] for id in (f"a/b{TAG}", f"a\\b{TAG}", f"a b{TAG}", f"a%b{TAG}", f"a?b{TAG}", f"a#b{TAG}", f"ü{TAG}", f"a+b{TAG}", f"a%2Bb{TAG}", f"ß:{TAG}", f"a;b{TAG}")},
    "REST-78": [register(APP, f"h:x:{TAG}"), get(f"apps/{APP}/h%3Ax%3A{TAG}", JSON), get(f"apps/{APP}/h:x:{TAG}", JSON)],
    "REST-79": [register(), get(f"apps/{APP}/{ID};x=1", JSON), get(f"apps/{APP};x=1/{ID}", JSON), get(f"apps/{APP}/{ID}%3Bx", JSON)],
    "REST-80": [register()] + [get(target, JSON) for target in ("apps/", "apps/delta/", f"apps/{APP}/", f"apps/{APP}/{ID}/", f"vips/orders{TAG}/", f"instances/{ID}/")],
    "REST-81": [register()] + [get(f"{version}/apps", JSON) for version in ("v2", "V2", "v1", "v3")],
    "REST-82, 83": [Request("POST", "/eureka/apps/delta", (TYPE_JSON,), register("DELTA").body), register("DELTA"), get("apps/DELTA", JSON)],
    "REST-84": [register()] + [Request(method, f"/eureka/{target}", headers) for method, target in (("PATCH", "apps"), ("DELETE", "apps"), ("DELETE", f"apps/{APP}"), ("GET", f"asg/a{TAG}/status")) for headers in ((), (JSON,))] + [Request("POST", "/eureka/apps", (TYPE_JSON,), "{}")],
    "REST-85": [register()] + [Request("HEAD", f"/eureka/{target}", (JSON,)) for target in ("apps", "apps/delta", f"apps/{APP}", f"apps/{APP}/{ID}", f"apps/{APP}/nope", f"vips/orders{TAG}")],
    "REST-86 to 90": [register()]
    + [
        get(target, *((("Accept", accept),) if accept is not None else ()))
        for target in ("apps", f"apps/{APP}", f"apps/{APP}/{ID}")
        for accept in (
            None,
            "*/*",
            "application/*",
            "application/json",
            "application/json, application/*+json",
            "application/json;q=0.5, application/xml;q=0.4",
            "application/xml;q=0.5, application/json;q=0.6",
            "*/*, application/json",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "application/json, application/xml",
            "application/xml, application/json",
            "APPLICATION/JSON",
            "application/json;charset=UTF-8",
            "text/html",
            "text/json",
            "application/vnd.x+json",
        )
    ],
    "REST-88 b": [Request(method, target, (("Accept", "text/html"), TYPE_JSON), body) for method, target, body in (("POST", path("apps", APP), register().body), ("PUT", path("apps", APP, ID), ""), ("DELETE", path("apps", APP, ID), None))],
    "REST-91, 92": [register()] + [get(target, accept, GZIP) for target in ("apps", "apps/delta", "apps/NOPE") for accept in (JSON, XML)] + [get("apps", JSON, ("Accept-Encoding", "deflate, gzip;q=0.5")), get("apps", JSON, ("Accept-Encoding", "identity"))],
    "REST-93": [ALL, get("apps", XML), get("apps", JSON, COMPACT), get("apps", XML, COMPACT)],
    "REST-94, 95": [*_FLEET, ALL, DELTA, get("apps", XML)],
    "REST-96, 97": [register(), DELTA, set_status(value="DOWN"), DELTA, cancel(), DELTA, register(), DELTA, get("apps/delta", XML)],
    "REST-98": [register(), DELTA, DELTA, get("apps/delta", XML), get("apps/delta", XML), get("apps/delta", JSON, COMPACT), get("apps/delta", JSON, GZIP)],
    "REST-99, 100": [register()] + [get(f"apps{delta}?regions={regions}", JSON) for delta in ("", "/delta") for regions in ("", "nowhere", "b,a", "A,B", "b,a")],
    "REST-106 to 109": [*_VIPS] + [get(target, JSON) for target in (f"vips/x{TAG}", f"vips/y{TAG}", f"vips/X{TAG}", "vips/nope", f"svips/sx{TAG}", "svips/nope", f"vips/x{TAG}%2Cy{TAG}")] + [get(f"vips/x{TAG}", XML), get(f"vips/y{TAG}", JSON, COMPACT), get("vips/nope", XML)],
    "REST-110": [register()] + [get(f"instances/{id}", *headers) for id in (ID, "nope") for headers in ((JSON,), (XML,), ())],
    "REST-111": [register_xml("<port>8080</port><securePort>8443</securePort>"), one(), register_xml('<port enabled="no">1</port><securePort enabled="TRUE">2</securePort>'), one()],
    "REST-112": [step for status in ("up", "Down", " UP", "", "bogus") for step in (register_xml(f"<status>{status}</status><overriddenstatus>{status}</overriddenstatus>"), one(), cancel())],
    **_each_apart("REST-113", [register_xml(f'<port enabled="true">{port}</port>') for port in (" 8080 ", "abc", "", "99999999999")] + [register_xml("<countryId>x</countryId>")]),
    "REST-114": [register_xml(data_center='<dataCenterInfo class="foo.Bar"><name>MyOwn</name></dataCenterInfo>'), one(APP, ID, XML), register_xml(data_center="<dataCenterInfo><name>Bogus</name></dataCenterInfo>"), register_xml(data_center="<dataCenterInfo/>"), register_xml(data_center="")],
    "REST-115": [post(f"<!DOCTYPE instance>{xml('')}", type=TYPE_XML), post("<instance>", type=TYPE_XML), post("", type=TYPE_XML), post(f'<?xml version="1.0"?>{xml("")}', type=TYPE_XML), one()],
    "REST-116": [register(metadata={"1num": "1", "a_b": "2", "a$b": "3", "k<1": "4", "a.b-c:d": "5", " sp": "6", "é": "7", "😀": "8", "@class2": "9"}), one(APP, ID, XML), get(path("apps", APP), XML)],
    "REST-117": [register_xml(_MADE_OF_XML), one(), one(APP, ID, XML)],
    "REST-118": [register_xml(), one(APP, ID, XML), one()],
    "REST-119 to 122": [*_FLEET, *(get(f"{version}apps", XML) for version in ("", "v2/", "v1/")), get("v1/apps", JSON), *(one(APP, f"s{number}{TAG}", XML) for number in range(5)), get(f"instances/s3{TAG}", XML), get(path("apps", APP), XML)],
    "REST-123, 124": [*_FLEET, *(get("apps", accept, ("X-Eureka-Accept", kind)) for accept in (JSON, XML) for kind in ("compact", "COMPACT", "full"))],
    "REST-125, 126": [register(), one(APP, ID, JSON, COMPACT), get("apps", JSON, ("X-Eureka-Accept", "bogus"))],
    "REST-127": [register(dataCenterInfo=_AMAZON), *(get(path("apps", APP), accept, COMPACT) for accept in (JSON, XML)), one(), one(APP, ID, XML)],
    "REST-128": [batch(item("Register", **_HEARTBEAT, instanceInfo=instance())), one()],
    "REST-129": [batch(item("Register", id=f"n9{TAG}", instanceInfo=instance(APP, f"n9{TAG}", hostName=LEFT_OUT))), one(APP, f"n9{TAG}")],
    "REST-130": [batch(item("Register"))],
    "REST-131": [register()] + [batch(item("Heartbeat", **{**_HEARTBEAT, "lastDirtyTimestamp": time})) for time in (1000, 999, "999", 1001)] + [batch(item("Heartbeat", id="zz", **_HEARTBEAT)), batch(item("Heartbeat"))],
    "REST-132": [register(), batch(item("Heartbeat", lastDirtyTimestamp=1001, overriddenStatus="OUT_OF_SERVICE", status="UP"))],
    "REST-133": [register(), batch(item("Cancel")), batch(item("Cancel"))],
    "REST-134": [register(), batch(item("StatusUpdate", lastDirtyTimestamp=1, status="DOWN")), batch(item("StatusUpdate", id="zz", lastDirtyTimestamp=1, status="UP")), one()],
    **_each_apart("REST-134", [batch(item("StatusUpdate", lastDirtyTimestamp=1, status=status)) for status in ("BOGUS", "up", LEFT_OUT)], (register(),)),
    "REST-135": [register(), batch(item("StatusUpdate", status="DOWN", lastDirtyTimestamp=1)), batch(item("DeleteStatusOverride", status="UP", lastDirtyTimestamp=1)), one()],
    "REST-135 b": [register(), set_status(value="DOWN"), batch(item("DeleteStatusOverride", status="UP")), one()],
    "REST-136": [register(), batch(item("Heartbeat", **_HEARTBEAT), item("Cancel", id="zz"))],
    "REST-137": [register(), batch(item("heartbeat")), batch(item("Bogus"))],
    **_each_apart("REST-137", [batch(item(None)), batch(item("Cancel", app=None)), batch(item("Heartbeat", more=1, **_HEARTBEAT)), batch(item("Register", instanceInfo={"instance": instance()}))], (register(),)),
    "REST-138, 139": [batch(), batch(slash=""), *(Request("POST", "/eureka/peerreplication/batch/", (TYPE_JSON, JSON), body) for body in ("", "[]", "x"))],
    "REST-138 b": [Request("POST", "/eureka/peerreplication/batch/", (TYPE_JSON, JSON), "{}")],
    "REST-138 c": [batch(headers=()), batch(headers=(XML,))],
    "REST-138 d": [Request("POST", "/eureka/peerreplication/batch/", headers, batch().body) for headers in ((TYPE_XML, JSON), (("Content-Type", "text/plain"), JSON), (JSON,))],
    "REST-140": [get("peerreplication/batch", JSON)],
    "REST-141": [Request("PUT", f"/eureka/asg/x/status{query}", (), "") for query in ("?value=DISABLED", "?value=ENABLED", "", "?value=x")],
    "REST-142, 143": [get("serverinfo/statusoverrides", JSON), get("serverinfo/statusoverrides", XML)],
    "REST-144": [get("status", XML)],
    "REST-145": [get("status", JSON)],
    # An expired lease, revived before it is evicted; and one that is evicted.
    "REST-104, 105": [
        register(leaseInfo={"durationInSecs": 1}),
        Until(one(), 404, 4.0),
        one(),
        get(f"instances/{ID}", JSON),
        set_status(value="DOWN"),
        metadata("a=b"),
        renew(),
        one(),
    ],
    **SHAPES,
}
