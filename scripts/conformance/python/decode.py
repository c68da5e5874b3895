"""The registry of oddities as py-eureka-client reads it (always XML), for ../arrival.py."""

import asyncio
import importlib.metadata
import json
import os

from py_eureka_client import eureka_basic, http_client

URL = os.environ["EUREKA_URL"]


class AsksForCompact(http_client.HttpClient):
    async def urlopen(self, request=None, data=None, timeout=None):
        request = http_client.HttpRequest(request) if isinstance(request, str) else request
        request.add_header("X-Eureka-Accept", "compact")
        return await super().urlopen(request, data, timeout)


def record(instance) -> dict:
    return {
        "app": instance.app,
        "instanceId": instance.instanceId,
        "hostName": instance.hostName,
        "ipAddr": instance.ipAddr,
        "status": instance.status,
        "port": instance.port.port,
        "portEnabled": instance.port.enabled,
        "securePort": instance.securePort.port,
        "securePortEnabled": instance.securePort.enabled,
        "vipAddress": instance.vipAddress,
        "secureVipAddress": instance.secureVipAddress,
        "homePageUrl": instance.homePageUrl,
        "dataCenter": instance.dataCenterInfo.name,
        "dataCenterMetadata": instance.dataCenterInfo.metadata,
        "metadata": instance.metadata,
    }


def records(applications) -> list:
    return [record(instance) for application in applications for instance in application.instances]


async def each_application(names):
    return [await eureka_basic.get_application(URL, name) for name in names]


async def main():
    plain = http_client.http_client
    full = []
    for view in ("full", "compact", "delta", "application"):
        dump = {"client": "py-eureka-client", "version": importlib.metadata.version("py-eureka-client"), "format": "xml", "view": view}
        http_client.set_http_client(AsksForCompact() if view == "compact" else plain)
        try:
            if view == "application":
                found = await each_application(application.name for application in full)
            elif view == "delta":
                found = (await eureka_basic.get_delta(URL)).applications
            else:
                found = (await eureka_basic.get_applications(URL)).applications
                full = found if view == "full" else full
            dump["records"] = records(found)
        except Exception as error:  # whatever a decoder throws is the finding
            dump["error"] = repr(error)
        print(json.dumps(dump), flush=True)


asyncio.run(main())
