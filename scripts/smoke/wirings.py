"""Starts heureka from its binaries in a wiring, on free ports, and stops it again. Used by run.py."""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

# One process for the whole node; or registry-core, cache-sync and http-facade apart, over unix sockets or TCP.
WIRINGS = ("one-process", "unix", "tcp")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what: str, condition, seconds: float = 20.0):
    """Waits for a level, with a bound."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def _commands(wiring: str, binaries: str, http: str, folder: str, settings: tuple, grpc: str | None):
    def program(name, *arguments):
        return [os.path.join(binaries, name), "--log-level", "warn", *arguments]

    if wiring == "one-process":
        return [program("heureka", "--http-listen", http, "--grpc-listen", grpc or f"unix:{folder}/heureka", *settings)]
    if wiring == "unix":
        registry, cache, facade = (f"unix:{folder}/{name}" for name in ("registry", "cache", "facade"))
    else:
        registry, cache, facade = (f"127.0.0.1:{free_port()}" for _ in range(3))
    return [
        program("registry-core", "--grpc-listen", registry),
        program("cache-sync", "--grpc-listen", cache, "--registry", registry),
        program("http-facade", "--grpc-listen", facade, "--http-listen", http, "--registry", registry, "--cache", cache),
    ]


def _exit_code(process: subprocess.Popen) -> int:
    try:
        return process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


@contextlib.contextmanager
def heureka(wiring: str, binaries: str, *settings: str, grpc: str | None = None):
    """A running node; gives the base URL of its REST API. In one process its gRPC port can be chosen. Every process must end with exit code 0 when asked to."""
    http = f"127.0.0.1:{free_port()}"
    with tempfile.TemporaryDirectory() as folder:
        processes = [subprocess.Popen(command) for command in _commands(wiring, binaries, http, folder, settings, grpc)]
        try:
            wait_for("readiness", lambda: status(f"http://{http}/readyz") == 200)
            yield f"http://{http}"
        finally:
            for process in reversed(processes):
                process.send_signal(signal.SIGTERM)
            codes = [_exit_code(process) for process in processes]
        assert codes == [0] * len(codes), f"exit codes {codes}"
