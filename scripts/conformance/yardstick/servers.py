"""Builds and starts the Java server, and starts heureka with the settings that match. Used by run.py."""

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = os.path.join(HERE, "server")
JAR = os.path.join(SERVER, "target", "yardstick.jar")
# The twin of server/src/main/resources/application.yml.
SETTINGS = {
    "profile": "eureka",
    "cache-push": "true",
    "enable-self-preservation": "false",
    "eviction-interval": "3s",
    "retention-time-in-delta-queue": "5s",
    "delta-retention-timer-interval": "1s",
    "first-delta-version": "one",
    "log-level": "error",
}


def _sources():
    yield os.path.join(SERVER, "pom.xml")
    for folder, _, names in os.walk(os.path.join(SERVER, "src")):
        yield from (os.path.join(folder, name) for name in names)


def build():
    """Makes the Java server's jar where it is missing or older than its sources."""
    if os.path.exists(JAR) and all(os.path.getmtime(source) <= os.path.getmtime(JAR) for source in _sources()):
        return
    print("building the Java server", flush=True)
    subprocess.run(["nice", "-n", "10", "mvn", "-q", "-B", "-ntp", "clean", "package"], cwd=SERVER, check=True, timeout=1200)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_until_it_answers(process: subprocess.Popen, port: int, seconds: float):
    deadline = time.monotonic() + seconds
    request = b"GET /eureka/apps HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"
    while True:
        if process.poll() is not None:
            raise SystemExit(f"{process.args[0]} ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=10) as probe:
            probe.sendall(request)
            if b" 200" in probe.recv(64):
                return
        if time.monotonic() > deadline:
            raise SystemExit(f"{process.args[0]} does not answer within {seconds} s")
        time.sleep(0.05)


@contextlib.contextmanager
def both(heureka: str):
    """Gives the ports of the Java server and of heureka, both fresh and empty."""
    build()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        java_port, port = _free_port(), _free_port()
        java = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", "-jar", JAR, f"--server.port={java_port}"]
        ours = [heureka, "--http-listen", f"127.0.0.1:{port}", "--grpc-listen", f"unix:{folder}/heureka"]
        for name, value in SETTINGS.items():
            ours += [f"--{name}", value]
        processes = [stack.enter_context(_running(command)) for command in (java, ours)]
        for process, port_of_it in zip(processes, (java_port, port)):
            _wait_until_it_answers(process, port_of_it, 120.0)
        yield java_port, port


@contextlib.contextmanager
def _running(command: list):
    # The Java server's XML reader writes what it refuses to standard error.
    quiet = subprocess.DEVNULL if command[0] == "java" else None
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=quiet)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
