"""HTTP/1.1 with every byte of a request under control, and answers as they came. Used by runner.py."""

import dataclasses
import gzip
import socket
import time

# Stands for a text that is new in every run of a sequence, so that no run meets names of another.
TAG = "@@"


@dataclasses.dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: tuple = ()
    # None: neither body nor Content-Length.
    body: str | bytes | None = None
    # Whether the body is compressed; the header that says so is among `headers`, or not.
    compressed: bool = False

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def content(self, tag: str) -> bytes | None:
        if self.body is None:
            return None
        content = self.body.replace(TAG, tag).encode() if isinstance(self.body, str) else self.body.replace(TAG.encode(), tag.encode())
        return gzip.compress(content, mtime=0) if self.compressed else content

    def encode(self, tag: str) -> bytes:
        content = self.content(tag)
        lines = [f"{self.method} {self.target.replace(TAG, tag)} HTTP/1.1", "Host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if content is not None:
            lines.append(f"Content-Length: {len(content)}")
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + (content or b"")

    def __str__(self):
        body = "" if self.body is None else f" {'gzip of ' if self.compressed else ''}{self.body!r}"
        return f"{self.method} {self.target} {dict(self.headers) or ''}{body}"


@dataclasses.dataclass(frozen=True)
class Answer:
    status: int
    headers: tuple
    body: bytes
    # "length", "chunked", "close" or "none"
    framing: str
    # Milliseconds since 1970 between which the server worked on it.
    began: int
    ended: int

    def header(self, name: str) -> str | None:
        """The values of a header, joined where there are several."""
        values = [value for key, value in self.headers if key == name.lower()]
        return ", ".join(values) if values else None

    def __str__(self):
        return f"{self.status} {dict(self.headers)} {self.body[:3000]!r}"


class Connection:
    """A kept connection to one server. `send`, then `receive`; a connection that the server closed is opened anew."""

    def __init__(self, port: int):
        self._port = port
        self._socket = None
        self._buffer = b""
        self._sent = (b"", "")
        self._began = 0

    def send(self, encoded: bytes, method: str):
        self._sent = (encoded, method)
        self._began = int(time.time() * 1000)
        if self._socket is None:
            self._open()
        try:
            self._socket.sendall(encoded)
        except OSError:
            self._open()
            self._socket.sendall(encoded)

    def receive(self) -> Answer:
        try:
            head = self._until(b"\r\n\r\n")
        except ConnectionError:
            # The server had closed before it read the request.
            self._open()
            self._socket.sendall(self._sent[0])
            head = self._until(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ", 2)[1])
        headers = tuple((name.lower(), value.strip()) for name, value in (line.split(":", 1) for line in lines[1:] if line))
        named = dict(headers)
        framing, body = self._body(status, named)
        ended = int(time.time() * 1000)
        if named.get("connection", "").lower() == "close" or framing == "close":
            self.close()
        return Answer(status, headers, body, framing, self._began, ended)

    def close(self):
        if self._socket is not None:
            self._socket.close()
        self._socket = None

    def _body(self, status: int, headers: dict) -> tuple:
        if "transfer-encoding" in headers:
            framing = "chunked"
        elif "content-length" in headers:
            framing = "length"
        else:
            framing = "none" if status in (204, 304) or self._sent[1] == "HEAD" else "close"
        if self._sent[1] == "HEAD" or status in (204, 304):
            return framing, b""
        if framing == "chunked":
            return framing, self._chunks()
        if framing == "length":
            return framing, self._exactly(int(headers["content-length"]))
        return framing, self._rest()

    def _chunks(self) -> bytes:
        body = b""
        while True:
            size = int(self._until(b"\r\n").split(b";")[0], 16)
            piece = self._exactly(size + 2)[:size]
            if size == 0:
                return body
            body += piece

    def _open(self):
        self.close()
        self._buffer = b""
        self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _more(self):
        piece = self._socket.recv(1 << 16)
        if not piece:
            raise ConnectionResetError("closed by the server")
        self._buffer += piece

    def _until(self, end: bytes) -> bytes:
        while end not in self._buffer:
            self._more()
        head, _, self._buffer = self._buffer.partition(end)
        return head

    def _exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._more()
        body, self._buffer = self._buffer[:count], self._buffer[count:]
        return body

    def _rest(self) -> bytes:
        try:
            while True:
                self._more()
        except ConnectionError:
            body, self._buffer = self._buffer, b""
            return body
