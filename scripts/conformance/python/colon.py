"""A metadata key with a colon, in a registry of its own: what py-eureka-client makes of it. Runs inside stage.py.

The key is written as it stands, as the Java server does, and no namespace is declared: a parser that knows namespaces refuses
the whole document. Should the registry ever code the colon, or the client read it, this step is out of date.
"""

import asyncio
import importlib.metadata
import json
import os
import sys
import urllib.request
from xml.etree.ElementTree import ParseError

from py_eureka_client import eureka_basic

BODY = {
    "instanceId": "c1",
    "hostName": "c1.test",
    "app": "COLON",
    "ipAddr": "192.0.2.10",
    "dataCenterInfo": {"@class": "com.netflix.appinfo.InstanceInfo$DefaultDataCenterInfo", "name": "MyOwn"},
    "metadata": {"a:b": "c"},
}


def main() -> int:
    request = urllib.request.Request(
        os.environ["DIRECT_URL"] + "/apps/COLON", json.dumps({"instance": BODY}).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    urllib.request.urlopen(request, timeout=10)
    try:
        asyncio.run(eureka_basic.get_applications(os.environ["EUREKA_URL"]))
        result = "FAILED: it reads it"
    except ParseError as error:
        result = "ok" if "unbound prefix" in str(error) else f"FAILED: {error}"
    step = "known: a metadata key with a colon makes every list unreadable to it"
    print("py-eureka-client", importlib.metadata.version("py-eureka-client"), step, result, sep="\t", flush=True)
    return result != "ok"


sys.exit(main())
