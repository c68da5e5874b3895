"""One running application of the story's three: app/ as a process, and the questions to it. Used by story.py."""

import collections
import os
import subprocess
import urllib.parse

from logs import Log
from outside import call, free_port, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
BUILT = os.path.join(HERE, "..", "..", "..", "target", "conformance", "java")
STARTED_WITHIN = 90.0
STOPPED_WITHIN = 30.0

# Which class path, which settings choose it, and the class that then makes the transport.
Transport = collections.namedtuple("Transport", "class_path settings factory")
TRANSPORTS = {
    "RestClient": Transport("default", ["--eureka.client.restclient.enabled=true"], "RestClientTransportClientFactories"),
    # The default of the older train; the newer one has it no longer.
    "RestTemplate": Transport("default", [], "RestTemplateTransportClientFactories"),
    "Jersey": Transport("all", [], "Jersey3TransportClientFactories"),
    "WebClient": Transport("all", ["--eureka.client.jersey.enabled=false", "--eureka.client.webclient.enabled=true"], "WebClientTransportClientFactories"),
}
SETTINGS = [
    "--server.address=127.0.0.1",
    "--management.endpoints.web.exposure.include=serviceregistry",
    "--eureka.client.registry-fetch-interval-seconds=1",
    "--eureka.client.instance-info-replication-interval-seconds=1",
    "--eureka.client.initial-instance-info-replication-interval-seconds=1",
    "--eureka.instance.lease-renewal-interval-in-seconds=1",
    # None of it is about leases that run out; a busy machine must not make it so.
    "--eureka.instance.lease-expiration-duration-in-seconds=20",
    "--eureka.instance.prefer-ip-address=true",
    "--eureka.instance.ip-address=127.0.0.1",
    # Otherwise the load balancer's cache, not the client's, is what is seen.
    "--spring.cloud.loadbalancer.cache.enabled=false",
    # Says there what became of each request, and whether hash codes differ.
    "--logging.level.com.netflix.discovery.DiscoveryClient=DEBUG",
    "--spring.main.banner-mode=off",
    # One line for each event, then its stack trace; see logs.py.
    "--logging.pattern.console=%d{yyyy-MM-dd'T'HH:mm:ss.SSS,UTC}|%p|%c|%m%n",
]


class Member:
    def __init__(self, train: str, transport: str, app: str, name: str, folder: str, more: list):
        self.app = app
        self.name = name
        self.transport = TRANSPORTS[transport]
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = Log(name, os.path.join(folder, f"{name}.log"))
        built = os.path.join(BUILT, f"story-{train}")
        with open(os.path.join(built, f"{self.transport.class_path}.cp"), encoding="utf-8") as file:
            class_path = file.read().strip()
        self._command = ["java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{built}/classes:{class_path}", "story.Member"]
        self._command += SETTINGS + self.transport.settings + more
        self._command += [
            f"--server.port={self.port}",
            f"--spring.application.name={app}",
            f"--eureka.instance.instance-id={name}",
            f"--eureka.instance.metadata-map.who={name}",
            f"--eureka.client.service-url.defaultZone={os.environ['EUREKA_URL']}/",
        ]
        self._process = None

    def start(self):
        with open(self.log.path, "wb") as output:
            self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

    def wait_until_started(self):
        def answers() -> bool:
            assert self._process.poll() is None, f"{self.name} ended with {self._process.returncode}: {self.log.last_error()}"
            try:
                return self.ask("name") == self.name
            except OSError:
                return False

        wait_for(f"{self.name} has started", answers, STARTED_WITHIN)

    def ask(self, what: str, method: str = "GET", **arguments):
        status, value = call(method, f"{self.url}/{what}?{urllib.parse.urlencode(arguments)}")
        assert status == 200, f"{self.name}, {what}: {status}"
        return value

    def stop(self):
        """As an operator does: SIGTERM, and it ends by itself."""
        self._process.terminate()
        self._process.wait(timeout=STOPPED_WITHIN)

    def kill(self):
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
