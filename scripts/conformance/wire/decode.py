"""The registry of oddities as Python's own json and xml modules read it: the proof that the bytes carry what was sent."""

import json
import os
import platform
import re
import urllib.parse
import urllib.request
import xml.etree.ElementTree

URL = os.environ["EUREKA_URL"]
_CODED = re.compile(r"__|_-|(?:_\.[0-9a-f]{4})+")


def fetch(path: str, kind: str, compact: bool = False) -> bytes:
    headers = {"Accept": f"application/{kind}"} | ({"X-Eureka-Accept": "compact"} if compact else {})
    with urllib.request.urlopen(urllib.request.Request(URL + path, headers=headers), timeout=20) as answer:
        assert answer.status == 200 and answer.headers["Content-Type"].startswith(f"application/{kind}"), answer.headers
        return answer.read()


def key_of(name: str) -> str:
    def decoded(match):
        coded = match[0]
        return {"__": "_", "_-": "$"}.get(coded) or bytes.fromhex(coded.replace("_.", "")).decode("utf-16-be")

    return _CODED.sub(decoded, name)


def of_json(instance: dict) -> dict:
    def entries(value):
        return {} if value == {"@class": "java.util.Collections$EmptyMap"} else value or {}

    center = instance["dataCenterInfo"]
    texts = ("app", "instanceId", "hostName", "ipAddr", "status", "vipAddress", "secureVipAddress", "homePageUrl")
    assert all(isinstance(instance.get(field, ""), str) for field in texts), instance
    return {field: instance.get(field) for field in texts} | {
        "port": instance["port"]["$"],
        "portEnabled": {"true": True, "false": False}[instance["port"]["@enabled"]],
        "securePort": instance["securePort"]["$"],
        "securePortEnabled": {"true": True, "false": False}[instance["securePort"]["@enabled"]],
        "dataCenter": center["name"],
        "dataCenterMetadata": entries(center.get("metadata")),
        "metadata": entries(instance.get("metadata")),
    }


def of_xml(instance) -> dict:
    def entries(parent):
        element = parent.find("metadata")
        return {} if element is None else {key_of(child.tag): child.text or "" for child in element}

    texts = ("app", "instanceId", "hostName", "ipAddr", "status", "vipAddress", "secureVipAddress", "homePageUrl")
    center = instance.find("dataCenterInfo")
    record = {field: instance.findtext(field) for field in texts}
    for port in ("port", "securePort"):
        element = instance.find(port)
        record |= {port: int(element.text), f"{port}Enabled": {"true": True, "false": False}[element.get("enabled")]}
    return record | {"dataCenter": center.findtext("name"), "dataCenterMetadata": entries(center), "metadata": entries(instance)}


def json_records(content: bytes) -> list:
    tree = json.loads(content)
    applications = tree["applications"]["application"] if "applications" in tree else [tree["application"]]
    return [of_json(instance) for application in applications for instance in application["instance"]]


def xml_records(content: bytes) -> list:
    return [of_xml(instance) for instance in xml.etree.ElementTree.fromstring(content).iter("instance") if instance.find("app") is not None]


def main():
    for kind, records_of in (("json", json_records), ("xml", xml_records)):
        full = []
        for view, path in (("full", "/apps/"), ("compact", "/apps/"), ("delta", "/apps/delta"), ("application", "")):
            dump = {"client": "python stdlib", "version": platform.python_version(), "format": kind, "view": view}
            try:
                if path:
                    dump["records"] = records_of(fetch(path, kind, view == "compact"))
                else:
                    names = sorted({record["app"] for record in full})
                    paths = [f"/apps/{urllib.parse.quote(name, safe='')}" for name in names]
                    dump["records"] = [record for path in paths for record in records_of(fetch(path, kind))]
            except Exception as error:  # whatever a decoder throws is the finding
                dump["error"] = repr(error)
            if view == "full":
                full = dump.get("records", [])
            print(json.dumps(dump), flush=True)


main()
