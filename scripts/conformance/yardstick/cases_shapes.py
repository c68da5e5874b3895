"""How real clients write, and inputs that once were trouble, as steps that both servers get. Used by cases.py."""

from making import *
from runner import DELTA

_SPRING = {
    "instanceId": f"s1:shop:8080{TAG}",
    "app": APP,
    "appGroupName": None,
    "ipAddr": "192.0.2.9",
    "sid": "na",
    "homePageUrl": "http://s1.test:8080/",
    "statusPageUrl": "http://s1.test:8080/actuator/info",
    "healthCheckUrl": "http://s1.test:8080/actuator/health",
    "secureHealthCheckUrl": None,
    "vipAddress": f"shop{TAG}",
    "secureVipAddress": f"shop{TAG}",
    "countryId": 1,
    "dataCenterInfo": {"@class": MARKER, "name": "MyOwn"},
    "hostName": "s1.test",
    "status": "UP",
    "overriddenStatus": "UNKNOWN",
    "leaseInfo": {"renewalIntervalInSecs": 30, "durationInSecs": 90, "registrationTimestamp": 0, "lastRenewalTimestamp": 0, "evictionTimestamp": 0, "serviceUpTimestamp": 0},
    "isCoordinatingDiscoveryServer": False,
    "lastUpdatedTimestamp": 1760000000000,
    "lastDirtyTimestamp": 1760000000000,
    "actionType": None,
    "asgName": None,
    "port": {"$": 8080, "@enabled": "true"},
    "securePort": {"$": 443, "@enabled": "false"},
    "metadata": {"management.port": "8080"},
}
_HOST = f"js{TAG}.test"
_NODE = {
    "app": f"orders{TAG}",
    "hostName": _HOST,
    "ipAddr": "192.0.2.10",
    "port": {"$": 8080, "@enabled": True},
    "vipAddress": f"js{TAG}",
    "dataCenterInfo": {"@class": MARKER, "name": "MyOwn"},
    "status": "UP",
}
_GO_XML = (
    f"<instance><instanceId></instanceId><hostName>{_HOST}</hostName><app>{APP}</app><ipAddr>192.0.2.11</ipAddr><vipAddress>go{TAG}</vipAddress>"
    "<secureVipAddress></secureVipAddress><status>UP</status><overriddenstatus></overriddenstatus><homePageUrl></homePageUrl><statusPageUrl></statusPageUrl>"
    "<healthCheckUrl></healthCheckUrl><countryId>0</countryId><dataCenterInfo><name>MyOwn</name><metadata></metadata></dataCenterInfo>"
    "<leaseInfo><renewalIntervalInSecs>0</renewalIntervalInSecs><durationInSecs>0</durationInSecs></leaseInfo><metadata><k>v</k></metadata>"
    '<port enabled="true">9090</port><securePort enabled="false">0</securePort></instance>'
)
_GO_JSON = {
    "hostName": _HOST,
    "app": APP,
    "ipAddr": "192.0.2.11",
    "vipAddress": f"go{TAG}",
    "status": "UP",
    "overriddenstatus": "",
    "port": {"$": "9090", "@enabled": "true"},
    "securePort": {"$": "0", "@enabled": "false"},
    "dataCenterInfo": {"@class": "com.netflix.appinfo.MyDataCenterInfo", "name": "MyOwn"},
}
_PYTHON = {
    "instanceId": f"10.9.9.9:py:9090{TAG}",
    "hostName": "10.9.9.9",
    "app": APP,
    "ipAddr": "10.9.9.9",
    "port": {"$": 9090, "@enabled": "true"},
    "securePort": {"$": 9443, "@enabled": "false"},
    "countryId": 1,
    "dataCenterInfo": {"@class": MARKER, "name": "MyOwn"},
    "leaseInfo": {"renewalIntervalInSecs": 30, "durationInSecs": 90, "registrationTimestamp": 0, "lastRenewalTimestamp": 0, "evictionTimestamp": 0, "serviceUpTimestamp": 0},
    "metadata": {"management.port": "9090", "zone": "z"},
    "homePageUrl": "",
    "statusPageUrl": "",
    "healthCheckUrl": "",
    "secureHealthCheckUrl": "",
    "vipAddress": f"py{TAG}",
    "secureVipAddress": f"py{TAG}",
    "isCoordinatingDiscoveryServer": "false",
    "status": "UP",
    "overriddenstatus": "UNKNOWN",
    "lastUpdatedTimestamp": "1760000000000",
    "lastDirtyTimestamp": "1760000000000",
}


