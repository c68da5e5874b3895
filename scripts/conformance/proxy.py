"""A proxy that spoils one thing, so that the proof can fail. Used by stage.py.

* `ok-for-no-content`: answers 200 where heureka answers 204;
* `body-on-404`: a heartbeat's 404 gets the JSON error object that some frameworks add.
"""

import http.client
import http.server
import json
import threading

MODES = ("ok-for-no-content", "body-on-404")
_HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"}


class Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _pass_on(self):
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=30)
        try:
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _HOP_BY_HOP:
                    upstream.putheader(name, value)
            upstream.putheader("Content-Length", str(len(content)))
            upstream.endheaders(content)
            answer = upstream.getresponse()
            status, headers, body = answer.status, answer.getheaders(), answer.read()
        except (OSError, http.client.HTTPException):
            # As a server that is not there: no answer at all.
            self.close_connection = True
            return
        finally:
            upstream.close()
        self._answer(*self._spoil(status, headers, body))

    def _spoil(self, status: int, headers: list, body: bytes):
        if self.server.mode == "ok-for-no-content" and status == 204:
            return 200, headers, body
        segments = self.path.split("?")[0].rstrip("/").split("/")
        heartbeat = self.command == "PUT" and len(segments) >= 3 and segments[-3] == "apps"
        if self.server.mode == "body-on-404" and status == 404 and heartbeat:
            headers = [header for header in headers if header[0].lower() != "content-type"] + [("Content-Type", "application/json")]
            body = json.dumps({"timestamp": "2024-01-01T00:00:00.000+00:00", "status": 404, "error": "Not Found", "path": self.path}).encode()
        return status, headers, body

    def _answer(self, status: int, headers: list, body: bytes):
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in _HOP_BY_HOP:
                self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = _pass_on

    def log_message(self, *_):
        pass


def start(mode: str, upstream: int) -> http.server.ThreadingHTTPServer:
    """A running proxy on a free port, before the port on this machine."""
    if mode not in MODES:
        raise SystemExit(f"no such mode of the proxy: {mode}; there are {', '.join(MODES)}")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
    server.mode = mode
    server.upstream = upstream
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
