"""What a story does beside the client that it is about: asks as an operator, waits for what has to become true, reads heureka's
counters. Used by java/, python/ and stage.py."""

import json
import re
import socket
import time
import urllib.error
import urllib.parse
import urllib.request


def wait_for(what: str, condition, seconds: float = 15.0):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.05)
    return value


def call(method: str, url: str, body=None):
    """The status, and what the answer is as JSON, or as text where it is none; None where it is a failure."""
    headers = {"Accept": "application/json, text/plain", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode() if body else None, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            content = answer.read().decode()
            return answer.status, json.loads(content) if content.startswith("{") else content
    except urllib.error.HTTPError as error:
        return error.code, None


def reads(heureka: str, kind: str) -> int:
    """How many reads heureka has counted: `all` or `all_delta`."""
    root = urllib.parse.urlsplit(heureka)
    with urllib.request.urlopen(f"http://{root.netloc}/metrics", timeout=5) as answer:
        return int(float(re.search(rf"^eureka_get_{kind}_total(?:{{[^}}]*}})? (\S+)$", answer.read().decode(), re.M)[1]))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