def _all_reads(id: str) -> list:
    return [one(APP, id), one(APP, id, XML), get(path("apps", APP), JSON, COMPACT), get(path("apps", APP), XML), get(path("apps", APP), XML, COMPACT)]


def _posted(body: dict, app: str = APP) -> Request:
    return post({"instance": body}, app)


SHAPES: dict = {
    "REST-146": [_posted(_SPRING), *_all_reads(_SPRING["instanceId"]), renew(APP, _SPRING["instanceId"], TYPE_JSON, JSON, status="UP", lastDirtyTimestamp=1760000000000)],
    "REST-146 b": [_posted({**_SPRING, "metadata": {"@class": "java.util.Collections$EmptyMap"}}), *_all_reads(_SPRING["instanceId"])],
    "REST-147": [_posted(_NODE, f"orders{TAG}"), renew(f"orders{TAG}", _HOST)],
    "REST-148": [post(_GO_XML, type=TYPE_XML), *_all_reads(_HOST)],
    "REST-149": [_posted(_GO_JSON), *_all_reads(_HOST)],
    "REST-150": [_posted(_PYTHON), *_all_reads(_PYTHON["instanceId"]), get("apps/")],
    "id in the metadata": [register(instanceId=LEFT_OUT, metadata={"instanceId": f"m{TAG}"}), get("apps", XML)],
    "no class of the data center": [register(dataCenterInfo={"name": "MyOwn"}), one()],
    "unknown class of the data center": [register(dataCenterInfo={"@class": "x.Y", "name": "MyOwn"})],
    "data center with more": [register(dataCenterInfo={"@class": MARKER, "name": "MyOwn", "metadata": {}})],
    "data center of Netflix": [register(dataCenterInfo={"@class": MARKER, "name": "Netflix"}), *_all_reads(ID)],
    "Amazon without metadata": [register(dataCenterInfo={"@class": AMAZON, "name": "Amazon"}), one()],
    "Amazon with empty metadata": [register(dataCenterInfo={"@class": AMAZON, "name": "Amazon", "metadata": {}}), *_all_reads(ID)],
    "Amazon under another name": [register(dataCenterInfo={"@class": AMAZON, "name": "MyOwn", "metadata": {"instance-id": f"i{TAG}"}}), one()],
    "unicode": [register(metadata={"grüße": "日本語 😀 \u2028", "q": '"\\/\b\f\n\r\t'}, homePageUrl="http://h/<&>'\"]]>"), *_all_reads(ID)],
    "characters that XML has not": [register(metadata={"a": "\u0001\u001f"}), one(), get(path("apps", APP), XML)],
    "huge id": [register(APP, f"{TAG}{'x' * 900}"), one(APP, f"{TAG}{'x' * 900}"), renew(APP, f"{TAG}{'x' * 900}")],
    "app of another case": [post({"instance": instance(app=f"straße{TAG}")}, f"straße{TAG}"), one(f"STRASSE{TAG}")],
    "one override for two applications": [register(f"A{TAG}", ID), register(f"B{TAG}", ID), set_status(f"A{TAG}", ID, value="OUT_OF_SERVICE"), register(f"B{TAG}", ID, lastDirtyTimestamp="2000"), one(f"B{TAG}", ID)],
    "override forgotten by a failed cancel": [register(f"A{TAG}", ID), set_status(f"A{TAG}", ID, value="OUT_OF_SERVICE"), cancel(f"B{TAG}", ID), register(f"A{TAG}", ID, lastDirtyTimestamp="2000"), one(f"A{TAG}", ID)],
    "reserved names of the cache": [register(), get("apps/ALL_APPS", JSON)],
    "vip of a list, read before": [register(vipAddress=f"x{TAG},y{TAG}"), get(f"vips/x{TAG}", JSON), cancel(), get(f"vips/x{TAG}", JSON)],
    "vip changed, read before": [register(vipAddress=f"x{TAG}"), get(f"vips/x{TAG}", JSON), register(vipAddress=f"y{TAG}", lastDirtyTimestamp="2000"), get(f"vips/x{TAG}", JSON), get(f"vips/y{TAG}", JSON)],
    "numbers too large": [register(port={"$": 99999999999, "@enabled": "true"}), register(leaseInfo={"durationInSecs": 99999999999}), register(lastDirtyTimestamp=99999999999999999999), register(countryId=99999999999)],
    "repeated keys": [post('{"instance":{"app":"X","status":"DOWN",' + post({"instance": instance()}).body.removeprefix('{"instance":{')), one()],
    "two roots": [post(post({"instance": instance()}).body.removesuffix("}") + ',"more":1}')],
    "text after the end": [post(post({"instance": instance()}).body + "x")],
    "comment": [post("/* c */" + post({"instance": instance()}).body)],
    "byte order mark": [post("\ufeff" + post({"instance": instance()}).body), one()],
    "UTF-16": [post(post({"instance": instance()}).body.replace(TAG, "Z").encode("utf-16-le"), "ORDERSZ"), cancel("ORDERSZ", "o1Z")],
    "unknown elements": [register_xml("<more><a>1</a></more><leaseInfo><durationInSecs>7</durationInSecs><x/></leaseInfo>"), one()],
    "lease of words": [register_xml("<leaseInfo><durationInSecs>x</durationInSecs></leaseInfo><vipAddress>v</vipAddress>"), one()],
    "another root": [post(xml("", root="com.netflix.appinfo.InstanceInfo"), type=TYPE_XML), one(), post(xml("", root="application"), type=TYPE_XML)],
    "group name in XML": [register_xml("<appGroupName>grp</appGroupName><sid>s</sid><metadata class='x'><a>b</a></metadata>"), one()],
    "no such resource": [get(target, *headers) for target in ("nothing", "", "apps/a/b/c/d", "healthcheck", "serverinfo") for headers in ((JSON,), ())],
    "doubled slash": [get("/eureka//apps", JSON), get("/eureka/apps//delta", JSON)],
    "corrupt gzip": [post("x", APP, ("Content-Encoding", "gzip"))],
    "methods": [Request("OPTIONS", f"/eureka/{target}") for target in ("apps", f"apps/{APP}", f"apps/{APP}/{ID}")],
    "regions of a vip": [register(), get(f"vips/orders{TAG}?regions=a", JSON)],
    "names in queries": [register(), renew(LASTDIRTYTIMESTAMP=5), Request("PUT", path("apps", APP, ID) + "?lastDirtyTimestamp=1000&lastDirtyTimestamp=5", (PEER,), ""), set_status(VALUE="DOWN", value="DOWN")],
    "unknown, and an older registration": [register(lastDirtyTimestamp="1001"), set_status(value="DOWN"), remove_status(), register(), one()],
    "unknown, and an older registration from a peer": [register(lastDirtyTimestamp="1001"), set_status(value="DOWN"), remove_status(), register(APP, ID, PEER), one()],
    "gone and come in one delta": [register(), register(APP, f"o2{TAG}"), cancel(), DELTA, register(f"A{TAG}", f"a1{TAG}"), cancel(APP, f"o2{TAG}"), register(APP, f"o3{TAG}"), DELTA, get("apps/delta", XML)],
    "a batch that goes on with an instance it showed": [register(lastDirtyTimestamp="2000"), batch(item("Heartbeat", lastDirtyTimestamp=1000), item("Cancel"))],
    "no metadata": [register(), metadata(""), one()],
    "status resource of an instance called status": [register(APP, "status"), one(APP, "status"), renew(APP, "status"), set_status(APP, "status", value="DOWN"), cancel(APP, "status")],
}

# After these the Java server has no list, or none in XML that can be read, until the instance has left its delta, so they come after everything else.
LAST: dict = {
    "key that XML has not": [register(metadata={"": "x", "y": "z"}), one(), get(path("apps", APP), XML)],
    "Amazon by its marker": [register(dataCenterInfo={"@class": MARKER, "name": "Amazon"})],
}
