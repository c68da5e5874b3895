"""Makes requests: the instance that most cases start from, and one function per call of the API. Used by cases*.py and random_steps.py."""

import json
from urllib.parse import quote, urlencode

from runner import JSON, XML
from wire import TAG, Request

TYPE_JSON = ("Content-Type", "application/json")
TYPE_XML = ("Content-Type", "application/xml")
PEER = ("x-netflix-discovery-replication", "true")
GZIP = ("Accept-Encoding", "gzip")
COMPACT = ("X-Eureka-Accept", "compact")
LEFT_OUT = object()
MARKER = "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo"
AMAZON = "com.netflix.appinfo.AmazonInfo"
APP = f"ORDERS{TAG}"
ID = f"o1{TAG}"


def instance(app: str = APP, id: object = ID, /, **changes) -> dict:
    """A complete instance, with some keys replaced, added or left out."""
    fields = {
        "instanceId": id,
        "hostName": f"o1{TAG}.test",
        "app": app,
        "ipAddr": "192.0.2.7",
        "status": "UP",
        "port": {"$": 9090, "@enabled": "true"},
        "securePort": {"$": 9443, "@enabled": "false"},
        "dataCenterInfo": {"@class": MARKER, "name": "MyOwn"},
        "vipAddress": f"orders{TAG}",
        "secureVipAddress": f"orders-s{TAG}",
        "lastDirtyTimestamp": "1000",
    }
    fields.update(changes)
    return {key: value for key, value in fields.items() if value is not LEFT_OUT}


def path(*segments: str, base: str = "/eureka") -> str:
    return "/".join([base, *(quote(segment, safe=f"{TAG}:;=") for segment in segments)])


def post(body, app: str = APP, *headers: tuple, type: tuple | None = TYPE_JSON, **more) -> Request:
    text = body if isinstance(body, str | bytes) else json.dumps(body, ensure_ascii=False)
    return Request("POST", path("apps", app), tuple(header for header in (type, *headers) if header), text, **more)


def register(app: str = APP, id: object = ID, /, *headers: tuple, **changes) -> Request:
    return post({"instance": instance(app, id, **changes)}, app, *headers)


def xml(children: str, root: str = "instance", app: str = APP, id: str = ID, data_center: str = "<dataCenterInfo><name>MyOwn</name></dataCenterInfo>") -> str:
    return f"<{root}><instanceId>{id}</instanceId><hostName>h{TAG}</hostName><app>{app}</app><ipAddr>192.0.2.8</ipAddr>{data_center}{children}</{root}>"


def register_xml(children: str = "", *headers: tuple, app: str = APP, **more) -> Request:
    return post(xml(children, app=app, **more), app, *headers, type=TYPE_XML)


def renew(app: str = APP, id: str = ID, *headers: tuple, body=None, **query) -> Request:
    return Request("PUT", _query(path("apps", app, id), query), headers, "" if body is None else body)


def cancel(app: str = APP, id: str = ID, *headers: tuple) -> Request:
    return Request("DELETE", path("apps", app, id), headers)


def set_status(app: str = APP, id: str = ID, *headers: tuple, **query) -> Request:
    return Request("PUT", _query(path("apps", app, id, "status"), query), headers, "")


def remove_status(app: str = APP, id: str = ID, *headers: tuple, **query) -> Request:
    return Request("DELETE", _query(path("apps", app, id, "status"), query), headers)


def metadata(query: str, app: str = APP, id: str = ID, *headers: tuple) -> Request:
    return Request("PUT", path("apps", app, id, "metadata") + (f"?{query}" if query else ""), headers, "")


def get(target: str, *headers: tuple) -> Request:
    return Request("GET", target if target.startswith("/") else f"/eureka/{target}", headers)


def one(app: str = APP, id: str = ID, *headers: tuple) -> Request:
    return get(path("apps", app, id), *(headers or (JSON,)))


def batch(*items: dict, slash: str = "/", headers: tuple = (JSON,)) -> Request:
    return Request("POST", f"/eureka/peerreplication/batch{slash}", (TYPE_JSON, *headers), json.dumps({"replicationList": list(items)}))


def item(action: str | None, app: object = APP, id: object = ID, **more) -> dict:
    """A batch item in the order in which peers write it."""
    fields = {"appName": app, "id": id, **more, "action": action}
    return {key: value for key, value in fields.items() if value is not LEFT_OUT and (value is not None or key in more)}


def _query(target: str, query: dict) -> str:
    return target + ("?" + urlencode(query, safe=TAG) if query else "")


__all__ = [name for name in dir() if not name.startswith("_") and name not in ("json", "quote", "urlencode")] + ["XML"]
