"""A heureka process for one client's story, on a free port, and the means to kill it and to look behind the client.

    stage.py COMMAND...

runs COMMAND with, in its environment,

* EUREKA_URL, where the client finds the registry, without a slash at the end: http://127.0.0.1:PORT/eureka. With
  CONFORMANCE_PROXY set to a mode of proxy.py the proxy stands there;
* DIRECT_URL, the same without a proxy: what an operator does and sees;
* CONTROL_URL: `POST /kill` ends the process without farewell, `POST /start` starts an empty one on the same port,
  `POST /restart` does both, a second apart; `POST /oddities` fills the registry with what oddities.py describes.
  Each answers 204 when done.

The exit code is that of COMMAND. HEUREKA_BIN names the binary. Each folder's `run` calls this.
"""

import contextlib
import http.server
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

import oddities
import proxy
from outside import free_port

READY_WITHIN = 30.0
DOWN_FOR = 1.0


class Heureka:
    """The process. Leases are looked at every second, as by default; nothing but addresses and the log differs from the defaults."""

    def __init__(self, binary: str, folder: str):
        self.port = free_port()
        self._command = [binary, "--log-level", "error", "--http-listen", f"127.0.0.1:{self.port}", "--grpc-listen", f"unix:{folder}/grpc"]
        self._process = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/eureka"

    def start(self):
        # What is named HEUREKA_... in its environment is a setting to it.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HEUREKA_")}
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, env=environment)
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise SystemExit(f"heureka ended with {self._process.returncode}")
            with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=2):
                return
            time.sleep(0.02)
        raise SystemExit(f"heureka was not ready within {READY_WITHIN} s")

    def kill(self):
        self._process.kill()
        self._process.wait()

    def stop(self):
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.kill()


class Control(http.server.BaseHTTPRequestHandler):
    """What a story may ask for. The server's `heureka` is the process."""

    def do_POST(self):
        node = self.server.heureka
        try:
            if self.path == "/restart":
                node.kill()
                time.sleep(DOWN_FOR)
                node.start()
            elif self.path == "/kill":
                node.kill()
            elif self.path == "/start":
                node.start()
            elif self.path == "/oddities":
                oddities.register_all(node.url)
            else:
                raise ValueError(f"no such request: {self.path}")
        except (OSError, ValueError) as error:
            return self._answer(500, str(error).encode())
        return self._answer(204)

    def _answer(self, status: int, body: bytes = b""):
        self.send_response(status)
        if body:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def stage(binary: str, mode: str):
    """Gives the environment for a story."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        node = Heureka(binary, folder)
        node.start()
        stack.callback(node.stop)
        control = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Control)
        control.heureka = node
        threading.Thread(target=control.serve_forever, daemon=True).start()
        stack.callback(control.shutdown)
        seen = node.url
        if mode:
            between = proxy.start(mode, node.port)
            stack.callback(between.shutdown)
            seen = f"http://127.0.0.1:{between.server_port}/eureka"
        yield {"EUREKA_URL": seen, "DIRECT_URL": node.url, "CONTROL_URL": f"http://127.0.0.1:{control.server_port}"}


def main(command: list) -> int:
    if not command:
        sys.exit(__doc__)
    with stage(os.environ["HEUREKA_BIN"], os.environ.get("CONFORMANCE_PROXY", "")) as environment:
        return subprocess.run(command, env=os.environ | environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
