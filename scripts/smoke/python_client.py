"""py-eureka-client does its work: registers, renews, finds another application and calls it, sees it go, unregisters."""

import asyncio
import http.server
import json
import threading
import urllib.request

from py_eureka_client import eureka_client

from wirings import status, wait_for

GREETING = "hello from the provider"


class Greeter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = GREETING.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def client(base: str, app: str, port: int) -> eureka_client.EurekaClient:
    return eureka_client.EurekaClient(
        eureka_server=f"{base}/eureka/",
        app_name=app,
        instance_host="127.0.0.1",
        instance_ip="127.0.0.1",
        instance_port=port,
        instance_id=f"127.0.0.1:{app}:{port}",
        renewal_interval_in_secs=1,
        duration_in_secs=30,
        metadata={"zone": "west-1"},
    )


def instance(base: str, app: str, port: int) -> dict:
    request = urllib.request.Request(
        f"{base}/eureka/v2/apps/{app.upper()}/127.0.0.1%3A{app}%3A{port}", headers={"Accept": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=5) as answer:
        return json.load(answer)["instance"]


async def story(base: str):
    greeter = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Greeter)
    threading.Thread(target=greeter.serve_forever, daemon=True).start()
    port = greeter.server_port

    provider = client(base, "provider", port)
    await provider.start()
    registered = instance(base, "provider", port)
    assert registered["status"] == "UP" and registered["app"] == "PROVIDER", registered
    assert registered["metadata"]["zone"] == "west-1", registered

    consumer = client(base, "consumer", 9)
    await consumer.start()
    assert await consumer.do_service("provider", "/greet") == GREETING
    yield "registers, finds the other application and calls it"

    first = registered["leaseInfo"]["lastRenewalTimestamp"]
    wait_for("a heartbeat", lambda: instance(base, "provider", port)["leaseInfo"]["lastRenewalTimestamp"] > first)
    yield "heartbeats renew the lease"

    late = client(base, "latecomer", port)
    await late.start()
    wait_for("the consumer learns of a new application by delta", lambda: consumer.applications.get_application("LATECOMER"))
    await late.stop()
    gone = lambda: not consumer.applications.get_application("LATECOMER").instances
    wait_for("the consumer learns that it has gone", gone)
    yield "follows changes by delta"

    await provider.stop()
    assert status(f"{base}/eureka/apps/PROVIDER") == 404
    assert status(f"{base}/eureka/apps/PROVIDER/127.0.0.1%3Aprovider%3A{port}") == 404
    await consumer.stop()
    with urllib.request.urlopen(f"{base}/eureka/apps/", timeout=5) as answer:
        assert b"<application>" not in answer.read()
    greeter.shutdown()
    yield "unregisters and is gone"


def run(base: str):
    async def steps():
        return [step async for step in story(base)]

    return asyncio.run(steps())
