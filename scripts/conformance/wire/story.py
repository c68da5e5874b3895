"""The answers that clients depend on, byte by byte: no client, but what each of them reads. Through the proxy, where there is one."""

import http.client
import json
import os
import sys
import urllib.parse

BASE = urllib.parse.urlsplit(os.environ["EUREKA_URL"])
BODY = {
    "instanceId": "w1",
    "hostName": "w1.test",
    "app": "WIRE",
    "ipAddr": "192.0.2.10",
    "status": "UP",
    "port": {"$": 8080, "@enabled": "true"},
    "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
    "vipAddress": "wire",
}
CALLS = (
    ("a heartbeat of an unknown instance: 404, empty", "PUT", "/apps/WIRE/w1?status=UP&lastDirtyTimestamp=1", None, 404),
    ("a registration: 204, empty", "POST", "/apps/WIRE", {"instance": BODY}, 204),
    ("a heartbeat: 200, empty", "PUT", "/apps/WIRE/w1", None, 200),
    ("a status: 200, empty", "PUT", "/apps/WIRE/w1/status?value=OUT_OF_SERVICE", None, 200),
    ("metadata: 200, empty", "PUT", "/apps/WIRE/w1/metadata?a=b", None, 200),
    ("a cancel: 200, empty", "DELETE", "/apps/WIRE/w1", None, 200),
    ("a second cancel: 404, empty", "DELETE", "/apps/WIRE/w1", None, 404),
)


def main() -> int:
    failed = 0
    for step, method, path, body, wanted in CALLS:
        connection = http.client.HTTPConnection(BASE.hostname, BASE.port, timeout=10)
        headers = {"Accept": "application/json"} | ({"Content-Type": "application/json"} if body else {})
        connection.request(method, BASE.path + path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        fine = answer.status == wanted and content == b""
        failed += not fine
        print("raw HTTP", "-", step, "ok" if fine else f"FAILED: {answer.status}, {content!r}", sep="\t", flush=True)
    return 1 if failed else 0


sys.exit(main())
