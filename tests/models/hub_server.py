"""Hub server on this computer that can misbehave as real connections and servers do."""

from __future__ import annotations

import hashlib
import json
import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class HubServer:
    """Server of the repository a/b, and of single files of others.

    Attributes:
        files: contents by path.
        fault: called with the handler before a file is sent; returns True if it has answered itself.
        requests: (path, Range header) of each request so far.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.published: dict[str, dict[str, Any]] = {}
        self.fault: Callable[[Handler], bool] = lambda handler: False
        self.requests: list[tuple[str, str]] = []
        self.answers: dict[str, bytes] = {}
        self.redirects: dict[str, str] = {}
        self.etag = '"one"'
        handler = type("BoundHandler", (Handler,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"

    def add(self, path: str, content: bytes, **published: Any) -> None:
        self.files[path] = content
        self.published[path] = published

    def publish(self, repo: str, path: str, content: bytes, digest: str = "") -> None:
        """Offer a file in another repository; `digest` is what the hub says of it, if that is not the truth."""
        self.files[path] = content
        about = f"/api/models/{repo}"
        lfs = {"oid": digest or hashlib.sha256(content).hexdigest(), "size": len(content)}
        self.answers[about] = b"{}"
        self.answers[f"{about}/tree/main"] = json.dumps([{"type": "file", "path": path, "lfs": lfs}]).encode()
        self.redirects[f"/{repo}/resolve/main/{path}"] = f"/cdn/{path}"

    def tree(self) -> list[dict[str, Any]]:
        return [
            {
                "type": "file", "path": path, "size": len(content),
                "lfs": {"oid": hashlib.sha256(content).hexdigest(), "size": len(content)} | self.published[path],
            }
            for path, content in self.files.items()
        ]  # fmt: skip

    def speak_tls(self, context: ssl.SSLContext) -> None:
        """Speak https from now on."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.address = self.address.replace("http:", "https:")

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Handler(BaseHTTPRequestHandler):
    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Suppress the log on stderr."""

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.hub.requests.append((self.path, self.headers.get("Range", "")))
        try:
            if self.path in self.hub.answers or path in self.hub.answers:
                self.answer(200, self.hub.answers.get(self.path) or self.hub.answers[path])
            elif path in self.hub.redirects:
                self.answer(302, b"", Location=self.hub.redirects[path])
            elif path == "/api/models/a/b":
                self.json({"sha": COMMIT, "tags": ["license:apache-2.0"]})
            elif path == f"/api/models/a/b/tree/{COMMIT}":
                self.json(self.hub.tree())
            elif path.startswith(f"/a/b/resolve/{COMMIT}/"):
                self.answer(302, b"", Location=f"/cdn/{path.split(COMMIT + '/')[1]}")
            elif path.startswith("/cdn/") and path[5:] in self.hub.files:
                if not self.hub.fault(self):
                    self.file(self.content)
            else:
                self.answer(404, b"")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    @property
    def content(self) -> bytes:
        return self.hub.files[self.path[5:]]

    @property
    def start(self) -> int:
        """First byte of the requested range."""
        return int(self.headers.get("Range", "bytes=0-")[6:-1])

    def file(self, content: bytes) -> None:
        """Answer as a correct server does, honouring Range and If-Range."""
        start = self.start
        fresh = self.headers.get("If-Range", self.hub.etag) == self.hub.etag
        if "Range" not in self.headers or not fresh:
            self.answer(200, content, ETag=self.hub.etag)
        elif start >= len(content):
            self.answer(416, b"")
        else:
            range = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.answer(206, content[start:], None, **{"Content-Range": range, "ETag": self.hub.etag})

    def json(self, value: object) -> None:
        self.answer(200, json.dumps(value).encode())

    def answer(self, status: int, body: bytes, length: int | None = None, **headers: str) -> None:
        """Send a response; `length` is a false Content-Length, after which the connection is closed."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        if length is not None:
            self.close_connection = True
